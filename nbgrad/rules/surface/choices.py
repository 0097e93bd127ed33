"""Choices by conditions and by index: select, choose, piecewise, compress and extract."""

from typing import Any

import numpy as np

from ...core.array import Array, implements
from ...core.primitive import shape_of
from ...errors import ArgumentError, ArgumentTypeError, DtypeError, EmptyError, OutError
from ...runtime.kinds import is_a
from ..dtypes import BOOL
from ..layout import array
from ..select import on_shared_values


def _given(x):
    return x if hasattr(x, "dtype") else array(x) if isinstance(x, (list, tuple)) else x


@implements(np.select)
def select(condlist, choicelist, default=0):
    """Elements of the first choice whose condition is true, else of `default`."""
    if len(condlist) != len(choicelist):
        raise ArgumentError("select: the lists of conditions and choices differ in length")
    if not condlist:
        raise EmptyError("select: needs at least one condition")
    out = _given(default)
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        if getattr(condition, "dtype", BOOL) != BOOL:
            raise DtypeError("select: a condition must be an array of bools")
        out = np.where(condition, _given(choice), out)
    return out


@implements(np.choose)
def choose(a, choices, out=None, mode="raise"):
    """Elements of the choices selected by the indices `a`."""
    if out is not None:
        raise OutError("choose: out=... cannot be written to: use what it returns")
    choices = list(choices)
    a, n = _given(a), len(choices)
    a = a if hasattr(a, "dtype") else np.asarray(a)
    if a.dtype.kind not in "iub":
        raise ArgumentTypeError(
            f"choose: the numbers of choices are {a.dtype}; they must be integers",
            code="NB-INTEGER",
        )
    if mode == "wrap":
        a = a % n
    elif mode == "clip":
        a = np.clip(a, 0, n - 1)
    elif mode != "raise":
        raise ArgumentError(f"choose: mode={mode!r} must be 'raise', 'wrap' or 'clip'")
    elif is_a(a, np.ndarray) and np.any((a < 0) | (a >= n)):
        raise ArgumentError(f"choose: invalid entry in the numbers of {n} choices")
    chosen = _given(choices[-1])
    for k in range(n - 2, -1, -1):
        chosen = np.where(np.equal(a, k), _given(choices[k]), chosen)
    return chosen if n > 1 else np.broadcast_to(chosen, np.broadcast_shapes(a.shape, chosen.shape))


@implements(np.piecewise)
def piecewise(x, condlist, funclist, *args, **kw):
    """The result of the function of the last condition that is true, 0 where none is.

    Each function is called with all of x, and its result is used where its condition is true.
    """
    if isinstance(condlist, (Array, np.ndarray)):
        single = len(shape_of(condlist)) <= len(shape_of(x)) and shape_of(x) != ()
        condlist = [condlist] if single and len(shape_of(condlist)) == len(shape_of(x)) else [
            condlist[i] for i in range(len(condlist))
        ]  # fmt: skip
    elif not is_a(condlist, (list, tuple, bool, np.bool_)):
        raise ArgumentTypeError(
            f"piecewise: conditions in a {type(condlist).__name__}: give a list"
        )
    elif is_a(condlist, (bool, np.bool_)) or (
        len(condlist) and is_a(condlist[0], (bool, np.bool_)) and shape_of(x) != ()
    ):
        condlist = [np.asarray(condlist)]
    n = len(condlist)
    if len(funclist) == n + 1:
        rest = np.logical_not(condlist[0])
        for condition in condlist[1:]:
            rest = np.logical_and(rest, np.logical_not(condition))
        condlist = [*condlist, rest]
    elif len(funclist) != n:
        raise ArgumentError(f"piecewise: with {n} conditions, either {n} or {n + 1} functions are "
                         f"expected, not {len(funclist)}")  # fmt: skip
    out = np.zeros(shape_of(x), x.dtype)
    for condition, function in zip(condlist, funclist, strict=True):
        value: Any = function(x, *args, **kw) if callable(function) else function
        out = np.where(condition, value, out)
    return out if out.dtype == x.dtype else out.astype(x.dtype)


_places = on_shared_values(np.flatnonzero)


@implements(np.compress)
def compress(condition, a, axis=None):
    """Elements of `a` along `axis` where the condition is true, by its current values."""
    if len(shape_of(condition)) != 1:
        raise ArgumentError("compress: the condition has one axis")
    return np.take(_given(a), _places(condition), axis)


@implements(np.extract)
def extract(condition, arr):
    """Elements of `arr` where the condition is true, by its current values."""
    return np.take(_given(arr), _places(condition))
