"""Linear algebra of complex matrices: values against NumPy and SciPy, derivatives against
differences of plain NumPy, and compiled programs."""

# What is wrong on purpose, and what NumPy's annotations do not know.
# pyright: reportCallIssue=false, reportArgumentType=false, reportAttributeAccessIssue=false

from typing import Any

import numpy as np
import pytest
import scipy.linalg
from helpers.daily import daily

import nbgrad
from nbgrad import linalg
from nbgrad.errors import ArgumentError

RNG = np.random.default_rng(3)
LA: Any = np.linalg
EYE = 4 * np.eye(3)


def normal(*shape):
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


def definite(z):
    return z @ np.conjugate(np.swapaxes(z, -1, -2)) + EYE


def tensor(z):
    return np.reshape(z + 3 * np.eye(4), (2, 2, 4))


# Functions of a matrix, its shape, and the module of plain values where it is not NumPy.
Z, TALL, WIDE = (3, 3), (4, 2), (2, 4)
CASES = {
    "inv": (lambda z, la: LA.inv(z + EYE), Z),
    "solve": (lambda z, la: LA.solve(z + EYE, z[:, :2]), Z),
    "solve of a vector": (lambda z, la: LA.solve(z + EYE, z[0].real), Z),
    "det": (lambda z, la: LA.det(z), Z),
    "slogdet": (lambda z, la: LA.slogdet(z), Z),
    "cholesky": (lambda z, la: LA.cholesky(definite(z)), Z),
    "cholesky upper": (lambda z, la: LA.cholesky(definite(z), upper=True), Z),
    "qr": (lambda z, la: LA.qr(z), TALL),
    "qr wide": (lambda z, la: LA.qr(z), WIDE),
    "eigh": (lambda z, la: LA.eigh(definite(z)), Z),
    "eig": (lambda z, la: LA.eig(z), Z),
    "svd": (lambda z, la: LA.svd(z), Z),
    "svd tall": (lambda z, la: LA.svd(z, full_matrices=False), TALL),
    "svd wide": (lambda z, la: LA.svd(z, full_matrices=False), WIDE),
    "pinv": (lambda z, la: LA.pinv(z), TALL),
    "lstsq": (lambda z, la: LA.lstsq(z, z[:, 0] ** 2)[:2], TALL),
    "norms": (
        lambda z, la: [LA.norm(z, k) for k in (None, "fro", "nuc", 1, -np.inf, 2)]
        + [LA.norm(z, 3, axis=0), LA.norm(z[0]), LA.vector_norm(z), LA.cond(z), LA.cond(z, 1)],
        Z,
    ),
    "powers": (lambda z, la: [LA.matrix_power(z, 5), LA.matrix_power(z + EYE, -2)], Z),
    "tensors": (lambda z, la: [LA.tensorsolve(tensor(z), z[:2, :2]), LA.tensorinv(tensor(z))],
                (4, 4)),
    "polynomials": (
        lambda z, la: [np.vander(z[0]), np.poly(z[0]), np.roots(z[0]), np.polyval(z[0], z[1]),
                       np.polyadd(z[0], z[1, :2]), np.polymul(z[0], z[1]), np.polyder(z[0])], Z,
    ),
    "functions": (lambda z, la: [la.expm(z), la.sqrtm(z), la.logm(z)], Z),
    "sylvester": (lambda z, la: la.solve_sylvester(z, z[:2, :2] * 1j, z[:, :2]), Z),
    "triangular": (
        lambda z, la: [la.solve_triangular(z, z[0]), la.solve_triangular(z, z, 2, True),
                       la.solve_triangular(z, z[0], 1, unit_diagonal=True)], Z,
    ),
    "banded": (lambda z, la: la.solve_banded((1, 1), z + 4 * np.eye(3, 4, 1), z[0]), (3, 4)),
    "cho_solve": (lambda z, la: la.cho_solve(la.cho_factor(definite(z)), z[0]), Z),
    "made of others": (
        lambda z, la: [la.block_diag(z, z[0]), la.toeplitz(z[0]), la.toeplitz(z[0], z[1]),
                       la.matmul_toeplitz(z[0], z[1])], Z,
    ),
}  # fmt: skip


def leaves(out):
    return [x for part in out for x in leaves(part)] if isinstance(out, (list, tuple)) else [out]


