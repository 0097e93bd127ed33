"""NumPy functions that run as NumPy defines them: Python functions of other functions.

Their code gets globals in which `asarray` and `asanyarray` return tracked arrays as they are. All
else that it calls is dispatched by NumPy's protocols. A definition that writes to new plain arrays,
or that decides by values, does not run on tracked arrays, or slowly; such functions are written in
this package. `tests/rules/test_surface.py` compares each with NumPy in every mode.
"""

import inspect
from collections.abc import Callable
from functools import cache
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from ...core.functions import functions
from ...kernels.shapes import lower_triangle
from ..layout import given


def _asarray(a: Any, dtype: Any = None, order: Any = None) -> Any:
    if not hasattr(a, "dtype"):
        a = given(a)
    return a if dtype is None or a.dtype == dtype else a.astype(dtype)


_CONVERSIONS = {"asarray": _asarray, "asanyarray": _asarray, "tri": lower_triangle}


@cache
def _converting(module: ModuleType) -> Any:
    """A module of NumPy with other conversions."""
    return SimpleNamespace(**{**vars(module), **_CONVERSIONS})


_spaces: dict[str, dict[str, Any]] = {}


def definition(function: Any) -> Callable:
    """The definition of a NumPy function, for tracked arrays."""
    plain = inspect.unwrap(function)
    names = plain.__globals__
    space = _spaces.get(names["__name__"])
    if space is None:
        space = _spaces[names["__name__"]] = {
            name: _converting(x) if isinstance(x, ModuleType) and "asarray" in vars(x)
            else _CONVERSIONS.get(name, x)
            for name, x in names.items()
        }  # fmt: skip
    own = FunctionType(plain.__code__, space, plain.__name__, plain.__defaults__)
    own.__kwdefaults__ = plain.__kwdefaults__
    space[plain.__name__] = own  # for other definitions: a direct call takes half the time
    own.__doc__ = "As NumPy defines it, by other functions."
    return own


_NAMES = {
    np: """
        angle append apply_over_axes atleast_1d atleast_2d atleast_3d diag_indices_from dsplit
        dstack expand_dims fliplr flipud hsplit hstack logspace matrix_transpose
        moveaxis polyadd polysub real_if_close rollaxis rot90 tril
        tril_indices_from triu triu_indices_from unstack vsplit vstack""",
    np.fft: "fftshift ifftshift",
    np.linalg: """
        cross diagonal matmul matrix_norm matrix_transpose multi_dot outer svdvals tensordot
        tensorinv trace vector_norm""",
}
for _module, _names in _NAMES.items():
    for _name in _names.split():
        if hasattr(_module, _name):  # not in every version of NumPy
            _function = getattr(_module, _name)
            functions[_function] = definition(_function)
functions |= {vars(np)[name]: functions[np.vstack] for name in ("row_stack",) if name in vars(np)}
