"""The readings of one rule agree: emitted kernels, tracked ops, plain arrays, and the pushforward;
a pullback is linear in its cotangent, and a zero cotangent gives zero."""

import itertools

import numpy as np
from helpers import rows

import nbgrad

RTOL = 1e-12


def _plain_rule(case, point, positions):
    """The row's rule on plain arrays, with broadcasting undone by NumPy's sums."""
    args, ct = point.args, point.ct
    out = np.asarray(case(*args))
    need = tuple(i in positions for i in range(len(args)))
    with np.errstate(all="ignore"):
        cotangents = case.row.pullback(ct, out, args, need, **case.params)
    assert len(cotangents) == len(args)
    return {i: _summed(np.asarray(cotangents[i]), args[i].shape) for i in positions}


def _summed(ct, shape):
    """`ct` in `shape`: the sum over axes that broadcasting made or stretched."""
    ct = ct.sum(axis=tuple(range(ct.ndim - len(shape))))
    axes = tuple(i for i, n in enumerate(shape) if n == 1)
    return np.broadcast_to(ct.sum(axis=axes, keepdims=True), shape)


@rows.table()
def test_emitted_traced_and_plain_rules_agree(case):
    point = case.draw()
    for positions in rows.subsets(case.positions):
        expected = _plain_rule(case, point, positions)
        emitted = rows.gradients(case, point, positions)
        traced = rows.gradients(case, point, positions, create_graph=True)
        for i in positions:
            rows.assert_close(emitted[i], expected[i], RTOL, case.dtype)
            rows.assert_close(traced[i].data, expected[i], RTOL, case.dtype)


def _all_alike(case):
    return len(case.positions) == len(case.args) > 1 and len({*case.args}) == 1


@rows.table(choose=_all_alike)
def test_one_array_as_every_argument_gets_the_sum(case):
    drawn = case.draw()
    narrowest = max(range(len(case.args)), key=lambda i: case.domains[i].low)
    point = drawn._replace(args=(drawn.args[narrowest],) * len(drawn.args))
    parts = list(_plain_rule(case, point, case.positions).values())
    scale = np.max(np.abs(parts), initial=0.0)
    for create_graph in (False, True):
        x = nbgrad.track(point.args[0])
        case(*[x] * len(case.args)).backward(point.ct, create_graph=create_graph)
        np.testing.assert_allclose(nbgrad.track(x.grad).data, sum(parts), 0, RTOL * scale)


def _pulled(case, point, fill):
    """The gradients of tracked arguments for a tracked cotangent that is `fill` everywhere."""
    args = rows.track(point.args, case.positions)
    out = case(*args)
    ct = nbgrad.track(np.full(out.shape, fill))
    out.backward(ct, create_graph=True)
    return ct, {i: args[i].grad for i in case.positions}


@rows.table()
def test_pullback_is_linear_in_its_cotangent(case):
    """Its derivative is the pushforward, for a cotangent of zeros too."""
    point = case.draw()
    for i, u in point.directions.items():
        tangents = [u if k == i else None for k in range(len(case.args))]
        out = np.asarray(case(*point.args))
        pushed = case.row.pushforward(tangents, out, point.args, **case.params)
        expected = np.broadcast_to(np.asarray(pushed), out.shape)
        for fill in (0.0, 1.0):
            ct, pulled = _pulled(case, point, fill)
            np.sum(pulled[i] * u).backward()
            rows.assert_close(ct.grad, expected, RTOL)
            if not fill:
                assert not np.any(pulled[i].data)


SINGULAR = (0.0, -1.0, 2.0, np.inf, -np.inf, np.nan)


@rows.parametrize(rows.vectors(rows.F64))
def test_zero_cotangent_gives_zero_whatever_the_partial(case):
    row = case.row
    grid = np.array(list(itertools.product(SINGULAR, repeat=row.arity))).T
    points = [x > 0 if i in row.conditions else x for i, x in enumerate(grid)]
    zeros = np.zeros(grid.shape[1])
    for create_graph in (False, True):
        args = rows.track(points, case.positions)
        case(*args).backward(zeros, create_graph=create_graph)
        for i in case.positions:
            np.testing.assert_array_equal(nbgrad.track(args[i].grad).data, zeros)
    need = [i in case.positions for i in range(row.arity)]
    with np.errstate(all="ignore"):
        plain = row.pullback(zeros, case(*points), points, need, **case.params)
    for i in case.positions:
        np.testing.assert_array_equal(plain[i], zeros)
