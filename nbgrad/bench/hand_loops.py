"""Loops over rows of which the workloads by hand in Numba are made."""

from typing import Any

import numba
import numpy as np

plain: Any = numba.njit(error_model="numpy")
# Sums in any order, so that their loops vectorise; NaN and inf stay what they are.
summing: Any = numba.njit(error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
# The largest of numbers that are known to be finite.
finite: Any = numba.njit(error_model="numpy", fastmath=True)


@plain
def add_relu(x, b):
    """relu(x + b) in place of x."""
    zero = x.dtype.type(0)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            above = x[i, j] + b[j]
            x[i, j] = above if above > zero else zero


@plain
def add(x, b):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] += b[j]


@plain
def cut(ct, x):
    """The cotangent of what relu gave `x`, in place, and its sum over the samples."""
    b_bar = np.zeros(x.shape[1], x.dtype)
    zero = x.dtype.type(0)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            passed = ct[i, j] if x[i, j] > zero else zero
            ct[i, j] = passed
            b_bar[j] += passed
    return b_bar


@plain
def sum_rows(x):
    total = np.zeros(x.shape[1], x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            total[j] += x[i, j]
    return total


@finite
def largest(row):
    found = row[0]
    for j in range(1, row.size):
        found = row[j] if row[j] > found else found
    return found


@summing
def total_of(row):
    total = row.dtype.type(0)
    for j in range(row.size):
        total += row[j]
    return total


@summing
def dot(x, y):
    total = x.dtype.type(0)
    for j in range(x.size):
        total += x[j] * y[j]
    return total


@plain
def as_it_is(matrix):
    return matrix


@plain
def copied(matrix):
    """BLAS reads a small second matrix faster as it lies than transposed."""
    return np.ascontiguousarray(matrix)
