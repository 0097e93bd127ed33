"""Arrays of `nbgrad.numpy`, before and after tracked values are put into them."""

import copy
import ctypes
import gc
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import cast

import numba
import numpy
import pytest
import scipy.linalg

import nbgrad
import nbgrad.numpy as np
from nbgrad.core.fillable import FILLABLE, Fillable

X = numpy.array([1.0, 2.0, 3.0])


@pytest.fixture
def x():
    return nbgrad.track(X)


def test_it_is_an_array_of_numpy(x):
    plain, filled = np.zeros(3), np.zeros(3)
    filled[0] = x[1]
    for y in (plain, filled):
        assert isinstance(y, np.ndarray) and isinstance(y, numpy.ndarray)
        assert (y.shape, y.ndim, y.size, len(y), y.dtype) == ((3,), 1, 3, 3, float)
    assert repr(plain) == "array([0., 0., 0.])" and str(plain) == "[0. 0. 0.]"
    assert str(filled) == "[2. 0. 0.] (tracked assign)" and f"{filled[0]:.2f}" == "2.00"
    assert (plain == 0.0).all() and (filled == numpy.array([2.0, 0.0, 0.0])).all()
    with pytest.raises(TypeError, match="unhashable"):
        hash(plain)


def test_copies_and_pickles(x):
    plain, filled = np.ones(3), np.ones(3)
    filled[0] = x[1]
    assert type(pickle.loads(pickle.dumps(plain))) is numpy.ndarray
    assert pickle.loads(pickle.dumps(filled)).tolist() == [2.0, 1.0, 1.0]
    for again in (copy.copy(plain), copy.deepcopy(plain), plain.copy(), np.copy(plain)):
        again[0] = x[1]
        assert plain[0] == 1.0 and again[0] == 2.0
    assert copy.deepcopy([filled])[0].tolist() == [2.0, 1.0, 1.0]


def _returned(x):
    filled, plain = np.zeros(3), np.ones(2)
    filled[0] = x[0] * 2.0
    return {"filled": filled, "plain": plain, "parts": (filled[0], filled[:2])}


@pytest.mark.parametrize("mode", ["compile", "vmap", "aux"])
def test_results_are_plain_arrays(mode):
    if mode == "compile":
        found = nbgrad.compile(_returned)(X)
    elif mode == "vmap":
        found = nbgrad.vmap(_returned)(X[None])
    else:
        found = nbgrad.grad(lambda x: (np.sum(x), _returned(x)), has_aux=True)(X)[1]
    assert type(found["filled"]) is type(found["plain"]) is numpy.ndarray
    assert numpy.ravel(found["filled"]).tolist() == [2.0, 0.0, 0.0]


def test_filled_arrays_are_what_jacobians_and_pullbacks_take():
    def f(x):
        return _returned(x)["filled"]

    numpy.testing.assert_array_equal(nbgrad.jacobian(f)(X)[0], [2.0, 0.0, 0.0])
    _, pullback = nbgrad.vjp(f, X)
    assert pullback(np.ones(3))[0].tolist() == [2.0, 0.0, 0.0]


def test_arguments_of_transformations(x):
    plain, filled = np.ones(3), np.ones(3)
    filled[0] = x[0]
    for y in (plain, filled):
        assert nbgrad.grad(lambda y: np.sum(y * y))(y).tolist() == [2.0 * v.item() for v in y]
        slope = nbgrad.grad(lambda y: np.sum(y["a"] * 2.0))({"a": y})
        assert slope["a"].tolist() == [2.0, 2.0, 2.0]


