"""Every program of the table through every transformation, eager and compiled."""

from collections.abc import Callable, Collection
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from helpers import rows
from helpers.programs import PROGRAMS, Program

import nbgrad
from nbgrad import TraceError, UntrackedError
from nbgrad.transforms import trees

RTOL = 1e-12
SAMPLES = 3


def each(*, but: str = "", often: Collection[str] | None = None) -> Callable:
    """Decorator: the test gets every program `p`, save those that say why not in that field; with
    `-m full` only, those not named in `often`."""
    chosen = [
        pytest.param(p, id=p.name, marks=rows.marks(often is None or p.name in often))
        for p in PROGRAMS
        if not (but and getattr(p, but))
    ]
    return pytest.mark.parametrize("p", chosen)


def floats(tree: Any) -> list[Any]:
    """The float leaves of a tree."""
    return [x for x in trees.flatten(tree)[0] if trees.is_differentiable(x)]


def mapped(f: Callable, tree: Any, other: Callable = lambda x: None) -> Any:
    """The tree with `f` of its float leaves and `other` of the rest."""
    leaves, rebuild = trees.flatten(tree)
    return rebuild([f(x) if trees.is_differentiable(x) else other(x) for x in leaves])


def direction(tree: Any, seed: int = 0) -> Any:
    """A random tangent or cotangent of a tree: None beside what is no float."""
    rng = np.random.default_rng(seed)
    return mapped(lambda x: rng.uniform(-1.0, 1.0, np.shape(x))[()], tree)


def dot(x: Any, y: Any) -> Any:
    return sum(np.sum(a * b) for a, b in zip(floats(x), floats(y), strict=True))


def assert_close(found: Any, expected: Any, rtol: float = RTOL) -> None:
    """Equal in structure and, relative to the largest element or 1, in value."""
    assert trees.same_structure(found, expected)
    mine, theirs = floats(found), floats(expected)
    assert len(mine) == len(theirs)
    scale = max([1.0, *(float(np.max(np.abs(y), initial=0.0)) for y in theirs)])
    for x, y in zip(mine, theirs, strict=True):
        assert np.shape(x) == np.shape(y)
        np.testing.assert_allclose(x, y, rtol=0, atol=rtol * scale)


def of_tree(p: Program) -> Callable:
    """The program as a function of one tree, its arguments."""
    return lambda args: p.f(*args)


@cache
def value(p: Program) -> Any:
    return p.f(*p.args)


@cache
def cotangent(p: Program) -> Any:
    return direction(value(p), 1) if p.ct is None else p.ct


@cache
def slopes(p: Program) -> Any:
    """The cotangents of the arguments, as the direct pullback gives them."""
    return nbgrad.vjp(of_tree(p), p.args)[1](cotangent(p))[0]


def scalar(p: Program) -> Callable:
    """One number of the arguments: the value against the cotangent."""
    ct = cotangent(p)  # of plain values, so before a transformation begins
    return lambda args: dot(p.f(*args), ct)


@each()
def test_known_figures(p):
    atol = 0.6 * 10.0**-p.digits
    if p.value is not None:
        np.testing.assert_allclose(value(p), p.value, rtol=1e-15, atol=atol)
    if p.slopes is not None:
        ct = p.ct if p.ct is not None else 1.0
        found = nbgrad.vjp(of_tree(p), p.args)[1](ct)[0]
        for x, y in zip(floats(found), floats(p.slopes), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-15, atol=atol)


@each()
def test_derivatives_against_differences(p):
    nbgrad.check_grads(p.f, p.args, modes=("reverse", "forward"))


@each()
def test_gradients_are_the_pullback(p):
    found, pulled = nbgrad.value_and_grad(scalar(p))(p.args)
    assert_close(found, dot(value(p), cotangent(p)))
    assert_close(pulled, slopes(p))
    given, back = nbgrad.pullback(p.f, *p.args)
    assert_close(given, value(p))
    assert_close(back(cotangent(p))[1:], slopes(p))
    ones = mapped(lambda x: np.ones(np.shape(x))[()], value(p))
    summed = nbgrad.vjp(of_tree(p), p.args)[1](ones)[0]
    assert_close(nbgrad.elementwise_grad(of_tree(p))(p.args), summed)


@each()
def test_pushforward_and_pullback_are_adjoint(p):
    v = direction(p.args)
    given, pushed = nbgrad.jvp(p.f, p.args, v)
    assert_close(given, value(p))
    forth, back = dot(pushed, cotangent(p)), dot(v, slopes(p))
    terms = sum(np.sum(np.abs(x * y)) for x, y in zip(floats(v), floats(slopes(p)), strict=True))
    assert abs(forth - back) <= RTOL * max(1.0, terms)


@each()
def test_a_transposed_linearization_is_the_pullback(p):
    v = direction(p.args)
    given, push = nbgrad.linearize(p.f, *p.args)
    assert_close(given, value(p))
    assert_close(push(*v), nbgrad.jvp(p.f, p.args, v)[1])
    assert_close(push.transpose(cotangent(p)), slopes(p))


