"""Compiled programs write what they read, and all of their results: their loop IR is interpreted on
watched memory, and its numbers are compared with the eager tier. Nothing is compiled."""

from dataclasses import replace

import numpy as np
import pytest
from checkers import loops as checks
from fuzz.defects.loops import DEFECTS
from fuzz.written import MemoryFault, check_written, watched

import nbgrad
from nbgrad import softmax
from nbgrad.ir.core import Device
from nbgrad.ir.statements import For, Kernel
from nbgrad.ir.walk import callee
from nbgrad.static.loops import memory as planner
from nbgrad.static.loops.memory import step_reads

X = np.arange(6.0).reshape(2, 3) + 1.0
NONE, TALL, FLAT = np.zeros(0), np.zeros((3, 0)), np.zeros((0, 3))


def test_what_is_not_written_is_found():
    """The checker itself: loops that are too short and too long, and a step that is left out."""
    f = nbgrad.compile(lambda x: np.cumsum(np.exp(x) * 2.0)[::-1] + np.sum(x))
    variant = f.variant(np.ones(9))
    expected = 2 * np.e * np.arange(9, 0, -1) + 9
    np.testing.assert_allclose(watched(f, np.ones(9)), expected)
    steps = variant._emitted.printed.steps
    first = next(i for i, step in enumerate(steps) if isinstance(callee(step.statement), Kernel))
    call = next(i for i, step in enumerate(steps) if isinstance(callee(step.statement), Device))
    for wrong, fault in (
        ([*steps[:first], resized(steps[first], 8), *steps[first + 1 :]], "read before written"),
        ([*steps[:first], resized(steps[first], 10), *steps[first + 1 :]], "lies beyond"),
        ([*steps[:call], *steps[call + 1 :]], "read before written"),
    ):
        variant._emitted.printed.steps = wrong
        with pytest.raises(MemoryFault, match=fault):
            watched(f, np.ones(9))
    variant._emitted.printed.steps = steps
    np.testing.assert_allclose(watched(f, np.ones(9)), expected)


def read_after_its_end(schedule, nests):
    """The reads of each step, without the last of each buffer that is read more than once."""
    reads = [list(dict.fromkeys(values)) for values in step_reads(schedule, nests)]
    last = {value: at for at, values in enumerate(reads) for value in values}
    often = [value for values in reads for value in values]
    return [
        [v for v in values if last[v] != at or often.count(v) < 2]
        for at, values in enumerate(reads)
    ]


def test_a_blind_spot_of_the_planner_is_none_of_its_test(monkeypatch):
    """The planner and its own check overlook a read in the same way; the core alone shows it."""

    def f(x):
        first = np.cumsum(np.exp(x))
        third = np.cumsum(np.cumsum(first * 2.0)[::-1])
        return np.cumsum(np.cumsum(third[::-1]) + first)

    x = np.linspace(0.1, 1.0, 9)
    np.testing.assert_allclose(watched(nbgrad.compile(f), x), f(x))
    monkeypatch.setattr(planner, "step_reads", read_after_its_end)
    monkeypatch.setattr(checks, "step_reads", read_after_its_end)
    with pytest.raises(MemoryFault, match="another buffer's"):
        watched(nbgrad.compile(f), x)


def resized(step, stop):
    """The step with a kernel whose loops end at `stop`."""
    call, kernel = step.statement, step.statement.function
    body = tuple(replace(s, stop=stop) if isinstance(s, For) else s for s in kernel.body)
    return replace(step, statement=replace(call, function=replace(kernel, body=body)))


# -- rows of which a stretch is constant ----------------------------------------------------------

REDUCTIONS = (np.sum, np.mean, np.max, np.min, np.prod, np.linalg.norm)


def padded(x, before=2):
    return np.pad(x, ((0, 0), (before, 3)))


