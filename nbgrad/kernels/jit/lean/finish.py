"""From a function and the types of its arguments to what Numba makes of one: a compiled result."""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import _dynfunc  # pyright: ignore[reportAttributeAccessIssue]
from numba.core import types
from numba.core.bytecode import FunctionIdentity
from numba.core.compiler import compile_result
from numba.core.environment import Environment
from numba.core.funcdesc import PythonFunctionDescriptor
from numba.core.typing.templates import signature

from .emit import Emitter
from .syntax import Unsupported
from .values import Known, Typed
from .walk import Walk


def compiled(function: Callable, state: Any, library: Any, is_called: bool) -> Any:
    """The compiled result of a function for the types in Numba's `state`, its code in `library`.

    One that `is_called` from Python gets an entry; others are only linked into their callers.
    Raises Unsupported where Numba has to compile it.
    """
    if state.return_type is not None or state.locals:
        raise Unsupported("types that are said beforehand")
    target, flags = state.targetctx, state.flags
    identity: Any = FunctionIdentity.from_function(function)
    described = PythonFunctionDescriptor(
        True, function.__module__, identity.func_qualname, identity.unique_name,
        function.__doc__ or "", None, types.none, None, tuple(identity.arg_names), (),
        mangler=target.mangler, argtypes=tuple(state.args), inline=flags.forceinline,
        abi_tags=[flags.get_mangle_string()], uid=identity.unique_id,
    )  # fmt: skip
    environment = Environment.from_fndesc(described)
    with target.push_code_library(library):
        module = library.create_ir_module(described.unique_name)
        target.declare_env_global(module, target.get_env_name(described))
        llvm = target.declare_function(module, described)
        builder = ir.IRBuilder(llvm.append_basic_block("entry"))
        helper = target.call_conv.init_call_helper(builder)
        _emit(function, state, library, builder, described)
        target.post_lowering(module, library)
        library.add_ir_module(module)
        if is_called:
            target.create_cpython_wrapper(
                library, described, environment, helper, release_gil=flags.release_gil
            )
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
        typing_error=None, type_annotation="", library=library, call_helper=helper,
        signature=signature(described.restype, *state.args), objectmode=False, lifted=(),
        fndesc=described, environment=environment, metadata=None, reload_init=(),
    )  # fmt: skip


def _emit(
    function: Callable, state: Any, library: Any, builder: ir.IRBuilder, described: Any
) -> None:
    """The code of the function, after which `described` knows what it returns."""
    target, llvm = state.targetctx, builder.function
    emitter = Emitter(state.typingctx, target, library, builder)
    body = builder.append_basic_block("body")
    values = target.call_conv.decode_arguments(builder, described.argtypes, llvm)
    arguments = []
    for kind, value in zip(described.argtypes, values, strict=True):
        if isinstance(kind, types.Literal):
            arguments.append(Known(kind.literal_value))
        elif isinstance(kind, types.Omitted):
            arguments.append(Known(kind.value))
        elif isinstance(kind, types.NoneType):
            arguments.append(Known(None))
        else:
            arguments.append(Typed(kind, value))
    head = builder.block
    builder.position_at_end(body)
    result = emitter.typed(Walk(emitter, function, arguments).run())
    if _holds_arrays(result.kind):
        raise Unsupported("a result that is an array")
    end = builder.block
    builder.position_at_end(head)
    builder.branch(body)
    builder.position_at_end(end)
    described.restype = result.kind
    # What is returned, and so the type of the function, is known only here.
    whole = target.call_conv.get_function_type(result.kind, described.argtypes)
    llvm.args[0].type = whole.args[0]
    llvm.ftype, llvm.type = whole, whole.as_pointer()
    target.call_conv.return_value(builder, target.get_return_value(builder, result.kind, result.ir))


def _holds_arrays(kind: Any) -> bool:
    parts = getattr(kind, "types", ())
    return isinstance(kind, types.Array) or any(map(_holds_arrays, parts))
