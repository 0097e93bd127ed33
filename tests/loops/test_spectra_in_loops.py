"""Eigenvalues and singular values in functions with loops: constants of LAPACK with terms that have
their derivatives. The eager rows are the reference."""

from typing import Any

import numpy as np
import pytest

import nbgrad

RNG = np.random.default_rng(3)
L = np.linalg


def even(x):
    return x + x.T


def of_symmetric(x):
    w, v = L.eigh(even(x))
    return np.sum(np.exp(0.3 * w) * v[0] ** 2) + np.sum(L.eigvalsh(even(x)) ** 3)


def of_triangle(x):
    return np.sum(L.eigh(np.tril(x))[0] * np.arange(x.shape[0]))


def of_values(x):
    w, v = L.eig(x @ x.T + np.diag(np.arange(x.shape[0]) * 3.0))
    return np.sum(np.sqrt(w) * np.abs(v[0])) + np.sum(L.eigvals(x @ x.T) ** 2)


def of_singular(x):
    u, s, vt = L.svd(x, full_matrices=False)
    return np.sum(s**3) + np.sum((u[0] * vt[:, 0]) ** 2) + np.sum(L.svdvals(x) ** 2)


def of_inverse(x):
    return np.sum(L.pinv(x) ** 2 * np.arange(x.shape[0])) + L.cond(x)


def of_norms(x):
    return L.norm(x, 2) * L.norm(x, -2)


def of_a_loop(x):
    """Matrices that are overwritten between decompositions, which are recorded for each round."""
    a, total = even(x), 0.0
    for k in range(4):
        w, v = L.eigh(a)
        for i in range(a.shape[0]):
            total += w[i] * v[k % a.shape[0], i] ** 2
        a[0] *= 0.5
        a[:, 0] *= 0.5
        a += (v * np.exp(0.1 * w)) @ v.T
    return total


def of_a_branch(x):
    if L.eigvalsh(even(x))[0] < 0.0:
        return L.svdvals(x)[0] ** 2
    return L.eigvalsh(even(x))[-1] * 3.0


def of_systems(x):
    """Solutions and determinants that are part of other functions."""
    sign, log = L.slogdet(x)
    return sign * log + np.sum(L.tensorsolve(x, x[0]) ** 2) + np.sum(L.matrix_power(x, -2))


FUNCTIONS = [of_symmetric, of_a_loop]
LONG = [of_triangle, of_values, of_singular, of_inverse, of_norms, of_a_branch, of_systems]
LONG = [pytest.param(function, marks=pytest.mark.full) for function in LONG]
SHAPES = (3, 3), (2, 2), (5, 5), (1, 1)


def close(mine: Any, wanted: Any, tolerance: float) -> None:
    scale = float(np.max(np.abs(wanted)))
    np.testing.assert_allclose(
        np.asarray(mine), np.asarray(wanted), rtol=tolerance, atol=tolerance * scale
    )


@pytest.mark.parametrize("function", [*FUNCTIONS, *LONG], ids=lambda f: f.__name__)
def test_derivatives(function):
    """One program for all lengths gives the value, both directions, and second derivatives."""
    compiled = nbgrad.njit(function)
    for shape in SHAPES:
        x, t = RNG.normal(size=shape), RNG.normal(size=shape)
        value, slope = nbgrad.value_and_grad(compiled)(x)
        wanted, gradient = nbgrad.value_and_grad(function)(x)
        close(value, wanted, 1e-10)
        close(value, compiled(x), 1e-10)
        close(slope, gradient, 1e-8)
        close(nbgrad.jvp(compiled, (x,), (t,))[1], np.sum(gradient * t), 1e-8)
        if shape[0] < 4:
            close(nbgrad.hvp(compiled)(x, t), nbgrad.hvp(function)(x, t), 1e-6)


