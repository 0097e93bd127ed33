"""nbgrad's functions that compiled programs call by name: scalar functions, products, threads."""

from functools import cache
from typing import Any

from ...kernels import blas, scalar
from ...threads import helpers

__all__ = ["find"]

_MODULES = scalar, blas, helpers


@cache
def find(name: str) -> Any:
    """The function of this name."""
    return next(getattr(module, name) for module in _MODULES if hasattr(module, name))
