"""`vmap` of functions with loops: one kernel runs the loop over the samples."""

import numpy as np
import pytest

import nbgrad

RNG = np.random.default_rng(0)
XS, NUMBERS = RNG.normal(size=(6, 4)), RNG.normal(size=6)


@nbgrad.njit
def springs(x, k):
    total = 0.0
    for i in range(x.shape[0] - 1):
        total += k * (x[i + 1] - x[i] * x[i]) ** 2
    return total


@nbgrad.njit
def powers(x, n, is_minus):
    y = 1.0
    for _ in range(n):
        y = y * x
    return -y if is_minus else y


@nbgrad.njit
def halved(a, n):
    for i in range(1, n):
        a[i] = 0.5 * a[i - 1] * a[i]


@nbgrad.njit
def running(pair, n):
    (x, k), total = pair, 0.0
    sums = np.zeros(n)
    for i in range(n):
        total += k * x[i]
        sums[i] = total
    return sums, total, n


def close(found, wanted):
    assert found.shape == np.shape(wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)


def kernels_of(call):
    before = nbgrad.stats()["called"]
    call()
    return nbgrad.stats()["called"] - before


@pytest.mark.parametrize("transform", [lambda f: f, nbgrad.compile], ids=["eager", "compiled"])
def test_gradients_of_all_samples_are_one_call(transform):
    gradients = transform(nbgrad.vmap(nbgrad.grad(springs, (0, 1))))
    wanted = [nbgrad.grad(springs, (0, 1))(x, k) for x, k in zip(XS, NUMBERS, strict=True)]
    for found, each in zip(gradients(XS, NUMBERS), zip(*wanted, strict=True), strict=True):
        close(found, each)
    assert kernels_of(lambda: gradients(XS, NUMBERS)) <= 1


def test_values_tangents_and_cotangents_of_samples():
    values = nbgrad.vmap(springs, (0, None))
    assert np.array_equal(values(XS, 0.3), [springs(x, 0.3) for x in XS])
    tangent = nbgrad.jvp(lambda x, k: values(x, k), (XS, 0.3), (XS, 1.0))[1]
    close(tangent, [nbgrad.jvp(springs, (x, 0.3), (x, 1.0))[1] for x in XS])
    ct = np.arange(6.0)
    by_x, by_k = nbgrad.vjp(values, XS, 0.3)[1](ct)
    rows = [nbgrad.grad(springs, (0, 1))(x, 0.3) for x in XS]
    close(by_x, [c * row for c, (row, _) in zip(ct, rows, strict=True)])
    close(by_k, sum(c * k for c, (_, k) in zip(ct, rows, strict=True)))
    curved = nbgrad.vmap(nbgrad.hessian(springs), (0, None))
    close(curved(XS[:2], 0.3), [nbgrad.hessian(springs)(x, 0.3) for x in XS[:2]])


def test_samples_of_samples():
    nested = nbgrad.vmap(nbgrad.vmap(nbgrad.grad(springs), (0, None)), (0, 0))
    xs, ks = np.reshape(XS, (2, 3, 4)), NUMBERS[:2]
    wanted = [[nbgrad.grad(springs)(x, k) for x in row] for row, k in zip(xs, ks, strict=True)]
    close(nested(xs, ks), wanted)
    close(nbgrad.compile(nested)(xs, ks), wanted)
    crossed = nbgrad.vmap(nbgrad.vmap(springs, (1, None)), (None, 0), out_axes=1)
    close(crossed(XS.T, ks), [[springs(x, k) for k in ks] for x in XS])
    assert nbgrad.vmap(nbgrad.grad(springs))(XS[:0], NUMBERS[:0]).shape == (0, 4)


def test_trip_counts_and_branches_of_each_sample():
    xs, ns = np.array([1.5, -0.5, 2.0]), np.array([3, 0, 1])
    signs = np.array([True, False, True])
    slopes = nbgrad.vmap(nbgrad.grad(powers))
    wanted = [nbgrad.grad(powers)(*each) for each in zip(xs, ns, signs, strict=True)]
    close(slopes(xs, ns, signs), wanted)
    close(nbgrad.compile(slopes)(xs, ns, signs), wanted)
    close(nbgrad.vmap(powers, (None, 0, None))(1.5, ns, False), 1.5**ns)


def written(x, n):
    y = x.copy()
    halved(y, n)
    return y


def test_each_sample_writes_to_an_array_of_its_own():
    rows = [written(XS[n], n) for n in range(5)]
    close(nbgrad.vmap(halved)(XS[:5], np.arange(5)), rows)
    shared = XS[0].copy()
    found = nbgrad.vmap(halved, (None, 0))(shared, np.array([1, 4]))
    close(found, [written(XS[0], n) for n in (1, 4)])
    assert np.array_equal(shared, XS[0])

    def after(x):
        y = x * 1.0
        halved(y, 4)
        return np.sum(y * y)

    close(nbgrad.vmap(nbgrad.grad(after))(XS), [nbgrad.grad(after)(x) for x in XS])


def test_tuples_and_returned_arrays():
    pairs = (XS, 2.0)
    sums, totals, counts = nbgrad.vmap(running, ((0, None), None))(pairs, 3)
    close(sums, np.cumsum(2.0 * XS[:, :3], axis=1))
    close(totals, sums[:, -1])
    assert counts.dtype == np.int64 and list(counts) == [3] * 6
    same = nbgrad.vmap(running, ((0, None), 0))(pairs, np.full(6, 3))
    assert np.array_equal(same[0], sums)
    with pytest.raises(nbgrad.UntrackedError, match="argument n, which differs from sample"):
        nbgrad.vmap(running, ((0, None), 0))(pairs, np.arange(6) % 4)


@nbgrad.njit
def positive(x):
    if x < 0.0:
        raise ValueError("negative")
    return np.sqrt(x)


@pytest.mark.parametrize("transform", [lambda f: f, nbgrad.compile], ids=["eager", "compiled"])
def test_a_sample_that_raises(transform):
    slopes = transform(nbgrad.vmap(nbgrad.grad(positive)))
    close(slopes(np.array([1.0, 4.0])), [0.5, 0.25])
    with pytest.raises(ValueError, match="negative"):
        slopes(np.array([1.0, -4.0]))
