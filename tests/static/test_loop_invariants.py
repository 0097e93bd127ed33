"""What each step of a loop would compute alike is computed once, before the loop."""

import re

import numpy as np
import pytest
from helpers.daily import pairs

import nbgrad

RNG = np.random.default_rng(5)
A = np.eye(4) + 0.1 * RNG.normal(size=(4, 4))
X = RNG.normal(size=4)


def through(step):
    """A sum over some steps from X, by a matrix."""
    return lambda a, x: np.sum(nbgrad.loop(5, lambda i, u: step(a, i, u), x) ** 2)


STEPS = {
    "a factor": lambda a, i, u: np.linalg.solve(a, u),
    "an inverse": lambda a, i, u: np.linalg.inv(a) @ u,
    "a product": lambda a, i, u: np.tanh((a @ a.T) @ u),
    "a function": lambda a, i, u: np.exp(-a).T @ u * 0.5,
    "a reduction": lambda a, i, u: u / np.sqrt(np.sum(a * a)) + np.max(a, axis=0),
    "a row of a function": lambda a, i, u: u + np.exp(a)[i % 4],
    "a determinant": lambda a, i, u: u * np.linalg.det(a),
    "a loop": lambda a, i, u: u + nbgrad.loop(3, lambda _, v: np.sin(a @ v), np.ones(4)),
    "nothing": lambda a, i, u: a @ u + i,
}


@pytest.mark.parametrize("name", STEPS)
def test_results_are_those_of_a_python_loop(name):
    step = STEPS[name]

    def plain(a, x):
        for i in range(5):
            x = step(a, i, x)
        return np.sum(x**2)

    f = through(step)
    both = nbgrad.compile(nbgrad.value_and_grad(f, (0, 1)))(A, X)
    expected = nbgrad.value_and_grad(plain, (0, 1))(A, X)
    np.testing.assert_allclose(both[0], expected[0], rtol=1e-12)
    for found, wanted in zip(both[1], expected[1], strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)
    product = nbgrad.compile(nbgrad.hvp(f))(A, X, np.ones_like(A))
    np.testing.assert_allclose(product, nbgrad.hvp(plain)(A, X, np.ones_like(A)), rtol=1e-9)


def test_a_matrix_is_factored_once():
    compiled = nbgrad.compile(through(STEPS["a factor"]))
    compiled(A, X)
    (inner,) = re.findall(r"def \w+_step0_core.*?return", compiled.source, re.DOTALL)
    assert "factored" not in inner and compiled.source.count("factored(") == 1


def nested(a, x):
    def step(_, u):
        return nbgrad.loop(2, lambda _, v: np.linalg.solve(a, v), u)

    return np.sum(nbgrad.loop(3, step, x) ** 2)


def stacked(a, x):
    return np.sum(nbgrad.vmap(through(STEPS["a factor"]))(np.stack([a, 2 * a]), np.stack([x, x])))


@pytest.mark.parametrize("f", [through(STEPS["a factor"]), nested, stacked])
def test_a_gradient_solves_with_the_transposed_factor(f):
    both = nbgrad.value_and_grad(f, (0, 1))
    compiled = nbgrad.compile(both)
    found, expected = compiled(A, X), both(A, X)
    assert found[0] == pytest.approx(expected[0])
    for one, other in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)
    assert compiled.source.count("factored(") == 1


def test_one_loop_takes_a_matrix_and_another_one_its_transpose():
    def f(a, x):
        def step(b):
            return lambda _, u: np.linalg.solve(a, u) + np.linalg.solve(b, u)

        return nbgrad.loop(2, step(a.T), x) + nbgrad.loop(2, step(a), x)

    jacobian = nbgrad.jacobian(f, (0, 1))
    for found, wanted in zip(nbgrad.compile(jacobian)(A, X), jacobian(A, X), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)


def test_what_a_loop_without_rounds_would_have_refused_is_no_error():
    """The matrix is singular, and no step solves with it."""

    def f(a, x):
        test, step = (lambda u: np.sum(u) > 100.0), (lambda u: np.linalg.solve(a, u))
        return np.sum(nbgrad.while_loop(test, step, x, max_steps=4))

    compiled = nbgrad.compile(f)
    assert compiled(np.zeros((4, 4)), X) == pytest.approx(X.sum())
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        compiled(np.zeros((4, 4)), X + 100.0)


def test_captured_arrays_are_read_at_each_call():
    w = np.ones((3, 3))
    compiled = nbgrad.compile(lambda x: nbgrad.loop(2, lambda _, u: np.exp(w) @ u, x))
    for _ in range(3):
        np.testing.assert_allclose(compiled(np.ones(3)), np.exp(w) @ (np.exp(w) @ np.ones(3)))
        w *= 0.5


def test_the_gradient_of_a_solution_factors_the_matrix_once():
    f = nbgrad.value_and_grad(lambda a, x: np.sum(np.linalg.solve(a, x) ** 2), (0, 1))
    compiled = nbgrad.compile(f)
    found, expected = compiled(A, X), f(A, X)
    for one, other in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)
    assert compiled.source.count("factored(") == 1


@pytest.mark.parametrize(("n", "dtype"), pairs([1, 2, 7, 8, 9, 17, 40], ["float64", "float32"]))
def test_systems_of_any_size_are_those_of_numpy(n, dtype):
    """Panels, rows in groups, one right-hand side and several, and the transposed matrix."""
    rng = np.random.default_rng(n)
    a, b = rng.normal(size=(n, n)).astype(dtype), rng.normal(size=(n, 3)).astype(dtype)
    scale = 20 * np.finfo(dtype).eps * np.linalg.cond(a.astype(float))
    for matrix, of in ((a, lambda a: a), (a.T, lambda a: a.T)):
        for right in (b, b[:, 0]):
            found = nbgrad.compile(lambda a, b, of=of: np.linalg.solve(of(a), b))(a, right)
            expected = np.linalg.solve(matrix.astype(float), right.astype(float))
            assert found.dtype == dtype
            np.testing.assert_allclose(found, expected, atol=scale * np.abs(expected).max())
    inverse = np.linalg.inv(a.astype(float))
    found = nbgrad.compile(np.linalg.inv)(a)
    np.testing.assert_allclose(found, inverse, atol=scale * np.abs(inverse).max())
