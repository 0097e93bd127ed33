"""Eigenvalues and singular values in compiled programs: LAPACK's, of stacks, of all floats."""

from typing import Any

import numba
import numpy as np
import pytest

import nbgrad

RNG = np.random.default_rng(20)
KINDS = [np.float64, np.float32, np.complex64, np.complex128]
SQUARE = [(1, 1), (4, 4), (2, 3, 3), (40, 40), (0, 0), (2, 0, 0)]
ANY = [(1, 1), (4, 4), (2, 3, 3), (0, 0), (5, 2), (40, 40), (2, 5), (2, 4, 3), (3, 0), (2, 3, 4)]


def matrices(shape, kind):
    x = RNG.normal(size=shape)
    return (x + 1j * RNG.normal(size=shape) if np.issubdtype(kind, complex) else x).astype(kind)


def close_to(kind, n) -> Any:
    eps = float(np.finfo(kind).eps)
    return {"rtol": 100 * eps * max(n, 1), "atol": 100 * eps * max(n, 1)}


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


@pytest.mark.parametrize("kind", KINDS)
def test_hermitian_matrices(kind):
    f = nbgrad.compile(lambda a: np.linalg.eigh(a))
    for shape in SQUARE:
        a = matrices(shape, kind)
        a = a + adjoint(a)
        w, v = f(a)
        expected, close = np.linalg.eigvalsh(a), close_to(kind, shape[-1])
        assert w.dtype == expected.dtype
        assert v.dtype == kind
        np.testing.assert_allclose(w, expected, **close)
        np.testing.assert_allclose(a @ v, v * w[..., None, :], **close)


def test_of_other_matrices_the_symmetric_part_counts():
    a, d = RNG.normal(size=(3, 3)), RNG.normal(size=(3, 3))
    f = nbgrad.compile(lambda a: np.linalg.eigvalsh(a))
    np.testing.assert_allclose(f(a), np.linalg.eigvalsh((a + a.T) / 2), rtol=1e-12)
    np.testing.assert_allclose(f(np.tril(a)), np.linalg.eigvalsh(a), rtol=1e-12)
    pair = nbgrad.compile(lambda a, d: nbgrad.jvp(lambda a: np.linalg.eigvalsh(a), (a,), (d,)))
    np.testing.assert_allclose(pair(a, d)[1], (f(a + 1e-6 * d) - f(a - 1e-6 * d)) / 2e-6, 1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_other_square_matrices(kind):
    f = nbgrad.compile(lambda a: np.linalg.eig(a))
    for shape in SQUARE:
        a = matrices(shape, kind)
        if not np.issubdtype(kind, complex):  # triangular: its eigenvalues are real
            a = np.triu(a) + np.diag(np.arange(shape[-1], dtype=kind))
        w, v = f(a)
        assert w.dtype == v.dtype == kind
        np.testing.assert_allclose(a @ v, v * w[..., None, :], **close_to(kind, 4 * shape[-1]))


@pytest.mark.parametrize("kind", KINDS)
def test_singular_values(kind):
    for shape in ANY[KINDS.index(kind) % 2 :: 2]:  # of each shape two kinds
        f = nbgrad.compile(lambda a: np.linalg.svd(a, full_matrices=False))
        inverse = nbgrad.compile(lambda a: np.linalg.pinv(a))
        a = matrices(shape, kind)
        u, s, vh = f(a)
        close = close_to(kind, max(shape))
        assert (u.dtype, vh.dtype, s.dtype) == (kind, kind, a.real.dtype)
        np.testing.assert_allclose(s, np.linalg.svdvals(a), **close)
        np.testing.assert_allclose((u * s[..., None, :]) @ vh, a, **close)
        found = inverse(a)
        assert found.dtype == kind
        np.testing.assert_allclose(a @ found @ a, a, **close_to(kind, 20 * max(shape)))


def test_a_number_that_is_not_kept_in_a_pseudo_inverse():
    a = np.outer([1.0, 2.0, 3.0], [2.0, -1.0])
    np.testing.assert_allclose(
        nbgrad.compile(lambda a: np.linalg.pinv(a))(a), np.linalg.pinv(a), rtol=1e-12
    )


LOSSES = {
    "eigh": lambda a: np.sum(np.linalg.eigh(a @ a.T)[1] ** 2 * np.arange(3.0)),
    "eig": lambda a: np.sum(np.sin(np.linalg.eigvals(a @ a.T))),
    "svd": lambda a: np.sum(np.linalg.svd(a)[0] ** 2 * np.arange(3.0)) + np.linalg.norm(a, "nuc"),
    "pinv": lambda a: np.sum(np.sin(np.linalg.pinv(a[:, :2]))),
    "condition": lambda a: np.linalg.cond(a) + np.linalg.norm(a, 2),
}


@pytest.mark.parametrize("name", LOSSES)
def test_derivatives_are_those_of_eager_programs(name):
    f, a, d = LOSSES[name], RNG.normal(size=(3, 3)), RNG.normal(size=(3, 3))
    for slope in (
        nbgrad.grad(f), lambda a: nbgrad.jvp(f, (a,), (d,))[1], nbgrad.hessian(f),
        lambda a: nbgrad.vmap(nbgrad.grad(f))(np.stack([a, a + d])),
    ):  # fmt: skip
        np.testing.assert_allclose(nbgrad.compile(slope)(a), slope(a), rtol=1e-8, atol=1e-9)


@pytest.mark.filterwarnings("error")
def test_lengths_have_names():
    f = nbgrad.value_and_grad(lambda s: np.sum(np.linalg.eigh(s)[0] ** 3) + np.linalg.cond(s))
    compiled = nbgrad.compile(f, dynamic={"s": ("n", "n")})
    for n in (2, 3, 7):
        s = RNG.normal(size=(n, n))
        s = s @ s.T + np.diag(np.arange(1.0, n + 1))
        for x, y in zip(compiled(s), f(s), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9)


def test_calls_by_numba():
    f = nbgrad.compile(nbgrad.value_and_grad(lambda s: np.sum(np.linalg.eigvalsh(s) ** 2)))
    s = np.array([[2.0, 0.5], [0.5, 1.0]])
    f(s)
    call = f.njit

    @numba.njit
    def steps(s, n):
        for _ in range(n):
            s = s - 0.1 * call(s)[1]
        return s

    np.testing.assert_allclose(steps(s, 3), s * 0.8**3, rtol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (np.linalg.eigvalsh, "no eigenvalues of a matrix in eigh .*test_compiled_spectra.py"),
        (np.linalg.eigvals, "no eigenvalues of a matrix in eig "),
        (np.linalg.svdvals, "no singular values of a matrix in svd"),
        (np.linalg.pinv, "no singular values of a matrix in pinv"),
    ],
)
def test_elements_that_are_not_finite_are_errors(function, message, bad):
    f = nbgrad.compile(lambda a: function(a))
    for kind in (float, complex):
        with pytest.raises(np.linalg.LinAlgError, match=message):
            f(np.array([[1.0, bad], [bad, 1.0]], kind))


def test_complex_eigenvalues_of_real_matrices_name_the_remedy():
    turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
    with pytest.raises(np.linalg.LinAlgError, match=r"complex eigenvalues .*x\.astype\(complex\)"):
        nbgrad.compile(lambda a: np.linalg.eigvals(a))(turn)
    found = nbgrad.compile(lambda a: np.linalg.eigvals(a.astype(complex)))(turn)
    np.testing.assert_allclose(np.sort(found.imag), [-1.0, 1.0], rtol=1e-14)
