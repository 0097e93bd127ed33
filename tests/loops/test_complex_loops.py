"""Functions with loops of complex numbers: values as Numba's, derivatives as differences."""

# What is wrong on purpose, and what NumPy's annotations do not know.
# pyright: reportCallIssue=false, reportArgumentType=false, reportAttributeAccessIssue=false

import cmath
import math
from typing import Any

import numba
import numpy as np
import pytest

import nbgrad
from nbgrad.errors import ComplexError, LoopError

RNG = np.random.default_rng(0)


def numbers(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


def differences(f: Any, z: Any, step: float = 1e-6) -> Any:
    """The direction of steepest ascent, by central differences."""
    z = np.asarray(z)
    found = np.zeros(z.shape, z.dtype)
    for index in np.ndindex(z.shape):
        for unit in (1.0, 1j) if z.dtype.kind == "c" else (1.0,):
            ends = []
            for sign in (1, -1):
                moved = z.copy()
                moved[index] += sign * step * unit
                ends.append(f(moved if moved.shape else moved[()]))
            found[index] += unit * (ends[0] - ends[1]) / (2 * step)
    return found


# -- programs -------------------------------------------------------------------------------------


def mandelbrot(c):
    z = 0j
    n = 0
    while abs(z) < 2 and n < 20:
        z = z * z + c
        n += 1
    return z.real * z.real + 2 * z.imag


def newton(z):
    """Steps to a root of z**3 - 1."""
    for _ in range(4):
        z = z - (z**3 - 1) / (3 * z**2)
    return abs(z - 0.3)


def horner(c):
    total = 0
    for k in range(len(c)):
        total = total * (0.4 - 0.9j) + c[k]
    return abs(total) ** 2


def transform(x):
    """A fast Fourier transform of radix 2."""
    n = len(x)
    y = np.empty(n, np.complex128)
    for i in range(n):
        r, rest = 0, i
        m = n
        while m > 1:
            r = 2 * r + (rest & 1)
            rest >>= 1
            m //= 2
        y[r] = x[i]
    m = 2
    while m <= n:
        w = cmath.exp(-2j * np.pi / m)
        for start in range(0, n, m):
            t = 1 + 0j
            for k in range(start, start + m // 2):
                u, v = y[k], t * y[k + m // 2]
                y[k] = u + v
                y[k + m // 2] = u - v
                t *= w
        m *= 2
    return y


def peaks(x):
    y = x.copy()
    total = 0.0
    for z in y * y:
        total += abs(z) * z.real
    return total


def qubits(angles):
    state = np.zeros(8, np.complex128)
    state[0] = 1
    for q in range(3):
        c, s = math.cos(angles[q]), -1j * math.sin(angles[q])
        for i in range(8):
            if not (i >> q) & 1:
                a, b = state[i], state[i | 1 << q]
                state[i] = c * a + s * b
                state[i | 1 << q] = s * a + c * b
    for i in range(8):
        if (i & 1) and (i >> 1) & 1:
            state[i] = -state[i]
    return (np.abs(state) ** 2 * np.arange(8)).sum() + state[3].imag


def ladder(parts):
    z = 50 + 0j
    for k in range(3):
        z = 1j * parts[k] + 1 / (1j * parts[k] / 9 + 1 / z)
    return abs((z - 50) / (z + 50))


def rebound(x):
    u = np.zeros(x.shape, np.complex128)
    for k in range(3):
        u = u * 0.5j + x if k % 2 == 0 else u.conj()
    return np.abs(u).sum() + np.array([z * z for z in x]).sum().real


def pair(a, b):
    return a * b, a / b


def joins(z):
    total = 0
    for k in range(len(z)):
        if z[k].real > 0:
            p, q = pair(z[k], 2j)
            total = total + p - q
        else:
            total = total * 0.5 + 2
    w = z[0] if z[0].imag > 0 else 1.0
    if w == total or not w:
        return 0.0
    return abs(total) + (w * complex(1.5, z[1].real)).imag


def parts(z):
    w = z.copy()
    w.real[0] = 3.0
    w.imag[1:] *= 2
    v = w[::-1]
    v[:] = v * 2
    w[1] += 1j
    return (w * np.conjugate(z)).real.sum() + np.array([1j * z[0], 2.0 + z[1]]).imag.sum()


def products(z):
    a = np.outer(z, z) + 1j * np.eye(len(z))
    x = np.linalg.solve(a, z)
    return np.abs(a @ x + a.real @ z).sum() + np.vdot(z, x).real + np.linalg.norm(a @ a)


def reductions(z):
    a = z.reshape(2, -1)
    total = np.abs(a.sum(axis=0)).sum() + np.abs(np.sum(a, axis=1)).sum() + a.mean().real
    return (
        total
        + np.prod(z).imag
        + np.abs(np.cumsum(z)).sum()
        + np.where(a.real > 0, a, 2j).sum().imag
    )


OUTSIDE = np.array([1 + 1j, 2 - 1j, 0.5, 1j])


def outside(z):
    total = 0j
    for k in range(4):
        total += OUTSIDE[k] * z[k]
    return abs(total)


PROGRAMS = {
    mandelbrot: 0.1 + 0.2j, newton: 0.3 + 0.9j, horner: numbers(4), peaks: numbers(4),
    qubits: RNG.normal(size=3), ladder: RNG.uniform(1, 2, 3), rebound: numbers(3),
    joins: numbers(3), parts: numbers(3), products: numbers(3), reductions: numbers(4),
    outside: numbers(4),
}  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_programs(program):
    z = PROGRAMS[program]
    value, slope = nbgrad.value_and_grad(nbgrad.njit(program))(z)
    assert value == pytest.approx(program(z), rel=1e-12)
    assert np.allclose(slope, differences(program, z), rtol=1e-7, atol=1e-7)
    assert np.asarray(slope).dtype == np.asarray(z).dtype


# -- operations -----------------------------------------------------------------------------------

OPERATIONS = {
    "arithmetic": lambda z, w: (z + w) * (z - 2) / (w * 1j) - -z + 3.5 / w,
    "powers": lambda z, w: z**3 + z**-2 + w**0 + z**0.5 + z**w + 2.0**z + z ** int(w.real * 0 + 3),
    "exponentials": lambda z, w: cmath.exp(z) + cmath.log(w) + cmath.log10(z) + np.log2(w),
    "near 1": lambda z, w: np.expm1(z * 0.01) + np.log1p(w * 0.01) + np.sqrt(z) + np.reciprocal(w),
    "circular": lambda z, w: cmath.sin(z) + cmath.cos(w) * cmath.tan(z),
    "hyperbolic": lambda z, w: np.sinh(z) + np.cosh(w) * np.tanh(z) + cmath.tanh(30 + z),
    "inverse": lambda z, w: cmath.asin(z) + cmath.acos(w) * cmath.atan(z),
    "inverse hyperbolic": lambda z, w: np.arcsinh(z) + np.arccosh(w) * np.arctanh(z),
    "parts": lambda z, w: z.real * w.imag + z.conjugate() * np.conj(w) + np.real(z) * 1j,
    "polar": lambda z, w: cmath.polar(z)[0] * cmath.phase(w) + cmath.rect(z.real, w.real),
    "moduli": lambda z, w: abs(z) + np.abs(w) * 1j + np.angle(z),
    "casts": lambda z, w: complex(z.real, w.imag) + np.complex128(w.real) + complex(z),
    "tests": lambda z, w: (z * w if z != w and not cmath.isnan(z) else w) * (z == z),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_values_and_tangents(name):
    f, args = OPERATIONS[name], (0.4 - 1.1j, -0.7 + 0.6j)
    directions = (0.3 + 0.2j, -0.1 + 0.5j)
    value, tangent = nbgrad.jvp(nbgrad.njit(f), args, directions)
    assert np.allclose(value, f(*args), rtol=1e-13)
    h = 1e-6
    ends = [f(*(x + s * d for x, d in zip(args, directions, strict=True))) for s in (h, -h)]
    assert np.allclose(tangent, (ends[0] - ends[1]) / (2 * h), rtol=1e-7, atol=1e-7)


def test_plan_before_a_gradient():
    f = nbgrad.njit(lambda z, w: abs(w * z[0]))
    f(Z, 1j)
    assert "gradient with respect to z, w" in f.plan
    assert "hypot" in f.source


def test_holomorphic():
    f = nbgrad.njit(lambda z: z * z * cmath.exp(z))
    z = 0.5 + 1j
    assert nbgrad.grad(f, holomorphic=True)(z) == pytest.approx((2 * z + z * z) * cmath.exp(z))


def test_at_zero():
    assert nbgrad.grad(nbgrad.njit(lambda z: abs(z)))(0j) == 0
    n = 3
    f = nbgrad.njit(lambda z: z**n + z)
    assert nbgrad.grad(f, holomorphic=True)(0j) == 1


# -- ways to call ---------------------------------------------------------------------------------

fft = nbgrad.njit(transform)
Z = numbers(4)


def test_results_are_complex():
    assert np.allclose(fft(Z), np.fft.fft(Z))
    assert numba.njit(lambda z: fft(z)[1] + 1)(Z) == pytest.approx(np.fft.fft(Z)[1] + 1)


def test_every_transformation():
    def loss(z):
        return np.sum(np.abs(fft(z * z)) ** 2)

    wanted = differences(loss, Z)
    assert np.allclose(nbgrad.grad(loss)(Z), wanted)
    assert np.allclose(nbgrad.compile(nbgrad.grad(loss))(Z), wanted)
    x = nbgrad.track(Z)
    loss(x).backward()
    assert np.allclose(x.grad, wanted)
    value, pull = nbgrad.vjp(fft, Z)
    assert np.allclose(pull(value)[0], 4 * Z)
    rows = nbgrad.vmap(fft)(np.stack([Z, 2j * Z]))
    assert np.allclose(rows, np.fft.fft([Z, 2j * Z]))
    assert np.allclose(nbgrad.compile(fft)(Z), np.fft.fft(Z))


def test_second_order():
    inner = nbgrad.njit(lambda z: abs(z * z * z) ** 2)
    z = 0.5 + 1j

    def slope(x, y):
        return np.real(nbgrad.grad(inner)(x + 1j * y))

    rows = nbgrad.grad(slope, argnums=(0, 1))(z.real, z.imag)
    wanted = 6 * abs(z) ** 4 + 24 * abs(z) ** 2 * z.real * z
    assert np.allclose(complex(*rows), wanted)


@nbgrad.njit
def scaled(z, s):
    for i in range(len(z)):
        z[i] *= s


def test_written_arguments():
    z = Z.copy()
    scaled(z, 2j)
    assert np.array_equal(z, 2j * Z)

    def loss(z):
        y = z * 1
        scaled(y, 2j)
        return np.sum(np.abs(y))

    for f in (nbgrad.grad(loss), nbgrad.compile(nbgrad.grad(loss))):
        assert np.allclose(f(Z), 2 * Z / np.abs(Z))
    value, tangent = nbgrad.jvp(scaled, (Z, 2j), (np.ones(4) + 0j, 0j))
    assert np.allclose(value, 2j * Z)
    assert np.allclose(tangent, 2j)
    assert np.array_equal(z, 2j * Z)


def test_single_precision():
    f = nbgrad.njit(lambda z: (z * z + np.exp(z)).real.sum())
    slope = nbgrad.grad(f)(Z.astype(np.complex64))
    assert slope.dtype == np.complex64
    assert np.allclose(slope, np.conj(2 * Z + np.exp(Z)), rtol=1e-5)
    value, _ = nbgrad.vjp(nbgrad.njit(lambda z: z * z), Z.astype(np.complex64))
    assert value.dtype == np.complex64


REFUSED = {
    "the order of complex numbers": lambda z: 1.0 if z[0] > 1 else 2.0,
    "max of complex numbers": lambda z: np.max(z).real,
    "exp of complex numbers": lambda z: math.exp(z[0]),
    "a complex number as a real one": lambda z: np.full(2, z[0], np.float64).sum(),
    "floordiv of complex numbers": lambda z: (z[0] // 2).real,
}


@pytest.mark.parametrize("why", REFUSED)
def test_refusals(why):
    with pytest.raises(LoopError, match=why):
        nbgrad.grad(nbgrad.njit(REFUSED[why]))(Z)


def test_other_errors():
    with pytest.raises(ComplexError, match="complex result"):
        nbgrad.grad(nbgrad.njit(lambda z: z * z))(1j)
    with pytest.raises(LoopError, match="convert it to complex128"):
        nbgrad.grad(nbgrad.njit(lambda z: abs(z)))(np.clongdouble(1j))


def through_views(z):
    """Functions that are recorded give views of complex arrays, and copies."""
    z = z.copy()
    np.moveaxis(z, 0, 1)[0, 1] = 3.0
    turned, flat, whole = np.rot90(z), np.squeeze(z[None]), np.atleast_2d(z)
    turned[0, 0] = 2.0 - 1.0j
    flat[1, 1] = z[0, 0] * 2.0
    whole[1, 0] *= 1.0j
    padded = np.pad(z, 1)
    padded[1:3] = 0.0
    return np.sum(np.abs(z) ** 2 * np.arange(3.0)) + np.sum(np.abs(padded) ** 2)


def test_views_of_recorded_functions():
    z = np.random.default_rng(0).normal(size=(3, 3)) * (1 + 0.5j)
    value, slope = nbgrad.value_and_grad(nbgrad.njit(through_views))(z)
    assert value == pytest.approx(through_views(z), rel=1e-13)
    np.testing.assert_allclose(slope, nbgrad.grad(through_views)(z), rtol=1e-12)
