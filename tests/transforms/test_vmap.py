"""`vmap` and `map`: samples at once, and one after the other."""

from typing import Any

import numpy as np
import pytest

import nbgrad
from nbgrad import DimensionMismatch, UntrackedError, grad, jvp, vjp, vmap
from nbgrad.compiler.kernel import stats

RNG = np.random.default_rng(0)
NUMBER: Any = 3.0
X, W = RNG.normal(size=(5, 3)), RNG.normal(size=(4, 3))


def looped(f, *args):
    return np.stack([np.asarray(f(*sample)) for sample in zip(*args, strict=True)])


SAMPLE_FUNCTIONS = [
    lambda x: np.sort(x)[::-1] * np.argmax(x),
    lambda x: np.median(x) + x[np.argmin(x)],
    lambda x: np.where(x > 0.0, x, 0.1 * x) * (x < 1.0),
    lambda x: np.outer(x, x)[1] @ W.T,
    lambda x: np.linalg.solve(np.eye(3) + np.outer(x, x), x),
    lambda x: np.linalg.slogdet(np.eye(3) + np.outer(x, x)).logabsdet,
    lambda x: nbgrad.softmax(x) + np.concatenate([x[1:], x[:1]]),
    lambda x: np.einsum("i,ji,j->j", x, W, np.ones(4)),
    lambda x: np.pad(x, 1)[..., None][[0, 2, 2]] * np.flip(x)[:, None].T,
    lambda x: np.linalg.norm(x) * np.prod(x) + np.max(np.cumsum(x)),
    lambda x: nbgrad.evalpoly(x, x[:2]) * np.any(x > 0.0),
    lambda x: np.take_along_axis(x, np.argsort(x), 0) + np.trace(np.diag(x)),
    lambda x: nbgrad.logit_cross_entropy(x[None], np.array([1])) * 2.0,
    lambda x: np.tile(x, 2).reshape(2, 3).T @ np.arange(2.0),
]


