"""`nbgrad.linalg` against SciPy, differences, and NumPy on the same matrices written out."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from helpers.children import environment
from helpers.daily import pairs
from helpers.planes import check_in_a_plane

import nbgrad
from nbgrad import DimensionMismatch, UntrackedError, linalg

RNG = np.random.default_rng(7)
A = RNG.normal(size=(3, 3)) + 3 * np.eye(3)
B, V = RNG.normal(size=(3, 2)), RNG.normal(size=3)
SMALL = A[:2, :2]
STACK = RNG.normal(size=(2, 2, 2)) + 3 * np.eye(2)
BAND = RNG.normal(size=(4, 5)) + np.array([[0.0], [4.0], [0.0], [0.0]])
RIGHT = RNG.normal(size=(5, 2))
BOTH = ("reverse", "forward")
NOTHING: Any = {}


def _definite(a):
    return a @ np.swapaxes(a, -1, -2)


CALLS = {
    "solve_triangular": (lambda m, a, b: m.solve_triangular(a, b), (A, B)),
    "solve_triangular_lower_unit": (
        lambda m, a, b: m.solve_triangular(a, b, lower=True, unit_diagonal=True), (A, V)
    ),
    "solve_triangular_trans": (
        lambda m, a, b: m.solve_triangular(a, b, "T", lower=True), (STACK, B[:2])
    ),
    "cho_solve": (lambda m, a, b: m.cho_solve(m.cho_factor(_definite(a)), b), (A, V)),
    "cho_solve_lower": (
        lambda m, a, b: m.cho_solve(m.cho_factor(_definite(a), lower=True), b), (SMALL, B[:2])
    ),
    "expm": (lambda m, a: m.expm(a), (0.3 * STACK,)),
    "sqrtm": (lambda m, a: m.sqrtm(a), (SMALL,)),
    "logm": (lambda m, a: m.logm(a), (SMALL,)),
    "solve_banded": (lambda m, ab, b: m.solve_banded((2, 1), ab, b), (BAND, RIGHT)),
    "solve_banded_vector": (
        lambda m, ab, b: m.solve_banded((1, 2), ab, b), (BAND[::-1, :3], V)
    ),
    "block_diag": (lambda m, a, b, v: m.block_diag(a, b, v), (A, B, V)),
    "block_diag_stacks": (lambda m, a, b: m.block_diag(a, b), (STACK, STACK[:, :1])),
    "toeplitz": (lambda m, c, r: m.toeplitz(c, r), (V, RIGHT[:, 0])),
    "toeplitz_symmetric": (lambda m, c: m.toeplitz(c), (V,)),
    "matmul_toeplitz": (lambda m, c, r, x: m.matmul_toeplitz((c, r), x), (V, A[0], V)),
    "matmul_toeplitz_matrix": (lambda m, c, x: m.matmul_toeplitz(c, x), (V, B)),
}  # fmt: skip
EAGER_ONLY = {"sqrtm", "logm"}
every_call = pytest.mark.parametrize("name", CALLS)


@every_call
def test_values_are_scipys(name):
    f, args = CALLS[name]
    expected = f(scipy.linalg, *args)
    for given in (args, tuple(np.asfortranarray(x) for x in args)):
        found = f(linalg, *given)
        assert type(found) is np.ndarray
        np.testing.assert_allclose(found, expected, 1e-12, 1e-13)
        tracked = f(linalg, *map(nbgrad.track, given))
        np.testing.assert_allclose(tracked.data, expected, 1e-12, 1e-13)


@every_call
def test_derivatives_are_those_of_differences(name, rng):
    f, args = CALLS[name]
    check_in_a_plane(lambda *args: f(linalg, *args), args, rng, rtol=2e-6)


@every_call
def test_float32_is_kept(name):
    f, args = CALLS[name]
    narrow = [x.astype(np.float32) for x in args]
    expected = f(linalg, *args)
    found = f(linalg, *narrow)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, 3e-5, 3e-5)
    slopes = nbgrad.grad(lambda *args: np.sum(f(linalg, *args)), tuple(range(len(args))))(*narrow)
    assert {slope.dtype for slope in slopes} == {np.dtype(np.float32)}


@every_call
def test_samples_are_computed_together(name):
    f, args = CALLS[name]
    stacked = [np.stack([x, x * 1.0625]) for x in args]
    found = nbgrad.vmap(lambda *args: f(linalg, *args))(*stacked)
    for i in range(2):
        np.testing.assert_allclose(found[i], f(linalg, *(x[i] for x in stacked)), 1e-12, 1e-13)


@pytest.mark.parametrize(
    "name", ["solve_triangular_trans", "expm", "solve_banded", "matmul_toeplitz", "cho_solve"]
)
def test_compiled_is_eager(name):
    f, args = CALLS[name]
    weights = RNG.normal(size=f(linalg, *args).shape)

    def loss(*args):
        return np.sum(np.sin(f(linalg, *args)) * weights)

    both = nbgrad.value_and_grad(loss, tuple(range(len(args))))
    value, slopes = both(*args)
    found, mine = nbgrad.compile(both)(*args)
    np.testing.assert_allclose(found, value, 1e-11)
    for x, y in zip(mine, slopes, strict=True):
        np.testing.assert_allclose(x, y, 1e-9, 1e-11)


def test_what_needs_schur_factors_is_eager_only():
    for name in EAGER_ONLY:
        with pytest.raises(nbgrad.TraceError, match=f"{name} is eager only: it needs Schur"):
            nbgrad.compile(getattr(linalg, name))(A)


@pytest.mark.parametrize("shape", [(300, 200, ()), (200, 300, (2,))])
def test_long_products_with_toeplitz_matrices(shape):
    """By Fourier transforms: values and gradients are those of the matrix."""
    m, n, columns = shape
    args = RNG.normal(size=m), RNG.normal(size=n), RNG.normal(size=(n, *columns))

    def product(c, r, x):
        return linalg.matmul_toeplitz((c, r), x)

    found = product(*args)
    np.testing.assert_allclose(found, linalg.toeplitz(*args[:2]) @ args[2], 1e-11, 1e-11)
    slopes, expected = (
        nbgrad.grad(lambda *args, f=f: np.sum(np.sin(f(*args))), (0, 1, 2))(*args)
        for f in (product, lambda c, r, x: linalg.toeplitz(c, r) @ x)
    )
    for mine, theirs in zip(slopes, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, 1e-9, 1e-10)


# -- functions of matrices ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "matrix"),
    pairs(
        [linalg.expm, linalg.sqrtm, linalg.logm],
        [np.eye(3), np.diag([2.0, 2.0, 3.0]), np.array([[1.0, 1.0], [0.0, 1.0]])],
    ),
)
def test_equal_eigenvalues_are_no_trouble(function, matrix):
    """Also where there are fewer eigenvectors than rows."""
    nbgrad.check_grads(function, (matrix,), BOTH, order=2)


def test_the_exponential_of_large_and_small_matrices_compiled():
    found = nbgrad.compile(linalg.expm)
    for n, size in ((1, 1e-3), (4, 1.0), (4, 1e-9), (4, 40.0)):
        x = size * RNG.normal(size=(n, n))
        expected = scipy.linalg.expm(x)
        np.testing.assert_allclose(found(x), expected, 1e-12, 1e-12 * abs(expected).max())
    # Of a rotation: exact, whatever the angle.
    angle = 30.0
    turned = found(np.array([[0.0, -angle], [angle, 0.0]]))
    np.testing.assert_allclose(turned[0], [np.cos(angle), -np.sin(angle)], atol=1e-13)
    assert np.isnan(found(np.full((2, 2), np.nan))).all()


def test_directions_of_any_size_along_an_exponential():
    _, small = nbgrad.jvp(linalg.expm, (SMALL,), (1e-150 * STACK[0],))
    _, large = nbgrad.jvp(linalg.expm, (SMALL,), (1e150 * STACK[0],))
    expected = scipy.linalg.expm_frechet(SMALL, STACK[0])[1]
    np.testing.assert_allclose(small * 1e150, expected, 1e-11)
    np.testing.assert_allclose(large * 1e-150, expected, 1e-11)


def test_functions_of_negative_eigenvalues_are_complex():
    for function in (linalg.sqrtm, linalg.logm):
        expected = getattr(scipy.linalg, function.__name__)(-np.eye(2))
        np.testing.assert_allclose(function(nbgrad.track(-np.eye(2))).data, expected, atol=1e-14)
        np.testing.assert_allclose(function(-np.eye(2)), expected, atol=1e-14)


# -- shapes and errors ----------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "count"), [(1, 1), (3, 17), (5, 8), (8, 3), (8, 9), (14, 2)])
def test_compiled_exponentials_of_stacks_are_those_of_each_matrix(n, count):
    """Norms differ from matrix to matrix, and a matrix that is not finite changes no other one."""
    random = np.random.default_rng(n)
    x = random.normal(size=(count, n, n)) * np.logspace(-9, 1, count)[:, None, None]
    direction = random.normal(size=x.shape)
    along = nbgrad.compile(lambda x, d: nbgrad.jvp(linalg.expm, (x,), (d,)))
    back = nbgrad.compile(lambda x, ct: nbgrad.vjp(linalg.expm, x)[1](ct))
    out, pushed = along(x, direction)
    (pulled,) = back(x, direction)
    for k, each in enumerate(zip(x, direction, strict=True)):
        expected = scipy.linalg.expm_frechet(*each)
        transposed = scipy.linalg.expm_frechet(each[0].T, each[1])[1]
        for found, known in zip((out, pushed, pulled), (*expected, transposed), strict=True):
            np.testing.assert_allclose(found[k], known, rtol=0, atol=1e-13 * np.abs(known).max())
    single = along(x.astype(np.float32), direction.astype(np.float32))
    for found, known in zip(single, (out, pushed), strict=True):
        size = np.abs(known).max(axis=(1, 2))
        assert found.dtype == np.float32
        assert np.all(np.abs(found - known).max(axis=(1, 2)) < 1e-4 * size)
    x[0] = np.inf
    for found, known in zip(along(x, direction), (out, pushed), strict=True):
        assert np.array_equal(found[1:], known[1:])


@pytest.mark.parametrize(
    ("function", "wrt"),
    [
        (lambda a, b: np.linalg.cholesky(_definite(a)), 1),
        (lambda a, b: np.linalg.inv(a), 1),
        (np.linalg.solve, 2),
        (lambda a, b: linalg.solve_triangular(a, b), 2),
        (lambda a, b: linalg.solve_triangular(a, b, lower=True, unit_diagonal=True), 2),
    ],
)
def test_blocks_of_large_matrices_are_those_of_lapack(function, wrt):
    """The last block is not whole; eager ops call LAPACK."""
    random = np.random.default_rng(0)

    def loss(a, b):
        return np.sum(np.sin(function(a, b)))

    slope = nbgrad.value_and_grad(loss, tuple(range(wrt)))
    compiled, values = nbgrad.compile(slope), nbgrad.compile(function)
    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-4)):
        a = (random.normal(size=(2, 70, 70)) / 10 + 3 * np.eye(70)).astype(dtype)
        b = random.normal(size=(2, 70, 9)).astype(dtype)
        found, known = (values(a, b), *compiled(a, b)[1]), (function(a, b), *slope(a, b)[1])
        for x, y in zip(found, known, strict=True):
            assert x.dtype == dtype
            np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * np.abs(y).max())


def test_large_matrices_that_are_not_definite_are_refused():
    a = np.eye(70)
    a[60, 60] = -1.0
    cholesky: Any = nbgrad.compile(np.linalg.cholesky)
    with pytest.raises(np.linalg.LinAlgError, match="not a positive definite"):
        cholesky(a)


def test_compiled_exponentials_of_named_sizes():
    def f(x):
        return np.sum(linalg.expm(x) ** 2)

    random = np.random.default_rng(0)
    for dims, shapes in (
        (("b", None, None), [(1, 2, 2), (9, 2, 2), (0, 2, 2)]),
        ((None, "n", "n"), [(2, 2, 2), (2, 7, 7), (2, 12, 12)]),
    ):
        compiled = nbgrad.compile(nbgrad.value_and_grad(f), dynamic={"x": dims})
        for shape in shapes:
            x = 0.3 * random.normal(size=shape)
            value, slope = nbgrad.value_and_grad(f)(x)
            found = compiled(x)
            np.testing.assert_allclose(found[0], value, rtol=1e-13)
            np.testing.assert_allclose(found[1], slope, rtol=0, atol=1e-13 * (1 + abs(value)))


@pytest.mark.parametrize("function", [linalg.expm, linalg.sqrtm, linalg.logm])
@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0), (0, 2, 2), (1, 1), (3, 2, 2)])
def test_empty_matrices_and_stacks_of_them(function, shape):
    x = nbgrad.track(0.5 + np.broadcast_to(2 * np.eye(shape[-1]), shape))
    out = function(x)
    np.sum(out).backward()
    assert out.shape == x.grad.shape == shape


def test_small_systems():
    for shape in ((0,), (0, 2)):
        out = linalg.solve_triangular(nbgrad.track(np.ones((0, 0))), np.ones(shape))
        assert (
            out.shape == linalg.solve_banded((0, 0), np.ones((1, 0)), np.ones(shape)).shape == shape
        )
    for n in (1, 2, 3):  # fewer columns than diagonals
        ab, b = RNG.normal(size=(6, n)), RNG.normal(size=n)
        ab[2] += 4
        expected = scipy.linalg.solve_banded((3, 2), ab, b)
        np.testing.assert_allclose(linalg.solve_banded((3, 2), ab, b), expected)
        nbgrad.check_grads(lambda ab, b: linalg.solve_banded((3, 2), ab, b), (ab, b), BOTH)
    assert linalg.block_diag().shape == scipy.linalg.block_diag().shape == (1, 0)
    numbers = linalg.block_diag(nbgrad.track(2.0), [3.0, 4.0])
    np.testing.assert_array_equal(numbers.data, scipy.linalg.block_diag(2.0, [3.0, 4.0]))
    factors = linalg.cho_factor(np.stack([_definite(a) for a in STACK]))
    found = linalg.cho_solve(factors, V[:2])
    np.testing.assert_allclose(found, [np.linalg.solve(_definite(a), V[:2]) for a in STACK])


def test_corners_of_a_band_are_not_read():
    ab = np.array([[np.nan, 1.0], [2.0, 2.0], [1.0, np.nan]])
    slope = nbgrad.grad(lambda ab: np.sum(linalg.solve_banded((1, 1), ab, np.ones(2))))(ab)
    assert slope[0, 0] == slope[2, 1] == 0.0 and np.isfinite(slope).all()


SINGULAR = np.array([[1.0, 2.0], [0.0, 0.0]])


def test_singular_systems_raise_as_scipys_do():
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        linalg.solve_triangular(nbgrad.track(SINGULAR), np.ones(2))
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        linalg.solve_banded((1, 0), nbgrad.track(SINGULAR[::-1]), np.ones(2))
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        linalg.cho_factor(nbgrad.track(-np.eye(2)))
    compiled = nbgrad.compile(linalg.solve_triangular)
    with pytest.raises(np.linalg.LinAlgError, match="a singular matrix in solve_triangular"):
        compiled(SINGULAR, np.ones(2))
    unit = linalg.solve_triangular(SINGULAR, np.ones(2), unit_diagonal=True)
    np.testing.assert_array_equal(unit, [-1.0, 1.0])


def test_wrong_shapes_are_named():
    x = nbgrad.track(np.ones((2, 3)))
    for function in (linalg.expm, linalg.sqrtm, linalg.logm, linalg.cho_factor):
        with pytest.raises(DimensionMismatch, match=r"\(2, 3\) is not that of square"):
            function(x)
    with pytest.raises(DimensionMismatch, match=r"\(2, 2\) and \(3,\).*2 rows"):
        linalg.solve_triangular(np.eye(2), nbgrad.track(np.ones(3)))
    with pytest.raises(DimensionMismatch, match=r"cho_solve.*\(2, 2\)|\(3,\)"):
        linalg.cho_solve((np.eye(2), True), np.ones(3))
    with pytest.raises(DimensionMismatch, match=r"\(2, 3\) does not fit l = 1 and u = 1"):
        linalg.solve_banded((1, 1), x, np.ones(3))
    with pytest.raises(DimensionMismatch, match="give vectors"):
        linalg.toeplitz(x)
    with pytest.raises(DimensionMismatch, match="x must have 2 rows"):
        linalg.matmul_toeplitz(nbgrad.track(np.ones(2)), np.ones(3))
    with pytest.raises(ValueError, match="trans=3"):
        linalg.solve_triangular(np.eye(2), np.ones(2), trans=3)


def test_scipys_own_functions_name_ours():
    x = nbgrad.track(A)
    for name in linalg.__all__:
        args = {"solve_banded": ((1, 1), x, V), "cho_solve": ((A, True), x)}.get(name, (x, x))
        args = args[:1] if name in ("expm", "sqrtm", "logm", "cho_factor") else args
        args = (x[0], x[0]) if "toeplitz" in name else args
        with pytest.raises(UntrackedError, match=rf"nbgrad\.linalg\.{name} takes tracked arrays"):
            getattr(scipy.linalg, name)(*args)
    with pytest.raises(UntrackedError, match=r"scipy\.linalg\.svd: np\.linalg and nbgrad\.linalg"):
        scipy.linalg.svd(x)
    with pytest.raises(nbgrad.TraceError, match=r"nbgrad\.linalg\.expm takes tracked arrays"):
        nbgrad.compile(lambda x: scipy.linalg.expm(x))(A)


def test_scipy_is_loaded_with_the_first_call():
    code = (
        "import sys, nbgrad; before = 'nbgrad.linalg' in sys.modules; nbgrad.linalg.expm; "
        "print(before, 'scipy.linalg' in sys.modules)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], env=environment({}), capture_output=True, text=True
    )
    assert answer.stdout.split() == ["False", "False"], answer.stderr


def test_the_exponential_of_a_number_is_a_matrix_of_one():
    expected = scipy.linalg.expm(1.5)
    for found in (nbgrad.linalg.expm(1.5), nbgrad.compile(nbgrad.linalg.expm)(1.5)):
        np.testing.assert_allclose(found, expected, rtol=1e-15)
    slope = nbgrad.grad(lambda x: np.sum(nbgrad.linalg.expm(x)))(1.5)
    assert slope == pytest.approx(np.exp(1.5), rel=1e-15)


@pytest.mark.parametrize("p", [None, 2, -2, 1, -1, "fro", np.inf, -np.inf])
def test_the_condition_of_singular_matrices(p):
    stack = np.array([[[1.0, 2.0], [2.0, 4.0]], np.zeros((2, 2)), SMALL])
    stack = stack[1:] if p in (None, 2, -2) else stack  # where rounding leaves no singular value 0
    expected = np.linalg.cond(stack, p)
    np.testing.assert_allclose(np.linalg.cond(nbgrad.track(stack), p).data, expected, rtol=1e-12)
    if p not in (None, 2, -2):
        found = nbgrad.compile(lambda x: np.linalg.cond(x, p))(stack)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    with np.errstate(invalid="ignore"):
        slope = nbgrad.grad(lambda x: np.sum(np.linalg.cond(x, p)))(stack)
    finite = [bool(np.all(np.isfinite(x))) for x in slope]
    # Beside zeros alone, all factors of the slope are 0.
    assert finite == ([False, True] if p in (None, 2, -2) else [False, True, True])


@pytest.mark.skipif(not hasattr(np, "matvec"), reason="NumPy 2.2 and newer")
def test_vectors_and_matrices_that_are_none():
    x = nbgrad.track(A)
    for a, b in ((V, x), (2.0, x), (x, 2.0)):
        with pytest.raises(DimensionMismatch, match="which is not a"):
            np.matvec(a, b)
    with pytest.raises(DimensionMismatch, match=r"of shape \(3,\), which is not a matrix"):
        np.vecmat(x, V)
    with pytest.raises(DimensionMismatch, match=r"of shape \(\), which is not a vector"):
        np.matvec(x, NOTHING)
