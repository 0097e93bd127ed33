"""NumPy's functions on tracked arrays, with NumPy's arguments: values, gradients and errors.

Functions that have no row are made of rows, and these tests are all that holds them. Each call is
compared with the same call on plain arrays, its gradient and its jvp with differences.
"""

# NumPy's annotations know plain arrays only.
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers import rows

import nbgrad

S, V, M, T = (), (4,), (3, 4), (2, 3, 4)
track = nbgrad.track


def call(function, *args, **options) -> Any:
    """A test case: tuples of ints are shapes of arrays to track, anything else an argument."""
    shown = [str(a) for a in (*args, *options.items())]
    text = f"{function.__module__}.{function.__name__}({', '.join(shown)})".replace(" ", "")
    return pytest.param(function, args, options, id=text.replace("\n", ";"))


def split_lists(function) -> Callable:
    """The function of several arrays as one of a list."""

    def joined(*args, **options):
        return function(list(args), **options)

    joined.__name__, joined.__module__ = function.__name__, function.__module__
    return joined


class Given:
    """A tuple that is an argument of its own, not a shape."""

    def __init__(self, value):
        self.value = value

    def __repr__(self):
        return str(self.value)


G = Given
index = np.array([[2, 0], [1, 1]])

CALLS = [
    call(np.min, M), call(np.min, M, axis=0, keepdims=True), call(np.max, T, axis=(0, 2)),
    call(np.prod, M, axis=1), call(np.prod, V), call(np.var, M), call(np.var, M, axis=0, ddof=1),
    call(np.var, M, axis=1, correction=1, keepdims=True), call(np.std, M, axis=-1),
    call(np.std, T, axis=(0, 1), ddof=1, keepdims=True), call(np.cumsum, M),
    call(np.cumsum, M, axis=-1), call(np.cumsum, V, axis=0),
    call(np.linalg.norm, M), call(np.linalg.norm, V, 1), call(np.linalg.norm, V, np.inf),
    call(np.linalg.norm, V, -np.inf), call(np.linalg.norm, V, 3), call(np.linalg.norm, V, 2),
    call(np.linalg.norm, M, "fro"), call(np.linalg.norm, M, 1), call(np.linalg.norm, M, np.inf),
    call(np.linalg.norm, M, -1, keepdims=True), call(np.linalg.norm, T, axis=1),
    call(np.linalg.norm, T, 1, axis=G((2, 0))), call(np.linalg.norm, T, axis=G((0, 1))),
    call(np.linalg.norm, T, keepdims=True),
    call(np.outer, V, M), call(np.inner, V, V), call(np.inner, M, V), call(np.inner, M, T),
    call(np.inner, S, V), call(np.vdot, M, M), call(np.kron, M, (2, 2)), call(np.kron, V, M),
    call(np.linalg.vecdot, M, V), call(np.linalg.vecdot, M, M, axis=0),
    call(np.tensordot, T, (3, 4, 2)), call(np.tensordot, M, (4, 3), axes=1),
    call(np.tensordot, T, (3, 2), axes=G(([1, 0], [0, 1]))), call(np.tensordot, V, V, axes=0),
    call(np.tensordot, M, V, axes=G((-1, 0))),
    call(split_lists(np.linalg.multi_dot), V, (4, 2), (2, 3), (3,)),
    call(split_lists(np.linalg.multi_dot), M, (4, 2), (2, 3)),
    call(np.einsum, "ij,jk->ik", M, (4, 2)), call(np.einsum, "ij,jk", M, (4, 2)),
    call(np.einsum, "ii", (3, 3)), call(np.einsum, "ii->i", (3, 3)), call(np.einsum, "ij->ji", M),
    call(np.einsum, "ij->j", M), call(np.einsum, "ij,ij->", M, M), call(np.einsum, "i,j->ij", V, V),
    call(np.einsum, "bij,bjk->bik", T, (2, 4, 2)), call(np.einsum, "...ij,jk->...ik", T, (4, 2)),
    call(np.einsum, "...i,...i", T, (3, 4)), call(np.einsum, "ij,i->ij", M, (3,)),
    call(np.einsum, "ab,bc,cd->ad", M, (4, 2), (2, 3)), call(np.einsum, "i,i,i->", V, V, V),
    call(np.einsum, "bi,bj,ijk->bk", (2, 3), (2, 4), (3, 4, 2)), call(np.einsum, "ij,kl->k", M, M),
    call(np.einsum, "i,->i", V, S), call(np.einsum, "ij,jj->i", (3, 2), (2, 2)),
    call(np.einsum, M, [0, 1], (4, 2), [1, 2], [2, 0]), call(np.einsum, M, [0, 1], V, [1]),
    call(np.einsum, "abc,cd,abe->dbe", T, (4, 2), (2, 3, 2)), call(np.einsum, "ijk->kj", T),
    call(np.einsum, "ij,jk->ik", (3, 1), M), call(np.einsum, "aab,b->a", (2, 2, 3), (3,)),
    call(np.trace, M), call(np.trace, T, 1, 2, 0), call(np.linalg.trace, T, offset=-1),
    call(np.diagonal, M, -1), call(np.diagonal, T, 0, 1, 2), call(np.linalg.diagonal, T),
    call(np.diag, V), call(np.diag, V, -2), call(np.diag, M, 1), call(np.diagflat, M),
    call(np.tril, M), call(np.triu, T, 1), call(np.tril, V, -1), call(np.triu, M, -1),
    call(np.swapaxes, T, 0, -1), call(np.moveaxis, T, 0, -1),
    call(np.moveaxis, T, G((0, 1)), G((-1, 0))), call(np.squeeze, (1, 3, 1)),
    call(np.squeeze, (1, 3, 1), axis=0), call(np.expand_dims, M, 1),
    call(np.expand_dims, M, G((0, -1))), call(np.atleast_1d, S), call(np.atleast_2d, V),
    call(np.atleast_3d, V), call(np.atleast_3d, M),
    call(split_lists(np.hstack), V, V), call(split_lists(np.hstack), M, M),
    call(split_lists(np.hstack), S, S), call(split_lists(np.vstack), V, M),
    call(split_lists(np.dstack), M, M), call(split_lists(np.column_stack), (3,), M),
    call(np.split, V, 2), call(np.split, M, 2, axis=1), call(np.split, V, [1, 3]),
    call(np.array_split, V, 3), call(np.array_split, V, [1, 9]), call(np.hsplit, M, 2),
    call(np.hsplit, V, 2), call(np.vsplit, M, 3), call(np.dsplit, T, [1]),
    call(np.tile, V, 2), call(np.tile, M, G((2, 1))), call(np.tile, V, G((2, 2))),
    call(np.tile, T, G((2, 1))), call(np.repeat, M, 2), call(np.repeat, M, 2, axis=0),
    call(np.repeat, M, 3, axis=-1), call(np.repeat, M, [0, 2, 1], axis=0),
    call(np.roll, V, 1), call(np.roll, M, -5), call(np.roll, M, 1, axis=0),
    call(np.roll, M, G((1, 2)), axis=G((0, 1))), call(np.flip, M), call(np.flip, M, 1),
    call(np.flip, T, G((0, 2))), call(np.flipud, M), call(np.fliplr, M),
    *(call(np.rot90, M, k) for k in (-1, 0, 1, 2, 3)), call(np.rot90, T, 1, G((2, 0))),
    call(np.pad, V, 1), call(np.pad, M, G(((1, 0), (0, 2)))), call(np.pad, M, G((1, 2))),
    call(np.pad, V, 2, constant_values=1.5),
    call(np.take, M, index), call(np.take, M, [0, -1, 0], axis=1), call(np.take, V, 2),
    call(np.take, T, index, axis=1), call(np.take, V, [5, -7], mode="wrap"),
    call(np.take, V, [5, -7], mode="clip"),
    call(np.take_along_axis, M, np.array([[3, 0], [1, 1], [0, 0]]), axis=1),
    call(np.take_along_axis, M, np.array([[2, 0, 1, 1]]), axis=0),
    call(np.take_along_axis, M, np.array([5, 5]), axis=None),
    call(np.copy, M), call(np.copy, M, order="F", subok=True),
    call(np.diff, V), call(np.diff, M, 2), call(np.diff, M, axis=0), call(np.diff, V, 0),
    call(np.diff, V, prepend=0.0, append=V), call(np.diff, M, axis=0, prepend=1.0),
    call(np.sort, V), call(np.sort, M), call(np.sort, M, axis=0), call(np.sort, M, axis=None),
    call(np.sort, T, axis=1), call(np.median, V), call(np.median, M, axis=0),
    call(np.median, T, axis=(0, 2)), call(np.median, M, axis=1, keepdims=True),
    call(np.linalg.solve, np.eye(3) + 0.1, (3,)), call(np.linalg.solve, np.eye(3) + 0.1, (2, 3, 2)),
]  # fmt: skip
if np.lib.NumpyVersion(np.__version__) >= "2.2.0":
    CALLS += [call(np.pad, M, {1: (1, 0)})]
