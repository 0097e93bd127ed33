"""Jacobians by elimination: structure of every row, any order, looks, errors."""

import math
from typing import Any

import numpy as np
import pytest
from eliminated import chain_of, el, naumanns
from helpers import rows
from hypothesis import given, settings
from hypothesis import strategies as st

import nbgrad
from nbgrad.elimination import Edge, Graph, recording
from nbgrad.elimination.accumulate import Local, as_matrix
from nbgrad.elimination.orders import COMPARED
from nbgrad.elimination.recording import TapeEntry


def reference(f, x):
    """The Jacobian row by row, in reverse mode."""
    x = np.asarray(x)
    shape = np.shape(f(nbgrad.track(x)))
    part = lambda x, i: np.reshape(f(x), -1)[i]  # noqa: E731
    found = [nbgrad.grad(part)(x, i) for i in range(math.prod(shape))]
    return np.reshape(found, shape + x.shape)


# -- structure ------------------------------------------------------------------------------------


@rows.table(choose=lambda case: bool(case.positions))
def test_the_structure_of_every_row(case):
    """No number lies outside of the blocks, unit ones are 0, 1 and -1, and pullbacks give the same
    numbers as pushforwards."""
    point = case.draw()
    out = np.asarray(case(*point.args))
    for i in case.positions:
        parents = [0 if k == i else None for k in range(len(point.args))]
        entry = TapeEntry(case.row, case.params, point.args, parents, out)
        edge = entry.edges()[0]
        local = Local(entry, 0, edge)
        size = np.size(point.args[i])
        columns = [local.push(e) for e in np.eye(size)]
        full = np.stack(columns, axis=1) if columns else np.zeros((out.size, 0))
        pulled = np.reshape([local.pull(e) for e in np.eye(out.size)], full.shape)
        np.testing.assert_allclose(pulled, full, 1e-12, 1e-12)
        if edge.unit:
            assert set(np.unique(full)) <= {-1.0, 0.0, 1.0}
        if full.size:
            values = as_matrix(local).values
            assert values.shape == (edge.blocks, out.size // edge.blocks, size // edge.blocks)
            whole = np.zeros((edge.blocks, values.shape[1], edge.blocks, values.shape[2]))
            each = np.arange(edge.blocks)
            whole[each, :, each, :] = values
            np.testing.assert_allclose(whole.reshape(full.shape), full, 1e-12, 1e-12)


X = np.random.default_rng(1).uniform(0.5, 2.0, (2, 3, 4))


SHARED = {
    "elementwise": (np.sin, 24),
    "column": (lambda x: np.broadcast_to(x[:, :, :1], x.shape), None),
    "twice": (lambda x: x * x, 24),
    "rows": (lambda x: x @ np.ones((4, 5)), 6),
    "matrix by vector": (lambda x: x @ np.ones(4), 6),
    "stacks": (lambda x: np.ones((5, 3)) @ x, 2),
    "one stack": (lambda x: np.ones((3, 5, 3)) @ x[:1], None),
    "last axis": (lambda x: nbgrad.softmax(x, axis=-1), 6),
    "middle axis": (lambda x: np.sum(x, axis=1), 2),
    "both": (lambda x: np.max(x, axis=(0, 2)), 1),
    "reshape": (lambda x: np.reshape(x, (8, 3)), 24),
    "transposed": (lambda x: x.T, 1),
}


@pytest.mark.parametrize("name", SHARED)
def test_blocks_by_shape(name):
    f, blocks = SHARED[name]
    step = recording.record(f, X)
    assert blocks in (None, next(iter(step.edges.values())).blocks)
    np.testing.assert_allclose(el.jacobian(f, X), reference(f, X), 1e-13, 1e-13)


# -- Jacobians ------------------------------------------------------------------------------------


W = [np.random.default_rng(7).normal(size=shape) for shape in ((3, 6), (6, 3), (4, 6), (2, 3))]


def network(x):
    h = np.tanh(W[0] @ x + 0.1)
    return nbgrad.softmax(W[2] @ np.sin(W[1] @ h) + W[2] @ x)


def by_steps(x):
    y = np.sin(x)
    y[1:3] = x[0] * np.cos(y[:2])
    while np.sum(y) < 5.0:
        y = y * 1.5 + 0.1
    return np.concatenate([y, y[::-1] * x])


PROGRAMS = {
    "network": (network, X[0, 0].repeat(2)[:6]),
    "naumann": (naumanns, np.array([0.7, 1.3])),
    "batch": (lambda x: nbgrad.logsoftmax(np.tanh(x @ W[1]) @ W[0]), X[0].repeat(2, 1)[:, :6]),
    "number": (lambda x: x * x * x, 2.0),
    "scalar to matrix": (lambda x: W[0] * np.exp(x), np.float64(0.3)),
    "gradient-like": (lambda x: np.sum(np.log(x.T) * np.sqrt(x.T)), X),
    "writing": (by_steps, X[0, 0]),
    "the input": (lambda x: x, X),
    "moved": (lambda x: x.reshape(4, 6).T[::-1], X),
    "twice the same": (lambda x: np.sin(x) + np.sin(x), X[0]),
    "condition": (lambda x: np.where(x > 1.0, x, x * x) * np.sum(x), X[0]),
    "solve": (lambda x: np.linalg.solve(x + 3 * np.eye(3), x[0]), X[0, :, :3]),
    "gradient": (nbgrad.grad(lambda x: np.sum(np.sin(x) * x[::-1])), X[0]),
    "constant": (lambda x: np.ones((2, 2)), X[0, 0]),
    "no elements": (lambda x: np.sin(x) * 2.0, np.ones((0, 3))),
    "no result": (lambda x: np.sin(x)[:0], X),
    "float32": (lambda x: np.tanh(x * 2.0), X[0].astype(np.float32)),
    "list": (lambda x: np.tanh(x), [0.1, 0.2]),
}


@pytest.mark.filterwarnings("ignore::nbgrad.errors.ConstantWarning")
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_order_gives_the_jacobian(name):
    f, x = PROGRAMS[name]
    expected = reference(f, x)
    graph = el.record(f, x)
    backwards = sorted(graph.intermediates, key=lambda v: (v % 2, -v))
    for order in (*COMPARED, backwards):
        found = el.jacobian(f, x, order)
        assert found.shape == expected.shape and found.dtype == expected.dtype
        tolerance = 1e-6 if found.dtype == np.float32 else 1e-13
        np.testing.assert_allclose(found, expected, tolerance, tolerance)
    found = el.costs(f, x)
    assert all(type(cost) is int for cost in found.values())
    assert found["optimal"] <= min(found["forward"], found["reverse"])


OPS = (
    np.sin,
    lambda x: x * np.sum(x),
    lambda x: x[::-1] * x,
    lambda x: W[1] @ (W[0] @ x) if x.shape == (6,) else x + 1.0,
    lambda x: np.concatenate([x[:3], x[3:] * x[:3]]),
    lambda x: np.reshape(np.reshape(x, (2, 3)) @ W[3].T @ W[3], -1),
    lambda x: np.cumsum(x),
)


@given(st.lists(st.tuples(st.sampled_from(OPS), st.integers(0, 9)), max_size=5), st.randoms())
@settings(deadline=None, max_examples=20)
def test_random_programs_in_random_orders(steps, random):
    def f(x):
        values = [x]
        for op, at in steps:
            values.append(np.tanh(op(values[at % len(values)]) + values[-1]))
        return values[-1] * 0.5

    x = np.linspace(-0.5, 0.7, 6)
    order = list(el.record(f, x).intermediates)
    random.shuffle(order)
    expected = reference(f, x)
    for way in (order, "optimal"):
        np.testing.assert_allclose(el.jacobian(f, x, way), expected, 1e-11, 1e-12)


def test_zero_times_infinity_is_zero_as_in_reverse_mode():
    f = lambda x: np.where(x > 0.0, np.sqrt(x), 0.0) * np.sum(x)  # noqa: E731
    x = np.array([0.0, 1.0, 4.0])
    for order in COMPARED:
        np.testing.assert_allclose(el.jacobian(f, x, order), reference(f, x), 1e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_zeros_of_the_structure_meet_no_infinity(dtype):
    """Slopes are infinite at constants, which depend on nothing."""
    f = lambda x: np.cbrt(np.diag(x, -1))  # noqa: E731
    for order in COMPARED:
        found = el.jacobian(f, np.array([1.0, 8.0], dtype), order)
        wanted = np.zeros((3, 3, 2), dtype)
        wanted[1, 0, 0], wanted[2, 1, 1] = 1 / 3, 1 / 12
        assert found.dtype == dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_a_jacobian_is_differentiated_and_compiled():
    x = np.array([0.4, 0.9, -0.3])
    f = lambda x: np.sin(W[3] @ np.exp(x * x))  # noqa: E731
    total = lambda x: np.sum(el.jacobian(f, x) ** 2)  # noqa: E731
    nbgrad.check_grads(total, (x,))
    forward = nbgrad.jvp(total, (x,), (np.ones(3),))[1]
    np.testing.assert_allclose(forward, np.sum(nbgrad.grad(total)(x)), 1e-12)
    compiled = nbgrad.compile(lambda x: el.jacobian(f, x))
    np.testing.assert_allclose(compiled(x), reference(f, x), 1e-12)


def test_a_scalar_of_a_large_array_needs_no_large_matrix():
    """Its Jacobian is a gradient: one pullback, where the transpose alone has 10^8 entries."""
    x = np.linspace(-1.0, 1.0, 10_000).reshape(100, 100)
    f = lambda x: np.sum(np.sin(x.T) * np.cos(x))  # noqa: E731
    for order in ("reverse", "optimal"):
        np.testing.assert_allclose(el.jacobian(f, x, order), nbgrad.grad(f)(x), 1e-12)


# -- looks ----------------------------------------------------------------------------------------


def test_drawings_and_tables_say_what_happens():
    graph = el.record(naumanns, np.array([0.7, 1.3]))
    text = str(el.draw(graph, el.order(graph)))
    _, sine, t = graph.intermediates
    assert f'n{sine} [label="sin\\n1 element\\nno. 1: 1"]' in text
    assert f'n{t} [label="multiply\\n1 element\\nno. 3: 4"]' in text
    assert text.count(" -> ") == len(graph.edges) == 8
    assert el.table(graph).splitlines()[-1].split() == [
        "optimal",
        "7",
        "sin",
        "multiply",
        "multiply",
    ]
    blocks = str(el.draw(el.record(lambda x: np.sin(x[::-1]) @ np.ones((4, 2)), X[0])))
    assert '[label="12 x 12" style=dashed]' not in blocks, "a part of x is an input"
    assert '[label="12 diagonal"]' in blocks and '[label="3 of 2 x 4"]' in blocks


# -- errors ---------------------------------------------------------------------------------------


bad: Any = el  # as what it is given here is not of the declared types


anything: Any = nbgrad


ERRORS = [
    (lambda: bad.costs(3.0, 2.0), TypeError, "not a function but a value of type float"),
    (lambda: bad.costs(np.sin, 2), TypeError, "x has dtype int64, but only floats"),
    (lambda: bad.jacobian(np.sin, np.arange(3)), TypeError, "x has dtype int64"),
    (lambda: bad.record(np.sin, np.array([True])), TypeError, "x has dtype bool"),
    (lambda: bad.record(np.sin, 1j), TypeError, "complex numbers are not supported"),
    (lambda: bad.record(np.sin, "x"), TypeError, "only real numbers"),
    (lambda: bad.record(np.sin, {"a": 1.0}), TypeError, "a dict of Python objects is no array"),
    (lambda: bad.costs(lambda x: None, X), TypeError, "returned a NoneType, not an array"),
    (lambda: bad.costs(lambda x: (x, x), X), TypeError, "returned a tuple, not an array"),
    (lambda: bad.jacobian(lambda x: [x], X), TypeError, "returned a list, not an array"),
    (lambda: bad.jacobian(np.sin, X, "best"), ValueError, "unknown order 'best': use one of"),
    (lambda: bad.jacobian(np.sin, X, (1, 2)), ValueError, r"order \(1, 2\) does not contain each"),
    (lambda: bad.jacobian(np.sin, X, 1), TypeError, "an order must be a tuple of vertices, not"),
    (lambda: bad.order(np.sin), TypeError, "elimination.order: a ufunc is not a graph: create one"),
    (lambda: bad.draw(np.sin), TypeError, "elimination.draw: a ufunc is not a graph"),
    (lambda: bad.table(None), TypeError, "elimination.table: a NoneType is not a graph"),
    (lambda: chain_of(1, 2, 3).cost(()), ValueError, r"the order \(\) does not contain each"),
    (lambda: Graph([1, 1], [(1, 0)]), ValueError, "an edge from 1 to 0 among 2 vertices"),
    (lambda: Graph([1, 1], [(0, 2)]), ValueError, "an edge from 0 to 2 among 2 vertices"),
    (lambda: Graph([4, 6], {(0, 1): Edge(3)}), ValueError, "3 blocks between 4 and 6 elements"),
    (lambda: anything.elimintion, AttributeError, "module 'nbgrad' has no attribute 'elimintion'"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors(number):
    call, kind, message = ERRORS[number]
    with pytest.raises(kind, match=message):
        call()
