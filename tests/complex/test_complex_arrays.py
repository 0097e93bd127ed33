"""Complex arrays as people use them: writes, trees, control flow, holomorphic functions."""

import dataclasses

import numpy as np
import pytest

import nbgrad

Z = np.array([3.0 + 4.0j, 1.0 - 2.0j, -0.5 + 0.1j])


def test_the_gradient_is_the_direction_of_steepest_ascent():
    z = nbgrad.track(Z, "z")
    loss = np.sum(np.abs(z) ** 2) + z[0].imag
    loss.backward()
    np.testing.assert_allclose(z.grad, 2 * Z + [1j, 0, 0])
    assert z.grad.dtype == np.complex128 and z.dtype == np.complex128


def test_gradients_have_the_dtype_of_their_arrays():
    for dtype in (np.complex64, np.complex128):
        slope = nbgrad.grad(lambda z: np.sum(np.abs(np.exp(z * 1j) * 2.0)))(Z.astype(dtype))
        assert slope.dtype == dtype
    assert (
        nbgrad.grad(lambda x: np.abs(np.exp(1j * x) + x) ** 2)(np.float32(2.0)).dtype == np.float32
    )


def test_the_modulus_has_the_derivative_0_at_0():
    assert nbgrad.grad(lambda z: np.abs(z))(0j) == 0
    assert nbgrad.compile(nbgrad.grad(lambda z: np.abs(z)))(0j) == 0


def test_trees_may_hold_complex_leaves():
    params = {"a": Z, "b": [2.0, 1.0 + 1.0j]}
    slope = nbgrad.grad(lambda p: np.sum(np.abs(p["a"] * p["b"][0] + p["b"][1]) ** 2))(params)
    total = Z * 2.0 + (1 + 1j)
    np.testing.assert_allclose(slope["a"], 4 * total)
    np.testing.assert_allclose(slope["b"][0], 2 * np.sum((np.conj(Z) * total).real))
    np.testing.assert_allclose(slope["b"][1], 2 * np.sum(total))
    compiled = nbgrad.compile(nbgrad.grad(lambda p: np.sum(np.abs(p["a"] * p["b"][0]))))
    np.testing.assert_allclose(compiled(params)["a"], 2 * Z / np.abs(Z))


def written(z):
    y = z.copy()
    view = y[1:]
    y[0] = 2j * y[1]
    view *= 1 + 1j
    y.imag[2] = 0.5 * y.real[0]
    y.real += 1.0
    return y


def test_writes_are_seen_through_views_and_parts():
    expected = written(Z)
    np.testing.assert_array_equal(written(nbgrad.track(Z)).data, expected)
    np.testing.assert_allclose(nbgrad.compile(written)(Z), expected)
    loss = lambda z: np.sum(np.abs(written(z)) ** 2)  # noqa: E731
    step, slope = 1e-6, nbgrad.grad(loss)(Z)
    for i, way in ((0, 1), (1, 1j), (2, 1), (2, 1j)):
        by = step * way * np.eye(3)[i]
        expected = (loss(Z + by) - loss(Z - by)) / (2 * step)
        assert (slope[i] * np.conj(way)).real == pytest.approx(expected, abs=1e-6)
    np.testing.assert_allclose(nbgrad.compile(nbgrad.grad(loss))(Z), slope)


def test_holomorphic_derivatives():
    cube = nbgrad.grad(lambda z: z**3, holomorphic=True)
    assert cube(1 + 1j) == pytest.approx(6j)
    second = nbgrad.grad(nbgrad.grad(lambda z: np.exp(2 * z), holomorphic=True), holomorphic=True)
    assert second(0.3j) == pytest.approx(4 * np.exp(0.6j))
    matrix = nbgrad.jacobian(lambda z: np.stack([z[0] * z[1], np.sin(z[2])]), holomorphic=True)(Z)
    np.testing.assert_allclose(matrix, [[Z[1], Z[0], 0], [0, 0, np.cos(Z[2])]], atol=1e-15)
    compiled = nbgrad.compile(nbgrad.jacobian(lambda z: z * z, holomorphic=True))
    np.testing.assert_allclose(compiled(Z), np.diag(2 * Z))


def test_jacobians_between_real_and_complex():
    weights = np.array([1j, 2.0, 1 + 1j])
    np.testing.assert_allclose(nbgrad.jacobian(lambda x: x * weights)(np.ones(3)), np.diag(weights))
    np.testing.assert_allclose(nbgrad.jacobian(lambda z: np.abs(z))(Z), np.diag(Z / np.abs(Z)))


def test_control_flow_carries_complex_numbers():
    def last(z):
        state, states = nbgrad.scan(lambda c, x: (c * x + 1j, c), 1.0 + 0j, z)
        return state + np.sum(states)

    def by_hand(z):
        c, total = 1.0 + 0j, 0
        for x in z:
            total, c = total + c, c * x + 1j
        return c + total

    assert last(Z) == pytest.approx(by_hand(Z))
    np.testing.assert_allclose(
        nbgrad.jacobian(last, holomorphic=True)(Z), nbgrad.jacobian(by_hand, holomorphic=True)(Z)
    )
    assert nbgrad.compile(last)(Z) == pytest.approx(by_hand(Z))
    assert nbgrad.loop(3, lambda i, z: z * z, 1j) == pytest.approx(1.0)
    assert nbgrad.cond(True, lambda z: -z, lambda z: z, 1j) == -1j