@pytest.mark.parametrize("f", SAMPLE_FUNCTIONS, ids=range(len(SAMPLE_FUNCTIONS)))
def test_functions_of_a_sample(f):
    values = looped(lambda x: nbgrad.map(f, x[None])[0], X)
    np.testing.assert_allclose(vmap(f)(X), values, rtol=1e-13)
    slopes = vmap(grad(lambda x: np.sum(f(x) * 1.0)))(X)
    np.testing.assert_allclose(slopes, looped(grad(lambda x: np.sum(f(x) * 1.0)), X), rtol=1e-12)
    tangents = vmap(lambda x, t: jvp(f, (x,), (t,))[1])(X, X[::-1].copy())
    expected = looped(lambda x, t: jvp(f, (x,), (t,))[1], X, X[::-1].copy())
    np.testing.assert_allclose(tangents, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("count", [0, 2])
def test_positions_of_an_outer_level_on_both_sides_of_a_slice(count):
    """The number of a loop's step, and a sample of an outer vmap."""
    x = RNG.normal(size=(count, 3, 2, 3))
    summed = lambda s: nbgrad.loop(3, lambda i, y: y + s[i, :, i], np.zeros(2))  # noqa: E731
    expected = np.einsum("nikj,ij->nk", x, np.eye(3))
    for f in (vmap(summed), nbgrad.compile(vmap(summed))):
        np.testing.assert_allclose(f(x), expected, rtol=1e-15)
    found = vmap(lambda i: vmap(lambda s: s[i, :, i])(x))(np.arange(3))
    np.testing.assert_array_equal(found, np.stack([x[:, i, :, i] for i in range(3)]))


def test_entries_are_replaced_in_each_sample():
    found = vmap(lambda x: x.at[np.array([0, 2])].add(1.0).at[1].set(x[2]))(X)
    np.testing.assert_array_equal(found, np.stack([X[:, 0] + 1.0, X[:, 2], X[:, 2] + 1.0], 1))


def test_an_op_runs_once_for_all_samples():
    f = vmap(lambda x: np.exp(np.tanh(x)))
    f(X)
    before = stats()["called"]
    f(X)
    five = stats()["called"] - before
    f(np.repeat(X, 40, axis=0))
    assert stats()["called"] - before == 2 * five == 4


def test_nested_and_differentiated():
    np.testing.assert_allclose(vmap(lambda w: vmap(lambda x: w @ x)(X))(W), W @ X.T)
    f = lambda w: np.sum(np.tanh(X @ w))  # noqa: E731
    g = lambda w: np.sum(vmap(lambda x: np.tanh(x @ w))(X))  # noqa: E731
    np.testing.assert_allclose(grad(g)(W[0]), grad(f)(W[0]), rtol=1e-13)
    np.testing.assert_allclose(nbgrad.hessian(g)(W[0]), nbgrad.hessian(f)(W[0]), rtol=1e-12)
    tracked = nbgrad.track(W[0])
    g(tracked).backward()
    np.testing.assert_allclose(tracked.grad, grad(f)(W[0]), rtol=1e-13)


def test_compiled():
    f = vmap(grad(lambda w, x: np.sum(np.tanh(w @ x)) ** 2), in_axes=(None, 0))
    np.testing.assert_allclose(nbgrad.compile(f)(W, X), f(W, X), rtol=1e-12)


def test_shared_arguments_trees_and_keywords():
    def f(p, x, *, scale):
        return {"y": p["w"] @ x * scale, "n": p["n"]}

    params = {"w": W, "n": 3}
    out = vmap(f, in_axes=(None, 0))(params, X, scale=2.0)
    np.testing.assert_allclose(out["y"], X @ W.T * 2.0)
    np.testing.assert_array_equal(out["n"], np.full(5, 3))
    batch = {"w": np.stack([W] * 5), "n": 3}
    np.testing.assert_allclose(vmap(f)(batch, X, scale=1.0)["y"], X @ W.T)


def test_no_samples():
    assert vmap(lambda x: np.tanh(x) @ W.T)(np.zeros((0, 3))).shape == (0, 4)


def test_the_pullback_of_many_cotangents():
    _, pullback = vjp(lambda x: np.tanh(W @ x), X[0])
    rows = vmap(lambda ct: pullback(ct)[0])(np.eye(4))
    np.testing.assert_allclose(rows, (1 - np.tanh(W @ X[0]) ** 2)[:, None] * W)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: vmap(np.sin)(1.0), DimensionMismatch, "no argument is an array with an axis"),
        (lambda: vmap(np.sin)(np.array(1.0)), DimensionMismatch, "None in in_axes for shared"),
        (lambda: vmap(np.add)(X, W), DimensionMismatch, r"the shapes (5, 3), (4, 3) differ in"),
        (lambda: vmap(np.sin, in_axes=0.5)(X), ValueError, "pass the axis of samples"),
        (lambda: vmap(np.add, in_axes=(0,))(X, X), DimensionMismatch, "in_axes names 1 arguments"),
        (lambda: vmap(lambda x: x if x[0] > 0 else -x)(X), UntrackedError, "use np.where"),
        (lambda: vmap(lambda x: float(x[0]))(X), UntrackedError, "float() of a Batched"),
        (lambda: vmap(lambda x: x.item())(X), UntrackedError, "differ from sample to sample"),
        (lambda: vmap(lambda x: np.nonzero(x))(X), TypeError, "call it outside of vmap"),
        (lambda: vmap(lambda x: "text")(X), TypeError, "the function gave str, not an array"),
        (lambda: vmap(NUMBER), TypeError, "vmap: not a function"),
        (lambda: nbgrad.map(np.sin, np.zeros((0, 3))), DimensionMismatch, "there is no sample"),
        (lambda: nbgrad.map(lambda x: x[: int(x[0] > 0)], X), DimensionMismatch, "of shapes"),
    ],
)  # fmt: skip
def test_mistakes(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value)


def test_map_may_branch_on_values():
    f = lambda x: np.sum(x) if x[0] > 0 else x[1] * 3.0  # noqa: E731
    np.testing.assert_allclose(nbgrad.map(f, X), looped(f, X))
    slope = grad(lambda w: np.sum(nbgrad.map(lambda x: f(x * w), X)))(2.0)
    np.testing.assert_allclose(slope, np.sum(looped(f, X)))
    both = nbgrad.map(lambda x, y: {"s": x + y}, X, [1.0, 2.0, 3.0, 4.0, 5.0])
    np.testing.assert_allclose(both["s"], X + np.arange(1.0, 6.0)[:, None])
