"""Functions and arguments for tests of compiled functions."""

import collections
import ctypes

import numpy as np
from numba.core import runtime

from nbgrad.transforms import trees

Pair = collections.namedtuple("Pair", "w b")


def loss(p, x):
    return np.sum(np.tanh(x @ p["w"] + p["b"]) ** 2)


def example(rng, rows=5):
    p = {"w": rng.normal(size=(3, 4)), "b": rng.normal(size=4)}
    return p, rng.normal(size=(rows, 3))


def energy(x):
    return np.sum(np.tanh(x) * x)


def large(x):
    """A function with more scratch memory than fits on the stack."""
    y = np.exp(-x) @ np.ones((300, 300))
    return np.sum(np.tanh(y) @ (y.T @ y) / 300.0) / 1e6


def close(found, expected, rtol=1e-11):
    found, expected = (trees.flatten_values(tree)[0] for tree in (found, expected))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-13)


def allocations():
    runtime._nrt_python.memsys_enable_stats()  # pyright: ignore[reportAttributeAccessIssue]
    return runtime.rtsys.get_allocation_stats().alloc  # pyright: ignore[reportPrivateImportUsage]


def table(arrays):
    return (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
