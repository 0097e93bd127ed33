"""Programs at zeros and ties: each mode has the same of several derivatives."""

from typing import Any

import numpy as np

import nbgrad

from .case import Case, Different, NotHere, mode, plain
from .oracle import near

NUMBERS = (-1.0, 0.0, 0.0, 1.0, 1.0, 2.0)
UNSETTLED = {
    "convolve", "correlate", "corrcoef", "cumprod", "cumulative_prod", "dot", "einsum", "inner",
    "kron", "matmul", "matrix_power", "matvec", "multi_dot", "nancumprod", "partition", "tensordot",
    "vecmat",
}  # fmt: skip
"""Products in which 0 times inf is nan, and orders that are left open."""


@mode
def kinks(c: Case) -> None:
    """Reverse and forward mode, and both twice over, where one of the two gives a number."""
    c.require_slopes()
    point = _point(c)
    if c.program.length > 6 or UNSETTLED.intersection(c.program.ops()):
        raise NotHere
    try:
        with np.errstate(all="ignore"):
            _compare(c, "kinks", _slope(c, point), _along(c, c.scalar, point))
            if c.rounding < 1e-10:
                twice = _along(c, lambda *x: _slope(c, x), point)
                _compare(c, "kinks of slopes", twice, _curved(c, point))
    except (ArithmeticError, IndexError, ValueError, np.linalg.LinAlgError):
        raise NotHere from None  # refused at these numbers


def _point(c: Case) -> tuple[Any, ...]:
    """Numbers among which there are zeros and equal ones."""
    rng = np.random.default_rng(c.program.seed + 3)
    drawn = [rng.choice(NUMBERS, np.shape(x)) for x in c.moving]
    return tuple(
        np.asarray(new, x.dtype) if isinstance(x, (np.ndarray, np.generic)) else float(new)
        for new, x in zip(drawn, c.moving, strict=True)
    )


def _along(c: Case, f: Any, point: tuple[Any, ...]) -> Any:
    return nbgrad.jvp(f, point, c.directions)[1]


def _slope(c: Case, point: tuple[Any, ...]) -> Any:
    """The gradients along the directions."""
    slopes = nbgrad.grad(c.scalar, tuple(range(len(point))))(*point)
    return sum(np.sum(g * u) for g, u in zip(slopes, c.directions, strict=True))


def _curved(c: Case, point: tuple[Any, ...]) -> Any:
    """Forward mode twice."""
    return _along(c, lambda *x: _along(c, c.scalar, x), point)


def _compare(c: Case, what: str, found: Any, expected: Any) -> None:
    found, expected = np.asarray(plain(found)), np.asarray(plain(expected))
    if not (np.all(np.isfinite(found)) or np.all(np.isfinite(expected))):
        return
    if not near(found, expected, 1e-7 if c.rounding < 1e-10 else 1e-2, 1.0):
        raise Different(f"{what}: {found} for {expected}")
