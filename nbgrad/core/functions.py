"""The registry of NumPy functions with derivatives, and the errors for all others."""

import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any

import numpy as np

from ..errors import ArgumentTypeError, NoRuleError
from ..runtime.kinds import is_a

functions: dict[Any, Callable] = {}
"""NumPy functions and ufuncs, and the functions of nbgrad that replace them."""

views: set[Callable] = set()
"""NumPy functions whose results may be views of their arguments."""

remedies: dict[str, str] = {}
"""The reasons why functions of NumPy and SciPy, or whole modules of SciPy, are refused, and what to
write instead, by their full names."""


def implements(*targets: Any) -> Callable[[Callable], Callable]:
    """Decorator: calls of the NumPy functions `targets` with an Array call this function."""

    def register(function: Callable) -> Callable:
        functions.update(dict.fromkeys(targets, function))
        return function

    return register


def mapped(f: Callable, x: Any) -> Any:
    """Apply `f` to an argument, or to all items of nested lists and tuples."""
    if isinstance(x, list):
        return [mapped(f, item) for item in x]
    if isinstance(x, tuple):
        items = [mapped(f, item) for item in x]
        return type(x)(*items) if hasattr(x, "_fields") else tuple(items)
    return f(x)


def items_of(x: Any) -> Iterator[Any]:
    """An argument, or all items of nested lists and tuples."""
    if isinstance(x, (list, tuple)):
        for item in x:
            yield from items_of(item)
    else:
        yield x


def check_call(name: str, function: Callable, args: Sequence, options: dict) -> None:
    """Raise TypeError for arguments that nbgrad's version of a NumPy function does not take, with
    its signature."""
    form = inspect.signature(function)
    try:
        form.bind(*args, **options)
    except TypeError as wrong:
        raise ArgumentTypeError(
            f"{name}: {wrong}; with tracked arrays it is {name}{form}"
        ) from None


def name_of(function: Callable) -> str:
    """The full name of a NumPy function."""
    return f"{function.__module__.replace('numpy', 'np', 1)}.{function.__name__}"


def of_ufunc(ufunc: np.ufunc) -> tuple[str, Callable | None]:
    """The full name of a ufunc, and the function that replaces it. Ufuncs of SciPy are looked up by
    name, as nbgrad does not import SciPy."""
    name = ufunc.__name__
    if getattr(np, name, None) is ufunc:
        return f"np.{name}", functions.get(ufunc)
    # SciPy's Python functions call private ones.
    for home in ("scipy.special", "scipy.special._ufuncs"):
        if getattr(sys.modules.get(home), name, None) is ufunc:
            return f"scipy.special.{name}", functions.get(f"scipy.special.{name}")
    return name, functions.get(ufunc)


def no_rule(name: str, remedy: str = "") -> NoRuleError:
    """The error for a function without a rule. `remedy` is its key in `remedies`, by default its
    name."""
    return NoRuleError(
        f"{name} has no derivative rule in nbgrad: "
        + remedies.get(
            remedy or name,
            "compose it from functions that have one, or call it on x.data where no derivative is "
            "needed",
        )
    )


_COMPARING = {inspect.unwrap(f).__code__ for f in (np.array_equal, np.array_equiv)}


def compared(x: Any, below: Any, frame: FrameType) -> np.ndarray | None:
    """The array `below`, or an object array of the elements of x, for NumPy functions that return
    False for an exception; an object for products of SciPy's sparse matrices, which then leave it
    to x; None for any other function."""
    if frame.f_code not in _COMPARING:
        return np.array(None, object) if is_sparse_product(frame) else None
    if x.shape and not x.is_batch and is_a(below, np.ndarray):
        return below
    out = np.empty(x.shape, object)
    for index in np.ndindex(x.shape):
        out[index] = x[index]
    return out


def is_sparse_product(frame: FrameType) -> bool:
    """Whether a frame is that of a product of SciPy's sparse matrices."""
    if frame.f_code.co_name != "_matmul_dispatch":
        return False
    return frame.f_globals.get("__name__", "").startswith("scipy.sparse.")


def in_scipy(frame: FrameType | None) -> str:
    """The running function of SciPy and its remedy, as the beginning of a message; "" if no
    function with a remedy is running."""
    names = list(_scipy_names(frame))
    for name in [*names, *(".".join(name.split(".")[:2]) for name in names)]:
        if name in remedies:
            public = (name for name in reversed(names) if _is_public(name))
            return f"{next(public, names[-1])}: {remedies[name]}; "
    return ""


def _is_public(name: str) -> bool:
    _, module, thing, *_ = name.split(".")
    return hasattr(sys.modules.get(f"scipy.{module}"), thing)


def _scipy_names(frame: FrameType | None) -> Iterator[str]:
    """The full names of the running functions of SciPy, innermost first."""
    while frame is not None:
        library, _, module = frame.f_globals.get("__name__", "").partition(".")
        if library not in ("numpy", "scipy"):
            return
        # The distribution of a method; the function inside of a wrapper.
        owner, wrapped = frame.f_locals.get("self"), frame.f_locals.get("f")
        names = [type(owner).__name__.removesuffix("_gen")] if owner is not None else []
        if inspect.isfunction(wrapped) and wrapped.__module__.startswith("scipy."):
            yield ".".join(["scipy", module.partition(".")[0], frame.f_code.co_name])
            library, _, module = wrapped.__module__.partition(".")
            names.append(wrapped.__name__)
        else:
            names.append(frame.f_code.co_name)
        if library == "scipy":
            yield ".".join([library, module.partition(".")[0], *names])
        frame = frame.f_back
