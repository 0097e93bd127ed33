"""Derivatives along several directions that differ."""

import numpy as np
import pytest

import nbgrad


def cubic(a):
    s = 0.0
    for i in range(a.shape[0]):
        s += a[i] * a[i] * a[i] + a[i] * a[0] * a[1]
        a[i] = s
    return s * a[2]


def along(f, direction):
    return lambda x: nbgrad.jvp(f, (x,), (direction,))[1]


def test_derivatives_along_different_directions_commute():
    x, u, v, w = np.random.default_rng(0).normal(size=(4, 4))
    f = nbgrad.njit(cubic)
    second, swapped = along(along(f, u), v)(x), along(along(f, v), u)(x)
    assert second == pytest.approx(swapped, rel=1e-12)
    eps = 1e-6
    first = along(f, u)
    assert second == pytest.approx((first(x + eps * v) - first(x - eps * v)) / (2 * eps), rel=1e-7)
    thirds = [along(along(along(f, p), q), r)(x) for p, q, r in ((u, v, w), (w, u, v), (v, w, u))]
    assert thirds == pytest.approx([thirds[0]] * 3, rel=1e-12)
    bent = along(along(nbgrad.grad(f), u), v)(x)
    assert np.dot(bent, w) == pytest.approx(thirds[0], rel=1e-12)
