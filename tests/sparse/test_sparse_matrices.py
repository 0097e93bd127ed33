"""Values of sparse Jacobians and Hessians beside the dense ones, in every mode; their colours."""

import numpy as np
import pytest
import scipy.sparse

import nbgrad
from nbgrad.errors import DimensionMismatch, NbgradError, NoFloatError, TraceError
from nbgrad.sparse import colors

RNG = np.random.default_rng(0)
X = RNG.uniform(0.5, 1.5, 9)
V = RNG.normal(size=9)


def flow(u):
    return np.concatenate([u[:1] ** 2, u[2:] - 2.0 * u[1:-1] ** 2 + u[:-2], u[-1:] * u[0]])


def chain(x):
    return np.sum((x[1:] - x[:-1] ** 2) ** 2) + np.exp(x[0] * x[-1])


J, DENSE = nbgrad.sparse_jacobian(flow), nbgrad.jacobian(flow)


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)


def stencil(n):
    line = scipy.sparse.csr_array(sum(np.eye(n, k=k) for k in (-1, 0, 1)))
    one = scipy.sparse.eye_array(n)
    return scipy.sparse.csr_array(scipy.sparse.kron(line, one) + scipy.sparse.kron(one, line))


def random_pattern(seed, m=30, n=25, density=0.08):
    return scipy.sparse.random_array((m, n), density=density, rng=seed, format="csr").astype(bool)


# -- colours ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_columns_of_one_colour_share_no_row(seed):
    pattern = random_pattern(seed)
    chosen = colors.of_columns(pattern)
    for row in pattern.toarray():
        assert len(set(chosen[row])) == row.sum()


@pytest.mark.parametrize("seed", range(5))
def test_star_colourings(seed):
    pattern = random_pattern(seed, 25, 25)
    pattern = pattern + pattern.T + scipy.sparse.eye_array(25, dtype=bool)
    chosen = colors.of_stars(scipy.sparse.csr_array(pattern))
    near = pattern.toarray() & ~np.eye(25, dtype=bool)
    assert all(chosen[i] != chosen[j] for i, j in zip(*np.nonzero(near), strict=True))
    for b, c in zip(*np.nonzero(near), strict=True):  # paths a, b, c, d
        for a in np.flatnonzero(near[b]):
            for d in np.flatnonzero(near[c]):
                if a not in (c, d) and d != b:
                    assert np.unique(chosen[[a, b, c, d]]).size > 2


def test_known_numbers_of_colours():
    band = sum(np.eye(50, k=k) for k in range(-2, 3))
    assert colors.of_columns(scipy.sparse.csr_array(band)).max() + 1 == 5
    assert colors.of_columns(stencil(10)).max() + 1 <= 7
    arrow = np.eye(20, dtype=bool)
    arrow[0] = arrow[:, 0] = True
    assert colors.of_stars(scipy.sparse.csr_array(arrow)).max() + 1 == 2
    assert colors.of_columns(scipy.sparse.csr_array((3, 4), dtype=bool)).max() == 0


# -- Jacobians --------------------------------------------------------------------------------


def test_jacobian_and_its_attributes():
    found = J(X)
    assert isinstance(found, scipy.sparse.csr_array)
    close(found.toarray(), DENSE(X))
    assert J.pattern(X).dtype == bool and J.pattern(X).nnz == found.nnz
    assert J.colors(X).shape == (9,) and J.colors(X).max() + 1 == 3
    close(J(2.0 * X).toarray(), DENSE(2.0 * X))


def test_rows_are_coloured_where_they_need_fewer():
    def f(x):
        return np.stack([np.sum(x**2), x[0] * x[1]])

    jacobian = nbgrad.sparse_jacobian(f)
    close(jacobian(X).toarray(), nbgrad.jacobian(f)(X))
    assert jacobian.colors(X).tolist() == [0, 1]


def test_random_patterns():
    for seed in range(3):
        a = random_pattern(seed).astype(float) * RNG.normal(size=(30, 25))
        a = scipy.sparse.csr_array(a)

        def f(x, a=a):
            return np.sin(a @ (x * x))

        x = RNG.normal(size=25)
        jacobian = nbgrad.sparse_jacobian(f)
        close(jacobian(x).toarray(), nbgrad.jacobian(f)(x))
        assert jacobian.pattern(x).nnz == a.nnz


def test_arguments_of_any_structure():
    def f(scale, p, power):
        return {"y": scale * p["a"] ** power + p["b"], "z": np.reshape(p["b"], (1, 2))}

    p = {"a": np.array([1.0, 2.0]), "b": np.array([3.0, 4.0])}
    found = nbgrad.sparse_jacobian(f, 1)(3.0, p, 2)
    expected = [[6.0, 0, 1, 0], [0, 12.0, 0, 1], [0, 0, 1, 0], [0, 0, 0, 1]]
    close(found.toarray(), expected)
    close(nbgrad.sparse_jacobian(f, 0)(3.0, p, 2).toarray(), [[1.0], [4.0], [0], [0]])
    assert nbgrad.sparse_jacobian(lambda x: x * x)(X.astype(np.float32)).dtype == np.float32


