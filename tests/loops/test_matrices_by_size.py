"""Functions of matrices in functions with loops, small ones and those with rules."""

import numpy as np
import pytest

import nbgrad
from nbgrad import njit
from nbgrad.loops import by_size

PROGRAMS = {
    "inv": lambda a: (np.linalg.inv(a) ** 2).sum(),
    "cholesky": lambda a: (np.linalg.cholesky(a @ a.T) ** 3).sum(),
    "lower triangle": lambda a: (np.linalg.cholesky(np.tril(a) + 9.0 * np.eye(len(a))) ** 3).sum(),
    "det": lambda a: np.linalg.det(a),
    "slogdet": lambda a: np.linalg.slogdet(a)[1],
    "solve": lambda a: (np.linalg.solve(a, a[0] ** 2) ** 2).sum(),
    "columns": lambda a: (np.linalg.solve(a, a[:, :2] * a[:, 1:3]) ** 3).sum(),
}


def written(a):
    total = 0.0
    b = a + 0.0
    for _ in range(3):
        x = np.linalg.inv(b)
        b[0] *= 1.1
        x[0] += np.linalg.solve(b, x[1])
        b[:] = b + 0.1 * x
        total += x[0, 1] ** 2
    return total


@pytest.fixture(autouse=True)
def small_factors(monkeypatch):
    monkeypatch.setattr(by_size, "_SMALL_FACTOR", 12)


@pytest.mark.parametrize("size", [3, 13, 30])
@pytest.mark.parametrize("program", [*PROGRAMS.values(), written], ids=[*PROGRAMS, "written"])
def test_derivatives(program, size):
    rng = np.random.default_rng(0)
    a = rng.normal(size=(size, size)) / np.sqrt(size) + 1.5 * np.eye(size)
    way = rng.normal(size=(size, size)) / size
    f, step = njit(program), 1e-6
    value, slope = nbgrad.value_and_grad(f)(a)
    assert np.isclose(value, program(a), rtol=1e-10)
    difference = (program(a + step * way) - program(a - step * way)) / (2 * step)
    assert np.isclose((slope * way).sum(), difference, rtol=1e-5)
    assert np.isclose(nbgrad.jvp(f, (a,), (way,))[1], (slope * way).sum(), rtol=1e-9)
    gradient = nbgrad.grad(f)
    change = (gradient(a + step * way) - gradient(a - step * way)) / (2 * step)
    found = nbgrad.jvp(gradient, (a,), (way,))[1]
    np.testing.assert_allclose(found, change, atol=1e-5 * np.abs(change).max() + 1e-9)


def test_what_cannot_be_factored():
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        nbgrad.grad(njit(PROGRAMS["solve"]))(np.ones((20, 20)))
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        nbgrad.grad(njit(PROGRAMS["inv"]))(np.ones((20, 20)))
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        nbgrad.grad(njit(PROGRAMS["lower triangle"]))(-10.0 * np.eye(20))