WRONG = {
    "integers": (lambda: np.zeros(3, int), "dtype=float"),
    "bools": (lambda: np.zeros(3, bool), "dtype=float"),
    "list": (lambda: np.array([1, 2, 3]), "dtype=float"),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("compiled", [False, True])
def test_integers_take_no_tracked_numbers(name, compiled):
    make, message = WRONG[name]

    def f(x):
        y = make()
        y[0] = x[0]
        return np.sum(y * x)

    slope = nbgrad.grad(f)
    with pytest.raises(nbgrad.UntrackedError, match=message):
        (nbgrad.compile(slope) if compiled else slope)(X)


def test_integers_and_bools_take_traced_ones():
    def f(x):
        mask, place = np.zeros(3, bool), np.zeros(1, int)
        mask[0] = x[0] > 0.0
        mask[1:] = x[1:] > 2.5
        place[0] = np.argmax(x)
        return np.sum(np.where(mask, x, 0.0)) * place[0]

    want = [2.0, 0.0, 2.0]
    assert nbgrad.grad(f)(X).tolist() == want
    assert nbgrad.compile(nbgrad.grad(f))(X).tolist() == want
    assert nbgrad.vmap(nbgrad.grad(f))(X[None])[0].tolist() == want


def test_single_precision_stays():
    def f(x):
        y = np.zeros(3, np.float32)
        y[:] = x * x
        assert y.dtype == np.float32
        return np.sum(y)

    numpy.testing.assert_allclose(nbgrad.grad(f)(X), 2.0 * X)


def test_other_orders_of_memory():
    def f(x, order):
        y = np.zeros((2, 3), order=order)
        column, row = y[:, 1], y[1]
        y[0] = x
        row[:] = column[0] * x
        turned = (np.ones((2, 3)).T * 2.0)[1:]
        turned[0, 1] = x[2]
        return np.sum(y * np.arange(6.0).reshape(2, 3)) + np.sum(turned**2) + np.sum(column)

    moves = 1e-6 * numpy.eye(3)
    want = [(f(X + move, "C") - f(X - move, "C")) / 2e-6 for move in moves]
    for order in "CF":
        of_order = partial(f, order=order)
        numpy.testing.assert_allclose(nbgrad.grad(of_order)(X), want, rtol=1e-7)
        numpy.testing.assert_allclose(nbgrad.compile(nbgrad.grad(of_order))(X), want, rtol=1e-7)
        numpy.testing.assert_allclose(nbgrad.jacobian(of_order)(X), want, rtol=1e-7)


@numba.njit
def _numba_sum(a):
    return a.sum()


READERS = {
    "asarray": lambda y: numpy.asarray(y) + 1.0,
    "array of floats": lambda y: numpy.array(y, float),
    "comparison": lambda y: numpy.asarray(y) > 0.0,
    "scipy": scipy.linalg.expm,
    "float64": np.float64,
    "ctypes": lambda y: y.ctypes.data_as(ctypes.c_void_p),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("view", [False, True])
def test_code_in_c_gets_no_numbers_of_a_filled_array(x, reader, view):
    y = np.zeros((2, 2))
    part = y.T
    y[0, 1] = x[0]
    refusals = TypeError, AttributeError, nbgrad.NbgradError
    with pytest.raises(refusals):
        READERS[reader](part if view else y)


@pytest.mark.parametrize("view", [False, True])
def test_functions_of_numba_differentiate_filled_arrays(x, view):
    y = np.zeros((2, 2))
    part = y.T
    y[0, 1] = 3.0 * x[0]
    total = _numba_sum(part if view else y)
    assert total.data == 3.0
    total.backward()
    assert x.grad.tolist() == [3.0, 0.0, 0.0]


def test_code_in_c_reads_and_writes_arrays_that_are_not_filled(x):
    @numba.njit
    def fill(y):
        y[0] = 5.0

    y = np.zeros((2, 2))
    fill(y)
    assert scipy.linalg.expm(np.zeros((2, 2))).tolist() == numpy.eye(2).tolist()
    assert _numba_sum(y) == 10.0
    y[1, 0] = x[1]
    assert y.tolist() == [[5.0, 5.0], [2.0, 0.0]]


@pytest.mark.full
def test_views_are_not_collected(x):
    y = cast(Fillable, np.zeros(100))
    for i in range(10_000):
        y[i % 50 :]
    assert len(y.kin) < 100
    kept = [y[i:] for i in range(50)]
    y[60] = x[2]
    assert all(view[60 - i] == 3.0 for i, view in enumerate(kept))
    gone = weakref.ref(y)
    del y, kept
    gc.collect()
    assert gone() is None


def test_ops_keep_the_numbers_that_they_were_given():
    for size in (3, 3000):
        x = nbgrad.track(X)
        scale = np.ones(size)
        y = scale * x[0]
        z = scale * x[0]
        scale[0] = 10.0
        total = cast(nbgrad.TrackedArray, np.sum(y + z + scale * x[0]))
        total.backward()
        assert x.grad[0] == 3.0 * size + 9.0


def test_large_operands_are_copied_once(x):
    scale = cast(Fillable, np.ones(3000))
    first, second = scale.now(), scale.now()
    assert first is second
    scale[0] = 2.0
    assert scale.now() is not first and scale.now()[0] == 2.0


def test_threads_fill_arrays_of_their_own_and_of_others():
    def f(x):
        y = np.zeros(3)

        def put(i):
            z = np.zeros(1)
            z[0] = x[i]
            y[i] = z[0] * x[i]

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(put, range(3)))
        return np.sum(y)

    with ThreadPoolExecutor(3) as pool:
        for slope in pool.map(lambda _: nbgrad.grad(f)(X), range(6)):
            assert slope.tolist() == (2.0 * X).tolist()


def _writes_outside(x):
    history = np.zeros(3)

    def body(i, state):
        history[0] += state[0]
        return state + history

    return np.sum(nbgrad.loop(3, body, x))


def _writes_inside(x):
    def body(i, state):
        history = np.zeros(3)
        history[0] += state[0]
        doubled = history * 2.0
        doubled[1] = state[1]
        return state + doubled

    return np.sum(nbgrad.loop(3, body, x))


def test_bodies_of_recorded_loops_write_to_arrays_of_their_own():
    slope = nbgrad.grad(_writes_inside)(X)
    assert nbgrad.compile(nbgrad.grad(_writes_inside))(X).tolist() == slope.tolist()
    with pytest.raises(nbgrad.TraceError, match="comes from outside"):
        nbgrad.compile(nbgrad.grad(_writes_outside))(X)


def test_arrays_from_outside_are_lifted_to_the_level_of_a_write():
    def outer(x):
        y = np.zeros(3)
        y[1] = x[1]

        def inner(z):
            both = y * z
            both += y
            return np.sum(both * both)

        return np.sum(nbgrad.grad(inner)(x))

    assert nbgrad.grad(outer)(X).tolist() == [0.0, 3 * 2 * 4.0 + 4 * 2.0, 0.0]
    assert nbgrad.compile(nbgrad.grad(outer))(X).tolist() == nbgrad.grad(outer)(X).tolist()


def test_arrays_made_before_anything_is_tracked_are_plain():
    y = numpy.zeros(3)

    def f(x):
        y[0] = x[0]

    with pytest.raises(nbgrad.UntrackedError, match="plain array"):
        nbgrad.grad(f)(X)


def test_sets_of_classes_stay_small(x):
    y = np.zeros(3)
    assert {type(y), type(y * 2.0), type(y[1:])} <= FILLABLE
    assert type(np.sum(y)) is numpy.float64 and type(y[0]) is numpy.float64
