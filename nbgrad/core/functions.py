"""The functions of NumPy that have a derivative here, and the errors for calls that have none."""

import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import NoRuleError

functions: dict[Any, Callable] = {}
"""NumPy functions (and ufuncs) and what stands in for them, with NumPy's own signature."""

remedies: dict[str, str] = {}
"""Why functions of NumPy are refused, by their full names, and what to write in their place."""


def implements(*targets: Any) -> Callable[[Callable], Callable]:
    """Decorator: calls of the NumPy functions `targets` on an Array mean this function."""

    def register(function: Callable) -> Callable:
        functions.update(dict.fromkeys(targets, function))
        return function

    return register


def check_call(name: str, function: Callable, args: Sequence, options: dict) -> None:
    """Raise TypeError for arguments that the stand-in of a NumPy function does not take, naming
    them beside those that it does."""
    form = inspect.signature(function)
    try:
        form.bind(*args, **options)
    except TypeError as wrong:
        raise TypeError(f"{name}: {wrong}; with tracked arrays it is {name}{form}") from None


def name_of(function: Callable) -> str:
    """The full name of a NumPy function."""
    return f"{function.__module__.replace('numpy', 'np', 1)}.{function.__name__}"


def of_ufunc(ufunc: np.ufunc) -> tuple[str, Callable | None]:
    """The full name of a ufunc, and what stands in for it. One of SciPy is looked up by its name,
    as SciPy is not imported for it."""
    name = ufunc.__name__
    if getattr(np, name, None) is ufunc:
        return f"np.{name}", functions.get(ufunc)
    # Private ones are called by functions of SciPy in Python.
    for home in ("scipy.special", "scipy.special._ufuncs"):
        if getattr(sys.modules.get(home), name, None) is ufunc:
            return f"scipy.special.{name}", functions.get(f"scipy.special.{name}")
    return name, functions.get(ufunc)


def no_rule(name: str) -> NoRuleError:
    """The error for a function without a rule."""
    return NoRuleError(
        f"{name} has no derivative rule in nbgrad: "
        + remedies.get(
            name,
            "compose it from functions that have one, or call it on x.data where no derivative is "
            "needed",
        )
    )
