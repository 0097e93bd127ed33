"""NumPy's functions of complex arrays: values, and derivatives in all modes and tiers."""

# What is wrong on purpose, and what NumPy's annotations do not know.
# pyright: reportCallIssue=false, reportArgumentType=false, reportAttributeAccessIssue=false

import warnings

import numpy as np
import pytest

import nbgrad
from nbgrad.complex import ComplexArray
from nbgrad.complex.calls import rules
from nbgrad.complex.pair import lifted

RANDOM = np.random.default_rng(5)
EDGES = [
    0, 1, -1, 1j, -1j, 2, -2, 0.5, -0.5, 2j, -2j, complex(-2, -0.0), complex(2, -0.0),
    complex(0.0, -2), 1e-9 + 1e-9j, 1 + 1e-10j, 3 - 4j, 20 + 3j, -20 + 1j, 1e200 + 1e200j,
]  # fmt: skip


def draw(*shape):
    return RANDOM.normal(size=shape) + 1j * RANDOM.normal(size=shape)


Z, W, M, N = draw(4), draw(4), draw(3, 4), draw(4, 3)
R = RANDOM.normal(size=4)
UFUNCS = [u for u in rules if isinstance(u, np.ufunc) and u.nin == 1]
ORDERED = {np.maximum, np.minimum}


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda u: u.__name__)
def test_values_are_numpys_with_signs_of_zeros_on_cuts(ufunc):
    z = np.concatenate([np.array(EDGES, complex), draw(20)])
    with np.errstate(all="ignore"):
        try:
            expected = ufunc(z)
        except TypeError:
            pytest.skip("NumPy's is for real numbers")
        found = rules[ufunc](lifted(z))
    found = found.data if isinstance(found, ComplexArray) else np.asarray(found)
    fit = np.isfinite(expected) & (np.abs(z) < 1e100)
    np.testing.assert_allclose(found[fit], expected[fit], 1e-12, 1e-13)
    if expected.dtype.kind == "c":
        np.testing.assert_array_equal(np.signbit(found.imag[fit]), np.signbit(expected.imag[fit]))


