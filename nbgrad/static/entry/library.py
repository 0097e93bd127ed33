"""The functions of ours that compiled programs call, by name."""

from functools import cache
from typing import Any

from ...compiler import pointers
from ...kernels import (
    banded,
    blas,
    exponentials,
    random,
    running,
    scalar,
    selection,
    sorting,
    systems,
)
from ...threads import helpers

__all__ = ["find"]

_MODULES = (
    scalar, banded, blas, exponentials, random, running, selection, sorting, systems, helpers,
    pointers,
)  # fmt: skip


@cache
def find(name: str) -> Any:
    """The function of this name."""
    return next(getattr(module, name) for module in _MODULES if hasattr(module, name))
