"""Loops of independent rounds: which ones are found, and their pieces in any order."""

import numpy as np
import pytest
from fuzz.derivatives import running
from fuzz.derivatives.pieces import check_in_pieces, check_threads
from numba import prange

import nbgrad
from nbgrad.adjoints import spreads
from nbgrad.adjoints.reverse import value_and_cotangents
from nbgrad.adjoints.told import recorded
from nbgrad.compiler.front.functions import ArrayType, entry_of
from nbgrad.ir.spread import Spread
from nbgrad.ir.walk import walk

VECTOR, MATRIX = ArrayType(np.dtype(float), 1), ArrayType(np.dtype(float), 2)
STRIDED = ArrayType(np.dtype(float), 1, contiguous=False)
FLOAT, INT = np.dtype(float), np.dtype(int)


@pytest.mark.full
def test_drawn_programs_in_pieces(monkeypatch):
    made = []
    monkeypatch.setattr(spreads, "Spread", lambda *args: made.append(args) or Spread(*args))
    found = running.run(0, 60, checked=check_in_pieces)
    assert not found.failures and found.counts["right"] > 20 and len(made) >= 10


@pytest.mark.full
def test_drawn_programs_on_threads():
    found = running.run(100, 12, checked=check_threads)
    assert not found.failures and found.counts["right"] > 6


def sums(x, w):
    total = 0.0
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(x.shape[1]):
            s += w * x[i, j]
        if s > 0.5:
            total += s
    return total


def squares(x, w):
    total = 0.0
    for i in prange(x.shape[0]):
        for j in range(x.shape[1]):
            total += (w * x[i, j]) ** 2
    return total


def rows(x, w):
    for i in range(x.shape[0]):
        for j in range(1, x.shape[1]):
            x[i, j] = w * x[i, j - 1] * x[i, j]


def inside(x, w):
    for _ in range(3):
        for i in prange(x.shape[0]):
            for j in range(x.shape[1]):
                x[i, j] *= w
        w *= x[0, 0]


def columns(x, w):
    for i in range(1, x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] = w * x[i - 1, j]


def several(x, w):
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            total += w * x[i, j]
    return total


def largest(x, w):
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            total = max(total, w * x[i, j])
    return total


def products(x, w):
    total = 1.0
    for i in prange(x.shape[0]):
        s = 0.0
        for j in range(x.shape[1]):
            s += w * x[i, j]
        total *= s
    return total


def stale(x, w):
    total = 0.0
    for i in prange(x.shape[0]):
        before = total
        for j in range(x.shape[1]):
            total += w * x[i, j]
        total += before
    return total


def last(x, w):
    s = 0.0
    for i in range(x.shape[0]):
        s = w
        for j in range(x.shape[1]):
            s += x[i, j]
    return s


def early(x, w):
    total = 0.0
    for i in range(x.shape[0]):
        if x[i, 0] < 0.0:
            break
        for j in range(x.shape[1]):
            x[i, j] *= w
    return total


def same_element(x, w):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[0, j] = w * x[i, j]


def both(x, w):
    for i in range(1, x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] = w * x[i, j] * x[0, j]


def short(x, w):
    total = 0.0
    for i in range(x.shape[0]):
        total += w * x[i, 0]
    return total


def while_loop(x, w):
    i = 0
    while i < x.shape[0]:
        x[i, 0] *= w
        i += 1


def steps(x, w):
    total = 0.0
    for i in range(x.shape[0]):
        s = x[i, 0]
        for _ in nbgrad.steps(9):
            for j in range(x.shape[1]):
                s = w * s * x[i, j]
        total += s
    return total


THREADS, ONE = "several threads", "one thread: "


@pytest.mark.parametrize(
    ("function", "notes"),
    [
        (sums, [f"{THREADS}, forward and then backward"]),
        (squares, [THREADS]),
        (rows, [THREADS]),
        (inside, [f"{ONE}w passes from round to round, and is not a sum", THREADS]),
        (columns, [f"{ONE}they may read and write the same element of x"]),
        (several, [f"{ONE}each may add several times to total: add once, or use prange, which may "
                   "change the order of the sum"]),
        (largest, [f"{ONE}total passes from round to round, and is not a sum"]),
        (products, [f"{ONE}total passes from round to round, and is not a sum"]),
        (stale, [f"{ONE}total passes from round to round, and is not a sum"]),
        (last, [f"{ONE}the last value of s is read behind the loop"]),
        (early, [f"{ONE}the loop may be left early"]),
        (same_element, [f"{ONE}they may read and write the same element of x"]),
        (both, [f"{ONE}they write to x, and several read the same element of it"]),
        (short, [f"{ONE}they are too short"]),
        (steps, [f"{ONE}they keep copies of states"]),
        (while_loop, [f"{ONE}how many there are is not known before"]),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)  # fmt: skip
def test_how_loops_run(function, notes):
    primal = entry_of(function, (MATRIX, FLOAT)).function
    lengths = [name for name, _ in primal.parameters if "_n" in name]
    *_, threads = recorded(primal, ["x", "w"], lengths)
    assert list(threads.values()) == notes


def test_elements_that_several_rounds_read():
    def energy(x, w):
        total = 0.0
        for i in prange(x.shape[0]):
            for j in range(x.shape[0]):
                total += w / (1.0 + (x[i] - x[j]) ** 2)
        return total

    def spread(kind):
        primal = entry_of(energy, (kind, FLOAT)).function
        lengths = [name for name, _ in primal.parameters if "_n" in name]
        made = value_and_cotangents(primal, ["x", "w"], lengths)
        return [each for each in walk(made.body) if isinstance(each, Spread)]

    _, backward = spread(VECTOR)
    assert backward.sums == ("w.bar",)
    ((name, address, length),) = backward.shared
    assert (address.buffer, length) == ("x.bar", "x_n0") and name != "x.bar"
    assert not spread(STRIDED)  # the number of its elements is not known
