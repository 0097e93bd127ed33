"""The private pieces of Numba and llvmlite that are used here: all of them, and nowhere else.

`numba`, `numba.types`, `numba.extending`, `numba.core.types`, `errors` and `cgutils`, `llvmlite.ir`
and `llvmlite.binding` are documented; whatever else Numba has may go with its next version. It is
looked for when this is imported, so that a missing piece is one sentence.
"""

from types import ModuleType
from typing import Any

import numba

from ..errors import UnsupportedVersion

SUPPORTED = "numba>=0.62,<0.69"
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
    from numba.core.bytecode import FunctionIdentity
    from numba.core.ccallback import CFunc
    from numba.core.codegen import JITCodeLibrary, get_host_cpu_features
    from numba.core.compiler import Compiler, CompilerBase, compile_result
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.environment import Environment
    from numba.core.errors import NumbaError
    from numba.core.funcdesc import FunctionDescriptor, PythonFunctionDescriptor
    from numba.core.registry import CPUDispatcher, cpu_target
    from numba.core.runtime import _nrt_python  # pyright: ignore[reportAttributeAccessIssue]
    from numba.core.runtime.nrt import rtsys
    from numba.core.typing.templates import Signature, signature
    from numba.core.typing.typeof import typeof_impl
    from numba.extending import overload
    from numba.np import numpy_support
except ImportError as missing:
    raise UnsupportedVersion(complaint(str(missing))) from missing

_ATTRIBUTES: tuple[tuple[Any, str], ...] = (
    (_dynfunc, "make_function"),
    (
        cgutils,
        "false_bit for_range for_range_slice get_or_insert_function if_unlikely pack_array "
        "unpack_tuple",
    ),
    (config, "DISABLE_JIT LOOP_VECTORIZE OPT reload_config"),
    (numpy_support, "from_dtype"),
    (type(rtsys), "initialize library"),
    (
        JITCodeLibrary,
        "_optimize_functions _get_module_for_linking _optimize_final_module "
        "_finalize_final_module _finalize_dynamic_globals _verify_declare_only_symbols",
    ),
    (cpu_target, "typing_context"),
    (typeof_impl, "dispatch register"),
    (CompilerBase, "compile_extra define_pipelines"),
    (CPUDispatcher, "compile typeof_pyval _compile_for_args _explain_matching_error"),
    (FunctionIdentity, "from_function"),
    (Environment, "from_fndesc"),
)
for _owner, _names in _ATTRIBUTES:
    for _name in _names.split():
        if not hasattr(_owner, _name):
            raise UnsupportedVersion(
                complaint(f"{getattr(_owner, '__name__', _owner)} lacks {_name}")
            )

__all__ = [
    "SUPPORTED", "CFunc", "CPUDispatcher", "Compiler", "CompilerBase", "Environment",
    "FunctionDescriptor", "FunctionIdentity", "JITCodeLibrary", "NumbaError",
    "PythonFunctionDescriptor", "Signature", "_dynfunc", "_nrt_python", "cgutils",
    "compile_result", "compiler", "complaint", "config", "cpu_target",
    "environment", "ffi", "get_host_cpu_features", "global_compiler_lock", "is_theirs",
    "numpy_support", "overload", "rtsys", "signature", "typeof_impl",
]  # fmt: skip
