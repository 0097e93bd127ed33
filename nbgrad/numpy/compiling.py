"""Functions of `nbgrad.numpy` in functions that Numba compiles: to Numba they are NumPy's own."""

from types import BuiltinFunctionType
from typing import Any

from numba.core.typing.typeof import typeof_impl

from ..kernels.gate import plain_of

_before = typeof_impl.dispatch(BuiltinFunctionType)


@typeof_impl.register(BuiltinFunctionType)
def type_of(function: Any, context: Any) -> Any:
    """The type that Numba has for the function of NumPy behind a gate."""
    plain = plain_of(function)
    if plain is None:
        return _before(function, context)
    from numba.core.registry import cpu_target

    return cpu_target.typing_context.resolve_value_type(plain)
