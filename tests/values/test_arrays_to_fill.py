"""Arrays of the kind of x that tracked values are written into, and the errors that name them."""

import numpy as np
import pytest

import nbgrad
from nbgrad import track

X = np.array([0.7, -1.3, 2.1])
# An array of shape (3, 2) or (3, 3) made for x, and NumPy's own, which x and its kind leave alone.
MAKERS = {
    "zeros": lambda like: np.zeros((3, 2), like=like),
    "empty": lambda like: np.multiply(np.empty((3, 2), like=like), 0.0),
    "ones": lambda like: np.ones((3, 2), like=like),
    "full": lambda like: np.full((3, 2), 1.5, like=like),
    "full of integers": lambda like: np.full((3, 2), 2, like=like),
    "eye": lambda like: np.eye(3, 2, like=like),
    "identity": lambda like: np.identity(3, like=like),
    "tri": lambda like: np.tri(3, 2, like=like),
    "arange": lambda like: np.reshape(np.arange(1, 7, like=like), (3, 2)),
    "array": lambda like: np.array([[1.0, 2], [3, 4], [5, 6]], like=like),
    "asarray": lambda like: np.asarray([[1, 2], [3, 4], [5, 6]], like=like),
    "ascontiguousarray": lambda like: np.ascontiguousarray(np.ones((3, 2)), like=like),
    "fromfunction": lambda like: np.fromfunction(lambda i, j: i + 2 * j, (3, 2), like=like),
    "zeros_like": lambda like: np.zeros_like(like, shape=(3, 2)),
    "ones_like": lambda like: np.ones_like(like, shape=(3, 2), order="C"),
    "full_like": lambda like: np.full_like(like, 1.5, shape=(3, 2), dtype=np.float64),
    "empty_like": lambda like: np.multiply(np.empty_like(like, shape=(3, 2)), 0.0),
}
# Arrays that hold tracked values when they are made.
HOLDERS = {
    "full": lambda x: np.full((3, 2), x[0] * x[1], like=x),
    "full by rows": lambda x: np.full((2, 3), x * x, like=x),
    "full_like": lambda x: np.full_like(x, x[1] ** 2),
    "array": lambda x: np.array([[x[0], 1.0, 2], [x[1] * x[2], x[2], 3], [0, 0, 0]], like=x),
    "array of arrays": lambda x: np.array([x, np.ones(3), x * x], like=x),
    "array itself": lambda x: np.array(x, ndmin=2, like=x),
    "asarray": lambda x: np.asarray((x[2], x[0]), like=x),
    "asarray itself": lambda x: np.asarray(x, like=x),
    "fromiter": lambda x: np.fromiter((z * z for z in x), float, 2, like=x),
    "require": lambda x: np.require(x, requirements="C", like=x),
}


def _written(make):
    """A function that writes into the array by assignment, and one that does by `.at`."""

    def by_item(x):
        y = make(x)
        y = y.astype(float) if type(y) is np.ndarray else y  # plain ones may hold integers
        y[0] = x[1] ** 2
        y[1, 0] = x[0] * y[0, 1]
        y[2, :] = np.sin(x[:1])
        return np.sum(y * y * np.arange(1.0, 4.0)[:, None])

    def by_at(x):
        y = nbgrad.at(make(x))[0].set(x[1] ** 2)
        y = nbgrad.at(y)[1, 0].set(x[0] * y[0, 1])
        y = nbgrad.at(y)[2, :].set(np.sin(x[:1]))
        return np.sum(y * y * np.arange(1.0, 4.0)[:, None])

    return by_item, by_at


def _held(make):
    def f(x):
        y = make(x)
        return np.sum(np.sin(y) * np.cos(np.arange(1.0, np.size(y) + 1)).reshape(y.shape))

    return f, f


def _differences(f, x, step=1e-6):
    """The gradient of a function of plain arrays, by central differences."""
    return np.array([(f(x + d) - f(x - d)) / (2 * step) for d in np.eye(len(x)) * step])