def test_captured_complex_arrays_are_read_at_each_call():
    held = Z.copy()
    f = nbgrad.compile(lambda z: held * z)
    np.testing.assert_allclose(f(Z), Z * Z)
    held[0] = 7j
    np.testing.assert_allclose(f(Z), held * Z)


def test_solvers_take_complex_parameters():
    target = np.array([1.0 + 2.0j, -1.0j])
    found = nbgrad.scipy.minimize(lambda z: np.sum(np.abs(z - target) ** 2), np.zeros(2, complex))
    np.testing.assert_allclose(found.x, target, atol=1e-6)


@dataclasses.dataclass
class Pair:
    z: np.ndarray
    x: float


def bent(z):
    return np.sum(np.abs(z**2 + 1.0) ** 2) + np.abs(z[0] * z[1]) ** 2


def test_hessians_in_real_and_imaginary_parts():
    found = nbgrad.hessian(bent)(Z)
    of_parts = nbgrad.hessian(lambda x, y: bent(x + 1j * y), (0, 1))
    (xx, xy), (yx, yy) = of_parts(np.real(Z), np.imag(Z))
    assert found.shape == (2, *Z.shape, 2, *Z.shape)
    for i, j, block in ((0, 0, xx), (0, 1, xy), (1, 0, yx), (1, 1, yy)):
        np.testing.assert_allclose(found[i, ..., j, :], block, atol=1e-12)
    np.testing.assert_allclose(nbgrad.compile(nbgrad.hessian(bent))(Z), found, atol=1e-12)
    np.testing.assert_allclose(nbgrad.vmap(nbgrad.hessian(bent))(np.stack([1j * Z, Z]))[1], found)
    v = Z[::-1] + 0.5
    moved = np.tensordot(found, np.stack([np.real(v), np.imag(v)]), 2)
    np.testing.assert_allclose(nbgrad.hvp(bent)(Z, v), moved[0] + 1j * moved[1])


def test_hessians_of_trees_with_complex_leaves():
    for tree in ({"z": Z, "x": 2.0}, Pair(Z, 2.0)):
        parts = nbgrad.hessian(lambda t: bent(t["z"] if type(t) is dict else t.z))(tree)
        parts = parts if type(parts) is dict else vars(parts)
        inner = {k: v if type(v) is dict else vars(v) for k, v in parts.items()}
        np.testing.assert_allclose(inner["z"]["z"], nbgrad.hessian(bent)(Z))
        assert inner["z"]["x"].shape == inner["x"]["z"].shape == (2, *Z.shape)
        assert inner["x"]["x"] == 0.0
    mixed = nbgrad.hessian(lambda x, z: x * np.abs(z) ** 2, (0, 1))(2.0, 1j)
    np.testing.assert_allclose(mixed[0][1], [0.0, 2.0])
    np.testing.assert_allclose(mixed[1][1], 4.0 * np.eye(2))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nbgrad.grad(lambda z: z * z)(1j)", "complex result"),
        ("nbgrad.jacobian(lambda z: z * z)(Z)", "complex result"),
        ("nbgrad.hessian(lambda z: np.sum(z))(Z)", "complex result"),
        ("nbgrad.jacobian(nbgrad.grad(lambda z: np.sum(np.abs(z))))(Z)", "nbgrad.hessian"),
        ("nbgrad.elementwise_grad(np.exp)(Z)", "complex result"),
        ("nbgrad.compile(nbgrad.grad(lambda z: z * z))(1j)", "complex result"),
        ("nbgrad.grad(lambda z: z * z, holomorphic=True)(2.0)", "complex arguments"),
        ("nbgrad.grad(lambda z: np.abs(z), holomorphic=True)(2j)", "complex results"),
        ("nbgrad.track(Z).backward()", "a complex result has no gradient"),
        ("float(nbgrad.track(2j))", "take z.real or np.abs"),
        ("complex(nbgrad.track(2j))", "would lose the derivative"),
        ("np.asarray(nbgrad.track(Z))", "would lose the derivative"),
        ("nbgrad.track(Z) < 1", "no order"),
        ("np.max(nbgrad.track(Z))", "no order"),
        ("np.sort(nbgrad.track(Z))", "no order"),
        ("np.floor(nbgrad.track(Z))", "no rule for complex numbers"),
        ("np.interp(nbgrad.track(Z), [1.0, 2.0], [1.0, 2.0])", "complex"),
        ("nbgrad.track(Z) % 2", "unsupported|no rule for complex"),
        ("nbgrad.track(Z).astype(float)", "discards the imaginary part"),
        ("np.multiply(nbgrad.track(Z), 2, where=[True, False, True])", "where="),
    ],
)
def test_wrong_calls_are_told(text, message):
    with pytest.raises(nbgrad.NbgradError, match=message):
        eval(text)
