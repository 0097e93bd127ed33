"""Branches inside of conditions, which become selects one in another."""

import math

import numpy as np

import nbgrad


@nbgrad.njit
def damped(a, b, f, is_first):
    b[-1] -= math.atan2(0.5, 1.5 + b[0] * b[0]) if is_first else math.cos(f)
    f += a[-1] / 4.0
    t = 0
    while t < 2 and (b[-1] if f > 0.0 else f) >= -0.5:
        t += 1
        a[t - 1] = math.atan2(b[t - 1], 1.5 + f * f) / (1.5 + f * f)
        f *= math.tanh(f + f)
    return f


@nbgrad.njit
def drawn(a, b, c):
    f = 0.0
    for p in range(3):
        if p < 1:
            f = damped(a, b, c, False)
        f = damped(b, a, 0.0, p == 0)
    return 0.3 * a[0] + 0.7 * a[1] + 0.9 * b[0] - 0.4 * b[1] + f


def test_a_choice_reads_what_the_branch_around_has_set():
    a, b = np.array([0.7327716755752793, 1.490719732867605]), np.array([1.0655, 0.9152])
    for c in (-0.4, 0.1, 0.6):
        slopes = nbgrad.grad(drawn, (0, 1, 2))(a, b, c)
        for place, slope in enumerate(slopes):
            tangent = nbgrad.jacobian(drawn, place, mode="forward")(a, b, c)
            np.testing.assert_allclose(slope, tangent, rtol=1e-12, atol=1e-15)