CASES = [
    *((f"{name}, filled", *_written(make)) for name, make in MAKERS.items()),
    *((f"{name}, holding", *_held(make)) for name, make in HOLDERS.items()),
]
every_case = pytest.mark.parametrize(
    ("by_item", "by_at"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)


@every_case
def test_in_every_mode(by_item, by_at):
    value, slope = by_item(X), _differences(by_item, X)
    tracked = by_item(track(X))
    assert isinstance(tracked, nbgrad.TrackedArray)
    np.testing.assert_allclose(tracked.data, value)
    np.testing.assert_allclose(nbgrad.grad(by_item)(X), slope, rtol=1e-7, atol=1e-8)
    v = np.array([0.3, 1.1, -0.4])
    primal, tangent = nbgrad.jvp(by_item, (X,), (v,))
    np.testing.assert_allclose([primal, tangent], [value, slope @ v], rtol=1e-7)
    stacked = np.stack([X, X * 1.5])
    np.testing.assert_allclose(nbgrad.vmap(by_item)(stacked), [by_item(x) for x in stacked])
    np.testing.assert_allclose(
        nbgrad.vmap(nbgrad.grad(by_item))(stacked), [nbgrad.grad(by_item)(x) for x in stacked]
    )
    np.testing.assert_allclose(by_at(X), value)


@every_case
def test_second_order(by_item, by_at):
    def along(x):
        return nbgrad.grad(by_item)(x) @ np.array([0.3, 1.1, -0.4])

    expected = _differences(along, X)
    np.testing.assert_allclose(nbgrad.grad(along)(X), expected, rtol=1e-6, atol=1e-7)
    hessian = nbgrad.hessian(by_item)(X)
    np.testing.assert_allclose(hessian @ [0.3, 1.1, -0.4], expected, rtol=1e-6, atol=1e-7)


@every_case
def test_compiled(by_item, by_at):
    np.testing.assert_allclose(nbgrad.compile(by_at)(X), by_at(X))
    value, slope = nbgrad.compile(nbgrad.value_and_grad(by_item))(X)
    np.testing.assert_allclose(value, by_item(X))
    np.testing.assert_allclose(slope, nbgrad.grad(by_item)(X))


@every_case
def test_inside_a_loop(by_item, by_at):
    def run(x):
        return np.sum(nbgrad.loop(3, lambda i, z: z * 0.5 + 0.01 * by_at(z), x) ** 2)

    slope = nbgrad.grad(run)
    np.testing.assert_allclose(slope(X), _differences(run, X), rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(nbgrad.compile(run)(X), run(X))
    np.testing.assert_allclose(nbgrad.compile(slope)(X), slope(X))


@pytest.mark.parametrize("name", MAKERS)
def test_values_are_numpys(name):
    plain, made = MAKERS[name](X), MAKERS[name](track(X))
    np.testing.assert_array_equal(made.data, np.asarray(plain))
    assert made.dtype == np.float64
    assert made.level == 0


def test_dtypes():
    x = track(X.astype(np.float32))
    assert np.zeros(3, like=x).dtype == np.float64
    assert np.zeros(3, np.float32, like=x).dtype == np.float32
    assert np.zeros_like(x, shape=4).dtype == np.float32
    assert np.array([x[0], x[1]], like=x).dtype == np.float32
    assert np.array([x[0], 1.0], like=x).dtype == np.float64  # as NumPy has it
    assert np.array([x[0], 1.0], np.float64, like=x).dtype == np.float64
    assert np.arange(3, like=x).dtype == np.float64
    for made in (
        np.zeros(3, int, like=x),
        np.arange(3, dtype=int, like=x),
        np.ones(3, bool, like=x),
        np.eye(3, dtype=int, like=x),
        np.zeros_like(x, int),
        np.array([x[0]], int, like=x),  # integers have no derivative
    ):
        assert type(made) is np.ndarray
        assert made.dtype.kind in "ib"
    assert np.zeros(3, complex, like=x).dtype == np.complex128
    assert np.ones(3, np.complex64, like=x).dtype == np.complex64
    with pytest.raises(TypeError, match="float16: a tracked x makes arrays of float64 or"):
        np.zeros(3, np.float16, like=x)


def test_what_makes_no_array_is_refused():
    x = track(X)
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    for make in (np.array, np.asarray, lambda v, like: np.full(2, v, like=like)):
        with pytest.raises(TypeError, match=r"mask would be lost: pass x\.filled"):
            make(masked, like=x)
    with pytest.raises(nbgrad.NoRuleError, match=r"start \+ step \* np\.arange\(n\) is tracked"):
        np.arange(x[1], like=x)  # pyright: ignore
    with pytest.raises(TypeError, match="nonsense"):
        np.zeros(3, nonsense=1, like=x)  # pyright: ignore
    with pytest.raises(nbgrad.DimensionMismatch, match=r"\(1,\), \(2,\) differ"):
        np.array([[x[0]], [x[1], 1.0]], like=x)
    with pytest.raises(ValueError, match="too short"):
        np.fromiter(x, float, 5, like=x)


def test_integers_of_samples_stay_integers():
    counts = nbgrad.vmap(lambda i: np.zeros(2, int, like=i) + i)(np.array([1, 2]))
    np.testing.assert_array_equal(counts, [[1, 1], [2, 2]])
    assert counts.dtype == np.int64


def test_copies():
    x = track(X)
    assert np.asarray(x, like=x) is x
    assert np.array(x, copy=False, like=x) is x
    assert np.array(x, like=x) is not x
    y = np.array(x, like=x)
    y[0] = 9.0
    np.testing.assert_array_equal(x.data, X)
    with pytest.raises(ValueError, match="copy"):
        np.array([x[0]], copy=False, like=x)
    assert np.array(x[0], ndmin=2, like=x).shape == (1, 1)
    plain = np.ones(3)
    held = np.asarray(plain, like=x)
    held[0] = x[0]
    plain[:] = 5.0
    np.testing.assert_array_equal(held.data, [X[0], 1, 1])


def test_the_level_is_that_of_like():
    def f(a):
        def g(b):
            y = np.zeros(2, like=b)
            y[0], y[1] = a * a, a * b
            z = np.array([a, a], like=b)
            z[0] = b**3
            return np.sum(y) * z[0] * z[1]

        return nbgrad.grad(g)(2.0 * a)

    def expected(a):  # d/db (a^2 + a b) b^3 a at b = 2 a
        return 3 * a**3 * (2 * a) ** 2 + 4 * a**2 * (2 * a) ** 3

    np.testing.assert_allclose(f(1.5), expected(1.5))
    np.testing.assert_allclose(nbgrad.grad(f)(1.5), nbgrad.grad(expected)(1.5))
    np.testing.assert_allclose(nbgrad.jvp(f, (1.5,), (1.0,))[1], nbgrad.grad(expected)(1.5))
    np.testing.assert_allclose(nbgrad.compile(nbgrad.grad(f))(1.5), nbgrad.grad(expected)(1.5))


def test_recorded_steps():
    def f(x):
        y = np.zeros(3, like=x)
        y[0] = x[1] ** 2
        y[1] = np.sin(x[0]) * y[0]
        return y * x

    for order in ("forward", "reverse"):
        found = nbgrad.elimination.jacobian(f, X, order=order)
        np.testing.assert_allclose(found, nbgrad.jacobian(f)(X))


def test_no_samples():
    made = nbgrad.vmap(lambda x: np.ones(2, like=x) * x)(np.zeros((0, 1)))
    assert np.shape(made) == (0, 2)


def test_copyto_writes_into_a_computed_array():
    x = track(X)
    y = np.zeros(3, like=x)
    np.copyto(y, x * 2.0, where=np.array([True, False, True]))
    y.backward(np.ones(3))  # pyright: ignore
    np.testing.assert_array_equal(x.grad, [2, 0, 2])
