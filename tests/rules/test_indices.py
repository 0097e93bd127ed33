"""Indices and labels: of every kind, in every mode, checked in every mode."""

import numpy as np
import pytest

import nbgrad
from nbgrad import TraceError, UntrackedError, at, compile, grad, vmap

X = np.array([[3.0, 1.0, 2.0, 7.0], [0.0, 5.0, 4.0, 1.0]])
I = np.array([[0, 0, 2], [1, 3, 1]])  # noqa: E741
W = np.arange(6.0).reshape(2, 3)
M = np.arange(12.0).reshape(4, 3)


def added(index, values, shape):
    out = np.zeros(shape)
    np.add.at(out, index, values)
    return out


# -- batches ---------------------------------------------------------------------------------------


def test_gradients_of_batches_of_sorts_and_gathers():
    slope = grad(lambda x: np.sum(W * vmap(np.sort)(x)))(X[:, :3])
    np.testing.assert_array_equal(np.take_along_axis(slope, np.argsort(X[:, :3]), 1), W)

    def taken(x):
        return np.sum(W * vmap(lambda r, i: r[i])(x, I))

    def cubed(x):
        return np.sum(vmap(lambda r, i: r[i] ** 3)(x, I))

    rows = np.arange(2)[:, None]
    expected = added((rows, I), W, X.shape)
    np.testing.assert_array_equal(grad(taken)(X), expected)
    np.testing.assert_array_equal(compile(grad(taken))(X), expected)
    curved = grad(lambda x: np.sum(grad(cubed)(x)))(X)
    np.testing.assert_allclose(curved, added((rows, I), 6.0 * X[rows, I], X.shape))


@pytest.mark.parametrize(
    "f", [np.sort, np.median, lambda r: r[np.argmax(r)], np.count_nonzero], ids=range(4)
)
def test_no_samples(f):
    shape = (0, *np.shape(f(np.zeros(3))))
    assert vmap(f)(np.zeros((0, 3))).shape == shape
    assert vmap(vmap(f))(np.zeros((2, 0, 3))).shape == (2, *shape)
    assert vmap(vmap(f))(np.zeros((0, 2, 3))).shape == (0, 2, *shape[1:])
    if f is not np.count_nonzero:
        slope = grad(lambda x: np.sum(vmap(f)(x)))(np.zeros((0, 3)))
        assert slope.shape == (0, 3)


def test_batches_of_batches_of_sorts():
    x = np.stack([X, X[::-1] ** 2])
    np.testing.assert_array_equal(vmap(vmap(np.sort))(x), np.sort(x))
    slope = grad(lambda x: np.sum(np.array([1.0, 2.0, 3.0, 4.0]) * vmap(vmap(np.sort))(x)))(x)
    np.testing.assert_array_equal(slope, 1.0 + np.argsort(np.argsort(x)))


def test_empty_pieces_in_the_best_order():
    def optimal(f):
        return nbgrad.jacobian(f, mode="optimal")

    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(optimal(lambda x: np.concatenate([x, x[:0]]))(x), np.eye(2))
    np.testing.assert_array_equal(optimal(lambda x: np.sum(x[:0]) + x)(x), np.eye(2))
    np.testing.assert_array_equal(
        optimal(lambda x: np.sum(x[:0]) * np.ones(3))(x), np.zeros((3, 2))
    )
    assert optimal(np.sin)(np.zeros(0)).shape == (0, 0)


# -- kinds of indices ------------------------------------------------------------------------------

KINDS = {
    "range": range(2),
    "list": [1, 0],
    "lists": ([0, 1], [2, 1]),
    "tuples": ((0, 1), (2, 1)),
    "range and array": (range(2), np.array([2, 1])),
    "tuple and slice": ((2, 0), slice(1)),
    "range and list": (range(2), [2, 1]),
    "slice and list": (slice(None), [2, 0]),
    "nested": [(0, 1), (1, 1)],
    "bools": [True, False, True, True],
    "nothing": [],
    "empty range": (range(0),),
    "ellipsis": (..., range(2)),
}


