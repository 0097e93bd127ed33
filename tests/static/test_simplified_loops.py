"""Loops of compiled programs have no states and results that nothing needs, and none twice."""

import numpy as np
import pytest

import nbgrad

XS = np.random.default_rng(5).normal(size=40)


def variance(p, xs):
    """The final state of a recurrence, and what its steps return."""

    def step(h, x):
        h = 0.1 + p[0] * x * x + p[1] * h
        return h, np.log(h) + x * x / h

    return nbgrad.scan(step, 1.0 + 0.0 * p[0], xs)


def loss(p, xs):
    return np.sum(variance(p, xs)[1])


def oscillation(p, xs):
    """Two states that both begin with zeros."""

    def step(state, x):
        u, v = state
        return (u + 0.1 * v, v - 0.1 * np.sin(p[0] * u) - p[1] * v + x), u * v

    (u, v), ys = nbgrad.scan(step, (0.0 * p[0], 0.0 * p[0]), xs)
    return u * v + np.sum(ys)


def walked(p, xs):
    """A loop that ends by itself."""

    def goes_on(state):
        return state[1] < 4.0

    def step(state):
        x, t = state
        return x + 0.1 * np.sin(p[0] * x), t + 0.5 * p[1]

    return nbgrad.while_loop(goes_on, step, (xs[0] + 0.0 * p[0], 0.0 * p[0]), max_steps=40)[0]


P = np.array([0.3, 0.6])
MODES = {
    "jvp": (lambda f: lambda p, xs: nbgrad.jvp(lambda p: f(p, xs), (p,), (p * 2,)), 1),
    "gradient": (nbgrad.grad, 2),
    "Hessian": (nbgrad.hessian, 2),
    "product with the Hessian": (
        lambda f: lambda p, xs: nbgrad.jvp(lambda p: nbgrad.grad(f)(p, xs), (p,), (p * 2,)),
        2,
    ),
    "forward Jacobian": (lambda f: nbgrad.jacobian(f, mode="forward"), 1),
}  # fmt: skip


def loops(compiled) -> int:
    """How many loops of the program's own run over steps."""
    core = compiled.source[compiled.source.index("_core(a0") :]
    return sum(line.strip().startswith(("for ", "while ")) for line in core.splitlines())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", [loss, oscillation, walked])
def test_derivatives_run_each_state_once(f, mode):
    transform, count = MODES[mode]
    compiled = nbgrad.compile(transform(f))
    found, wanted = compiled(P, XS), transform(f)(P, XS)
    for one, other in zip(np.atleast_1d(found), np.atleast_1d(wanted), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    assert loops(compiled) == count


def test_results_that_nothing_reads_are_not_computed():
    compiled = nbgrad.compile(lambda p, xs: variance(p, xs)[0])
    np.testing.assert_allclose(compiled(P, XS), variance(P, XS)[0], rtol=1e-12)
    assert "log(" not in compiled.source


def test_loops_that_read_each_other_stay_two():
    def f(p, xs):
        first, ys = variance(p, xs)
        second, zs = variance(p, ys)
        return first * second + np.sum(ys * zs)

    compiled = nbgrad.compile(nbgrad.value_and_grad(f))
    found, wanted = compiled(P, XS), nbgrad.value_and_grad(f)(P, XS)
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-12)
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-12)
    forward = nbgrad.compile(f)
    forward(P, XS)
    assert loops(forward) == 2


def test_equal_loops_of_the_user_are_one():
    def f(p, xs):
        return variance(p, xs)[0] * np.sum(variance(p, xs)[1] ** 2)

    compiled = nbgrad.compile(f)
    np.testing.assert_allclose(compiled(P, XS), f(P, XS), rtol=1e-12)
    assert loops(compiled) == 1


def test_samples_share_what_does_not_depend_on_them():
    def f(b, p, xs):
        def step(state, x):
            u, v = state
            u = np.sin(p[0] * u) + x
            return (u, b * v + u), (u * p[1], v)

        (u, v), (us, vs) = nbgrad.scan(step, (p[1], 0.0 * b), xs)
        return u, v, us, vs

    transform = nbgrad.vmap(f, in_axes=(0, None, None))
    b = np.linspace(0.1, 0.5, 3)
    compiled = nbgrad.compile(transform)
    wanted = [np.stack(parts) for parts in zip(*(f(x, P, XS) for x in b), strict=True)]
    for found in (transform(b, P, XS), compiled(b, P, XS)):
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)
    step = compiled.source[: compiled.source.index("_core(a0")]
    assert "sin" in step
    for body in step.split("\n@")[1:]:
        assert "sin(" not in body or "for " not in body  # one for all samples
