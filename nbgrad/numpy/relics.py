"""NumPy's matrix and polynomial classes, with tracked arguments."""

from typing import Any

import numpy as np

from ..core.fillable import highest
from ..core.functions import functions, no_rule

__all__ = ["asmatrix", "bmat", "matrix", "poly1d"]


class Like(type):
    """Metaclass: instances of the NumPy base class count as instances."""

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, cls.__mro__[1])


class matrix(np.matrix, metaclass=Like):
    """`np.matrix`, which refuses tracked values: use arrays with two axes, and `@`."""

    def __new__(cls, data: Any, dtype: Any = None, copy: bool = True) -> Any:
        if highest(data) is not None:
            raise no_rule("np.matrix")
        return np.matrix(data, dtype, copy)


def asmatrix(data: Any, dtype: Any = None) -> Any:
    """`np.asmatrix`, which refuses tracked values."""
    if highest(data) is not None:
        raise no_rule("np.asmatrix")
    return np.asmatrix(data, dtype)


def bmat(obj: Any, ldict: Any = None, gdict: Any = None) -> Any:
    """`np.bmat`, which refuses tracked values."""
    if highest(obj) is not None:
        raise no_rule("np.bmat")
    return np.bmat(obj, ldict, gdict)


class poly1d(np.poly1d, metaclass=Like):
    """`np.poly1d`, whose coefficients may be tracked."""

    def __init__(self, c_or_r: Any, r: bool = False, variable: str | None = None):
        if highest(c_or_r) is None:
            return super().__init__(c_or_r, r, variable)
        super().__init__([0.0], False, variable)
        coefficients = functions["given"](c_or_r)  # leading zeros are not known
        vars(self)["coeffs"] = np.poly(coefficients) if r else np.atleast_1d(coefficients)
