"""The private pieces of Numba and llvmlite that are used here: all of them, and nowhere else.

`numba`, `numba.types`, `numba.extending`, `numba.core.types`, `errors` and `cgutils`, `llvmlite.ir`
and `llvmlite.binding` are documented; whatever else Numba has may go with its next version. It is
looked for when this is imported, so that a missing piece is one sentence.
"""

from types import ModuleType
from typing import Any

import numba

SUPPORTED = "numba>=0.61,<0.69"
"""The requirement in pyproject.toml: from the oldest to the newest version that was tested."""


def complaint(missing: str) -> str:
    """The sentence about a Numba without a piece that is needed."""
    return (
        f"nbgrad cannot work with Numba {numba.__version__} ({missing}): "
        f'install a version that it was tested with, pip install "{SUPPORTED}"'
    )


def is_theirs(error: AttributeError) -> bool:
    """Whether an attribute of something of Numba's or llvmlite's is missing."""
    owner = error.obj
    home = owner.__name__ if isinstance(owner, ModuleType) else type(owner).__module__
    return home.partition(".")[0] in ("numba", "llvmlite")


try:
    from llvmlite.binding import ffi
    from numba import _dynfunc  # pyright: ignore[reportAttributeAccessIssue]
    from numba.core import cgutils, compiler, config, environment
    from numba.core import typed_passes as typed
    from numba.core import untyped_passes as untyped
    from numba.core.bytecode import FunctionIdentity
    from numba.core.callconv import create_error_model
    from numba.core.ccallback import CFunc
    from numba.core.codegen import JITCodeLibrary, get_host_cpu_features
    from numba.core.compiler import Compiler, CompilerBase, Flags, _LowerResult, compile_result
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.compiler_machinery import PassManager, register_pass
    from numba.core.cpu_options import FastMathOptions
    from numba.core.datamodel.registry import default_manager
    from numba.core.dispatcher import Dispatcher
    from numba.core.environment import Environment
    from numba.core.extending import _Intrinsic
    from numba.core.funcdesc import FunctionDescriptor, PythonFunctionDescriptor
    from numba.core.registry import CPUDispatcher, cpu_target
    from numba.core.runtime import _nrt_python  # pyright: ignore[reportAttributeAccessIssue]
    from numba.core.runtime.nrt import rtsys
    from numba.core.targetconfig import ConfigStack
    from numba.core.typing.templates import Signature, signature
    from numba.core.typing.typeof import typeof_impl
    from numba.core.utils import OPERATORS_TO_BUILTINS
    from numba.np import numpy_support
except ImportError as missing:
    raise ImportError(complaint(str(missing))) from missing

_ATTRIBUTES: tuple[tuple[Any, str], ...] = (
    (_dynfunc, "make_function"),
    (
        cgutils,
        "add_global_variable alloca_once alloca_once_value false_bit for_range for_range_slice "
        "get_item_pointer2 get_or_insert_function global_constant if_likely if_unlikely "
        "is_not_null pack_array pointer_add true_bit unpack_tuple voidptr_t",
    ),
    (config, "BOUNDSCHECK DISABLE_JIT LOOP_VECTORIZE OPT reload_config"),
    (default_manager, "lookup"),
    (numpy_support, "from_dtype"),
    (type(rtsys), "initialize library"),
    (
        typed,
        "IRLegalization NativeLowering NoPythonBackend NopythonTypeInference PreLowerStripPhis",
    ),
    (
        untyped,
        "DeadBranchPrune FixupArgs GenericRewrites IRProcessing InlineInlinables ReconstructSSA "
        "RewriteSemanticConstants TranslateByteCode",
    ),
    (
        JITCodeLibrary,
        "_optimize_functions _get_module_for_linking _optimize_final_module "
        "_finalize_final_module _finalize_dynamic_globals _verify_declare_only_symbols",
    ),
    (cpu_target, "typing_context"),
    (typeof_impl, "dispatch register"),
    (CompilerBase, "compile_extra define_pipelines"),
    (CPUDispatcher, "compile"),
    (FunctionIdentity, "from_function"),
    (Environment, "from_fndesc"),
)
for _owner, _names in _ATTRIBUTES:
    for _name in _names.split():
        if not hasattr(_owner, _name):
            raise ImportError(complaint(f"{getattr(_owner, '__name__', _owner)} lacks {_name}"))

__all__ = [
    "OPERATORS_TO_BUILTINS", "SUPPORTED", "CFunc", "CPUDispatcher", "Compiler", "CompilerBase",
    "ConfigStack", "Dispatcher", "Environment", "FastMathOptions", "Flags", "FunctionDescriptor",
    "FunctionIdentity", "JITCodeLibrary", "PassManager",
    "PythonFunctionDescriptor", "Signature", "_Intrinsic", "_LowerResult", "_dynfunc",
    "_nrt_python", "cgutils", "compile_result", "compiler", "complaint", "config", "cpu_target",
    "create_error_model", "default_manager", "environment", "ffi", "get_host_cpu_features",
    "global_compiler_lock", "is_theirs", "numpy_support", "register_pass", "rtsys", "signature",
    "typed", "typeof_impl", "untyped",
]  # fmt: skip
