"""Records that are kept from the call of a function to its pullback."""

import gc
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import numpy as np
import pytest

import nbgrad
from nbgrad import njit
from nbgrad.loops import kept
from nbgrad.loops.execute import Runs


@njit
def running(x, r):
    sums = np.empty_like(x)
    total = 0.0
    for i in range(x.size):
        total = np.sin(total) * r + x[i] * x[i]
        sums[i] = total
    return sums


@njit
def smoothed(u, n):
    new = u.copy()
    for _ in range(n):
        for i in range(1, u.size - 1):
            new[i] = u[i] - 0.1 * u[i] * (u[i + 1] - u[i - 1])
        for i in range(1, u.size - 1):
            u[i] = new[i]


@njit
def decomposed(a):
    n = a.shape[0]
    lower = np.zeros_like(a)
    for j in range(n):
        s = a[j, j]
        for k in range(j):
            s -= lower[j, k] ** 2
        lower[j, j] = np.sqrt(s)
        for i in range(j + 1, n):
            s = a[i, j]
            for k in range(j):
                s -= lower[i, k] * lower[j, k]
            lower[i, j] = s / lower[j, j]
    return lower


@njit
def sections(x, count):
    out = np.zeros(2)
    for i in range(x.size):
        row = np.zeros(count)
        for k in range(count):
            row[k] = np.exp(x[i] * k)
        for k in range(1, count):
            row[k] = row[k] * row[k - 1]
        out[i % 2] += row[count - 1]
    return out


@njit
def halvings(x, least):
    count, size = 0.0, np.zeros_like(x)
    for i in range(x.size):
        y = x[i]
        while y > least:
            y = 0.5 * y * np.cos(0.1 * y)
            count += y
        size[i] = y
    return size, count


@njit
def positive(x):
    out = np.empty_like(x)
    for i in range(x.size):
        if x[i] < 0.0:
            raise ValueError("negative")
        out[i] = np.sqrt(x[i])
    return out


@njit
def swapped(x, n):
    u, v = x.copy(), x.copy()
    for _ in range(n):
        for i in range(1, u.size):
            v[i] = u[i] * u[i - 1]
        u, v = v, u
    return u


@njit
def stepped(u, n):
    for _ in nbgrad.steps(n):
        for i in range(u.size):
            u[i] = np.sin(u[i]) * 1.1
    return u.copy()


X = np.linspace(0.2, 1.4, 7)
A = np.random.default_rng(0).normal(size=(4, 4))
A = A @ A.T + 4 * np.eye(4)
CASES = [
    (running, (X, 0.5), {}),
    (smoothed, (X,), {"n": 5}),
    (smoothed, (X[:0],), {"n": 5}),
    (decomposed, (A,), {}),
    (sections, (X,), {"count": 3}),
    (sections, (X[:0],), {"count": 3}),
    (halvings, (X, 0.3), {}),
    (positive, (X,), {}),
    (swapped, (X,), {"n": 3}),
    (stepped, (X,), {"n": 10}),
    (running, (X.astype(np.float32), np.float32(0.5)), {}),
]
NAMES = [f"{f.__name__} {np.shape(args[0])} {np.asarray(args[0]).dtype}" for f, args, _ in CASES]


@pytest.fixture
def runs(monkeypatch):
    """The kinds of runs of kernels, in their order."""
    found = []
    run, keeping = Runs.__call__, Runs.keeping

    def kind(self):
        of = getattr(self._derivative, "of", self._derivative)
        return of.half or ("value" if of.wrt is None else "both")

    def noted(self, *arguments, **options):
        found.append(kind(self))
        return run(self, *arguments, **options)

    def noted_too(self, *arguments, **options):
        found.append(kind(self))
        return keeping(self, *arguments, **options)

    monkeypatch.setattr(Runs, "__call__", noted)
    monkeypatch.setattr(Runs, "keeping", noted_too)
    return found


def leaves(value):
    return value if isinstance(value, tuple) else (value,)


def cotangent(value, seed):
    rng = np.random.default_rng(seed)
    if isinstance(value, tuple):
        return tuple(cotangent(x, seed + 1) for x in value)
    return np.asarray(rng.normal(size=np.shape(value)), np.asarray(value).dtype)[()]


@pytest.mark.parametrize(("f", "args", "options"), CASES, ids=NAMES)
def test_pullbacks_are_those_that_run_again(f, args, options, monkeypatch):
    value, pullback = nbgrad.vjp(f, *args, **options)
    found = [pullback(cotangent(value, seed)) for seed in (1, 2, 1)]
    monkeypatch.setattr("nbgrad.loops.call_plan.value_and_record", lambda *_: None)
    same, again = nbgrad.vjp(f, *args, **options)
    for x, y in zip(leaves(value), leaves(same), strict=True):
        np.testing.assert_array_equal(x, y)
    for slopes, seed in zip(found, (1, 2, 1), strict=True):
        for x, y in zip(slopes, again(cotangent(value, seed)), strict=True):
            np.testing.assert_array_equal(x, y)
            assert np.asarray(x).dtype == np.asarray(y).dtype


def test_several_cotangents_take_one_run_forward(runs):
    value, pullback = nbgrad.vjp(running, X, 0.5)
    for _ in range(3):
        pullback(np.ones_like(value))
    assert runs == ["forward", "backward", "backward", "backward"]


def test_a_tracked_call_takes_one_run_forward(runs):
    slope = nbgrad.grad(lambda x: np.sum(running(x * 2.0, 0.5) ** 2))(X)
    assert runs == ["forward", "backward"]
    rough = nbgrad.jvp(lambda x: np.sum(running(x * 2.0, 0.5) ** 2), (X,), (np.ones(7),))[1]
    assert np.isclose(np.sum(slope), rough)


