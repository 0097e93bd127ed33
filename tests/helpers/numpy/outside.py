"""A program for a separate process in which nothing else is tracked."""

import numpy

import nbgrad
import nbgrad.numpy as np
from nbgrad.capi import gate
from nbgrad.numpy import array, zeros

MADE = {
    "zeros": lambda np: np.zeros(3),
    "array": lambda np: np.array([1, 2]),
    "eye": lambda np: np.eye(2),
    "arange": lambda np: np.arange(3.0),
    "r_": lambda np: np.r_[1:3, 5.0],
    "c_": lambda np: np.c_[[1.0, 2.0], [3.0, 4.0]],
    "mgrid": lambda np: np.mgrid[0:2, 0:3],
    "vectorize": lambda np: np.vectorize(lambda a: a + 1)([1, 2]),
    "nditer": lambda np: [x + 0 for x in np.nditer(np.ones(2))],
    "poly1d": lambda np: np.poly1d([1.0, 2.0])(3.0),
    "rand": lambda np: np.random.RandomState(0).rand(2),
    "normal": lambda np: np.random.default_rng(0).normal(size=2),
    "inv": lambda np: np.linalg.inv([[2.0, 0.0], [0.0, 4.0]]),
    "fromiter": lambda np: np.fromiter((i for i in range(3)), float),
    "isscalar": lambda np: (np.isscalar(1.0), np.isscalar(np.ones(1))),
    "nested": lambda np: np.block([[np.eye(2), np.ones((2, 1))]]),
}


def results_are_those_of_numpy():
    for name, make in MADE.items():
        got, want = make(np), make(numpy)
        numpy.testing.assert_equal(got, want, name)
        assert type(got) is type(want), name


def arrays_are_plain_again_when_leaves_are_dead():
    x, y = nbgrad.track(1.0), nbgrad.track(2.0)
    z = x * y
    del x
    assert type(zeros(2)) is not numpy.ndarray
    del y
    assert type(array([1.0])) is not numpy.ndarray  # z knows both
    del z
    assert type(zeros(2)) is numpy.ndarray
    inside = []
    nbgrad.grad(lambda x: inside.append(type(zeros(2))) or x)(1.0)
    try:
        nbgrad.grad(lambda x: x + 1 // 0)(1.0)
    except ZeroDivisionError:
        pass
    assert inside != [numpy.ndarray] and type(zeros(2)) is numpy.ndarray


def functions_in_python_mean_the_same():
    own = gate._general(numpy.zeros, lambda *args: "own", None, "nbgrad.numpy")
    listed = gate._general(numpy.sum, lambda *args: "own", lambda x: "made", "nbgrad.numpy")
    assert own(2).tolist() == [0.0, 0.0] and listed([[1.0]], 0).tolist() == [1.0]
    assert listed([1.0], "a") == "own"
    x = nbgrad.track(1.0)
    assert own(2) == "own" and listed([[1.0]], 0) == "made" and listed([1.0]) == 1.0
    assert gate.plain_of(own) is numpy.zeros and x == 1.0


if __name__ == "__main__":
    assert not gate.is_tracking() and not gate.is_tracing()
    results_are_those_of_numpy()
    arrays_are_plain_again_when_leaves_are_dead()
    functions_in_python_mean_the_same()
