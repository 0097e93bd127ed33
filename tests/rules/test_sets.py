"""Sets: NumPy's values, and the derivative of the elements that they are taken from."""

# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false

import numpy as np
import pytest

import nbgrad

X = np.array([[3.0, 1.0, 2.0], [1.0, 3.0, 5.0]])
Y = np.array([2.0, 7.0, 1.0, 7.0])
DISTINCT = np.array([4.0, 2.0, 9.0])
CALLS = [
    ("unique", (X,), {}),
    ("unique", (X,), {"return_index": True, "return_inverse": True, "return_counts": True}),
    ("unique", (X,), {"axis": 0}),
    ("unique", (np.vstack([X, X]),), {"axis": 0, "return_counts": True}),
    ("unique", (X,), {"axis": 1, "return_inverse": True}),
    ("unique", (np.array([np.nan, 1.0, np.nan]),), {"equal_nan": False}),
    ("unique", (np.array([np.nan, 1.0, np.nan]),), {}),
    ("unique", (X[:0],), {}),
    *((name, (X,), {}) for name in (
        "unique_all", "unique_counts", "unique_inverse", "unique_values",
    )),
    *((name, pair, {}) for pair in ((X, Y), (Y, X), (X, X[0])) for name in (
        "union1d", "setdiff1d", "setxor1d", "intersect1d",
    )),
    *((name, (DISTINCT, DISTINCT[:2] - 2), {"assume_unique": True}) for name in (
        "setdiff1d", "setxor1d", "intersect1d",
    )),
    ("intersect1d", (X, Y), {"return_indices": True}),
]  # fmt: skip


def parts(out) -> tuple:
    return out if isinstance(out, tuple) else (out,)


@pytest.mark.parametrize(("name", "args", "options"), CALLS)
def test_values_and_the_gradient_of_elements(name, args, options):
    """Each value gives its cotangent to one element of its own, so that the gradient of the sum of
    all functions of them holds its derivative at this element."""
    function = getattr(np, name)
    expected = function(*args, **options)
    found = function(*map(nbgrad.track, args), **options)
    assert type(found) is type(expected) or not isinstance(expected, tuple)
    for mine, theirs in zip(parts(found), parts(expected), strict=True):
        mine = mine.data if isinstance(mine, nbgrad.TrackedArray) else mine
        np.testing.assert_array_equal(mine, theirs)
        assert mine.dtype == theirs.dtype

    weights = 1.0 + np.arange(parts(expected)[0].size).reshape(parts(expected)[0].shape)

    def f(*args):
        return np.sum(weights * parts(function(*args, **options))[0])

    slopes = nbgrad.grad(f, tuple(range(len(args))))(*args)
    values, given = np.concatenate([np.ravel(x) for x in args]), parts(expected)[0]
    slopes = np.concatenate([np.ravel(slope) for slope in slopes])
    if not options.get("axis"):
        for value in given.ravel():
            same = np.isnan(values) if np.isnan(value) else values == value
            mine = np.isnan(given) if np.isnan(value) else given == value
            assert slopes[same].sum() == weights[mine].sum()
            assert np.count_nonzero(slopes[same]) == np.count_nonzero(mine)
    assert slopes.sum() == weights.sum()
    if not np.isnan(values).any():
        steps = tuple(np.cos(x) for x in args)
        tangent = nbgrad.jvp(f, args, steps)[1]
        np.testing.assert_allclose(tangent, slopes @ np.cos(values), rtol=1e-12)


def test_samples_of_one_shape_and_lists_of_numbers():
    def f(x):
        return np.sum(np.unique(x) ** 2)

    many = nbgrad.vmap(nbgrad.grad(f))(np.stack([X, X[::-1]]))
    np.testing.assert_array_equal(many[0], nbgrad.grad(f)(X))
    np.testing.assert_array_equal(many[1], nbgrad.grad(f)(X[::-1]))
    slope = nbgrad.grad(lambda x: np.sum(np.union1d(x[:1], [x[1], x[0]])))(DISTINCT)
    np.testing.assert_array_equal(slope, [1.0, 1.0, 0.0])


@pytest.mark.parametrize(
    "f",
    [np.unique, lambda x: np.union1d(x, Y), lambda x: np.setdiff1d(x, Y),
     lambda x: np.setxor1d(x, Y), lambda x: np.intersect1d(x, Y)],
)  # fmt: skip
def test_numbers_that_are_not_known_are_refused(f):
    with pytest.raises(nbgrad.TraceError, match="is eager only: it looks at numbers"):
        nbgrad.compile(lambda x: np.sum(f(x)))(X)
    with pytest.raises(nbgrad.UntrackedError, match="differs from sample to sample"):
        nbgrad.vmap(lambda x: np.sum(f(x)))(np.stack([X, [[8.0] * 3, [8.0] * 3]]))
