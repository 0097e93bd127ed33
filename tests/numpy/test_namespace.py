"""`nbgrad.numpy` has NumPy's names, and outside of derivatives it is NumPy."""

import inspect
import pickle
import subprocess
import sys

import numba
import numpy
import pytest
from helpers.children import TESTS

import nbgrad.numpy as np
from nbgrad.numpy import array
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
    assert str(np.mean.__doc__).endswith(str(numpy.mean.__doc__)[-200:])
    assert list(inspect.signature(np.mean).parameters) == list(
        inspect.signature(numpy.mean).parameters
    )
    assert (np.mean.__name__, np.mean.__module__) == ("mean", "nbgrad.numpy")


def test_outside_of_derivatives_it_is_numpy():
    subprocess.run([sys.executable, TESTS / "helpers" / "numpy" / "outside.py"], check=True)


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


def test_numba_takes_the_functions_for_those_of_numpy():
    @numba.njit
    def f(a):
        out = np.zeros(3)
        out[:2] = array([1.0, 2.0])
        return np.sum(out) + np.linalg.inv(np.eye(2)).sum() + np.dot(a, a) + np.sqrt(a[0])

    assert f(np.ones(3)) == 3.0 + 2.0 + 3.0 + 1.0