def number(f, la):
    """A real function that reads all parts of all results."""

    def total(z):
        sums = []
        for i, x in enumerate(leaves(f(z, la))):
            count = np.reshape(np.arange(np.size(x)) + i, np.shape(x))
            sums.append(np.sum(np.real(x) * np.cos(count) + np.imag(x) * np.sin(count + 1.0)))
        return sum(sums)

    return total


def slope(f, z, d, h=1e-4):
    return (8 * (f(z + h * d) - f(z - h * d)) - f(z + 2 * h * d) + f(z - 2 * h * d)) / (12 * h)


def dot(x, y):
    return np.sum(x.real * y.real + x.imag * y.imag)


@pytest.mark.parametrize("name", CASES)
def test_values_are_numpys(name):
    f, shape = CASES[name]
    z = normal(*shape)
    found, expected = leaves(f(nbgrad.track(z), linalg)), leaves(f(z, scipy.linalg))
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        assert x.dtype == np.asarray(y).dtype
        np.testing.assert_allclose(x.data, y, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", daily(CASES, 7))
def test_derivatives(name):
    """Of the phases of vectors, too, which are LAPACK's."""
    f, shape = CASES[name]
    z, d, e = normal(*shape), normal(*shape), normal(*shape)
    plain, tracked = number(f, scipy.linalg), number(f, linalg)
    grad = nbgrad.grad(tracked)
    expected = slope(plain, z, d)
    close = {"rtol": 1e-8, "atol": 1e-8 * max(1.0, abs(expected))}
    gradient = grad(z)
    np.testing.assert_allclose(dot(gradient, d), expected, **close)
    np.testing.assert_allclose(nbgrad.jvp(tracked, (z,), (d,))[1], expected, **close)
    second = dot(nbgrad.grad(lambda z: nbgrad.jvp(tracked, (z,), (d,))[1])(z), e)
    expected = slope(lambda z: dot(grad(z), d), z, e)
    close["atol"] = 1e-7 * max(1.0, abs(expected))
    np.testing.assert_allclose(second, expected, **close)
    both = nbgrad.vmap(grad)(np.stack([z, z + 0.1 * d]))
    np.testing.assert_allclose(both[0], gradient, rtol=1e-10, atol=1e-10)


COMPILED = [
    "solve", "eigh", "det", "eig", "slogdet", "svd", "cholesky", "svd tall", "qr", "svd wide",
    "qr wide", "pinv", "lstsq", "norms", "powers", "polynomials", "tensors", "triangular", "banded",
    "cho_solve", "made of others",
]  # fmt: skip


@pytest.mark.parametrize("name", daily(COMPILED, 2))
def test_compiled(name):
    f, shape = CASES[name]
    z = normal(*shape)
    expected = nbgrad.value_and_grad(number(f, linalg))(z)
    for x, y in zip(
        nbgrad.compile(nbgrad.value_and_grad(number(f, linalg)))(z), expected, strict=True
    ):
        np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-12)


def test_compiled_factors_are_lapacks():
    """Pivots are exchanged, columns are 0 below the diagonal; stacks, and complex64."""
    z = normal(2, 5, 3)
    z[1] = np.triu(z[1])
    square = normal(2, 4, 4) * np.array([1e-3, 1.0, 10.0, 1.0])[:, None]
    f = nbgrad.compile(lambda z, a: (np.linalg.qr(z), np.linalg.slogdet(a), np.linalg.det(a)))
    for kind, eps in ((np.complex128, 1e-13), (np.complex64, 1e-5)):
        z, square = z.astype(kind), square.astype(kind)
        found = leaves(f(z, square))
        expected = leaves((LA.qr(z), LA.slogdet(square), LA.det(square)))
        for x, y in zip(found, expected, strict=True):
            assert x.dtype == y.dtype
            np.testing.assert_allclose(x, y, rtol=eps, atol=10 * eps)


