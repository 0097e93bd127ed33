"""Arguments of functions with loops that share memory."""

import numba
import numpy as np
import pytest

import nbgrad


@nbgrad.njit
def mixed(a, b):
    for i in range(1, a.shape[0]):
        a[i] = a[i - 1] * b[i]
        b[i] = a[i] + b[i - 1]
    return a[-1] * b[0]


WAYS = {
    "grad": nbgrad.grad,
    "value_and_grad": nbgrad.value_and_grad,
    "vjp": lambda f: lambda *args: nbgrad.vjp(f, *args),
    "jvp": lambda f: lambda *args: nbgrad.jvp(f, args, args),
    "linearize": lambda f: lambda *args: nbgrad.linearize(f, *args),
    "jacobian": nbgrad.jacobian,
    "forward": lambda f: nbgrad.jacobian(f, mode="forward"),
    "hessian": nbgrad.hessian,
    "checkpoint": lambda f: nbgrad.grad(nbgrad.checkpoint(f)),
    "compile": nbgrad.compile,
    "compiled gradient": lambda f: nbgrad.compile(nbgrad.grad(f)),
}


@pytest.mark.parametrize("way", WAYS)
def test_shared_memory_is_refused_in_every_transformation(way):
    a = np.arange(1.0, 7.0)
    run = WAYS[way](mixed)
    run(a[:3], a[3:])
    for x, y in ((a, a), (a[:4], a[2:]), (a, a[::-1])):
        with pytest.raises(nbgrad.GraphError, match="arguments a and b share memory: pass a copy"):
            run(x, y)
    xs = np.stack([a, a])
    with pytest.raises(nbgrad.GraphError, match="arguments a and b share memory"):
        nbgrad.vmap(mixed)(xs, xs)


def test_entries_for_numba_code_refuse_shared_memory():
    a, b = np.arange(1.0, 7.0), np.arange(6.0)
    step = nbgrad.compile(nbgrad.value_and_grad(mixed, (0, 1)))
    step(a[:4], b[:4])
    inner, into = step.njit, step.njit_into
    call = numba.njit(lambda x, y: inner(x, y)[0])
    write = numba.njit(lambda x, y, s, t: into(x, y, s, t))
    s, t = np.empty(4), np.empty(4)
    assert call(a[:4], b[:4]) == write(a[:4], b[:4], s, t) == mixed(a[:4].copy(), b[:4].copy())
    for x, y in ((a[:4], a[:4]), (a[:4], a[2:])):
        with pytest.raises(nbgrad.GraphError, match="arguments a and b share memory"):
            call(x, y)
        with pytest.raises(nbgrad.GraphError, match="arguments a and b share memory"):
            write(x, y, s, t)


def halves(c):
    c = c * 1.0
    found = mixed(c[:3], c[3:6])
    return found + np.sum(c * c)


def apart(c):
    a, b = c[:3] * 1.0, c[3:6] * 1.0
    return mixed(a, b) + np.sum(a * a) + np.sum(b * b) + c[6] ** 2


def overlapping(c):
    c = c * 1.0
    return mixed(c[:4], c[3:])


@pytest.mark.parametrize("transform", [nbgrad.grad, nbgrad.hessian,
                                       lambda f: nbgrad.compile(nbgrad.grad(f))])  # fmt: skip
def test_views_of_one_array_that_do_not_overlap(transform):
    c = np.linspace(0.5, 1.5, 7)
    np.testing.assert_allclose(transform(halves)(c), transform(apart)(c), rtol=1e-12)
    with pytest.raises(nbgrad.GraphError, match="arguments a and b share memory"):
        transform(overlapping)(c)


def test_arrays_from_outside_of_a_transformation():
    a, b = np.arange(1.0, 4.0), np.arange(2.0, 5.0)
    wanted = nbgrad.grad(mixed)(a, b)

    def outside(x, y):
        return nbgrad.grad(lambda x: mixed(x * 1.0, y * 1.0))(x)

    with pytest.raises(nbgrad.UntrackedError, match=r"pass np.array\(b, like=x\)"):
        outside(a, b)
    with pytest.raises(nbgrad.GraphError, match=r"pass np.array\(b, like=x\) of an array x"):
        nbgrad.vmap(outside)(a[None], b[None])
    inside = lambda x, y: mixed(x * 1.0, np.array(y, like=x))  # noqa: E731
    np.testing.assert_allclose(nbgrad.vmap(nbgrad.grad(inside))(a[None], b[None]), [wanted])
