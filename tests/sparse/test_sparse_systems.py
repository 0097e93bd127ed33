"""Systems of sparse matrices in compiled programs: factors, pivots, derivatives, refusals."""

# The annotations of SciPy know no tracked arrays.
# pyright: reportCallIssue=false, reportArgumentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalSubscript=false

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg
from helpers.daily import daily

import nbgrad
from nbgrad.errors import EagerOnlyError, MatrixError
from nbgrad.kernels.fill import bound, elimination
from nbgrad.scipy.sparse import csr_array
from nbgrad.scipy.sparse.linalg import spsolve

RNG = np.random.default_rng(3)
N = 12


def random(n=N, density=0.2):
    values = RNG.normal(size=(n, n)) * (RNG.random((n, n)) < density)
    return scipy.sparse.csr_array(values)


def grid(k):
    """The Laplace operator on k x k points."""
    line = scipy.sparse.diags_array([-np.ones(k - 1), 2.0 * np.ones(k), -np.ones(k - 1)],
                                    offsets=[-1, 0, 1])  # fmt: skip
    unit = scipy.sparse.eye_array(k)
    return scipy.sparse.csr_array(scipy.sparse.kron(line, unit) + scipy.sparse.kron(unit, line))


def tridiagonal(*diagonals):
    return scipy.sparse.csr_array(scipy.sparse.diags_array(diagonals, offsets=[-1, 0, 1]))


_H, _B = grid(3), random(9)[:4] + scipy.sparse.eye_array(4, 9)
_SHUFFLED = scipy.sparse.csr_array((np.ones(N), (np.arange(N), RNG.permutation(N))))
MATRICES = {
    "dominant": random() + 4.0 * scipy.sparse.eye_array(N),
    "grid": grid(4),
    "tridiagonal": tridiagonal(RNG.normal(size=N - 1), RNG.normal(size=N), RNG.normal(size=N - 1)),
    "no diagonal": random(density=0.1) + 3.0 * _SHUFFLED,
    "saddle point": scipy.sparse.block_array([[_H, _B.T], [_B, None]]),
    "small diagonal": 1e-9 * scipy.sparse.eye_array(N) + tridiagonal(
        np.ones(N - 1), np.zeros(N), np.ones(N - 1)
    ),
    "ill-conditioned": grid(4) @ scipy.sparse.diags_array(10.0 ** np.linspace(-6, 6, 16)),
    "dense": scipy.sparse.csr_array(RNG.normal(size=(20, 20))),
    "filled": random(30) + scipy.sparse.eye_array(30),
    "arrow": scipy.sparse.csr_array(
        np.eye(N) + np.outer(np.arange(N) == 0, np.ones(N)) + np.outer(np.ones(N), np.arange(N) < 1)
    ),
    "in parts": scipy.sparse.block_diag([grid(3), [[0.0, 2.0], [1.0, 0.0]], grid(2)]),
    "one": scipy.sparse.csr_array([[2.0]]),
}  # fmt: skip


def solver(matrix):
    """The solution as a function of elements and right-hand sides."""
    indices, indptr, shape = matrix.indices, matrix.indptr, matrix.shape
    return lambda data, b: spsolve(csr_array((data, indices, indptr), shape), b)


def backward_error(matrix, x, b):
    size = abs(matrix).max() * np.abs(x).max() + np.abs(b).max()
    return np.abs(matrix @ x - b).max() / size


@pytest.mark.parametrize("name", daily(MATRICES, 5))
@pytest.mark.parametrize("turned", [False, True])
def test_solutions_are_as_exact_as_scipys(name, turned):
    matrix = scipy.sparse.csr_array(MATRICES[name])
    a = scipy.sparse.csr_array(matrix.T) if turned else matrix
    solve = solver(matrix)
    b = RNG.normal(size=(matrix.shape[0], 2))

    def both(data, b):
        a = csr_array((data, matrix.indices, matrix.indptr), matrix.shape)
        return spsolve(a.T if turned else a, b), solve(data, b[:, 0])

    found, vector = nbgrad.compile(both)(matrix.data, b)
    theirs = scipy.sparse.linalg.spsolve(a.tocsc(), b)
    assert backward_error(a, found, b) < 4.0 * max(backward_error(a, theirs, b), 1e-16)
    assert backward_error(matrix, vector, b[:, 0]) < 1e-15


MODES = {
    "elements": lambda f: nbgrad.grad(f, 0),
    "right-hand side": lambda f: nbgrad.grad(f, 1),
    "forward": lambda f: lambda *args: nbgrad.jvp(f, args, args),
    "hessian": lambda f: nbgrad.hessian(f, 0),
    "samples of elements": lambda f: (
        lambda data, b: nbgrad.vmap(nbgrad.grad(f, 0), (0, None))(np.stack([data, 2.0 * data]), b)
    ),
    "samples of right-hand sides": lambda f: (
        lambda data, b: nbgrad.vmap(f, (None, 0))(data, np.stack([b, 2.0 * b, -b]))
    ),
}