@pytest.mark.parametrize("n", [3, 40])
def test_compiled_cholesky_factors(n):
    """In blocks of rows, too; of one triangle; not of an indefinite matrix."""
    z = normal(2, n, n)
    a = z @ np.conj(np.swapaxes(z, -1, -2)) + n * np.eye(n)
    f = nbgrad.compile(lambda a: np.linalg.cholesky(a, upper=False))
    expected = LA.cholesky(a)
    np.testing.assert_allclose(f(a), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(f(np.tril(a)), expected, rtol=1e-12, atol=1e-12)
    single = f(a.astype(np.complex64))
    assert single.dtype == np.complex64
    np.testing.assert_allclose(single, expected, rtol=1e-4, atol=1e-4)
    with pytest.raises(LA.LinAlgError, match="not a positive definite matrix in cholesky"):
        f(a - 10 * n * np.eye(n))


REALS = {
    "eigvals": lambda x, la: LA.eigvals(x),
    "eig": lambda x, la: LA.eig(x),
    "roots": lambda x, la: np.roots(x[0]),
    "poly": lambda x, la: np.poly(x),
    "sqrtm": lambda x, la: la.sqrtm(x - 1.5 * np.eye(3)),
    "logm": lambda x, la: la.logm(x - 1.5 * np.eye(3)),
}


@pytest.mark.parametrize("name", daily(REALS, 2))
def test_real_matrices_with_complex_results(name):
    f, x = REALS[name], np.array([[0.5, 1.5, 0.3], [-1.0, 0.2, 0.1], [0.4, 0.5, 1.0]])
    found, expected = leaves(f(nbgrad.track(x), linalg)), leaves(f(x, scipy.linalg))
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a.data, b, atol=1e-13)
    d = RNG.normal(size=x.shape)
    expected = slope(number(f, scipy.linalg), x, d)
    gradient = nbgrad.grad(number(f, linalg))(x)
    np.testing.assert_allclose(np.sum(gradient * d), expected, rtol=1e-8, atol=1e-8)


def test_holomorphic():
    z, d = normal(3, 3), normal(3, 3)
    f = lambda z: np.linalg.det(z) + np.linalg.eigvals(z)[0]  # noqa: E731
    found = np.sum(nbgrad.grad(f, holomorphic=True)(z) * d)
    np.testing.assert_allclose(found, slope(f, z, d), rtol=1e-8)


def test_functions_that_no_phase_changes_have_derivatives_where_vectors_have_zeros():
    """A projector onto vectors with a first element of 0, and onto those of equal eigenvalues."""
    a = np.diag([1.0, 2.0, 2.0]) + 0j
    a[1, 2], a[2, 1] = 0.5j, -0.5j
    d = normal(3, 3)
    d = d + d.conj().T

    def weight(a, la=None):
        v = np.linalg.eigh(a)[1][:, 2:]
        return np.sum(np.real(v @ np.conjugate(v.T)) * np.arange(9.0).reshape(3, 3))

    expected = slope(weight, a, d)
    np.testing.assert_allclose(dot(nbgrad.grad(weight)(a), d), expected, rtol=1e-8)
    a = np.diag([1.0, 1.0, 2.0]) + 0j
    found = nbgrad.grad(lambda a: np.sum(np.real(np.linalg.eigvalsh(a)[:2])))(a)
    np.testing.assert_allclose(found, np.diag([1.0, 1.0, 0.0]), atol=1e-14)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda z: LA.inv(z[:2]), nbgrad.DimensionMismatch, "inv: the shape"),
        (lambda z: LA.solve(z, z[0, :2]), nbgrad.DimensionMismatch, "b must have 3 rows"),
        (lambda z: LA.det(z[0]), nbgrad.DimensionMismatch, "det: the shape"),
        (lambda z: LA.eigh(z, "X"), ArgumentError, "UPLO"),
        (lambda z: LA.qr(z, "complete")[0] + LA.qr(z[:, :2], "raw")[0], nbgrad.NoRuleError, "mode"),
        (lambda z: LA.svd(z[:2]), nbgrad.NoRuleError, "full_matrices=False"),
        (lambda z: LA.cholesky(-definite(z)), LA.LinAlgError, "."),
        (lambda z: LA.inv(0 * z), LA.LinAlgError, "."),
        (lambda z: linalg.expm(z[:2]), nbgrad.DimensionMismatch, "expm"),
        (lambda z: linalg.solve_triangular(z, z, 5), ArgumentError, "trans"),
        (lambda z: LA.norm(z, "huh"), ArgumentError, "norm"),
        (lambda z: LA.matrix_power(z, 1.5), TypeError, "matrix_power"),
        (lambda z: np.roots(z), nbgrad.NoRuleError, "one axis"),
    ],
)
def test_errors(call, error, words):
    with pytest.raises(error, match=words):
        call(nbgrad.track(normal(3, 3)))