def test_every_mode():
    def loss(jacobian):
        return lambda x: np.sum(np.sin(jacobian(x) @ V))

    close(nbgrad.grad(loss(J))(X), nbgrad.grad(loss(DENSE))(X))
    close(nbgrad.jvp(loss(J), (X,), (V,))[1], nbgrad.jvp(loss(DENSE), (X,), (V,))[1])
    close(nbgrad.compile(nbgrad.grad(loss(J)))(X), nbgrad.grad(loss(DENSE))(X))
    both = np.stack([X, 2.0 * X])
    close(nbgrad.vmap(loss(J))(both), [loss(DENSE)(x) for x in both])


def test_closures_over_tracked_values():
    total = nbgrad.grad(lambda a: np.sum(nbgrad.sparse_jacobian(lambda x: a * x**2)(X).data))
    close(total(2.0), np.sum(2.0 * X))


def test_what_the_function_reads_may_change():
    scale, places, matrix = [1.0], np.array([0, 1, 2]), np.eye(3, 9)

    def f(x):
        return scale[0] * x[places] + matrix @ x**2

    jacobian, dense = nbgrad.sparse_jacobian(f), nbgrad.jacobian(f)
    close(jacobian(X).toarray(), dense(X))
    scale[0] = 2.0
    close(jacobian(X).toarray(), dense(X))
    places[:] = [5, 5, 6]
    close(jacobian(X).toarray(), dense(X))
    matrix[1, 7] = 3.0
    close(jacobian(X).toarray(), dense(X))
    matrix *= 2.0
    close(jacobian(X).toarray(), dense(X))


def test_pattern_of_the_user():
    def f(x):  # which cannot be recorded
        return x * x if x[0] > 0.0 else x

    with pytest.raises(TraceError, match="pass pattern="):
        nbgrad.sparse_jacobian(f)(X)
    jacobian = nbgrad.sparse_jacobian(f, pattern=np.eye(9))
    close(jacobian(X).toarray(), np.diag(2.0 * X))
    close(jacobian(-X).toarray(), np.eye(9))
    with pytest.raises(DimensionMismatch, match=r"\(9, 9\)"):
        nbgrad.sparse_jacobian(f, pattern=np.eye(3))(X)


def test_empty_and_constant():
    assert nbgrad.sparse_jacobian(lambda x: x * x)(np.zeros(0)).shape == (0, 0)
    constant = nbgrad.sparse_jacobian(lambda x: x[:0])(X)
    assert constant.shape == (0, 9) and constant.nnz == 0


def test_wrong_calls():
    with pytest.raises(NoFloatError, match="sparse_jacobian"):
        nbgrad.sparse_jacobian(lambda x: x * 1.0)(np.arange(3))
    for call in (
        lambda: nbgrad.sparse_jacobian(3.0),  # pyright: ignore[reportArgumentType]
        lambda: nbgrad.sparse_jacobian(flow, 2)(X),
        lambda: nbgrad.sparse_jacobian(lambda x: "text")(X),
        lambda: nbgrad.sparse_hessian(flow)(X),
        lambda: nbgrad.sparse_jacobian(flow)(),
    ):
        with pytest.raises(NbgradError):
            call()


# -- Hessians ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["chain", "norm", "quadratic"])
def test_hessian(name):
    a = random_pattern(3, 9, 9, 0.2).toarray() * RNG.normal(size=(9, 9))
    f = {
        "chain": chain,
        "norm": lambda x: np.linalg.norm(x[:3]) + np.sum(x[3:] ** 3),
        "quadratic": lambda x: x @ (a @ x) + np.sum(np.cos(x)),
    }[name]
    hessian = nbgrad.sparse_hessian(f)
    close(hessian(X).toarray(), nbgrad.hessian(f)(X))
    close(hessian(X + 0.1).toarray(), nbgrad.hessian(f)(X + 0.1))
    given = nbgrad.sparse_hessian(f, pattern=hessian.pattern(X))
    close(given(X).toarray(), nbgrad.hessian(f)(X))


def test_hessian_takes_few_products():
    def arrow(x):
        return np.sum(x**2 * x[0])

    hessian = nbgrad.sparse_hessian(arrow)
    assert hessian.colors(X).max() + 1 == 2
    close(hessian(X).toarray(), nbgrad.hessian(arrow)(X))

    def third(x):
        return np.sum((nbgrad.sparse_hessian(chain)(x) @ V) ** 2)

    def dense(x):
        return np.sum((nbgrad.hessian(chain)(x) @ V) ** 2)

    close(nbgrad.grad(third)(X), nbgrad.grad(dense)(X))
