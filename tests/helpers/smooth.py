"""Derivatives of a function in all modes, beside differences and each other."""

from collections.abc import Callable

import numpy as np

import nbgrad

_STEP = 5e-4
_WEIGHTS = ((1, 0.75), (2, -3 / 20), (3, 1 / 60))


def _along(f: Callable, x: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The derivative of f at x along v, by central differences of order 6."""
    parts = (w * (f(x + i * _STEP * v) - f(x - i * _STEP * v)) for i, w in _WEIGHTS)
    return np.asarray(sum(parts)) / _STEP


def agree(f: Callable, *args: np.ndarray, twice: bool = True, rtol: float = 1e-8) -> None:
    """Compare the gradient of a weighted sum of f in each argument, its second derivative along a
    direction, forward mode, batches and compiled functions."""
    rng = np.random.default_rng(5)
    weights = rng.normal(size=np.shape(f(*args)))

    def loss(*args):
        return np.sum(weights * np.sin(f(*args)))

    places = tuple(range(len(args)))
    slopes = nbgrad.grad(loss, argnums=places)
    found = slopes(*args)
    directions = [rng.normal(size=np.shape(x)) for x in args]
    scale = sum(np.sum(np.abs(g * v)) for g, v in zip(found, directions, strict=True))
    for i, (x, v) in enumerate(zip(args, directions, strict=True)):

        def of_one(x, i=i):
            return loss(*args[:i], x, *args[i + 1 :])

        expected = _along(of_one, x, v)
        assert abs(np.sum(found[i] * v) - expected) < rtol * scale, f"argument {i}"
    both = nbgrad.jvp(loss, args, tuple(directions))[1]
    total = sum(np.sum(g * v) for g, v in zip(found, directions, strict=True))
    assert abs(both - total) < 1e-12 * scale
    for one, other in zip(nbgrad.compile(slopes)(*args), found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11 * scale)
    batch = [np.stack([x, x]) for x in args]
    for one, other in zip(nbgrad.vmap(slopes)(*batch), found, strict=True):
        np.testing.assert_allclose(one[1], other, rtol=1e-9, atol=1e-11 * scale)
    if twice:
        bent = nbgrad.jvp(slopes, args, tuple(directions))[1]
        curved = sum(np.sum(h * v) for h, v in zip(bent, directions, strict=True))

        def along(t):
            moved = [x + t * v for x, v in zip(args, directions, strict=True)]
            pairs = zip(slopes(*moved), directions, strict=True)
            return sum(np.sum(g * v) for g, v in pairs)

        expected = _along(along, np.zeros(()), np.ones(()))
        size = sum(np.sum(np.abs(h * v)) for h, v in zip(bent, directions, strict=True))
        assert abs(curved - expected) < rtol * size