def test_a_jacobian_by_rows_takes_one_run_forward(runs):
    found = nbgrad.jacobian(running, mode="reverse")(X, 0.5)
    assert runs == ["forward", "backward"]  # all rows by one kernel
    columns = nbgrad.jacobian(running, mode="forward")(X, 0.5)
    np.testing.assert_allclose(found, columns, rtol=1e-12)


def test_later_writes_do_not_change_a_pullback():
    before = nbgrad.vjp(running, X, 0.5)[1](np.ones(7))[0]
    leaf = nbgrad.track(X)
    moved = leaf * 1.0
    total = running(moved, 0.5).sum()
    moved[:] = 0.0
    total.backward()
    np.testing.assert_array_equal(leaf.grad, before)


def test_a_pullback_is_differentiated_as_one_that_runs_again():
    def slope(x, ct):
        return nbgrad.vjp(running, x, 0.5)[1](ct)[0]

    ct, v = np.cos(X), np.sin(X)
    dot = nbgrad.jvp(lambda x: slope(x, ct), (X,), (v,))[1]
    h = 1e-6
    rough = (slope(X + h * v, ct) - slope(X - h * v, ct)) / (2 * h)
    np.testing.assert_allclose(dot, rough, rtol=1e-7)
    _, pullback = nbgrad.vjp(running, X, 0.5)
    by_ct = nbgrad.grad(lambda ct: np.sum(pullback(ct)[0] * v))(ct)
    np.testing.assert_allclose(by_ct, nbgrad.jvp(running, (X, 0.5), (v, 0.0))[1])
    second = nbgrad.grad(lambda x: np.sum(slope(x, ct) * v))(X)
    np.testing.assert_allclose(second, rough, rtol=1e-7)


def test_samples_of_cotangents_share_a_record(runs):
    value, pullback = nbgrad.vjp(cast(Any, smoothed), X, n=3)
    cts = np.random.default_rng(0).normal(size=(2, 5, 7))
    found = nbgrad.vmap(nbgrad.vmap(pullback))(cts)[0]
    assert runs == ["forward", "backward"]
    np.testing.assert_array_equal(found[1, 2], pullback(cts[1, 2])[0])
    assert found.shape == (2, 5, *value.shape)


@pytest.mark.full
def test_records_are_freed():
    gc.collect()
    before = kept._taken[0]
    pullbacks = [nbgrad.vjp(running, X, 0.5)[1] for _ in range(3)]
    size = kept._taken[0] - before
    assert size >= 3 * 8 * X.size
    del pullbacks[0]
    gc.collect()
    assert kept._taken[0] - before == size * 2 // 3
    pullbacks.clear()
    gc.collect()
    assert kept._taken[0] == before


def test_records_together_are_bounded(monkeypatch, runs):
    monkeypatch.setattr(kept, "MOST", kept._taken[0] + 12 * 8 * X.size)
    pullbacks = [nbgrad.vjp(running, X, 0.5)[1] for _ in range(12)]
    found = [pullback(np.ones(7))[0] for pullback in pullbacks]
    assert "value" in runs and "backward" in runs
    assert kept._taken[0] <= kept.MOST
    for slope in found:
        np.testing.assert_array_equal(slope, found[0])
    assert "the latest call kept no record, and its pullback runs" in running.plan


def test_the_plan_tells_what_a_call_keeps():
    x = np.linspace(0.0, 1.0, 100)
    _, pullback = nbgrad.vjp(running, x, 0.5)
    assert "the latest call keeps" in running.plan
    assert "running" in running.source
    assert pullback(np.ones(100))[0].shape == x.shape


def test_errors_of_the_run_forward_are_raised_by_the_call():
    with pytest.raises(ValueError, match="negative"):
        nbgrad.vjp(positive, -X)
    assert np.isfinite(nbgrad.vjp(positive, X)[1](np.ones(7))[0]).all()


def test_threads_may_share_a_record():
    _, pullback = nbgrad.vjp(decomposed, A)
    cts = np.random.default_rng(1).normal(size=(40, 4, 4))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda ct: pullback(ct)[0], cts))
    for slope, ct in zip(found, cts, strict=True):
        np.testing.assert_array_equal(slope, pullback(ct)[0])


def test_a_buffer_of_a_branch_is_kept_for_the_pullback():
    s = np.array([[2.0, 0.5], [0.5, 1.0]])

    @njit
    def f(p):
        a = p * s
        out = np.zeros((2, 2))
        if a.shape[0] <= 300:
            b = np.zeros((2, 2))
            for i in range(2):
                b[i, i] = np.sqrt(a[i, i])
            out[:] = b
        return out

    (slope,) = nbgrad.vjp(f, 2.0)[1](np.ones((2, 2)))
    assert np.isclose(slope, (np.sqrt(2.0) + 1.0) / (2 * np.sqrt(2.0)))


def test_an_array_that_only_dead_code_writes_to_is_read_again():
    @njit
    def f(b, w, k):
        i = 0
        if k[0] % 2 == 0:
            w[:] = np.sin(b)
        elif i:
            b[0] *= 2.0

    b = nbgrad.track(np.array([0.1, 0.2, 0.3]))
    given, w = b.copy(), nbgrad.track(np.zeros(3)).copy()
    f(given, w, np.array([2]))
    (w * np.array([1.0, 2.0, 3.0]) + given).sum().backward()
    np.testing.assert_allclose(b.grad, np.cos(b.data) * np.array([1.0, 2.0, 3.0]) + 1.0)
