"""The last step of a compilation: Numba's `CompileResult` for a function and argument types."""

import inspect
from collections.abc import Callable
from typing import Any

from numba.core import types

from .edge import Edge
from .externals import know_runtime, refresh
from .front.syntax import Unsupported
from .numba_api import (
    Environment,
    FunctionIdentity,
    PythonFunctionDescriptor,
    _dynfunc,  # pyright: ignore[reportAttributeAccessIssue]
    compile_result,
    rtsys,
    signature,
)


def compiled(function: Callable, state: Any, library: Any, is_called: bool) -> Any:
    """The compiled result of a function for the types in Numba's `state`, its code in `library`.

    One that `is_called` from Python gets Numba's entry; others have entries of ours, or are only
    linked into their callers. Raises Unsupported where Numba has to compile it.
    """
    if state.return_type is not None or state.locals:
        raise Unsupported("types that are said beforehand")
    if function.__code__.co_flags & inspect.CO_VARARGS:
        raise Unsupported("a signature with more than positional parameters")
    target, flags = state.targetctx, state.flags
    identity: Any = FunctionIdentity.from_function(function)
    described = PythonFunctionDescriptor(
        True, function.__module__, identity.func_qualname, identity.unique_name,
        function.__doc__ or "", None, types.none, None, tuple(identity.arg_names), (),
        mangler=target.mangler, argtypes=tuple(state.args), inline=flags.forceinline,
        abi_tags=[flags.get_mangle_string()], uid=identity.unique_id,
    )  # fmt: skip
    environment = Environment.from_fndesc(described)
    know_runtime(target)
    wanted = {"exact"} if not flags.fastmath else set()
    edge = Edge(function, state.args, wanted | ({"inline"} if flags.forceinline else set()))
    described.restype = edge.result
    with target.push_code_library(library):
        module = library.create_ir_module(described.unique_name)
        target.declare_env_global(module, target.get_env_name(described))
        edge.describe(target, module, described)
        if is_called:
            refresh(target)
            library.add_linking_library(rtsys.library)
            target.create_cpython_wrapper(library, described, environment, None, flags.release_gil)
        edge.add_to(library, module)
    library.finalize()
    if is_called:
        entry = target.get_executable(library, described, environment)
    else:
        # Numba knows a function by its entry from Python; this one must not be called.
        entry = _dynfunc.make_function(
            described.lookup_module(), described.qualname, "", 0, environment, (library,)
        )
    target.insert_user_function(entry, described, [library])
    return compile_result(
        typing_context=state.typingctx, target_context=target, entry_point=entry,
        typing_error=None, type_annotation="", library=library, call_helper=None,
        signature=signature(described.restype, *state.args), objectmode=False, lifted=(),
        fndesc=described, environment=environment, metadata=None, reload_init=(),
    )  # fmt: skip