@pytest.mark.parametrize("mode", daily(MODES, 3))
def test_compiled_derivatives(mode):
    matrix = scipy.sparse.csr_array(MATRICES["no diagonal"])
    solve = solver(matrix)
    f = MODES[mode](lambda data, b: np.sum(np.sin(solve(data, b))))
    args = matrix.data, RNG.normal(size=N)
    for found, expected in zip(
        np.atleast_1d(nbgrad.compile(f)(*args)), np.atleast_1d(f(*args)), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)


def test_steps_of_a_loop_share_the_factors():
    matrix = MATRICES["grid"]

    def marched(u):
        return np.sum(nbgrad.loop(3, lambda k, u: spsolve(matrix, u), u) ** 2)

    f = nbgrad.value_and_grad(marched)
    value, slope = f(np.ones(16))
    found = nbgrad.compile(f)(np.ones(16))
    np.testing.assert_allclose(found[0], value, rtol=1e-12)
    np.testing.assert_allclose(found[1], slope, rtol=1e-12)


def test_float32():
    matrix = MATRICES["dominant"]
    args = matrix.data.astype(np.float32), np.ones(N, np.float32)
    found = nbgrad.compile(solver(matrix))(*args)
    assert found.dtype == np.float32
    np.testing.assert_allclose(matrix @ found, args[1], rtol=1e-4, atol=1e-5)


def test_a_new_pattern_is_planned_anew():
    matrix = scipy.sparse.csr_array([[2.0, 0.0], [1.0, 4.0]])
    f = nbgrad.compile(lambda b: spsolve(matrix, b))
    np.testing.assert_allclose(f(np.array([2.0, 5.0])), [1.0, 1.0])
    matrix.indices[:] = [1, 0, 1]
    np.testing.assert_allclose(f(np.array([2.0, 5.0])), [1.0, 1.0])
    matrix.data[:] *= 2.0
    np.testing.assert_allclose(f(np.array([2.0, 5.0])), [0.5, 0.5])


def test_positions_as_arguments():
    """Such a matrix is made dense, if it is small."""
    a, b = csr_array(MATRICES["dominant"]), RNG.normal(size=N)
    f = nbgrad.grad(lambda a, b: np.sum(np.sin(spsolve(a.T, b))))
    np.testing.assert_allclose(nbgrad.compile(f)(a, b).data, f(a, b).data, rtol=1e-9, atol=1e-12)
    large = csr_array(scipy.sparse.eye_array(1001))
    with pytest.raises(EagerOnlyError, match="close over indices and indptr"):
        nbgrad.compile(spsolve)(large, np.ones(1001))


def test_singular_matrices():
    matrix = MATRICES["grid"]
    f = nbgrad.compile(solver(matrix))
    with pytest.raises(MatrixError, match="a singular matrix in spsolve"):
        f(0.0 * matrix.data, np.ones(16))
    assert np.isnan(f(np.nan * matrix.data, np.ones(16))).all()
    np.testing.assert_allclose(matrix @ f(matrix.data, np.ones(16)), 1.0)
    empty = scipy.sparse.csr_array((2, 2))
    column = scipy.sparse.csr_array([[1.0, 0.0], [1.0, 0.0]])
    dense = scipy.sparse.csr_array(np.ones((20, 20)))
    for singular in (empty, column, dense):
        with pytest.raises(MatrixError, match="a singular matrix in spsolve"):
            nbgrad.compile(lambda b, a=singular: spsolve(a, b))(np.ones(singular.shape[0]))
    assert nbgrad.compile(lambda b: spsolve(empty, b))(np.ones((2, 0))).shape == (2, 0)


@pytest.mark.parametrize("name", MATRICES)
def test_the_room_of_factors(name):
    """It is that of the Cholesky factor of A.T @ A in the second order."""
    matrix = scipy.sparse.csc_array(MATRICES[name])
    plan = elimination(matrix.indices, matrix.indptr)
    n = matrix.shape[0]
    pattern = (matrix.toarray() != 0)[:, plan.orders[n:]]
    filled = np.tril(pattern.T @ pattern)
    for j in range(n):
        below = np.flatnonzero(filled[j + 1 :, j]) + j + 1
        filled[np.ix_(below, below)] = True
        filled = np.tril(filled)
    count = np.count_nonzero(filled) - n
    assert bound(plan.indices, plan.indptr, plan.orders[n:]) == count <= plan.room
    assert sorted(plan.orders[:n]) == sorted(plan.orders[n:]) == [*range(n)]
    assert all(0 <= tail <= n for tail in plan.tails)
