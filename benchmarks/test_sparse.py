"""Sparse Jacobians and Hessians of discretised equations, beside dense ones and products by hand.

    pytest benchmarks/test_sparse.py -n 0 --benchmark-enable -rP
    python benchmarks/test_sparse.py [heat] [brusselator] [plane]       a table

The dense Jacobian of the table is `nbgrad.jacobian`, compiled, of DENSE unknowns, a fraction of
those of the sparse one. Its time for all unknowns is this time times the square of the ratio, as
each product and their number grow with the unknowns. Memory is the peak of NumPy's arrays in a
call.
"""

import sys
import tracemalloc
from collections.abc import Callable
from statistics import median
from time import perf_counter

import numpy as np
import pytest

import nbgrad

UNKNOWNS, DENSE = 10_000, 2_500
# The dense one takes at least so many times as long.
TARGET = 100.0


def heat(u):
    """A rod with fixed ends and a reaction."""
    v = np.pad(u, 1)
    return (v[2:] - 2.0 * v[1:-1] + v[:-2]) * float(u.size) ** 2 - u**3


def brusselator(y):
    """Two species on a line (Hairer and Wanner, Solving Ordinary Differential Equations II)."""
    u, v = np.reshape(y, (2, -1))
    n = u.size
    bends = []
    for w, end in ((u, 1.0), (v, 3.0)):
        w = np.pad(w, 1, constant_values=end)
        bends.append(0.02 * n**2 * (w[2:] - 2.0 * w[1:-1] + w[:-2]))
    turned = u * u * v
    return np.concatenate([1.0 + turned - 4.0 * u + bends[0], 3.0 * u - turned + bends[1]])


def plane(y):
    """The same on a square, periodic."""
    u, v = w = np.reshape(y, (2, int(np.sqrt(y.size // 2)), -1))
    around = sum(np.roll(w, shift, axis) for shift in (1, -1) for axis in (1, 2))
    bends = 0.002 * y.size * (around - 4.0 * w)
    turned = u * u * v
    return np.ravel(np.stack([1.0 + turned - 4.4 * u, 3.4 * u - turned]) + bends)


PROBLEMS: dict[str, tuple[Callable, int]] = {
    # The function, and the least number of colours: of a stencil of 3, 2 times 3, 2 times 5.
    "heat": (heat, 3),
    "brusselator": (brusselator, 6),
    "plane": (plane, 10),
}


def point(name: str, unknowns: int) -> np.ndarray:
    if name == "plane":
        unknowns = 2 * round((unknowns / 2) ** 0.5 / 5) ** 2 * 25  # a multiple of 5 each way
    return np.random.default_rng(0).uniform(0.5, 1.5, unknowns)


@pytest.mark.parametrize("name", PROBLEMS)
def test_sparse_jacobian(benchmark, name):
    f, colors = PROBLEMS[name]
    jacobian, x = nbgrad.sparse_jacobian(f), point(name, UNKNOWNS)
    assert jacobian.colors(x).max() + 1 == colors
    small = point(name, 200)
    np.testing.assert_allclose(jacobian(small).toarray(), nbgrad.jacobian(f)(small), rtol=1e-10)
    benchmark(jacobian, x)


@pytest.mark.parametrize("name", PROBLEMS)
def test_sparse_hessian(benchmark, name):
    f, _ = PROBLEMS[name]
    hessian, x = nbgrad.sparse_hessian(lambda y: np.sum(f(y) ** 2)), point(name, UNKNOWNS)
    small = point(name, 200)
    dense = nbgrad.hessian(lambda y: np.sum(f(y) ** 2))(small)
    np.testing.assert_allclose(hessian(small).toarray(), dense, rtol=1e-10, atol=1e-6)
    benchmark(hessian, x)


def seconds(f: Callable, rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = perf_counter()
        f()
        times.append(perf_counter() - start)
    return median(times)


def megabytes(f: Callable) -> float:
    tracemalloc.start()
    f()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def main(names: list[str]) -> None:
    print("problem      unknowns  nonzeros  colours  first s  call ms  MB   dense s   ratio")
    for name in names or PROBLEMS:
        f, _ = PROBLEMS[name]
        jacobian, x = nbgrad.sparse_jacobian(f), point(name, UNKNOWNS)
        first = seconds(lambda: jacobian(x), 1)  # noqa: B023
        call = seconds(lambda: jacobian(x), 30)  # noqa: B023
        dense, small = nbgrad.compile(nbgrad.jacobian(f)), point(name, DENSE)
        dense(small)
        whole = seconds(lambda: dense(small), 3) * (x.size / small.size) ** 2  # noqa: B023
        memory = megabytes(lambda: jacobian(x))  # noqa: B023
        print(
            f"{name:12} {x.size:8} {jacobian.pattern(x).nnz:9} {jacobian.colors(x).max() + 1:8} "
            f"{first:8.2f} {1e3 * call:8.2f} {memory:4.1f} {whole:8.1f} {whole / call:8.0f}"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
