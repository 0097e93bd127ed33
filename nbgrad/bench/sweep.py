"""Time against size: a function that moves memory and one that multiplies, from 1 number to 1e7.

The least that the machine allows stands beside them: a gradient of Rosenbrock's function reads and
writes 8 bytes a number at least, a gradient of a product of two matrices with n numbers each takes
three products, 6 n**1.5 multiplications and additions.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from . import hand_numpy
from .workloads import Workload, product, rosenbrock

CURVES = ("rosenbrock", "product")
BYTES = 16
"""That a gradient of Rosenbrock's function moves a number: one is read, one is written."""


def flops_of(n: Any) -> Any:
    """Multiplications and additions of a product and of its gradients in both matrices."""
    return 6.0 * n**1.5


def workload(curve: str, n: int) -> Workload:
    """Rosenbrock's function of n numbers, or the sum of a product of two square matrices of about
    n numbers each."""
    if curve == "rosenbrock":
        return _made(curve, n, rosenbrock, lambda: _draws(n), hand_numpy.rosenbrock)
    side = max(1, round(n**0.5))
    return _made(curve, n, product, lambda: _draws((side, side), 2), _square_product)


def sizes(curve: str, most: float) -> list[int]:
    """The sizes of a curve: decades up to `most` numbers, for products up to a tenth of it."""
    decades = [10**k for k in range(8) if 10**k <= most]
    return decades[:-1] if curve == "product" else [max(2, n) for n in decades]


def _draws(shape: int | tuple[int, ...], count: int = 1) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    return [rng.normal(size=shape) for _ in range(count)]


def _made(
    curve: str, n: int, function: Callable, parameters: Callable[[], list], by_hand: Callable
) -> Workload:
    name = f"{curve} {n}"
    return Workload(name, name, function, parameters, lambda: [], by_hand, large=n > 1000)


def _square_product(parameters: list, data: list) -> Callable[[], tuple]:
    x, y = parameters
    z, ct = np.empty_like(x), np.ones_like(x)
    bars: list[Any] = [np.empty_like(x), np.empty_like(y)]

    def run() -> tuple:
        np.dot(x, y, out=z)
        np.dot(ct, y.T, out=bars[0])
        np.dot(x.T, ct, out=bars[1])
        return z.sum(), bars

    return run
