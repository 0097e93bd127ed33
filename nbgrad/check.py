"""`check_grads`: compare derivatives with finite differences."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .core.array import Array
from .core.modes import no_tracking
from .core.primitive import shape_of
from .errors import (
    ArgumentError,
    ArgumentTypeError,
    DimensionMismatch,
    GradientMismatch,
    NoFloatError,
    ResultError,
    require_unmasked,
)
from .transforms import grad, jvp, trees
from .transforms.direct import callee
from .values.track import track

# Central differences of order 6: sum of weight * f(x + k * step) / step.
_STENCIL = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))
# In float64 the rounding error is then 5e-14 of the scale (2e-16 / step). The truncation error
# (step ** 6 / 140 times the seventh derivative) is no larger if `f` varies on a scale above 1/3.
_STEP = 4e-3


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    modes: Sequence[str] = ("reverse",),
    order: int = 1,
    *,
    rtol: float = 1e-6,
    seed: int = 0,
) -> None:
    """Compare the derivatives of `f` with finite differences; raise an error if they differ.

    The result of `f` is multiplied by random weights and summed, and this scalar function is
    differentiated. Everything is computed in float64, with central differences of order 6. Avoid
    kinks, at which finite differences and derivatives differ.

    Arguments:
        f: a function that returns an array, or nested dicts, lists and tuples of arrays.
        args: the point: numbers, float arrays, or nested dicts, lists and tuples of them.
        modes: "reverse", "forward", or both.
        order: the highest order of the derivatives to check.
        rtol: the tolerance, relative to the largest derivative.
        seed: the seed of the random weights.

    Raises AssertionError that names the worst element with both values, ValueError for an unknown
    mode.

    >>> nbgrad.check_grads(lambda x: np.tanh(x) * x, (np.array([0.5, -1.0]),), order=2)
    """
    unknown = set(modes) - {"reverse", "forward"}
    if unknown or order < 1:
        raise ArgumentError(
            f"check_grads: unknown modes {sorted(unknown)} or order {order}: use the modes "
            "'reverse' and 'forward' and an order of at least 1"
        )
    trees.require_function("check_grads", f)
    f = callee(f)
    if not isinstance(args, (tuple, list)):
        raise ArgumentTypeError("check_grads: args must be a tuple, as in check_grads(f, (x,))")
    rng = np.random.default_rng(seed)
    leaves, rebuild = trees.flatten(list(args))
    places = [i for i, leaf in enumerate(leaves) if trees.is_differentiable(leaf)]
    if not places:
        raise NoFloatError(
            f"check_grads: the arguments hold no float to differentiate; {trees.no_floats(leaves)}"
        )
    for i in places:
        require_unmasked(leaves[i], "check_grads: an argument")
    values = [np.array(leaves[i], np.float64) for i in places]

    def call(*floats):
        filled = list(leaves)
        for i, value in zip(places, floats, strict=True):
            filled[i] = value
        return f(*rebuild(filled))

    _check(_projected(call, values, rng), values, modes, order, rtol, rng, "")


def _projected(f: Callable, values: list, rng: np.random.Generator) -> Callable:
    """Return the function that sums the results of `f`, weighted by random numbers."""
    with no_tracking():
        outputs, _ = trees.flatten(f(*map(track, values)))
    for output in outputs:
        if not isinstance(output, (Array, np.ndarray, np.generic, float, int)):
            raise ResultError(
                f"check_grads: the function returned a {type(output).__name__}, not an array"
            )
    weights = [rng.normal(size=shape_of(output)) for output in outputs]

    def scalar(*args):
        results, _ = trees.flatten(f(*args))
        terms = [np.sum(output * weight) for output, weight in zip(results, weights, strict=True)]
        return sum(terms[1:], terms[0])

    return scalar


def _check(scalar, values, modes, order, rtol, rng, label) -> None:
    positions = tuple(range(len(values)))
    gradients = grad(scalar, positions)
    exact = [np.asarray(g, np.float64) for g in gradients(*values)]
    expected = [_differences(scalar, values, i) for i in positions]
    scale = max([1e-300, *(float(np.abs(e).max()) for e in expected if e.size)])
    if "reverse" in modes:
        for i, (derivative, difference) in enumerate(zip(exact, expected, strict=True)):
            _compare(derivative, difference, scale, rtol, f"{label}gradient of argument {i}")
    if "forward" in modes:
        for i, difference in enumerate(expected):
            for k, index in enumerate(np.ndindex(difference.shape)):
                tangents = [np.zeros(value.shape) for value in values]
                tangents[i][index] = 1.0
                derivative = np.asarray(jvp(scalar, values, tangents)[1])
                what = f"{label}tangent along element {index} of argument {i}"
                _compare(derivative, np.asarray(difference.flat[k]), scale, rtol, what)
    if order > 1:
        inner = _projected(lambda *args: list(gradients(*args)), values, rng)
        _check(inner, values, modes, order - 1, rtol * 10, rng, label + "gradient of the ")


def _differences(scalar: Callable, values: list, position: int) -> np.ndarray:
    """Return the gradient of `scalar` with respect to one argument, by finite differences."""
    out = np.empty(values[position].shape)
    for index in np.ndindex(out.shape):
        x = values[position][index]
        step = _STEP * max(1.0, abs(float(x)))
        total = 0.0
        for k, weight in _STENCIL:
            for sign in (1, -1):
                moved = list(values)
                moved[position] = np.array(values[position])
                moved[position][index] = x + sign * k * step
                with no_tracking():
                    total += sign * weight * _number(scalar(*map(track, moved)))
        out[index] = total / step
    return out


def _number(x: Any) -> float:
    while isinstance(x, Array):
        x = x.below
    return float(x)


def _compare(derivative, difference, scale: float, rtol: float, what: str) -> None:
    if derivative.shape != difference.shape:
        raise DimensionMismatch(
            f"check_grads: {what} has shape {derivative.shape}, not {difference.shape}"
        )
    error = np.abs(derivative - difference)
    bad = ~(error <= rtol * scale)
    if bad.any():
        worst = np.unravel_index(
            int(np.argmax(np.where(np.isnan(error), np.inf, error))), bad.shape
        )
        index = tuple(map(int, worst))
        raise GradientMismatch(
            f"check_grads: the {what} is {float(derivative[index]):.12g} at index {index}, but "
            f"finite differences give {float(difference[index]):.12g}; the largest derivative is "
            f"{scale:.3g}"
        )