@pytest.mark.full
@pytest.mark.parametrize("shape", [(2, 4), (4, 2), (3, 1)])
def test_other_shapes(shape):
    x = RNG.normal(size=shape)
    for function in (of_singular, of_inverse, of_norms):
        value, slope = nbgrad.value_and_grad(nbgrad.njit(function))(x)
        wanted, gradient = nbgrad.value_and_grad(function)(x)
        close(value, wanted, 1e-10)
        close(slope, gradient, 1e-8)


def of_hermitian(z):
    h, total = z + np.conj(z).T, 0.0
    for k in range(2):
        w, v = L.eigh(h)
        total += np.sum(w**2 * np.abs(v[0]) ** 2) + L.eigvalsh(h)[k]
        h = (v * np.cos(w)) @ np.conj(v).T
    return total


def of_complex(z):
    u, s, vh = L.svd(z, full_matrices=False)
    total = np.sum(s**3) + np.sum(np.abs(u[0] * vh[:, 0]) ** 2)
    return total + np.sum(np.abs(L.eigvals(z)) ** 2) + np.sum(np.abs(L.pinv(z)) ** 2)


def of_complex_systems(z):
    sign, log = L.slogdet(z)
    return np.real(log) + np.imag(sign) + np.abs(L.det(z)) + np.sum(np.abs(L.inv(z[None])) ** 2)


@pytest.mark.full
@pytest.mark.parametrize("function", [of_hermitian, of_complex, of_complex_systems])
def test_complex_matrices(function):
    compiled = nbgrad.njit(function)
    for n in (3, 2):
        z, t = (RNG.normal(size=(n, n)) + 1j * RNG.normal(size=(n, n)) for _ in range(2))
        value, slope = nbgrad.value_and_grad(compiled)(z)
        wanted, gradient = nbgrad.value_and_grad(function)(z)
        close(value, wanted, 1e-10)
        close(slope, gradient, 1e-8)
        close(nbgrad.jvp(compiled, (z,), (t,))[1], nbgrad.jvp(function, (z,), (t,))[1], 1e-8)
    close(nbgrad.hvp(compiled)(z, t), nbgrad.hvp(function)(z, t), 1e-6)


def test_the_gradient_of_complex_matrices():
    compiled, z = nbgrad.njit(lambda z: np.sum(np.abs(L.inv(z[None])) ** 2)), np.eye(2) + 0.5j
    close(nbgrad.grad(compiled)(z), nbgrad.grad(compiled.py_func)(z), 1e-10)


def of_exponentials(x):
    state = np.array([1.0, 0.0, 0.0])
    for k in range(3):
        state = nbgrad.linalg.expm(0.3 * k * x + x.T) @ state
    return np.sum(state**3) + np.sum(nbgrad.linalg.expm(20.0 * x)) * 1e-12


def of_rotations(x):
    turned = nbgrad.linalg.expm(1j * (x + x.T)) @ (x + 0.5j)
    return np.abs(turned[0, 1]) ** 2


@pytest.mark.parametrize(
    "function", [of_exponentials, pytest.param(of_rotations, marks=pytest.mark.full)]
)
def test_exponentials(function):
    compiled, x, t = nbgrad.njit(function), RNG.normal(size=(3, 3)), RNG.normal(size=(3, 3))
    value, slope = nbgrad.value_and_grad(compiled)(x)
    wanted, gradient = nbgrad.value_and_grad(function)(x)
    close(value, wanted, 1e-10)
    close(slope, gradient, 1e-9)
    close(nbgrad.hvp(compiled)(x, t), nbgrad.hvp(function)(x, t), 1e-8)


def of_least_squares(x):
    total = np.sum(L.lstsq(x[:, :2], x[:, 2])[0] ** 2)
    return total + np.sum(L.qr(x[None])[1][0] ** 2 * np.arange(3.0))


@pytest.mark.full
def test_least_squares():
    compiled, x = nbgrad.njit(of_least_squares), RNG.normal(size=(4, 3))
    value, slope = nbgrad.value_and_grad(compiled)(x)
    wanted, gradient = nbgrad.value_and_grad(of_least_squares)(x)
    close(value, wanted, 1e-10)
    close(slope, gradient, 1e-9)


