"""Base classes of distributions: location and scale, supports, and invalid parameters."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import ArgumentTypeError
from ..rules.layout import given
from ..rules.nondiff import stopped
from ..runtime.kinds import is_a

__all__ = ["Continuous", "Discrete", "chosen", "operand", "plain", "whole"]


def operand(x: Any) -> Any:
    """An argument as an array of floats; Python numbers stay numbers, for promotion."""
    if is_a(x, (int, float)):
        return x
    x = given(x)
    return x.astype("float64") if x.dtype.kind in "iub" else x


def chosen(condition: Any, x: Any, other: float) -> Any:
    """x where the condition, a bool or an array, is true."""
    return x if condition is True or condition is np.True_ else np.where(condition, x, other)


def plain(out: Any) -> Any:
    """A plain array without axes as a NumPy scalar."""
    return out[()] if is_a(out, np.ndarray) else out


def whole(x: Any) -> Any:
    """Which elements are integers."""
    return np.equal(x, np.floor(x))


def _less(x: Any, loc: Any) -> Any:
    return x if is_a(loc, (int, float)) and loc == 0 else x - loc


class Continuous:
    """A continuous distribution: `standard` is its log density at loc 0 and scale 1, `below` the
    distribution function there, and `shapes` names its other parameters.

    `outside(y, *shapes)` is true outside of the support, which contains the point `inner`, and
    `valid(*shapes)` is true for valid shape parameters.
    """

    inner = 0.5
    shapes: tuple[str, ...] = ()
    standard: Callable[..., Any]
    below: Callable[..., Any]
    logpdf: Callable[..., Any]
    outside: Callable[..., Any] = lambda self, y, *shapes: False
    valid: Callable[..., Any] = lambda self, *shapes: True

    def located(self, x: Any, shapes: tuple, loc: Any, scale: Any) -> Any:
        """The log density at x."""
        x, loc, scale = operand(x), operand(loc), operand(scale)
        shapes = tuple(map(operand, shapes))
        with np.errstate(all="ignore"):
            y, is_one = _less(x, loc), is_a(scale, (int, float)) and scale == 1
            y = y if is_one else y / scale
            outside = self.outside(y, *shapes)
            # Replaced outside of the support, where the derivative might be nan.
            inside = y if outside is False else np.where(outside, self.inner, y)
            out = self.standard(inside, *shapes)
            out = out if is_one else out - np.log(scale)
            out = out if outside is False else np.where(outside, -np.inf, out)
        return plain(chosen(self._valid(shapes, scale), out, np.nan))

    def pdf(self, *args: Any, **options: Any) -> Any:
        """The density: exp of `logpdf`, of its arguments."""
        return np.exp(self.logpdf(*args, **options))

    def cdf(self, x: Any, *args: Any, **options: Any) -> Any:
        """The probability of at most x, of the arguments of `logpdf`.

        It has a derivative in x, loc and scale; NoRuleError is raised for one in a, b or df.
        """
        names = (*self.shapes, "loc", "scale")
        given = {"loc": 0, "scale": 1, **dict(zip(names, args, strict=False)), **options}
        if len(args) > len(names) or given.keys() != set(names):
            raise ArgumentTypeError(f"cdf: the arguments are x, {', '.join(names)}")
        x, *shapes, loc, scale = (operand(value) for value in (x, *map(given.get, names)))
        with np.errstate(all="ignore"):
            y = (x - loc) / scale
            outside = self.outside(y, *shapes)
            out = self.below(y if outside is False else np.where(outside, self.inner, y), *shapes)
            if outside is not False:
                out = np.where(outside, np.where(np.greater(y, 0), 1.0, 0.0), out)
        return plain(chosen(self._valid(tuple(shapes), scale), out, np.nan))

    def _valid(self, shapes: tuple, scale: Any) -> Any:
        valid, is_scale = self.valid(*shapes), np.greater(scale, 0)
        return is_scale if valid is True else np.logical_and(valid, is_scale)


class Discrete:
    """A discrete distribution: `logarithm` is the logarithm of its probabilities, and `highest` the
    largest count."""

    logarithm: Callable[..., Any]
    logpmf: Callable[..., Any]
    valid: Callable[..., Any]
    highest: Callable[..., Any] = lambda self, *shapes: math.inf

    def pmf(self, *args: Any, **options: Any) -> Any:
        """The probability: exp of `logpmf`, of its arguments."""
        return np.exp(self.logpmf(*args, **options))

    def located(self, k: Any, shapes: tuple, loc: Any) -> Any:
        """The log probability of k, without a derivative in k."""
        shapes = tuple(map(operand, shapes))
        k = _less(stopped(operand(k)), stopped(operand(loc)))
        with np.errstate(all="ignore"):
            possible = np.logical_and(whole(k), np.greater_equal(k, 0))
            possible = np.logical_and(possible, np.less_equal(k, self.highest(*shapes)))
            possible = np.logical_or(possible, np.isnan(k))
            out = self.logarithm(np.where(possible, k, 0.0), *shapes)
        out = np.where(possible, out, -np.inf)
        return plain(np.where(self.valid(*shapes), out, np.nan))
