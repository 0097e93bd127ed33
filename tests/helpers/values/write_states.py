"""More of the table of programs that write: what steps through time, and what holds arrays."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from helpers.values.write_functions import case


@case((5,))
def wave(x):
    u, before = x.copy(), x.copy()
    for _ in range(3):
        after = 2 * u - before
        after[1:-1] += 0.2 * (u[2:] - 2 * u[1:-1] + u[:-2])
        before[...] = u
        u[:] = after
    return u


@case((6,))
def gauss_seidel(x):
    y = x.copy()
    for _ in range(2):
        for i in range(1, len(y) - 1):
            y[i] = 0.5 * (y[i - 1] + y[i + 1]) + 0.1 * x[i] ** 2
    return y


@case((6,))
def jacobi(x):
    y = x.copy()
    for _ in range(3):
        y[1:-1] = 0.5 * (y[:-2] + y[2:]) - 0.1 * y[1:-1] ** 2
    return y


@case((4,))
def saved_before_it_is_written(x):
    y = np.exp(x)
    square = y * y
    y += square
    y *= x
    return square * y


@case((6,))
def halves(x):
    y = x * 1.0

    def refine(part):
        if len(part) > 1:
            left, right = part[: len(part) // 2], part[len(part) // 2 :]
            refine(left)
            left += 0.5 * right[: len(left)]
            refine(right)
        else:
            part *= part

    refine(y)
    return y


@case((5,), (5,))
def runge_kutta(x, v):
    state, k = x.copy(), np.empty_like(x)
    total = np.zeros_like(x)
    for weight, step in ((1.0, 0.0), (2.0, 0.05), (2.0, 0.05), (1.0, 0.1)):
        np.multiply(v, state + step * k if step else state, out=k)
        total += weight * k
    state += 0.1 / 6 * total
    return state


@case((4,), (4,))
def leapfrog(q, p):
    q, p = q.copy(), p.copy()
    for _ in range(3):
        p -= 0.05 * np.sin(q)
        q += 0.1 * p
        p -= 0.05 * np.sin(q)
    return q * p


# -- what holds arrays ----------------------------------------------------------------------------


@case((4,))
def momentum(x):
    state = {"w": x.copy(), "v": np.zeros_like(x)}
    for _ in range(3):
        slope = np.sin(state["w"])
        state["v"] *= 0.9
        state["v"] -= 0.1 * slope
        state["w"] += state["v"]
    return state["w"]


@dataclass
class Adam:
    """Parameters and running means of an optimiser."""

    w: Any
    m: Any
    v: Any

    def step(self, slope):
        self.m *= 0.9
        self.m += 0.1 * slope
        self.v[...] = 0.99 * self.v + 0.01 * slope * slope
        self.w -= 0.1 * self.m / (np.sqrt(self.v) + 0.1)


@case((4,))
def adam(x):
    model = Adam(x.copy(), np.zeros_like(x), np.ones_like(x))
    for _ in range(3):
        model.step(np.cos(model.w) * x)
    return model.w


@case((3,), (3,))
def layers(x, y):
    held = [x * 1.0, y * 1.0]
    for i, layer in enumerate(held):
        layer *= i + 2.0
        held[1 - i][0] += layer[1]
    first, second = held
    return first * second


@case((4,))
def two_names(x):
    y = x.copy()
    z = y
    z += 1.0
    y[1:] *= z[:-1]
    total = np.sum(y)
    kept = total
    total += z[0]
    return y * kept + total
