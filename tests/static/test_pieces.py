"""Long loops of compiled programs in pieces: which loops, and that pieces are independent.

Here a loop is long from five elements on; the interpreter runs pieces from the last to the first,
on watched memory.
"""

import numpy as np
import pytest
from fuzz.written import check_written, watched

import nbgrad
from nbgrad.ir.statements import PIECE, For, Kernel, Pieces, Store
from nbgrad.ir.walk import all_steps, callee, walk
from nbgrad.static.loops import pieces as static_pieces
from nbgrad.threads import pieces


@pytest.fixture(autouse=True)
def _all_loops_are_long(monkeypatch):
    monkeypatch.setattr(pieces, "LARGE", 5)
    monkeypatch.setattr(pieces, "PIECE", 2)
    monkeypatch.setattr(pieces, "CHUNK", 2)
    monkeypatch.setattr(static_pieces, "_ROOM", 0.1)


def pieces_of(function, *args) -> list[Pieces]:
    core = nbgrad.compile(function).variant(*args)._emitted.core
    callees = [callee(step.statement) for step in all_steps(core)]
    kernels = [each for each in callees if isinstance(each, Kernel)]
    return [s for kernel in kernels for s in kernel.body if isinstance(s, Pieces)]


X = np.linspace(-2.0, 2.0, 42).reshape(7, 6)
ROW, COLUMN, INDEX = X[0], X[:, :1], np.array([0, 3, 3, 1, 6, 0, 2])
FUNCTIONS = {
    "a chain": lambda x: np.sum(np.tanh(x) * np.exp(-x * x)),
    "far from 0": lambda x: np.sum(np.sin(1e9 * x) * np.cos(x)),
    "rows": lambda x: np.sum(nbgrad.logsoftmax(x) * x),
    "a long row": lambda x: np.sum(nbgrad.softmax(np.reshape(x, -1)) ** 2),
    "columns": lambda x: np.sum(np.exp(x - np.max(x, axis=0)) * np.mean(x, axis=0)),
    "slices": lambda x: np.sum((x[1:] - x[:-1] ** 2) ** 2) + np.sum(x[::2, 1:] * x[::2, :-1]),
    "extremes": lambda x: np.max(x) * np.min(x) + np.sum(np.max(x, axis=1)),
    "products": lambda x: np.prod(x + 3.0) + np.sum(np.prod(x, axis=0)),
    "gathered": lambda x: np.sum(x[INDEX] ** 3),
    "blocks": lambda x: np.sum(np.concatenate([x, np.sin(x), x[:2]]) ** 2),
    "norms": lambda x: np.linalg.norm(x) + np.sum(np.linalg.norm(x, axis=1)) + np.std(x),
    "truths": lambda x: np.sum(np.where(np.logical_and(np.all(x > -3.0), x > 0.0), x * x, -x)),
}


SINGLE = ("rows", "columns", "extremes")


@pytest.mark.parametrize(
    ("name", "dtype"),
    [*((name, np.float64) for name in FUNCTIONS), *((name, np.float32) for name in SINGLE)],
)
def test_pieces_in_any_order_give_what_eager_calls_give(name, dtype):
    both, x = nbgrad.value_and_grad(FUNCTIONS[name]), X.astype(dtype)
    assert pieces_of(both, x)
    check_written(nbgrad.compile(both), x)


def test_broadcast_operands_have_the_slopes_of_differences():
    def f(x, row, column, number):
        return np.sum(np.tanh(x * column + row) * number)

    args = (X, ROW, COLUMN, 0.7)
    _, slopes = watched(nbgrad.compile(nbgrad.value_and_grad(f, (0, 1, 2, 3))), *args)
    for i, slope in enumerate(slopes):
        step = np.ones(np.shape(args[i])) * 1e-6
        up, down = ([*args[:i], args[i] + s, *args[i + 1 :]] for s in (step, -step))
        np.testing.assert_allclose(np.sum(slope), (f(*up) - f(*down)) / 2e-6, rtol=1e-8)


def test_rows_of_scratch_are_one_for_each_piece():
    """What a row is swept over twice for lies in a row of its own, which no other piece has."""
    f = nbgrad.compile(nbgrad.grad(FUNCTIONS["rows"]))
    (each,) = pieces_of(nbgrad.grad(FUNCTIONS["rows"]), X)
    assert each.count == 7
    assert f.variant(X)._emitted.plan.memory.size >= each.count * X.shape[1] * 8


def test_what_rounds_hand_on_is_not_cut():
    """Elements written over, which another round may read or write, and running sums."""

    def f(x):
        return nbgrad.at(x)[INDEX].set(x[::-1] * 2.0), np.cumsum(x * 1.5, axis=0)

    for each in pieces_of(f, X):
        stores = [s for s in walk(each.part.body) if isinstance(s, Store)]
        places = [name for s in stores for name, _ in s.at.terms if isinstance(name, str)]
        assert set(places) <= {PIECE}
    check_written(nbgrad.compile(f), X)


def test_pieces_are_fixed_by_the_size():
    """Rounds of one element come by whole chunks, no more than so many pieces."""
    assert pieces.cut(4, 4) == 4
    assert pieces.cut(10**6, 10**6) == 15626
    assert pieces.cut(7, 28) == 1
    (each,) = pieces_of(lambda x: x * 2.0, np.ones(1001))
    (loop,) = each.part.body
    assert isinstance(loop, For)
    assert each.count == -(-1001 // loop.piece) and loop.piece % 2 == 0
    assert len(loop.body) == 3 and loop.stop - loop.start == 1001


def test_the_threshold(monkeypatch):
    """200,000 elements."""
    monkeypatch.undo()
    assert not pieces_of(lambda x: np.sin(x), np.ones(199_999))
    (each,) = pieces_of(lambda x: np.sin(x), np.ones(200_000))
    assert each.count == 10
