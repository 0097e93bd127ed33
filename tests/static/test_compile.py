"""The static tier: compiled programs against the eager tier and the interpreter."""

import numba
import numpy as np
import pytest

import nbgrad
from nbgrad.errors import TraceError


def energy(x):
    return np.sum(np.tanh(x) * x)


def weighted(x, w):
    return np.sum(np.tanh(x * w) * np.sum(w * w)) + np.mean(x)


def test_value_and_gradient_match_eager(rng):
    x = rng.normal(size=50)
    value, gradient = nbgrad.compile(nbgrad.value_and_grad(energy))(x)
    expected_value, expected = nbgrad.value_and_grad(energy)(x)
    np.testing.assert_allclose(value, expected_value, rtol=1e-13)
    np.testing.assert_allclose(gradient, expected, rtol=1e-12, atol=1e-14)


def test_long_sums_keep_their_digits(rng):
    x = rng.normal(size=100_003)
    total = nbgrad.compile(lambda x: np.sum(x * x))(x)
    np.testing.assert_allclose(total, np.sum(x * x), rtol=1e-14)


def test_called_from_njit(rng):
    compiled = nbgrad.compile(nbgrad.value_and_grad(energy))
    x = rng.normal(size=7)
    compiled(x)
    step = compiled.njit

    @numba.njit
    def descend(x, steps):
        value = 0.0
        for _ in range(steps):
            value, gradient = step(x)
            x = x - 0.1 * gradient
        return value, x

    value, found = descend(x, 25)
    plain = x
    expected = 0.0
    for _ in range(25):
        expected, gradient = nbgrad.value_and_grad(energy)(plain)
        plain = plain - 0.1 * gradient
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(found, plain, rtol=1e-12)


def test_another_shape_is_refused_in_njit_and_compiled_from_python(rng):
    compiled = nbgrad.compile(energy)
    compiled(rng.normal(size=3))
    with pytest.raises(ValueError, match=r"compiled for arguments float64\[3\]"):
        compiled.njit(np.ones(4))
    compiled(np.ones(4))
    with pytest.raises(TraceError, match="2 variants"):
        _ = compiled.njit
    assert compiled.variant(np.ones(4)).njit(np.ones(4)) == pytest.approx(4 * np.tanh(1))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_two_arguments_scalars_and_trees(rng, dtype):
    x, w = rng.normal(size=(2, 3)).astype(dtype), rng.normal(size=(2, 3)).astype(dtype)

    def f(p):
        return weighted(p["x"], p["w"]) * p["scale"]

    params = {"x": x, "w": w, "scale": dtype(0.5)}
    value, gradient = nbgrad.compile(nbgrad.value_and_grad(f))(params)
    expected_value, expected = nbgrad.value_and_grad(f)(params)
    tolerance = 1e-12 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(value, expected_value, rtol=tolerance)
    for key in params:
        np.testing.assert_allclose(gradient[key], expected[key], rtol=tolerance, atol=tolerance)
        assert np.asarray(gradient[key]).dtype == np.asarray(expected[key]).dtype


@pytest.mark.parametrize("name", ["tanh", "np", "loop0", "pointer", "für", "a0", "<lambda>"])
def test_names_of_functions_do_not_matter(rng, name):
    def f(x):
        return np.sum(np.tanh(x) * x)

    f.__name__ = name
    x = rng.normal(size=3)
    assert nbgrad.compile(f)(x) == pytest.approx(f(x), rel=1e-14)


def test_hessian_vector_product(rng):
    x, v = rng.normal(size=(2, 9))

    def product(x, v):
        return nbgrad.jvp(nbgrad.grad(energy), (x,), (v,))[1]

    np.testing.assert_allclose(nbgrad.compile(product)(x, v), product(x, v), rtol=1e-12)


def test_outputs_are_fresh(rng):
    x = rng.normal(size=4)
    y = np.tanh(x)
    same, twice, again = nbgrad.compile(lambda x: (x, np.tanh(x), np.tanh(x)))(x)
    for result in (same, twice, again):
        assert not np.shares_memory(result, x)
    assert not np.shares_memory(twice, again)
    np.testing.assert_array_equal(same, x)
    np.testing.assert_allclose(twice, y, rtol=1e-15)