if hasattr(np, "unstack"):  # NumPy 2.1 and newer
    CALLS += [call(np.unstack, M), call(np.unstack, M, axis=1)]


def is_shape(arg) -> bool:
    return isinstance(arg, tuple) and all(isinstance(n, int) for n in arg)


def flat(out):
    """Everything that a function gives, as one vector."""
    parts = out if isinstance(out, (list, tuple)) else [out]
    return np.concatenate([np.reshape(part, -1) for part in parts])


@pytest.mark.parametrize(("function", "args", "options"), CALLS)
def test_value_gradient_and_jvp(function, args, options, rng):
    places = [i for i, arg in enumerate(args) if is_shape(arg)]
    given = [arg.value if isinstance(arg, Given) else arg for arg in args]
    options = {k: v.value if isinstance(v, Given) else v for k, v in options.items()}
    options = {k: rng.normal(size=v) if k == "append" else v for k, v in options.items()}
    point = [rng.permutation(np.prod(args[i], dtype=int)).reshape(args[i]) for i in places]
    point = [x + rng.uniform(0.2, 0.8, x.shape) - x.size // 2 for x in point]
    steps = [rng.uniform(0.5, 1.0, x.shape) for x in point]

    def f(*arrays):
        filled = list(given)
        for i, x in zip(places, arrays, strict=True):
            filled[i] = x
        return function(*filled, **options)

    expected = f(*point)
    leaves = [track(x) for x in point]
    found = f(*leaves)
    assert type(found) in (nbgrad.TrackedArray, type(expected))
    parts = zip(found, expected, strict=True) if isinstance(found, (list, tuple)) else ()
    for mine, theirs in parts or [(found, expected)]:
        assert isinstance(mine, nbgrad.TrackedArray)
        rows.assert_close(mine.data, np.asarray(theirs), 1e-13, np.dtype(float))
    weights = rng.uniform(0.5, 1.0, flat(expected).shape)
    np.sum(flat(found) * weights).backward()
    slope = sum(rows.dot(x.grad, u) for x, u in zip(leaves, steps, strict=True))

    def along(t):
        moved = [x + t * u for x, u in zip(point, steps, strict=True)]
        return rows.dot(flat(f(*moved)), weights)

    difference = rows.difference(along)
    scale = rows.dot(abs(flat(expected)), weights) + abs(slope)
    assert abs(slope - difference) <= 1e-9 * scale
    value, tangent = nbgrad.jvp(lambda *xs: np.sum(flat(f(*xs)) * weights), point, steps)
    np.testing.assert_allclose(value, along(0.0), rtol=1e-12)
    np.testing.assert_allclose(tangent, slope, rtol=1e-9, atol=1e-12 * scale)


UNTRACKED = [
    (np.argmax, (), {"axis": 1}), (np.argmin, (), {}), (np.argsort, (), {"axis": 0}),
    (np.count_nonzero, (), {}), (np.any, (), {"axis": 0}), (np.all, (), {}), (np.shape, (), {}),
    (np.ndim, (), {}), (np.size, (), {}), (np.size, (1,), {}), (np.nonzero, (), {}),
    (np.array_equal, (np.ones((3, 4)),), {}), (np.allclose, (np.ones((3, 4)),), {}),
    (np.isclose, (1.0,), {"atol": 0.5}), (np.argwhere, (), {}), (np.flatnonzero, (), {}),
    (np.iscomplexobj, (), {}),
]  # fmt: skip


@pytest.mark.parametrize(("function", "more", "options"), UNTRACKED)
def test_values_without_a_derivative_are_plain(function, more, options, rng):
    x = rng.normal(size=M)
    found, expected = function(track(x), *more, **options), function(x, *more, **options)
    assert type(found) is type(expected)
    np.testing.assert_equal(found, expected)


ERRORS = [
    (lambda x: np.sum(x, axis=2), np.exceptions.AxisError),
    (lambda x: np.min(x, axis=-3), np.exceptions.AxisError),
    (lambda x: np.prod(x, axes=0), TypeError),
    (lambda x: np.var(x, dof=1), TypeError),
    (lambda x: np.cumsum(x, axis=2), np.exceptions.AxisError),
    (lambda x: np.min(x[:0]), ValueError),
    (lambda x: np.linalg.norm(x, "nonsense"), ValueError),
    (lambda x: np.linalg.norm(x[0], "fro"), ValueError),
    (lambda x: np.linalg.norm(x[None], axis=(0, 1, 2)), ValueError),
    (lambda x: np.vdot(x, x[0]), nbgrad.DimensionMismatch),
    (lambda x: np.inner(x, x.T), nbgrad.DimensionMismatch),
    (lambda x: np.tensordot(x, x, axes=1), nbgrad.DimensionMismatch),
    (lambda x: np.einsum("ij,jk", x, x), nbgrad.DimensionMismatch),
    (lambda x: np.einsum("ijk->k", x), ValueError),
    (lambda x: np.einsum("ij->k", x), ValueError),
    (lambda x: np.einsum("ij,ij", x), ValueError),
    (np.linalg.inv, nbgrad.DimensionMismatch),
    (lambda x: np.linalg.inv(0 * x[:, :3]), np.linalg.LinAlgError),
    (lambda x: np.linalg.solve(x[:, :3], x[:2]), nbgrad.DimensionMismatch),
    (lambda x: np.linalg.cholesky(-x[:, :3]), np.linalg.LinAlgError),
    (lambda x: np.swapaxes(x, 0, 2), np.exceptions.AxisError),
    (lambda x: np.moveaxis(x, (0, 1), 0), ValueError),
    (lambda x: np.squeeze(x, 0), ValueError),
    (lambda x: np.expand_dims(x, (0, 0)), ValueError),
    (lambda x: np.split(x, 2), ValueError),
    (lambda x: np.array_split(x, 0), ValueError),
    (lambda x: np.array_split(x, 10**400), OverflowError),
    (lambda x: np.einsum(x, (), (5, -9)), ValueError),
    (lambda x: np.ldexp(x, 10**400), OverflowError),
    (lambda x: np.dsplit(x, 1), ValueError),
    (lambda x: np.vsplit(x[0], 1), ValueError),
    (lambda x: np.hstack([x, x[0]]), ValueError),
    (lambda x: np.repeat(x, -1), ValueError),
    (lambda x: np.repeat(x, [1, 2], axis=0), ValueError),
    (lambda x: np.roll(x, 1, axis=2), np.exceptions.AxisError),
    (lambda x: np.flip(x, 2), np.exceptions.AxisError),
    (lambda x: np.pad(x, 1, mode="other"), ValueError),
    (lambda x: np.pad(x, 1, mode=lambda *parts: None), NotImplementedError),
    (lambda x: np.pad(x, 1, mode="edge", end_values=0), ValueError),
    (lambda x: np.reshape(x, 12, order="K"), ValueError),
    (lambda x: np.quantile(x, 1.5), ValueError),
    (lambda x: np.quantile(x, 0.5, method="other"), ValueError),
    (lambda x: np.linalg.qr(x.T, mode="complete"), nbgrad.NoRuleError),
    (lambda x: np.linalg.svd(x), nbgrad.NoRuleError),
    (lambda x: np.take(x, 12), IndexError),
    (lambda x: np.take(x, np.array([0.5])), TypeError),
    (lambda x: np.take(x, 0, mode="other"), ValueError),
    (lambda x: np.take_along_axis(x, np.array([0]), axis=0), ValueError),
    (lambda x: np.diff(x, -1), ValueError),
    (lambda x: np.diff(np.sum(x)), ValueError),
    (lambda x: np.diag(x[None]), ValueError),
    (lambda x: np.trace(x[0]), ValueError),
    (lambda x: x[np.array([True, False])], IndexError),
    (lambda x: nbgrad.evalpoly(x, []), nbgrad.DimensionMismatch),
    (lambda x: nbgrad.evalpoly(x, x), nbgrad.DimensionMismatch),
    (lambda x: nbgrad.hinge_loss(x, x[0]), nbgrad.DimensionMismatch),
    (lambda x: nbgrad.cross_entropy(x, x[0]), nbgrad.DimensionMismatch),
    (lambda x: nbgrad.cross_entropy(x, np.array([0, 1, 4])), ValueError),
]


@pytest.mark.parametrize(("f", "error"), ERRORS)
def test_errors_are_of_numpys_kind(f, error):
    x = np.arange(12.0).reshape(M)
    with pytest.raises(error):
        f(track(x))
    if not issubclass(error, (nbgrad.NbgradError, NotImplementedError)) and "nbgrad" not in (
        f.__code__.co_names if hasattr(f, "__code__") else ()
    ):
        with pytest.raises(error):
            f(x)


METHODS = [
    ("sum", (1,), {}), ("prod", (), {"axis": 0}), ("mean", (), {"keepdims": True}),
    ("var", (), {"ddof": 1}), ("std", (1,), {}), ("max", (), {"axis": 0}), ("min", (), {}),
    ("cumsum", (1,), {}), ("round", (), {}), ("swapaxes", (0, 1), {}),
    ("squeeze", (), {}), ("repeat", (2,), {}), ("take", ([1, 0],), {"axis": 1}),
    ("diagonal", (1,), {}), ("trace", (), {}), ("argmax", (), {"axis": 0}), ("argmin", (1,), {}),
    ("argsort", (), {}), ("nonzero", (), {}), ("any", (), {}), ("all", (), {"axis": 0}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "options"), METHODS)
def test_methods_are_ndarrays(name, args, options, rng):
    x = rng.normal(size=M)
    found = getattr(track(x), name)(*args, **options)
    expected = getattr(x, name)(*args, **options)
    found = found.data if isinstance(found, nbgrad.TrackedArray) else found
    assert type(found) is type(expected) or np.ndim(expected) == 0
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_the_real_part_is_a_view_and_the_imaginary_one_zeros():
    def loss(x):
        x = x * 1.0
        x.real[0] *= 3.0
        return np.sum(x + x[0].real * x.imag)

    np.testing.assert_allclose(nbgrad.grad(loss)(np.array([1.0, 2.0])), [3.0, 1.0])
    compiled = nbgrad.compile(nbgrad.grad(loss))
    np.testing.assert_allclose(compiled(np.array([1.0, 2.0])), [3.0, 1.0])


def test_slogdet_gives_a_plain_sign_and_a_tracked_logarithm():
    x = track([[0.0, 2.0], [1.0, 1.0]])
    sign, logabsdet = np.linalg.slogdet(x)
    assert sign == -1 and isinstance(sign, np.floating)
    logabsdet.backward()
    np.testing.assert_allclose(x.grad, np.linalg.inv(x.data).T)


def test_cholesky_upper_is_the_transposed_lower():
    a = np.array([[4.0, 1.0], [1.0, 3.0]])
    x = track(a)
    out = np.linalg.cholesky(x, upper=True)
    np.testing.assert_allclose(out.data, np.linalg.cholesky(a).T)
    np.sum(out).backward()
    np.testing.assert_array_equal(x.grad, x.grad.T)


def test_std_and_norm_have_derivative_0_where_they_are_0():
    x = track(np.full(3, 2.0))
    (np.std(x) + np.linalg.norm(x - 2.0)).backward()
    np.testing.assert_array_equal(x.grad, np.zeros(3))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(2100, 3), (700, 7), (5, 90, 11), (5001, 1), (1, 4099)])