@pytest.mark.parametrize(
    "ufunc", [np.add, np.subtract, np.multiply, np.divide, np.power], ids=lambda u: u.__name__
)
def test_values_of_operators_are_numpys(ufunc):
    z, w = draw(50), draw(50)
    for x, y in (
        (z, w),
        (z, w.real),
        (z.real, w),
        (z, 2.5 - 1j),
        (3, w),
        (z, 3),
        (z, -2),
        (z, 0.5),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = ufunc(x, y)
        found = rules[ufunc](*(lifted(a) for a in (x, y)))
        np.testing.assert_allclose(found.data, expected, 1e-12, 1e-14)


# Functions of z, w (4,), M (3, 4), N (4, 3), which are complex, and R (4,), which is real.
PROGRAMS = """
z * w + z / w - z ** 3 + 2j / z
R * z + (1 - R) / w + R ** 2 * 1j
np.exp(z) * np.log(w) + np.sqrt(z * w)
np.sin(z) + np.cos(w) + np.tan(z) + np.sinh(z) + np.cosh(w) + np.tanh(z)
np.arcsin(z) + np.arccos(w) + np.arctan(z) + np.arcsinh(w) + np.arccosh(z) + np.arctanh(w)
np.expm1(z) + np.log1p(w) + np.log2(z) + np.log10(w) + np.exp2(z) + np.square(w)
np.abs(z) * np.angle(w) + np.reciprocal(z) + np.sign(w) + np.sinc(z)
z ** w + z ** 0.5 + z ** -2 + R.astype(complex) ** z
np.conj(z) * w + z.real * w.imag + w.conj() + z.conjugate()
M @ z + N.T @ w + R @ N
np.dot(z, w) + np.vdot(z, w) + np.inner(z, R) + z @ w
np.outer(z, R) + np.multiply.outer(w, z)
np.einsum('ij,j->i', M, z) + np.einsum('ij,jk,k->i', M, N, M[:, 0])
np.tensordot(M, N, 1) + np.kron(M, N)[:3, :3] + np.trace(M @ N)
np.cross(M[:, :3], N.T[:, :3])
np.convolve(z, w, 'same') + np.correlate(z, w, 'same') + np.convolve(z, R, 'same')
np.sum(M, axis=0) * np.mean(M, axis=1, keepdims=True) + np.prod(M, axis=0) + np.prod(z)
np.cumsum(M, axis=1) + np.cumprod(M, axis=1) + np.cumprod(z)
np.var(M, axis=0) + np.std(z) + np.var(z, ddof=1)
np.concatenate([z, R, w]) * np.tile(z, 3) + np.repeat(w, 3)
np.stack([z, w, R])[1:, ::2] + np.where(R > 0, z, w)[:2] + np.vstack([z, R])[:, 1:3]
np.reshape(M, (4, 3)) + M.T + np.moveaxis(M, 0, 1) + N[::-1] + np.roll(N, 1, 0) + np.flip(N, 1)
np.linalg.solve(M @ N + 3 * np.eye(3), M) + np.linalg.inv(M @ N + 3 * np.eye(3)) @ M
np.linalg.norm(z) + np.linalg.norm(M) + np.linalg.norm(M, axis=1) + np.linalg.norm(z, 1)
np.linalg.matrix_power(M @ N, 3) + np.diag(z)[:3, :3] + np.tril(M @ N) + np.diagonal(M)[0]
np.polyval(z, w) + np.pad(z, 1)[:4] + np.take(z, [3, 2, 1, 0]) + np.append(z, w)[2:6]
np.diff(z, axis=0)[0] + np.expand_dims(z, 0) * w[:, None] + np.broadcast_to(z, (4, 4)) + z[None].T
np.real_if_close(z) + np.nan_to_num(w) + z.copy() + +z - -w + z.round(20) * 0
(M @ N).trace() + M.sum() + M.mean() + z.reshape(2, 2).ravel()[0] + z.prod() + M.mT[0, 0] + M.var()
""".strip().splitlines()
NAMES = "zwMNR"
ARGS = (Z, W, M, N, R)


def function(text):
    return eval(f"lambda {', '.join(NAMES)}: {text}", {"np": np})


def loss_of(text):
    f = function(text)

    def loss(*args):
        out = f(*args)
        return (
            np.sum(np.cos(out.real)) + np.sum(np.sin(0.7 * out.imag))
            if np.iscomplexobj(out)
            else np.sum(np.cos(out))
        )

    return loss


def inner(a, b):
    """The real inner product of two tuples of arrays."""
    return sum(float(np.sum((np.conj(x) * y).real)) for x, y in zip(a, b, strict=True))


DIRECTION = (draw(4), draw(4), draw(3, 4), draw(4, 3), RANDOM.normal(size=4))


def along(f, step=1e-5):
    """The derivative of f along DIRECTION, by a difference of fourth order."""
    at = lambda t: f(*(x + t * d for x, d in zip(ARGS, DIRECTION, strict=True)))  # noqa: E731
    return (8 * (at(step) - at(-step)) - (at(2 * step) - at(-2 * step))) / (12 * step)


@pytest.mark.filterwarnings("ignore::nbgrad.ConstantWarning")
@pytest.mark.parametrize("text", PROGRAMS)
def test_values_and_derivatives(text):
    f, loss = function(text), loss_of(text)
    expected = f(*ARGS)
    tracked = f(*map(nbgrad.track, ARGS))
    np.testing.assert_allclose(np.asarray(tracked.data), expected, 1e-11, 1e-12)
    gradient = nbgrad.gradient(loss, *ARGS)
    for slope, x in zip(gradient, ARGS, strict=True):
        assert slope.dtype == x.dtype and slope.shape == x.shape
    slope = along(loss)
    assert inner(gradient, DIRECTION) == pytest.approx(slope, rel=1e-7, abs=1e-7)
    value, tangent = nbgrad.jvp(f, ARGS, DIRECTION)
    np.testing.assert_allclose(value, expected, 1e-11, 1e-12)
    np.testing.assert_allclose(tangent, along(f), 1e-6, 1e-6)
    # the adjoint identity
    out, pullback = nbgrad.vjp(f, *ARGS)
    cotangent = np.cos(np.arange(out.size)).reshape(out.shape) * (
        1 - 2j if np.iscomplexobj(out) else 1
    )
    assert inner(pullback(cotangent), DIRECTION) == pytest.approx(
        inner([cotangent], [tangent]), rel=1e-9, abs=1e-9
    )


@pytest.mark.filterwarnings("ignore::nbgrad.ConstantWarning")
@pytest.mark.parametrize("part", range(3))
def test_compiled_programs_have_the_same_values_and_gradients(part):
    texts = PROGRAMS[part::3]
    losses = [loss_of(text) for text in texts]

    def total(*args):
        return sum(loss(*args) for loss in losses)

    compiled = nbgrad.compile(lambda *args: (total(*args), nbgrad.gradient(total, *args)))
    value, gradient = compiled(*ARGS)
    assert value == pytest.approx(total(*ARGS), rel=1e-11)
    for found, expected in zip(gradient, nbgrad.gradient(total, *ARGS), strict=True):
        np.testing.assert_allclose(found, expected, 1e-9, 1e-10)


@pytest.mark.filterwarnings("ignore::nbgrad.ConstantWarning")
@pytest.mark.parametrize("text", PROGRAMS[:9:2])
def test_second_order_and_batches(text):
    loss = loss_of(text)
    both = lambda z, w: loss(z, w, M, N, R)  # noqa: E731
    slope = nbgrad.grad(both)
    product = nbgrad.hvp(both)(Z, W, DIRECTION[0])
    step = 1e-6
    expected = (slope(Z + step * DIRECTION[0], W) - slope(Z - step * DIRECTION[0], W)) / (2 * step)
    np.testing.assert_allclose(product, expected, 1e-6, 1e-6)
    batch = np.stack([Z, W, DIRECTION[0]])
    stacked = nbgrad.vmap(slope, (0, None))(batch, W)
    np.testing.assert_allclose(stacked, [slope(z, W) for z in batch], 1e-10, 1e-12)
