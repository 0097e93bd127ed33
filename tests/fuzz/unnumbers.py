"""Values where an element of an argument is no number: NumPy's, in both tiers."""

from collections.abc import Callable
from typing import Any

import numpy as np

import nbgrad

from . import static
from .case import Case, Different, NotHere, mode, plain, shown, tracked
from .oracle import results
from .reference import Reference
from .registry import SIGNED

UNSETTLED = {
    "slope", "body slope", "partition", "argpartition", "evalpoly", "cross_entropy", "zeta", *SIGNED
}  # fmt: skip
"""Slopes as complex steps have them, orders that are left open, constants, classes of no weight,
which of nan and inf goes first, and the sign of what is none."""


@mode
def value_of_nan(c: Case) -> None:
    """On tracked arrays."""

    def run(args: list[Any]) -> Any:
        return c.f(*(tracked(x) if k in c.program.floats else x for k, x in enumerate(args)))

    _compare(c, run)


@static.mode
def compiled_nan(c: Case) -> None:
    """Compiled."""
    f = nbgrad.compile(c.f)
    _compare(c, lambda args: static.run(f, *args))


def _compare(c: Case, run: Callable[[list[Any]], Any]) -> None:
    if "linalg" in str(c.program) or UNSETTLED.intersection(c.program.ops()):
        raise NotHere  # what LAPACK makes of nan is its own affair
    if "einsum" in c.program.ops() and any(not np.size(x.value) for x in c.program.inputs):
        raise NotHere  # a sum of nothing, times nan: NumPy has both answers
    args = _with_nan(c)
    try:
        with np.errstate(all="ignore"):
            expected = results(c.program.function(Reference())(*args))
    except Exception:
        raise NotHere from None
    for x, y in zip(map(plain, results(run(args))), map(np.asarray, expected), strict=True):
        if np.shape(x) != y.shape:
            raise Different(f"beside nan: a result of shape {np.shape(x)} for {y.shape}")
        scale = np.max(np.abs(y), where=np.isfinite(y), initial=1.0)
        if not np.allclose(x, y, rtol=c.rtol, atol=c.rtol * scale, equal_nan=True):
            raise Different(f"beside nan: {shown(x)} for {shown(y)}")


def _with_nan(c: Case) -> list[Any]:
    """The arguments, one number of which is nan."""
    rng = np.random.default_rng(c.program.seed + 2)
    args = list(c.program.make())
    able = [k for k in c.program.floats if np.size(args[k])]
    if not able:
        raise NotHere
    k = able[int(rng.integers(len(able)))]
    x = np.array(args[k])
    x.flat[int(rng.integers(x.size))] = np.nan
    args[k] = x if np.ndim(args[k]) or isinstance(args[k], np.ndarray) else float("nan")
    return args
