"""Functions of `nbgrad.numpy` of tracked arrays, numbers and lists of them, against differences."""

from typing import Any, cast

import numpy
import pytest

import nbgrad
import nbgrad.numpy as np

X = numpy.array([1.2, 0.7, 2.1])


def _step(a, b):
    return a * b + np.sin(a)


def _nditer(x):
    y = np.zeros((2, 3))
    y[0] = x
    with np.nditer(y, op_flags=["readwrite"]) as items:
        for item in cast(Any, items):
            item[...] = 2.0 * item + x[0]
    places = np.nditer(y, flags=["multi_index"])
    total = 0.0
    while not places.finished:
        total = total + places[0] ** 2 * sum(places.multi_index)
        places.iternext()
    return total


CALLS = {
    "array": lambda x: np.linalg.det(np.array([[x[0], x[1]], [1.0, x[2]]])),
    "array dtype": lambda x: np.sum(np.array([x[0], 1], dtype=float, ndmin=2) * x[1]),
    "array of arrays": lambda x: np.sum(np.array([x, x * x, np.ones(3)]) @ x),
    "array of objects": lambda x: np.array([x[0], x[1]], dtype=object).sum() * x[2],
    "asarray": lambda x: np.sum(np.asarray([x[0], x[1]]) ** 2) + np.sum(np.asarray(x, float)),
    "ascontiguousarray": lambda x: np.sum(np.ascontiguousarray([x[0], 2.0]) * x[1]),
    "copy": lambda x: np.sum(np.copy(x) * np.copy([x[0], 1.0, x[1]])),
    "full": lambda x: np.sum(np.full((2, 2), x[0]) * x[1]),
    "diag": lambda x: np.sum(np.diag([x[0], x[1]]) @ np.ones(2) * x[2]),
    "fromiter": lambda x: np.sum(np.fromiter((v * v for v in x), float)),
    "fromfunction": lambda x: np.sum(np.fromfunction(lambda i, j: i * x[0] + j, (2, 2))),
    "linspace": lambda x: np.sum(np.linspace(x[0], x[1], 4) ** 2),
    "r_": lambda x: np.sum(np.r_[x[0], x * x, 1.0, 2:4] ** 2),
    "r_ with axes": lambda x: np.sum(np.r_["0,2", x, x * x][1] * x),
    "c_": lambda x: np.sum(np.c_[x, x * 2, np.ones(3)] @ x),
    "mgrid": lambda x: np.sum(np.mgrid[0 : x[0] : 5j] ** 2),
    "vectorize": lambda x: np.sum(np.vectorize(_step)(x, 2.0 * x)),
    "vectorize with otypes": lambda x: np.sum(np.vectorize(_step, otypes=[float])(x, 2.0)),
    "vectorize excluded": lambda x: np.sum(
        np.vectorize(lambda a, p: a * p[0], excluded=[1])(x, [2.0, 3.0])
    ),
    "frompyfunc": lambda x: np.sum(np.frompyfunc(_step, 2, 1)(x, x)),
    "apply_along_axis": lambda x: np.sum(
        np.apply_along_axis(lambda r: r * r[0], 1, np.outer(x, x))
    ),
    "ndenumerate": lambda x: sum(v * i[0] for i, v in np.ndenumerate(x)),
    "nditer": _nditer,
    "flat": lambda x: sum(v * v for v in np.outer(x, x).flat) + x.flat[1],
    "sum of a list": lambda x: np.sum([x[0], x[1] * 2]) * np.mean([x[0] ** 2, 1.0]),
    "max of a list": lambda x: np.max([x[0], x[2]]) + np.min((x[0], 1.0)),
    "dot of lists": lambda x: np.dot([x[0], x[1]], [x[2], 1.0]),
    "dot of an array": lambda x: np.arange(3).dot(x) + np.zeros(2).dot([x[0], x[1]]),
    "concatenate": lambda x: np.sum(np.concatenate((x, [x[0]], [[1.0, x[1]]][0])) ** 2),
    "hstack": lambda x: np.sum(np.hstack([x[0], x[1:], [x[2], 1.0]]) ** 2),
    "vstack": lambda x: np.sum(np.vstack((x, [x[0], 1.0, x[1]])) @ x),
    "append": lambda x: np.sum(np.append(np.append([], [x[0], x[1]]), x[2]) ** 2),
    "insert": lambda x: np.sum(np.insert(x, 1, [x[0] * x[1]]) * np.arange(4)),
    "block": lambda x: np.linalg.det(np.block([[np.eye(2) * x[0], np.ones((2, 1))],
                                               [np.zeros((1, 2)), x[1]]])),
    "where": lambda x: np.sum(np.where([True, False, True], x, [x[0], x[1], 0.0])),
    "select": lambda x: np.sum(np.select([x > 1.0], [x * x], x)),
    "piecewise": lambda x: np.sum(np.piecewise(x, [x > 1.0], [lambda v: v * v, lambda v: v])),
    "einsum": lambda x: np.einsum("i,i", [x[0], x[1]], x[1:]),
    "clip": lambda x: np.sum(np.clip([x[0], x[1]], 0.0, 1.0)),
    "interp": lambda x: np.interp(x[0] / 2.0, [0.0, 1.0, 2.0], [x[0], x[1], x[2]]),
    "polyval": lambda x: np.polyval([x[0], x[1], 1.0], 2.0) + np.poly1d([x[0], 1.0])(x[1]),
    "polyfit": lambda x: np.polyfit([0.0, 1.0, 2.0], [x[0], x[1], x[2]], 1)[0],
    "inv": lambda x: np.sum(np.linalg.inv([[x[0], 1.0], [0.0, x[1]]])),
    "solve": lambda x: np.sum(np.linalg.solve([[x[0], 0.0], [1.0, 1.0]], [1.0, x[1]])),
    "norm": lambda x: np.linalg.norm([x[0], x[1]]),
    "cross": lambda x: np.sum(np.cross([x[0], 1.0, 0.0], [0.0, x[1], 2.0])),
    "isscalar": lambda x: x[0] ** 2 if [*map(np.isscalar, [x[0], x])] == [True, False] else x[1],
    "ndim": lambda x: x[0] ** 2 if (np.ndim(x[0]), np.size(x)) == (0, 3) else x[1],
    "indices": lambda x: np.sum(np.eye(3)[np.argmax(x)] * x) + np.arange(3)[np.argmin(x)] * x[0],
    "draws": lambda x: np.sum(np.random.RandomState(0).normal(size=3) * x),
    "as_strided": lambda x: np.sum(
        np.lib.stride_tricks.as_strided(x, (2, 2), (x.itemsize, x.itemsize)) ** 2
    ),
}  # fmt: skip
MODES = {
    "grad": lambda f: nbgrad.grad(f)(X),
    "jvp": lambda f: [nbgrad.jvp(f, (X,), (axis,))[1] for axis in numpy.eye(3)],
    "vmap of grad": lambda f: nbgrad.vmap(nbgrad.grad(f))(numpy.stack([2.0 * X, X]))[1],
    "compiled": lambda f: nbgrad.compile(nbgrad.grad(f))(X),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", CALLS)
def test_gradients_are_those_of_differences(name, mode):
    f = CALLS[name]
    moves = 1e-6 * numpy.eye(3)
    want = [(f(X + move) - f(X - move)) / 2e-6 for move in moves]
    numpy.testing.assert_allclose(MODES[mode](f), want, rtol=1e-6, atol=1e-7)


REFUSED = {
    "np.matrix": lambda x: np.matrix(x),
    "np.asmatrix": lambda x: np.asmatrix([x]),
    "np.bmat": lambda x: np.bmat([[x]]),
    "np.random.normal": lambda x: np.random.normal(x[0]),
    "np.random.permutation": lambda x: np.random.default_rng(0).permutation(x),
    "np.arange": lambda x: np.arange(x[0]),
    "np.save": lambda x: np.save("nowhere", x),
    "nbgrad.vmap": lambda x: np.vectorize(np.sum, signature="(n)->()")(x),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_takes_no_tracked_values_says_so_by_name(name):
    with pytest.raises((nbgrad.NbgradError, NotImplementedError), match=name.replace(".", r"\.")):
        nbgrad.grad(lambda x: np.sum(REFUSED[name](x)))(X)