def test_long_running_sums_are_numpys(shape, axis, dtype, rng):
    """To the last bit; and those of cotangents, from the end."""
    x, ct = (rng.normal(size=shape).astype(dtype) for _ in range(2))
    value, pullback = nbgrad.vjp(lambda x: np.cumsum(x, axis), x)
    np.testing.assert_array_equal(value, np.cumsum(x, axis))
    wanted = np.flip(np.cumsum(np.flip(ct, axis), axis), axis)
    np.testing.assert_array_equal(pullback(ct)[0], wanted)


def test_boolean_masks():
    x = track(np.arange(6.0).reshape(2, 3))
    np.sum(x[x > 2] ** 2).backward()
    np.testing.assert_array_equal(x.grad, [[0, 0, 0], [6, 8, 10]])


@pytest.mark.parametrize(
    "coefficients", [[1.0, 2.0, 3.0], (1, 2, 3), np.array([1.0, 2.0, 3.0])], ids=repr
)
def test_evalpoly_of_plain_coefficients(coefficients):
    x = track(2.0)
    out = nbgrad.evalpoly(x, coefficients)
    out.backward()
    assert (out.item(), x.grad) == (17.0, 14.0)
    assert nbgrad.evalpoly(2.0, coefficients) == 17.0


def test_evalpoly_of_a_list_of_tracked_and_plain_coefficients():
    a, x = track(1.0), np.array([2.0, 3.0])
    out = nbgrad.evalpoly(x, [0.0, 2.0, a])
    np.testing.assert_array_equal(out.data, [8.0, 15.0])
    np.sum(out).backward()
    assert a.grad == 13.0