@each()
def test_jacobians_forward_and_reverse(p):
    forward = nbgrad.jacobian(of_tree(p), mode="forward")(p.args)
    reverse = nbgrad.jacobian(of_tree(p), mode="reverse")(p.args)
    assert_close(forward, reverse)
    assert_close(nbgrad.jacobian(of_tree(p))(p.args), reverse)


def hessian_products(p: Program, args: Any, v: Any) -> list[Any]:
    """H @ v forward over reverse, reverse over forward and reverse over reverse."""
    f = scalar(p)
    return [
        nbgrad.hvp(f)(args, v),
        nbgrad.grad(lambda x: nbgrad.jvp(f, (x,), (v,))[1])(args),
        nbgrad.grad(lambda x: dot(nbgrad.grad(f)(x), v))(args),
    ]


@each()
def test_second_derivatives_three_ways(p):
    v = direction(p.args)
    first, *others = hessian_products(p, p.args, v)
    for other in others:
        assert_close(other, first)
    rows = [np.asarray(x) for x in floats(nbgrad.hessian(scalar(p))(p.args))]
    sizes = [np.size(x) for x in floats(p.args)]
    flat = np.concatenate([np.ravel(x) for x in floats(v)])
    matrix = np.block([
        [rows[i * len(sizes) + j].reshape(m, n) for j, n in enumerate(sizes)]
        for i, m in enumerate(sizes)
    ])  # fmt: skip
    product = np.concatenate([np.ravel(x) for x in floats(first)])
    np.testing.assert_allclose(matrix @ flat, product, 0, RTOL * max(1.0, np.max(np.abs(matrix))))
    np.testing.assert_allclose(matrix, matrix.T, 0, RTOL * max(1.0, np.max(np.abs(matrix))))


def perturbed(args: Any) -> list[Any]:
    """Samples near the arguments, and the same as arrays of samples."""
    rng = np.random.default_rng(2)
    return [
        mapped(lambda x: x * rng.uniform(0.95, 1.05, np.shape(x))[()], args, lambda x: x)
        for _ in range(SAMPLES)
    ]


def stacked(many: list[Any]) -> Any:
    """A list of trees as one tree with a leading axis where there are floats."""
    columns = zip(*(trees.flatten(tree)[0] for tree in many), strict=True)
    _, rebuild = trees.flatten(many[0])
    return rebuild([
        np.stack(column) if trees.is_differentiable(column[0]) else _repeated(column[0])
        for column in columns
    ])  # fmt: skip


def _repeated(x: Any) -> Any:
    """An array of integers for each sample; anything else is shared."""
    return np.stack([x] * SAMPLES) if isinstance(x, np.ndarray) else x


@each(but="branches")
def test_vmap_is_a_loop_over_samples(p):
    many = perturbed(p.args)
    found = nbgrad.vmap(p.f)(*stacked(many))
    assert_close(found, stacked([p.f(*args) for args in many]))
    found = nbgrad.vmap(nbgrad.grad(scalar(p)))(stacked(many))
    assert_close(found, stacked([nbgrad.grad(scalar(p))(args) for args in many]))


@each(but="branches")
def test_vmap_shares_arguments(p):
    many = [(args[0], *p.args[1:]) for args in perturbed(p.args)]
    first = stacked([args[0] for args in many])
    axes = (0, *(None for _ in p.args[1:]))
    found = nbgrad.vmap(p.f, in_axes=axes)(first, *p.args[1:])
    assert_close(found, stacked([p.f(*args) for args in many]))


def everything(p: Program) -> Callable:
    """Value, gradient, tangent and product with the Hessian."""
    f = scalar(p)

    def results(args, v):
        value, slope = nbgrad.value_and_grad(f)(args)
        return value, slope, nbgrad.jvp(p.f, args, v), nbgrad.hvp(f)(args, v)

    return results


def compiled(p: Program, f: Callable, *args: Any) -> None:
    """Compare the compiled function with the eager one; or the error, where there must be one."""
    if p.branches:
        with pytest.raises(TraceError):
            nbgrad.compile(f)(*args)
        return
    found, expected = nbgrad.compile(f)(*args), f(*args)
    for mine, eager in zip(found, expected, strict=True):
        assert_close(mine, eager)


@each()
def test_compiled(p):
    compiled(p, nbgrad.value_and_grad(scalar(p)), p.args)


@pytest.mark.skipif(not rows.PLAIN_PYTHON, reason="in a process of its own")
@each()
def test_compiled_in_plain_python(p):
    compiled(p, everything(p), p.args, direction(p.args))


@each(often=["pendulum", "losses", "mixture"])
def test_every_derivative_compiled(p):
    compiled(p, everything(p), p.args, direction(p.args))


@pytest.mark.parametrize("p", [p for p in PROGRAMS if p.branches], ids=lambda p: p.name)
def test_values_of_samples_cannot_be_asked_for(p):
    apart = [mapped(partial(_scaled, k), p.args, lambda x: x) for k in (1.0, -3.0, 40.0)]
    with pytest.raises(UntrackedError):
        nbgrad.vmap(p.f)(*stacked(apart))


def _scaled(k, x):
    return k * x + 0.1


def test_the_table():
    names = [p.name for p in PROGRAMS]
    assert len(set(names)) == len(names) >= 40
