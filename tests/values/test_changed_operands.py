"""Plain arrays that a function writes to after an op has used them: the op keeps what they were."""

import numpy as np
import optree
import pytest

import nbgrad

X = np.array([0.7, 1.9, 0.4])
C = np.array([2.0, -1.0, 0.5])
MATRIX = np.array([[3.0, 0.5, 0.0], [0.5, 2.0, 0.2], [0.0, 0.2, 1.0]])
PLACES = np.array([2, 0, 2])
MASK = np.array([True, False, True])
SINGLE = C.astype(np.float32)

# Ops of a tracked array and a plain one, with what that holds.
OPS = {
    "x * c": (lambda x, c: x * c, C),
    "c * x": (lambda x, c: c * x, C),
    "c / x": (lambda x, c: c / x, C),
    "x ** c": (lambda x, c: x**c, C),
    "c ** x": (lambda x, c: c**x, np.abs(C)),
    "float32": (lambda x, c: x * c, SINGLE),
    "integers": (lambda x, c: x * c, PLACES),
    "number": (lambda x, c: x * c, np.array(3.0)),
    "strided": (lambda x, c: x * c[::2], np.arange(6.0)),
    "maximum": (lambda x, c: np.maximum(x * x, c), C),
    "where": (lambda x, c: np.where(c, x * x, 1.0), MASK),
    "where values": (lambda x, c: np.where(x > 1.0, x * c, c * c), C),
    "clip": (lambda x, c: np.clip(x * x, c, 1.5), C),
    "dot": (lambda x, c: c @ x, C),
    "matmul": (lambda x, c: c @ x, MATRIX),
    "matmul, transposed": (lambda x, c: c.T @ x, MATRIX),
    "einsum": (lambda x, c: np.einsum("ij,i,j->j", c, x, x), MATRIX),
    "outer": (lambda x, c: np.outer(x, c), C),
    "convolve": (lambda x, c: np.convolve(x, c), C),
    "cross": (lambda x, c: np.cross(x, c), C),
    "solve": (lambda x, c: np.linalg.solve(c, x), MATRIX),
    "average": (lambda x, c: np.average(x * x, weights=c), np.abs(C)),
    "interp": (lambda x, c: np.interp(x, [0.0, 1.0, 2.0], c), C),
    "interp places": (lambda x, c: np.interp(x, c, [0.0, 1.0, 3.0]), np.array([0.0, 1.0, 2.0])),
    "polyval": (lambda x, c: np.polyval(c, x), C),
    "index": (lambda x, c: x[c] ** 2, PLACES),
    "mask": (lambda x, c: x[c] ** 2, MASK),
    "two indices": (lambda x, c: np.outer(x, x)[c, 1], PLACES),
    "take": (lambda x, c: np.take(x * x, c), PLACES),
    "take_along_axis": (lambda x, c: np.take_along_axis(x * x, c, 0), PLACES),
    "repeat": (lambda x, c: np.repeat(x * x, c), PLACES),
    "choose": (lambda x, c: np.choose(c, [x, x * x, 2.0 * x]), PLACES),
    "at": (lambda x, c: nbgrad.at(x * x)[c].add(x), PLACES),
    "write": (lambda x, c: _written(x, c), PLACES),
    "written values": (lambda x, c: _written(x, PLACES, c), C),
    "concatenate": (lambda x, c: np.concatenate([x, c]) ** 2, C),
    "stack": (lambda x, c: np.stack([x, c]) ** 2, C),
    "loop": (lambda x, c: nbgrad.loop(2, lambda i, s: s * c + x, x), C),
    "cond": (lambda x, c: nbgrad.cond(x[0] > 0.0, lambda x: x * c, lambda x: x, x), C),
    "checkpoint": (lambda x, c: nbgrad.checkpoint(lambda x: np.sin(x) * c)(x), C),
}  # fmt: skip


def _written(x, places, value=None):
    y = x * x
    y[places] = x if value is None else value
    return y


def _changed(op, array, change):
    """A function that changes the array between two uses of it, or has one for each use."""

    def f(x):
        c = array.copy()
        first = op(x, c)
        if change:
            c[...] = c.reshape(-1)[::-1].reshape(c.shape)
        else:
            c = c.reshape(-1)[::-1].reshape(c.shape).copy()
        return np.sum(np.sin(first)) + np.sum(np.cos(op(x, c)))

    return f


MODES = {
    "grad": lambda f: nbgrad.grad(f)(X),
    "jvp": lambda f: nbgrad.jvp(f, (X,), (C,)),
    "hessian": lambda f: nbgrad.hessian(f)(X),
    "vmap": lambda f: nbgrad.vmap(nbgrad.grad(f))(np.stack([X, X])),
    "linearize": lambda f: nbgrad.linearize(f, X)[1](C),
    "compile": lambda f: nbgrad.compile(nbgrad.value_and_grad(f))(X),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", OPS)
def test_ops_keep_what_plain_arrays_were(name, mode):
    op, array = OPS[name]
    try:
        want = MODES[mode](_changed(op, array, False))
    except (nbgrad.NoRuleError, nbgrad.TraceError):
        with pytest.raises((nbgrad.NoRuleError, nbgrad.TraceError)):
            MODES[mode](_changed(op, array, True))
        return
    got = MODES[mode](_changed(op, array, True))
    np.testing.assert_allclose(_flat(got), _flat(want), rtol=1e-12)


def _flat(result):
    return np.concatenate([np.ravel(x) for x in optree.tree_leaves(result)])


def test_long_arrays_in_compiled_functions():
    def f(x):
        weights = np.zeros(3000)
        total = 0.0
        for k in range(3):
            weights[:] = k
            total = total + np.sum(weights * np.repeat(x, 1000) ** 2)
        return total

    np.testing.assert_allclose(nbgrad.compile(f)(X), f(X))
    np.testing.assert_allclose(nbgrad.compile(nbgrad.grad(f))(X), 6000.0 * X)


def test_what_is_outside_and_unchanged_is_read_at_each_call():
    scale, mask = np.ones(3), np.zeros(3)

    def f(x):
        total = 0.0
        for i in range(3):
            mask[:] = 0.0
            mask[i] = 1.0
            total = total + np.sum(mask * x * scale) ** (i + 1)
        return total

    compiled = nbgrad.compile(f)
    np.testing.assert_allclose(compiled(X), f(X))
    scale *= 3.0
    np.testing.assert_allclose(compiled(X), f(X))


def test_very_long_arrays_are_not_copied():
    data = np.ones(1 << 22)

    def f(x, change):
        y = np.sum(data) * 0.0 + np.sum(x[0] * data)
        if change:
            data[3] += 1.0
        return y

    np.testing.assert_allclose(nbgrad.compile(lambda x: f(x, False))(X), X[0] * data.size)
    with pytest.raises(nbgrad.TraceError, match=r"\(4194304,\) was written to after an op"):
        nbgrad.compile(lambda x: f(x, True))(X)