def test_cross_entropy_is_that_of_logits_after_softmax(rng):
    logits, labels = rng.normal(size=(4, 3)), np.array([0, 2, 1, 1])
    for targets in (labels, np.eye(3)[labels]):
        x, y = track(logits), track(logits)
        loss = nbgrad.cross_entropy(nbgrad.softmax(x), targets)
        expected = nbgrad.logit_cross_entropy(y, targets)
        np.testing.assert_allclose(loss.data, expected.data, rtol=1e-14)
        loss.backward()
        expected.backward()
        np.testing.assert_allclose(x.grad, y.grad, rtol=1e-12, atol=1e-15)


def test_cross_entropy_is_clean_at_probabilities_of_0():
    p = track([[1.0, 0.0], [0.25, 0.75]])
    nbgrad.cross_entropy(p, np.array([[1.0, 0.0], [0.0, 1.0]])).backward()
    np.testing.assert_allclose(p.grad, [[-0.5, 0.0], [0.0, -0.5 / 0.75]])


def test_hinge_loss_counts_margins_below_1():
    y = track([0.5, 2.0, 1.0, -1.0])
    loss = nbgrad.hinge_loss(y, np.array([1.0, 1.0, 1.0, -1.0]))
    loss.backward()
    assert loss.item() == 0.125
    np.testing.assert_array_equal(y.grad, [-0.25, 0.0, 0.0, 0.0])
