"""Sparse matrices beside tracked arrays: products and systems, in every mode."""

# The annotations of SciPy know no tracked arrays.
# pyright: reportCallIssue=false, reportArgumentType=false, reportAttributeAccessIssue=false
# pyright: reportOperatorIssue=false

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import nbgrad
from nbgrad.errors import (
    ArgumentError,
    ArgumentTypeError,
    DimensionMismatch,
    IndexOutOfBounds,
    MatrixError,
    MissingAttribute,
    UntrackedError,
)
from nbgrad.scipy.sparse import csr_array
from nbgrad.scipy.sparse.linalg import spsolve

RNG = np.random.default_rng(1)
D = RNG.normal(size=(4, 5)) * (RNG.random((4, 5)) < 0.5)
SQUARE = RNG.normal(size=(4, 4)) * (RNG.random((4, 4)) < 0.5) + 3.0 * np.eye(4)
S, Q = scipy.sparse.csr_array(D), scipy.sparse.csr_array(SQUARE)
X, Y, W = RNG.normal(size=5), RNG.normal(size=4), RNG.normal(size=(5, 3))
ROWS, COLUMNS = np.nonzero(SQUARE)


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-11)


def summed(f):
    return lambda *args: np.sum(np.sin(f(*args)))


PRODUCTS = {
    "S @ x": (lambda s: lambda x: s @ x, X),
    "y @ S": (lambda s: lambda y: y @ s, Y),
    "S @ W": (lambda s: lambda w: s @ w, W),
    "S.T @ y": (lambda s: lambda y: s.T @ y, Y),
    "W.T @ S.T": (lambda s: lambda w: w.T @ s.T, W),
    "S.dot(x)": (lambda s: lambda x: s.dot(x) if s is not D else D @ x, X),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_scipys_matrices(name):
    make, x = PRODUCTS[name]
    value, slope = nbgrad.value_and_grad(summed(make(D)))(x)
    for kind in (scipy.sparse.csr_array, scipy.sparse.csr_matrix):
        for form in ("csr", "csc", "coo", "dia", "bsr", "lil", "dok"):
            found = nbgrad.value_and_grad(summed(make(kind(D).asformat(form))))(x)
            close(found[0], value)
            close(found[1], slope)


@pytest.mark.parametrize("name", ["S @ x", "y @ S", "S @ W"])
def test_products_in_every_mode(name):
    make, x = PRODUCTS[name]
    f, g = summed(make(S)), summed(make(D))
    close(nbgrad.compile(nbgrad.grad(f))(x), nbgrad.grad(g)(x))
    close(nbgrad.hessian(f)(x), nbgrad.hessian(g)(x))
    close(nbgrad.jvp(f, (x,), (x,))[1], nbgrad.jvp(g, (x,), (x,))[1])
    samples = np.stack([x, -2.0 * x])
    close(nbgrad.vmap(make(S))(samples), [make(D)(sample) for sample in samples])


def test_matrices_of_the_old_kind_multiply_by_a_star():
    old = scipy.sparse.csr_matrix(D)
    close(nbgrad.grad(lambda x: np.sum(old * x))(X), D.sum(0))


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_a_compiled_program_sees_changes_of_the_matrix(form):
    matrix = scipy.sparse.csr_array(D).asformat(form)
    f = nbgrad.compile(lambda x: matrix @ x)
    close(f(X), D @ X)
    matrix.data[:] *= 2.0
    close(f(X), 2.0 * D @ X)
    matrix.data = matrix.data * 2.0
    close(f(X), 4.0 * D @ X)


# -- tracked elements -------------------------------------------------------------------------


def of_elements(data, x):
    a = csr_array((data, Q.indices, Q.indptr), Q.shape)
    return np.sum(np.sin(a @ x) * (x @ a)) + np.sum((2.0 * a.T @ x - (a + a) @ x) ** 2)


def densely(data, x):
    a = nbgrad.at(np.zeros((4, 4)))[ROWS, COLUMNS].add(data)
    return np.sum(np.sin(a @ x) * (x @ a)) + np.sum((2.0 * a.T @ x - (a + a) @ x) ** 2)


@pytest.mark.parametrize("argnum", [0, 1])
def test_derivatives_in_elements_and_vectors(argnum):
    expected = nbgrad.grad(densely, argnum)(Q.data, Y)
    close(nbgrad.grad(of_elements, argnum)(Q.data, Y), expected)
    close(nbgrad.compile(nbgrad.grad(of_elements, argnum))(Q.data, Y), expected)
    hessian = nbgrad.hessian(densely, argnum)(Q.data, Y)
    close(nbgrad.hessian(of_elements, argnum)(Q.data, Y), hessian)
    close(nbgrad.sparse_hessian(of_elements, argnum)(Q.data, Y).toarray(), hessian)


def test_samples_of_elements():
    data = np.stack([Q.data, 2.0 * Q.data])
    close(nbgrad.vmap(lambda d: of_elements(d, Y))(data), [densely(d, Y) for d in data])


def test_a_matrix_is_a_tree():
    a = csr_array(Q)
    slope = nbgrad.grad(lambda a, x: np.sum((a @ x) ** 2))(a, Y)
    close(slope.data, 2.0 * (SQUARE @ Y)[ROWS] * Y[COLUMNS])
    product, twice = nbgrad.compile(lambda a, x: (a @ x, a * 2.0))(a, Y)
    close(product, SQUARE @ Y)
    close(twice.to_scipy().toarray(), 2.0 * SQUARE)


def test_places_are_added():
    a = csr_array((np.array([1.0, 2.0, 4.0]), ([1, 0, 1], [0, 1, 0])), shape=(2, 2))
    close(a.toarray(), [[0.0, 2.0], [5.0, 0.0]])
    rows, columns = [0, 0, 2], [1, 1, 0]
    slope = nbgrad.grad(lambda d: np.sum(csr_array((d, (rows, columns))) @ np.array([3.0, 5.0])))
    close(slope(np.ones(3)), [5.0, 5.0, 3.0])


def test_matrices_and_their_methods():
    a = csr_array(D)
    close(a.toarray(), D)
    close(a.T.toarray(), D.T)
    close(a.sum(0), D.sum(0))
    close(a.sum(1), D.sum(1))
    close(a.sum(), D.sum())
    close((-a / 2.0 - a).to_scipy().toarray(), -1.5 * D)
    close(X @ a.T.to_scipy(), X @ D.T)
    assert (a.shape, a.nnz, a.ndim, a.dtype) == (D.shape, S.nnz, 2, np.float64)
    assert repr(a).startswith("<csr_array of shape (4, 5)")


WRONG = [
    (lambda: csr_array(D) @ Y, DimensionMismatch, r"\(4, 5\) and an array of shape \(4,\)"),
    (lambda: X @ csr_array(D), DimensionMismatch, r"\(5,\)"),
    (lambda: nbgrad.grad(lambda y: np.sum(S @ y))(Y), DimensionMismatch, "a vector of 5"),
    (lambda: csr_array(([1.0], [7], [0, 1]), (1, 3)), IndexOutOfBounds, "column 7"),
    (lambda: csr_array(([1.0], [0], [0, 2]), (1, 3)), ArgumentError, "indptr must rise"),
    (lambda: csr_array(([1.0, 2.0], [0], [0, 1]), (1, 3)), DimensionMismatch, "2 elements"),
    (lambda: csr_array(([1.0], [0.5], [0, 1]), (1, 3)), ArgumentTypeError, "float64"),
    (lambda: csr_array(([1.0], [0], [0, 1]), 3), DimensionMismatch, "shape=3"),
    (lambda: csr_array(([1j], [0], [0, 1])), ArgumentTypeError, "complex128"),
    (lambda: csr_array(D) @ S, ArgumentTypeError, "two sparse matrices"),
    (lambda: csr_array(D) * X, ArgumentTypeError, "by a number"),
    (lambda: csr_array(Q) + csr_array(np.eye(4)), ArgumentError, "different positions"),
    (lambda: csr_array(D).tocsc(), MissingAttribute, "to_scipy"),
    (lambda: nbgrad.grad(lambda x: np.sum(csr_array(x) @ Y))(SQUARE), ArgumentTypeError, "dense"),
    (lambda: nbgrad.grad(lambda x: np.sum(S * x))(X), UntrackedError, r"S\.data \* x"),
    (lambda: spsolve(S, Y), DimensionMismatch, "square"),
    (lambda: spsolve(Q, X), DimensionMismatch, r"b of shape \(5,\)"),
    (lambda: spsolve(scipy.sparse.csr_array((4, 4)), Y), MatrixError, "singular"),
    (
        lambda: nbgrad.grad(lambda b: np.sum(scipy.sparse.linalg.spsolve(Q, b)))(Y),
        UntrackedError, r"nbgrad\.scipy\.sparse\.linalg\.spsolve",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_wrong_operands(case):
    call, error, message = WRONG[case]
    with pytest.raises(error, match=message):
        call()


# -- systems ----------------------------------------------------------------------------------


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("b", [Y, RNG.normal(size=(4, 2))], ids=["vector", "matrix"])
def test_systems(b, turned):
    def sparsely(data, b):
        a = csr_array((data, Q.indices, Q.indptr), Q.shape)
        return np.sum(np.sin(spsolve(a.T if turned else a, b)))

    def densely(data, b):
        a = nbgrad.at(np.zeros((4, 4)))[ROWS, COLUMNS].add(data)
        return np.sum(np.sin(np.linalg.solve(a.T if turned else a, b)))

    point = Q.data, b
    close(sparsely(*point), densely(*point))
    for k in (0, 1):
        close(nbgrad.grad(sparsely, k)(*point), nbgrad.grad(densely, k)(*point))
        close(nbgrad.hessian(sparsely, k)(*point), nbgrad.hessian(densely, k)(*point))
    close(nbgrad.jvp(sparsely, point, point)[1], nbgrad.jvp(densely, point, point)[1])
    data = np.stack([Q.data, 2.0 * Q.data])
    close(nbgrad.vmap(sparsely, (0, None))(data, b), [densely(d, b) for d in data])
    close(nbgrad.vmap(sparsely, (None, 0))(Q.data, np.stack([b, -b])),
          [densely(Q.data, b), densely(Q.data, -b)])  # fmt: skip


def test_systems_of_scipys_matrices():
    expected = nbgrad.grad(lambda b: np.sum(np.linalg.solve(SQUARE, b)))(Y)
    for matrix in (Q, Q.tocsc(), scipy.sparse.csr_matrix(Q), Q.tocoo()):
        close(nbgrad.grad(lambda b, matrix=matrix: np.sum(spsolve(matrix, b)))(Y), expected)
    assert np.isnan(spsolve(Q * np.nan, Y)).all()