@pytest.mark.parametrize("reduction", REDUCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("before", [0, 1, 2, 5])
def test_reductions_of_rows_that_are_constant_in_part(reduction, before):
    zeros = np.zeros((2, 4))

    def every(x):
        return (
            reduction(padded(x, before), axis=1),
            reduction(np.pad(x, ((before, 2), (0, 3))), axis=0),
            reduction(np.concatenate([x, zeros, x, zeros], axis=1), axis=1),
            reduction(np.pad(x, ((before, 2), (0, 3))) * 2.0 + 1.0),
        )

    for got, expected in zip(watched(nbgrad.compile(every), X), every(X), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-14)


def test_rows_that_are_constant_in_part_and_swept_over_again():
    def weights(x):
        p = padded(x)
        shares = np.exp(p) / np.sum(np.exp(p), axis=1, keepdims=True)
        return softmax(p, axis=1), softmax(p.T, axis=0), shares + p, np.sum(shares * p, axis=1)

    for got, expected in zip(watched(nbgrad.compile(weights), X), weights(X), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-13)
    compiled = nbgrad.compile(weights)(X)
    for got, expected in zip(compiled, weights(X), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-13)


def test_the_mean_of_a_padded_picture_and_its_gradient():
    def pooled(x):
        return np.sum(np.mean(np.pad(x, ((0, 0), (2, 2), (1, 3))), axis=(1, 2)) ** 2)

    x = np.arange(24.0).reshape(2, 3, 4)
    means = x.sum(axis=(1, 2)) / 56
    value, slope = watched(nbgrad.compile(nbgrad.value_and_grad(pooled)), x)
    np.testing.assert_allclose(value, np.sum(means**2))
    np.testing.assert_allclose(slope, np.broadcast_to((means / 28)[:, None, None], x.shape))


def test_a_block_written_over_a_constant_row():
    def f(x):
        return np.sum((x * 0.0 + 1.0).at[:, 1:3].set(5.0), axis=1)

    g = nbgrad.compile(nbgrad.vmap(f))
    np.testing.assert_array_equal(watched(g, np.ones((2, 2, 6))), np.full((2, 2), 14.0))


# -- nothing --------------------------------------------------------------------------------------

OF_NOTHING = {
    "sum": (lambda x: np.sum(x * 2.0, axis=1), (TALL,), np.zeros(3)),
    "product": (lambda x: np.prod(x * 2.0, axis=1), (TALL,), np.ones(3)),
    "norm": (lambda x: np.linalg.norm(x * 2.0, axis=1), (TALL,), np.zeros(3)),
    "any max": (lambda x: np.max(x * 2.0, axis=0), (TALL,), NONE),
    "sum of logs": (lambda x: np.sum(np.log(x)), (NONE,), 0.0),
    "sum of inverses": (lambda x: np.sum(1.0 / x, axis=0), (FLAT,), np.zeros(3)),
    "logsumexp": (lambda x: nbgrad.logsumexp(x, axis=1), (TALL,), np.full(3, -np.inf)),
    "einsum": (lambda x: np.einsum("ij->i", x), (TALL,), np.zeros(3)),
    "einsum-2": (lambda x, y: np.einsum("ij,jk->ik", x, y), (TALL, FLAT), np.zeros((3, 3))),
    "product of matrices": (lambda x, y: x @ y, (TALL, FLAT), np.zeros((3, 3))),
    "cumsum": (lambda x: np.cumsum(x, axis=1), (TALL,), TALL),
    "softmax": (lambda x: softmax(x, axis=1), (TALL,), TALL),
    "determinant": (lambda x: np.linalg.det(x[:0, :0]), (X,), 1.0),
    "inverse": (lambda x: np.linalg.inv(x[:0, :0]), (X,), np.zeros((0, 0))),
    "pad": (lambda x: np.pad(x, ((0, 0), (0, 2))), (TALL,), np.zeros((3, 2))),
    "gather": (lambda x, i: x[i], (X, np.zeros(0, int)), FLAT),
    "bias": (
        nbgrad.grad(lambda b, x: np.sum(np.tanh(x @ np.eye(3) + b) * 2.0)),
        (np.ones(3), FLAT),
        np.zeros(3),
    ),
    "loop": (lambda x: nbgrad.loop(3, lambda i, s: s * 2.0, x), (NONE,), NONE),
    "scan": (
        lambda x, y: nbgrad.scan(lambda s, row: (s + np.sum(row), s), x, y)[0],
        (np.ones(3), np.zeros((2, 0))),
        np.ones(3),
    ),
    "part of a state": (
        nbgrad.grad(
            lambda x, y: np.sum(
                nbgrad.loop(3, lambda i, s: (s[0] * 2.0 + np.sum(s[1]), s[1] * 2.0), (x, y))[0]
            )
        ),
        (np.ones(3), NONE),
        np.full(3, 8.0),
    ),
}


@pytest.mark.parametrize("name", OF_NOTHING)
def test_of_nothing(name):
    f, args, expected = OF_NOTHING[name]
    for _ in range(2):
        found = watched(nbgrad.compile(f), *args)
        np.testing.assert_array_equal(found, expected)
        assert np.shape(found) == np.shape(expected)


@pytest.mark.parametrize("f", [np.max, np.min, softmax])
def test_the_largest_of_nothing(f):
    if f is softmax:
        assert watched(nbgrad.compile(lambda x: f(x * 1.0, axis=1)), TALL).shape == (3, 0)
        return
    with pytest.raises(ValueError, match=r"\(3, 0\)"):
        nbgrad.compile(lambda x: f(x * 1.0, axis=1))(TALL)


# -- constant arrays behind pointers --------------------------------------------------------------


def test_gradients_that_are_given_constant_arrays():
    ones = np.ones(3)
    slope = watched(nbgrad.compile(nbgrad.grad(lambda x: np.sum(np.cumsum(x)))), ones)
    np.testing.assert_array_equal(slope, [3.0, 2.0, 1.0])
    a, b = np.eye(3) * 2.0 + np.diag([1.0, 1.0], 1), ones

    def solved(a, b):
        return np.sum(np.linalg.solve(a, b))

    by_a, by_b = watched(nbgrad.compile(nbgrad.grad(solved, (0, 1))), a, b)
    v = np.linalg.solve(a.T, ones)
    np.testing.assert_allclose(by_b, v)
    np.testing.assert_allclose(by_a, -np.outer(v, np.linalg.solve(a, b)), rtol=1e-12)


def test_calls_of_constant_arrays():
    def every(x):
        one = np.ones((2, 2)) + np.zeros(()) * x[0, 0]
        regular = np.where(np.eye(2) > 0.0, 3.0, x * 0.0 + 1.0)
        full = x * 0.0 + 2.0
        return np.cumsum(full, axis=1), np.linalg.inv(regular), np.linalg.det(one), full @ x

    check_written(nbgrad.compile(every), np.ones((2, 2)))
    start = nbgrad.compile(lambda x: nbgrad.loop(3, lambda i, s: s * x, x * 0.0 + 1.0))
    check_written(start, np.array([2.0, 3.0]))


def test_loops_that_are_given_views_of_numbers():
    def largest(x):
        return np.max(x, keepdims=True)

    x = np.array([0.5, 2.0, 1.0])
    for f, expected in (
        (lambda x: nbgrad.loop(3, lambda i, s: s + largest(x), np.zeros(1)), [6.0]),
        (lambda x: nbgrad.loop(3, lambda i, s: s * 2.0, largest(x)), [16.0]),
        (lambda x: nbgrad.scan(lambda s, y: (s + y, s), 1.0, largest(x))[0], 3.0),
        (lambda x: nbgrad.loop(0, lambda i, s: s + largest(x), np.zeros(1)), [0.0]),
    ):
        np.testing.assert_array_equal(watched(nbgrad.compile(f), x), expected)
    slope = nbgrad.grad(lambda x: np.sum(nbgrad.loop(3, lambda i, s: s * 2.0, largest(x))))
    np.testing.assert_array_equal(watched(nbgrad.compile(slope), x), [0.0, 8.0, 0.0])


# -- defects put back ------------------------------------------------------------------------------


def of_constant_rows():
    found = watched(nbgrad.compile(lambda x: np.sum(padded(x), axis=1)), X)
    np.testing.assert_array_equal(found, [6.0, 15.0])
    # What both pieces of the loop read.
    weights = np.arange(padded(X).size).reshape(padded(X).shape) + 1.0
    shifted = nbgrad.compile(lambda x, w: np.sum((padded(x) + 1.0) * w, axis=1))
    np.testing.assert_array_equal(
        watched(shifted, X, weights), np.sum((padded(X) + 1.0) * weights, axis=1)
    )


def of_empty_rows():
    f = nbgrad.compile(lambda x: np.sum(x * 2.0, axis=1))
    np.testing.assert_array_equal(watched(f, TALL), np.zeros(3))


@pytest.mark.parametrize(
    ("defect", "check"),
    [("memo-of-an-inner-loop", of_constant_rows), ("unwritten-of-nothing", of_empty_rows)],
)
def test_a_defect_put_back_is_found(defect, check):
    check()
    with DEFECTS[defect](), pytest.raises(AssertionError):
        check()
    check()