def of_stacks(x):
    values = L.eigvalsh(x + np.swapaxes(x, 1, 2)) * L.svd(x, full_matrices=False)[1]
    return np.sum(values * np.arange(3.0)) + np.sum(L.cholesky(x @ np.swapaxes(x, 1, 2)) ** 2)


@pytest.mark.full
@pytest.mark.parametrize("count", [2, 3])
def test_stacks(count):
    x = RNG.normal(size=(count, 3, 3))
    value, slope = nbgrad.value_and_grad(nbgrad.njit(of_stacks))(x)
    wanted, gradient = nbgrad.value_and_grad(of_stacks)(x)
    close(value, wanted, 1e-10)
    close(slope, gradient, 1e-8)


SIGMA = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([[1.0, 0.0], [0.0, -1.0]])


def fidelity(pulses):
    """A spin is turned by pulses: exact steps by eigenvalues, of matrices of known lengths."""
    state = np.array([1.0 + 0.0j, 0.0j])
    for k in range(pulses.shape[0]):
        w, v = L.eigh(0.5 * SIGMA[1] + pulses[k] * SIGMA[0])
        state = v @ (np.exp(-0.3j * w) * (v.T @ state))
    return np.abs(state[1]) ** 2


def test_a_program_with_spectra_in_each_step():
    pulses = RNG.normal(size=6)
    value, slope = nbgrad.value_and_grad(nbgrad.njit(fidelity))(pulses)
    wanted, gradient = nbgrad.value_and_grad(fidelity)(pulses)
    close(value, wanted, 1e-12)
    close(slope, gradient, 1e-10)


def test_single_precision():
    x = RNG.normal(size=(3, 3)).astype(np.float32)
    slope = nbgrad.grad(nbgrad.njit(of_symmetric))(x)
    assert slope.dtype == np.float32
    close(slope, nbgrad.grad(of_symmetric)(x.astype(float)), 1e-3)


@pytest.mark.full
def test_in_compiled_programs_and_batches():
    function, x = nbgrad.njit(of_symmetric), RNG.normal(size=(6, 3, 3))
    wanted = np.stack([nbgrad.grad(of_symmetric)(each) for each in x])
    close(nbgrad.vmap(nbgrad.grad(function))(x), wanted, 1e-8)
    close(nbgrad.compile(nbgrad.grad(lambda x: function(x) * 2.0))(x[0]), 2.0 * wanted[0], 1e-8)
    hessian = nbgrad.compile(nbgrad.hessian(function))(x[0])
    close(hessian, nbgrad.hessian(of_symmetric)(x[0]), 1e-6)


def test_equal_eigenvalues():
    """Sums over equal eigenvalues have a gradient; what rotations of their vectors change is
    nan."""
    compiled = nbgrad.njit(lambda x: np.sum(L.eigvalsh(x) ** 2))
    close(nbgrad.grad(compiled)(np.eye(3)), 2.0 * np.eye(3), 1e-12)
    value, slope = nbgrad.value_and_grad(nbgrad.njit(lambda x: L.eigh(x)[1][0, 1]))(np.eye(2))
    assert value == 0.0
    assert np.isnan(slope).any()


@pytest.mark.parametrize("function", [of_symmetric, of_a_loop], ids=lambda f: f.__name__)
def test_third_derivatives(function):
    compiled = nbgrad.njit(function)
    x = even(RNG.normal(size=(3, 3))) + np.diag([0.0, 3.0, 6.0])
    way, step = even(RNG.normal(size=(3, 3))), 1e-4

    def curvature(x):
        return nbgrad.hvp(compiled)(x, way)

    third = nbgrad.jvp(curvature, (x,), (way,))[1]
    difference = (curvature(x + step * way) - curvature(x - step * way)) / (2 * step)
    close(third, difference, 1e-4)


def test_what_is_not_finite():
    compiled = nbgrad.njit(of_symmetric)
    with pytest.raises(L.LinAlgError):
        nbgrad.grad(compiled)(np.full((3, 3), np.nan))