@pytest.mark.parametrize("layout", ["reversed", "strided", "fortran", "read-only"])
def test_layouts(rng, layout):
    x = rng.normal(size=(4, 6))
    given = {
        "reversed": x[::-1, ::-1],
        "strided": rng.normal(size=(8, 12))[::2, ::2],
        "fortran": np.asfortranarray(x),
        "read-only": np.broadcast_to(x, x.shape),
    }[layout]
    value, gradient = nbgrad.compile(nbgrad.value_and_grad(energy))(given)
    expected_value, expected = nbgrad.value_and_grad(energy)(np.array(given))
    np.testing.assert_allclose(value, expected_value, rtol=1e-13)
    np.testing.assert_allclose(gradient, expected, rtol=1e-12, atol=1e-14)


def test_program_is_checked_interpreted_and_shown(rng):
    x = rng.normal(size=5)
    variant = nbgrad.compile(nbgrad.value_and_grad(energy)).variant(x)
    variant.program.check()
    value, gradient = variant.program.interpret(x)
    expected_value, expected = nbgrad.value_and_grad(energy)(x)
    np.testing.assert_allclose(value, expected_value, rtol=1e-14)
    np.testing.assert_allclose(gradient, expected, rtol=1e-12, atol=1e-14)
    assert "tanh(in0)" in str(variant.program)
    assert "def energy(a0):" in variant.source
    # The tanh of the value serves the gradient too.
    assert variant.source.count("= tanh(") == 1


def test_programs_that_differ_in_edges_or_constants_differ(rng):
    x, y = rng.normal(size=(2, 3))
    left = nbgrad.compile(lambda x, y: np.sum(x * 2.0 - y))
    right = nbgrad.compile(lambda x, y: np.sum(y * 2.0 - x))
    third = nbgrad.compile(lambda x, y: np.sum(x * 3.0 - y))
    assert left(x, y) == pytest.approx(np.sum(2 * x - y))
    assert right(x, y) == pytest.approx(np.sum(2 * y - x))
    assert third(x, y) == pytest.approx(np.sum(3 * x - y))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x if x.sum() > 0 else -x, "np.where"),
        (lambda x: float(x.sum()), "no number while the function is recorded"),
        (lambda x: np.asarray(x), "cannot become a plain array"),
        (
            lambda x: nbgrad.linalg.sqrtm(np.outer(x, x)),
            "sqrtm is eager only: .* as an argument .*test_compile.py",
        ),
        (lambda x: print("nothing"), "returned None"),
        (lambda x: 1.0, "depends on its arguments"),
    ],
)
def test_errors_name_the_remedy(function, message):
    with pytest.raises(TraceError, match=message):
        nbgrad.compile(function)(np.ones(3))


def test_singular_matrices_raise_what_numpy_raises():
    for function, x, message in (
        (np.linalg.inv, np.ones((2, 3, 3)), "a singular matrix in inv"),
        (lambda x: np.linalg.solve(x, x[0]), np.ones((3, 3)), "a singular matrix in solve"),
        (np.linalg.cholesky, -np.eye(3), "not a positive definite matrix in cholesky"),
        (np.linalg.cholesky, np.full((2, 2), np.nan), "not a positive definite matrix"),
    ):
        with pytest.raises(np.linalg.LinAlgError, match=message):
            nbgrad.compile(function)(x)
    assert nbgrad.compile(np.linalg.det)(np.ones((3, 3))) == 0.0
    sign, size = nbgrad.compile(np.linalg.slogdet)(np.ones((3, 3)))
    assert (sign, size) == (0.0, -np.inf)


def test_factors_are_shared_and_pivoted(rng):
    """Without an exchange of rows, the first would divide by zero."""
    x = rng.normal(size=(6, 6))
    x[0, 0] = 0.0
    f = nbgrad.compile(lambda x, b: (np.linalg.solve(x, b), *np.linalg.slogdet(x)))
    b = rng.normal(size=6)
    for mine, numpys in zip(f(x, b), (np.linalg.solve(x, b), *np.linalg.slogdet(x)), strict=True):
        np.testing.assert_allclose(mine, numpys, rtol=1e-11)
    assert f.source.count("factored(") == 1