@pytest.mark.parametrize("index", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("mode", ["eager", "vmap", "compiled"])
def test_every_kind_of_index_as_numpy_reads_it(index, mode):
    def run(f):
        if mode == "vmap":
            return vmap(f)(M[None])[0]
        return (compile(f) if mode == "compiled" else f)(M)

    selected = M[index]
    np.testing.assert_array_equal(run(lambda x: x[index] * 2.0), selected * 2.0)
    if selected.size:
        slope = run(grad(lambda x: np.sum(x[index] ** 2)))
        np.testing.assert_array_equal(slope, added(index, 2.0 * selected, M.shape))
    written = M.copy()
    written[index] = 7.0
    np.testing.assert_array_equal(run(lambda x: at(x)[index].set(7.0) * 1.0), written)
    expected = M + added(index, 1.0, M.shape)
    np.testing.assert_array_equal(run(lambda x: at(x)[index].add(1.0)), expected)


def test_at_takes_plain_and_tracked_arrays():
    def f(x):
        y = at(np.zeros(4))[1:3].set(x)
        return np.sum(at(y)[2].multiply(3.0) ** 2)

    x = np.array([2.0, 5.0])
    assert type(f(x)) is np.float64 and f(x) == 4.0 + 225.0
    np.testing.assert_array_equal(grad(f)(x), [4.0, 90.0])
    np.testing.assert_array_equal(compile(grad(f))(x), [4.0, 90.0])
    found = nbgrad.scipy.minimize(
        lambda x: np.sum((at(x)[0].set(1.0) - 1.0) ** 2), np.zeros(2), method="Nelder-Mead"
    )
    assert abs(found.x[1] - 1.0) < 1e-3


def test_positions_that_are_arguments():
    plain, index = X[0], I
    got = vmap(lambda i: at(plain)[i].get())(index)
    np.testing.assert_array_equal(got, plain[index])
    np.testing.assert_array_equal(compile(lambda i: at(plain)[i].get() * 1.0)(index), plain[index])
    np.testing.assert_array_equal(vmap(lambda i: np.take_along_axis(plain, i, 0))(index), got)

    def spread(x, i):
        return np.sum(at(x)[i].add(np.array([1.0, 2.0, 3.0])) ** 2)

    expected = 2.0 * (X + [added(i, [1.0, 2.0, 3.0], 4) for i in I])
    np.testing.assert_array_equal(vmap(grad(spread))(X, I), expected)
    np.testing.assert_array_equal(compile(vmap(grad(spread)))(X, I), expected)
    with pytest.raises(UntrackedError, match=r"at\[index\]\.set: the index depends .* np\.where"):
        vmap(lambda x, i: at(x)[i].set(x[:3]))(X, I)
    with pytest.raises(TraceError, match=r"at\[index\]\.multiply: the index depends .* \.add"):
        compile(lambda x, i: at(x)[i].multiply(0.0))(X[0], I[0])
    with pytest.raises(UntrackedError, match=r"nbgrad\.at\(plain\)\[x\]\.get\(\)"):
        vmap(lambda i: plain[i])(index)


# -- what is out of range --------------------------------------------------------------------------

BATCHED = ("vmap", "vmap of grad", "shared")
MODES = {
    "value": lambda f: f,
    "grad": grad,
    "vmap": vmap,
    "vmap of grad": lambda f: vmap(grad(f)),
    "shared": lambda f: vmap(grad(f), in_axes=(0, None)),
}
LOSSES = {
    "logit_cross_entropy": nbgrad.logit_cross_entropy,
    "cross_entropy": lambda x, y: nbgrad.cross_entropy(nbgrad.softmax(x), y),
}
GATHERS = {
    "index": lambda x, i: np.sum(x[i] ** 2),
    "take": lambda x, i: np.sum(np.take(x, i) ** 2),
    "take_along_axis": lambda x, i: np.sum(np.take_along_axis(x, i, 0) ** 2),
    "scalar": lambda x, i: x[i[2]] ** 2,
    "add": lambda x, i: np.sum(at(x)[i].add(1.0) ** 2),
}


def check(mode, f, x, bad, good, error, words):
    """`f` of the first samples or of all, plain and compiled, with indices that raise and fit."""
    x = x if mode in BATCHED else x[0]
    plain = MODES[mode](f)
    for g in (plain, compile(plain)):
        for index in bad:
            index = index if mode in BATCHED and mode != "shared" else index[0]
            with pytest.raises(error, match=words):
                g(x, index)
        index = good if mode in BATCHED and mode != "shared" else good[0]
        np.testing.assert_allclose(g(x, index), plain(x, index))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("loss", LOSSES)
def test_labels_are_checked_in_every_mode(loss, mode):
    scores, good = np.zeros((2, 3, 4)), np.array([[0, 1, 3], [0, 1, 2]])
    bad = [np.array([[0, 1, label], [0, 1, 2]]) for label in (-1, 4, 10**12)]
    words = f"^{loss}: .*label.* 4 classes, numbered from 0"
    check(mode, LOSSES[loss], scores, bad, good, ValueError, words)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("gather", GATHERS)
def test_indices_are_checked_in_every_mode(gather, mode):
    good = np.array([[0, 1, -4], [0, 1, 3]])
    bad = [np.array([[0, 1, position], [0, 1, 2]]) for position in (-5, 4, 10**12)]
    check(mode, GATHERS[gather], X, bad, good, IndexError, "out of bounds")


def _dropped(x, i):
    x[i]
    return np.sum(x * x)


def _inside_a_loop(x, i):
    def step(k, s):
        x[i]
        return s + x

    return np.sum(nbgrad.loop(2, step, x))


@pytest.mark.parametrize(
    "f",
    [lambda x, i: np.sum(nbgrad.at(x)[i].add(2.0)), _dropped, _inside_a_loop],
    ids=["only its constant sum", "dropped", "inside a loop"],
)
@pytest.mark.parametrize("transform", [nbgrad.grad, nbgrad.value_and_grad, lambda f: f])
def test_positions_are_checked_where_the_result_is_not_used(f, transform):
    x, made = np.arange(3.0), transform(f)
    compiled = nbgrad.compile(made)
    for inside in (np.array([0, 2]), np.array([-3, 1])):
        expected, found = made(x, inside), compiled(x, inside)
        pairs = zip(expected, found, strict=True) if type(found) is tuple else [(expected, found)]
        for a, b in pairs:
            np.testing.assert_allclose(a, b, rtol=1e-14)
    for outside in (np.array([0, 3]), np.array([-4, 0])):
        for run in (made, compiled):
            with pytest.raises(IndexError, match="out of bounds"):
                run(x, outside)


def test_labels_are_checked_where_the_loss_is_not_used():
    def f(x, labels):
        nbgrad.logit_cross_entropy(x, labels)
        return np.sum(x)

    run = nbgrad.compile(nbgrad.grad(f))
    np.testing.assert_array_equal(run(np.zeros((2, 3)), np.array([0, 2])), np.ones((2, 3)))
    with pytest.raises(ValueError, match="3 classes"):
        run(np.zeros((2, 3)), np.array([0, 3]))


WRITES = {
    "set": (
        lambda x, i: x.at[i].set(3.0 * x[i] ** 2),
        lambda x, i: _written(x, i, 3.0 * x[i] ** 2),
    ),
    "multiply": (lambda x, i: x.at[i].multiply(x[1]), lambda x, i: _written(x, i, x[i] * x[1])),
    "column": (lambda x, i: x.at[:, i].set(x[i] ** 2), lambda x, i: _written(x.T, i, x[i] ** 2).T),
    "nan": (lambda x, i: x.at[i].set(np.nan), lambda x, i: _written(x, i, np.nan)),
}


def _written(x, i, value):
    out = x.copy()
    out[i] = value
    return out


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("i", [0, 2, -1])
def test_a_number_among_the_arguments_is_a_place_to_write_to(name, i):
    write, reference = WRITES[name]
    x = np.array([[2.0, 5.0, 7.0], [1.0, np.inf, 3.0], [0.5, 4.0, 6.0]])
    x = x if name == "column" else x[:, 0]
    wanted = reference(x, i)
    both = np.stack([x, x]), np.array([i, 0])
    assert np.array_equal(nbgrad.compile(write)(nbgrad.track(x).data, i), wanted, equal_nan=True)
    assert np.array_equal(nbgrad.vmap(write)(*both)[0], wanted, equal_nan=True)
    f = lambda x, i: np.sum(write(x, i) * np.arange(1.0, x.size + 1).reshape(x.shape))  # noqa: E731
    if name != "nan":
        x = np.where(np.isinf(x), 1.0, x)
        nbgrad.check_grads(lambda x: f(x, i), (x,))
    gradient = nbgrad.grad(f)
    wanted = gradient(x, i)
    assert np.allclose(nbgrad.compile(gradient)(x, i), wanted, rtol=1e-12)
    assert np.allclose(nbgrad.vmap(gradient)(np.stack([x, x]), both[1])[0], wanted, rtol=1e-12)
    for out_of_range in (
        lambda: nbgrad.compile(f)(x, 3),
        lambda: nbgrad.vmap(f)(both[0], both[1] + 3),
    ):
        with pytest.raises(IndexError):
            out_of_range()


def test_writes_at_positions_that_depend_on_the_arguments():
    """They are right where no two positions are equal by the plain parts of the index, or all get
    one number."""

    def f(x):
        y, z = x * 2.0, x[0] * 1.0
        y[np.arange(2), np.argmax(x, axis=1)] = np.sin(x[:, 0])
        y[[1, 0], np.argmin(x, axis=1)] *= x[:, 1]
        z[np.argsort(x[1])[:2]] = 0.0
        return np.sum(y * y) + np.sum(z**2)

    samples = np.random.default_rng(0).normal(size=(3, 2, 3))
    nbgrad.check_grads(f, (samples[0],), modes=("reverse", "forward"))
    expected = [nbgrad.grad(f)(x) for x in samples]
    batched = nbgrad.vmap(nbgrad.grad(f))
    for found in (batched(samples), nbgrad.compile(batched)(samples)):
        np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(nbgrad.compile(nbgrad.grad(f))(samples[0]), expected[0])
    zeros = lambda x, i: np.sum(at(x)[i].set(0.0) * x)  # noqa: E731
    slopes = [2.0 * np.where(np.isin(np.arange(4), i), 0.0, x) for x, i in zip(X, I, strict=True)]
    for found in (vmap(grad(zeros))(X, I), compile(vmap(grad(zeros)))(X, I)):
        np.testing.assert_array_equal(found, slopes)
