"""What tests draw arguments from: intervals, and the calls that a row lists."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Interval(NamedTuple):
    """Where an argument may lie: tests draw from it uniformly."""

    low: float
    high: float


class Dominant(Interval):
    """Square matrices with such elements, and 2 more on the diagonal: far from singular."""


reals = Interval(-2.5, 2.5)
positive = Interval(0.3, 2.5)
above_one = Interval(1.3, 3.5)
definite = Dominant(-0.4, 0.4)


class Sample(NamedTuple):
    """One call that tests make: arguments (a shape drawn from `domain`, or a given array), and
    parameters."""

    args: tuple[Any, ...]
    params: dict[str, Any]
    domain: Interval = reals


def sample(*args, domain: Interval = reals, **params) -> Sample:
    """A test call: a tuple of ints is the shape of a random array, anything else itself."""
    return Sample(args, params, domain)


def in_doubles(name: str) -> Callable:
    """A function of `scipy.special` as a reference: in float64, and rounded to the dtype to which
    NumPy promotes its arguments. Some of SciPy's own loops lose digits in float32 and, up to 1.17,
    take numbers of Python's for float64."""

    def reference(*args):
        from scipy import special  # here, as only tests ask

        wide = getattr(special, name)(*(np.asarray(arg, np.float64) for arg in args))
        return wide.astype(np.result_type(*args))

    return reference
