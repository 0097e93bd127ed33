"""What the steps of a loop keep for the pullback beside the states: small values that are dear to
compute again."""

import re

import numpy as np
import pytest

import nbgrad

RNG = np.random.default_rng(3)
A = np.eye(5) + 0.1 * RNG.normal(size=(5, 5))
X = RNG.normal(size=5)
ROWS = RNG.normal(size=(4, 5))


def sums(a, u, row):
    return nbgrad.logsumexp(u[:, None] + a, axis=0) + row


def systems(a, u, row):
    return np.linalg.solve(a + np.outer(u, u) * 0.1, row) + 0.1 * u


def products(a, u, row):
    return np.sin(a @ (a.T @ u)) * row


def inner(a, u, row):
    return nbgrad.scan(lambda s, x: (np.tanh(s * x + row[0]), s), u[0], a[0])[1] * row


def branches(a, u, row):
    return nbgrad.cond(u[0] > 0.0, lambda u: np.linalg.inv(a) @ u, lambda u: np.exp(u) * row, u)


STEPS = [sums, systems, products, inner, branches]


@pytest.mark.parametrize("step", STEPS)
def test_gradients_are_those_of_a_python_loop(step):
    def plain(a, x, rows):
        for row in rows:
            x = step(a, x, row)
        return np.sum(x**2)

    def scanned(a, x, rows):
        return np.sum(nbgrad.scan(lambda u, row: (step(a, u, row), None), x, rows)[0] ** 2)

    both = nbgrad.compile(nbgrad.value_and_grad(scanned, (0, 1, 2)))
    found, expected = both(A, X, ROWS), nbgrad.value_and_grad(plain, (0, 1, 2))(A, X, ROWS)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
    for one, other in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)
    product = nbgrad.compile(nbgrad.hvp(scanned))(A, X, ROWS, np.ones_like(A))
    wanted = nbgrad.hvp(plain)(A, X, ROWS, np.ones_like(A))
    np.testing.assert_allclose(product, wanted, rtol=1e-8, atol=1e-9)


def reverse_step(step, *args):
    """The text of the steps of the gradient, and all of it."""

    def f(a, x, rows):
        return np.sum(nbgrad.scan(lambda u, row: (step(a, u, row), None), x, rows)[0])

    compiled = nbgrad.compile(nbgrad.value_and_grad(f, (0, 1)))
    compiled(*args)
    cores = re.findall(r"def \w+_step\d+_core.*?return", compiled.source, re.DOTALL)
    assert len(cores) == 2
    return cores, compiled.source


def test_a_sum_of_exponentials_is_not_computed_again():
    (back, forward), text = reverse_step(sums, A, X, ROWS)
    maxima = set(re.findall(r"def (loop\d+)(?:(?!def ).)*?highest", text, re.DOTALL))
    assert maxima & set(re.findall(r"loop\d+", forward))
    assert not maxima & set(re.findall(r"loop\d+", back))


def test_what_is_cheap_is_not_kept():
    f = nbgrad.value_and_grad(
        lambda x: np.sum(nbgrad.loop(50, lambda i, u: np.sin(u) * 0.9 + x, x))
    )
    compiled = nbgrad.compile(f)
    compiled(np.ones(100))
    assert compiled.plan.scratch < 8 * 100 * 75  # the states are 51


def test_numbers_of_numpy_do_not_hide_what_is_worth_keeping():
    """`np.log(4)` is a number of NumPy's, not one of Python's."""

    def loss(g, cost):
        def step(_, g):
            f = -nbgrad.special.logsumexp(g - cost, axis=1) - np.log(4)
            return -nbgrad.special.logsumexp(f[:, None] - cost, axis=0) - np.log(4)

        return np.sum(nbgrad.loop(6, step, g) ** 2)

    cost = np.random.default_rng(3).uniform(size=(4, 4))
    compiled = nbgrad.compile(nbgrad.grad(loss))
    np.testing.assert_allclose(
        compiled(np.ones(4), cost), nbgrad.grad(loss)(np.ones(4), cost), rtol=1e-12
    )
    backward = compiled.source[compiled.source.index("_step1_core") :]
    assert "log(" not in backward
