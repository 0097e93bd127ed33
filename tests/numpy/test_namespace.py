"""`nbgrad.numpy` has NumPy's names, and outside of derivatives it is NumPy."""

import gc
import inspect
import pickle
import subprocess
import sys

import numba
import numpy
import pytest

import nbgrad
import nbgrad.numpy as np
from nbgrad.kernels import gate
from nbgrad.numpy import array, zeros
from nbgrad.numpy.linalg import LinAlgError, inv

MODULES = [
    "", "linalg", "random", "fft", "lib", "lib.stride_tricks", "ma", "testing", "polynomial",
    "typing", "char", "strings", "rec", "emath", "exceptions", "dtypes", "ctypeslib",
]  # fmt: skip
SAME = "ndarray float64 pi sin add maximum newaxis dtype ufunc s_ index_exp errstate finfo nan inf"


def _at(module, path):
    for name in filter(None, path.split(".")):
        module = getattr(module, name)
    return module


@pytest.fixture(autouse=True)
def _nothing_is_tracked():
    gc.collect()


@pytest.mark.parametrize("path", MODULES)
def test_every_name_is_there(path):
    plain, own = _at(numpy, path), _at(np, path)
    assert set(dir(plain)) <= set(dir(own))
    assert [name for name in dir(plain) if not hasattr(own, name)] == []


def test_what_needs_no_wrapper_is_the_same_object():
    assert all(getattr(np, name) is getattr(numpy, name) for name in SAME.split())
    ufuncs = [name for name in numpy.__all__ if isinstance(getattr(numpy, name), numpy.ufunc)]
    assert all(getattr(np, name) is getattr(numpy, name) for name in ufuncs)
    assert LinAlgError is numpy.linalg.LinAlgError
    assert np.concat is np.concatenate


@pytest.mark.parametrize("name", ["polynomial", "ma", "testing", "lib.scimath", "typing"])
def test_modules_are_imported_by_name(name):
    code = f"import nbgrad.numpy.{name} as own, numpy.{name} as plain; assert own is plain"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_unknown_modules_are_not_found():
    with pytest.raises(ModuleNotFoundError, match=r"nbgrad\.numpy\.nothing"):
        __import__("nbgrad.numpy.nothing")


def test_functions_are_pickled_by_name():
    for name in np.__all__:
        value = getattr(np, name)
        if not inspect.ismodule(value):
            again = pickle.loads(pickle.dumps(value))
            assert again is value or type(again) is type(value), name
    assert pickle.loads(pickle.dumps(inv)) is inv


def test_functions_have_the_text_and_the_arguments_of_numpy():
    assert np.mean.__doc__.endswith(numpy.mean.__doc__[-200:])
    assert list(inspect.signature(np.mean).parameters) == list(
        inspect.signature(numpy.mean).parameters
    )
    assert (np.mean.__name__, np.mean.__module__) == ("mean", "nbgrad.numpy")


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


@pytest.mark.parametrize("name", MADE)
def test_outside_of_derivatives_results_are_those_of_numpy(name):
    assert not gate.is_tracking()
    got, want = MADE[name](np), MADE[name](numpy)
    numpy.testing.assert_equal(got, want)
    assert type(got) is type(want)


WRONG = {
    "shape": lambda np: np.zeros("a"),
    "ragged": lambda np: np.array([[1.0], [1.0, 2.0]]),
    "axes": lambda np: np.concatenate([np.ones(2), np.ones((2, 2))]),
    "argument": lambda np: np.sum([1.0], nothing=2),
    "singular": lambda np: np.linalg.inv(np.zeros((2, 2))),
    "iterator": lambda np: np.fromiter(iter([1.0]), float, 3),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_are_those_of_numpy(name):
    with pytest.raises(Exception) as want:
        WRONG[name](numpy)
    with pytest.raises(type(want.value)) as got:
        WRONG[name](np)
    assert str(got.value) == str(want.value)


def test_arrays_are_plain_again_when_leaves_are_dead():
    assert type(zeros(2)) is numpy.ndarray
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
    with pytest.raises(ZeroDivisionError):
        nbgrad.grad(_fails)(1.0)
    assert inside != [numpy.ndarray] and type(zeros(2)) is numpy.ndarray


def _fails(x):
    raise ZeroDivisionError


def test_without_c_functions_gates_mean_the_same():
    own = gate._general(numpy.zeros, lambda *args: "own", None, "nbgrad.numpy")
    listed = gate._general(numpy.sum, lambda *args: "own", lambda x: "made", "nbgrad.numpy")
    assert own(2).tolist() == [0.0, 0.0] and listed([[1.0]], 0).tolist() == [1.0]
    assert listed([1.0], "a") == "own"
    x = nbgrad.track(1.0)
    assert own(2) == "own" and listed([[1.0]], 0) == "made" and listed([1.0]) == 1.0
    assert gate.plain_of(own) is numpy.zeros and x == 1.0


def test_numba_takes_the_functions_for_those_of_numpy():
    @numba.njit
    def f(a):
        out = np.zeros(3)
        out[:2] = array([1.0, 2.0])
        return np.sum(out) + np.linalg.inv(np.eye(2)).sum() + np.dot(a, a) + np.sqrt(a[0])

    assert f(np.ones(3)) == 3.0 + 2.0 + 3.0 + 1.0
