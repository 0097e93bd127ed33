"""Launchers do what the functions do in whose place they stand, to the last bit, and hand them
whatever was not foreseen."""

import gc
import sys

import numpy as np
import pytest

import nbgrad
from nbgrad.capi.launch import Given, Item, Launch, Literal, New, Number, Returned, launcher
from nbgrad.compiler.kernel import DISABLED, kernel

F8, F4 = np.dtype(np.float64), np.dtype(np.float32)
pytestmark = pytest.mark.skipif(DISABLED, reason="nothing is compiled")


@kernel
def _blend(x, y, weight, out, scratch, count):
    for i in range(x.size):
        scratch[i] = weight * x[i]
        out[i] = scratch[i] + count * y[i]


@kernel
def _turned(a, out):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[j, i] = a[i, j]


@kernel
def _both(x, y):
    return x * y, x + y


@kernel
def _lowest(x):
    best = x[0]
    for i in range(x.size):
        best = min(best, x[i])
    return best


@kernel
def _root(x, out):
    if x[0] < 0.0:
        raise ValueError("negative")
    out[0] = x[0] ** 0.5


def _asked(*args):
    return "asked", args


def _arrays(dtype):
    rng = np.random.default_rng(3)
    return rng.normal(size=(2, 3)).astype(dtype), rng.normal(size=(2, 3)).astype(dtype)


def _blending(dtype=F8, weight=None):
    x, y = Given((0,), (2, 3), dtype), Given((1, 1), (2, 3), dtype)
    new, number = New((2, 3), dtype), weight or Number((2,))
    launch = Launch(_blend, (x, y, number, new, new, Literal(2)), (None, 3, Given((0,), (), dtype)))
    return launcher(launch, 3, _asked)


@pytest.mark.parametrize("dtype", [F8, F4], ids=str)
def test_arrays_in_order_and_of_tuples_are_taken_and_new_ones_given(dtype):
    x, y = _arrays(dtype)
    calls = nbgrad.stats()["called"]
    nothing, out, passed = _blending(dtype)(x, (None, y), 0.5)
    assert nothing is None and passed is x
    assert out.dtype == dtype and out.shape == (2, 3) and out.flags.owndata and out.flags.writeable
    np.testing.assert_allclose(out, 0.5 * x + 2 * y, rtol=1e-6 if dtype == F4 else 1e-15)
    assert nbgrad.stats()["called"] == calls + 1


def test_what_was_not_foreseen_goes_to_the_general_function():
    x, y = _arrays(F8)
    call, whole = _blending(), (None, y)
    masked, readonly = np.ma.array(x), x.copy()
    readonly.flags.writeable = False
    others = [
        (x.T.copy(), whole, 0.5), (x[:1], whole, 0.5), (x.ravel(), whole, 0.5),
        (np.asfortranarray(x), whole, 0.5), (x.astype(F4), whole, 0.5), (x > 0, whole, 0.5),
        (x.astype(">f8"), whole, 0.5), (masked, whole, 0.5), (0.5, whole, 0.5), (None, whole, 0.5),
        (x, y, 0.5), (x, (y,), 0.5), (x, [None, y], 0.5), (x, whole, 1), (x, whole, np.float32(1)),
        (x, whole), (x, whole, 0.5, 0.5), (), (np.zeros(49, "u1")[1:].view(F8), whole, 0.5),
    ]  # fmt: skip
    for args in others:
        found, given = call(*args)
        assert found == "asked" and all(a is b for a, b in zip(given, args, strict=True))
    with pytest.raises(TypeError, match="keyword"):
        call(x, whole, weight=0.5)
    assert call(readonly, whole, np.float64(0.5))[2] is readonly


def test_a_new_array_may_be_returned_twice():
    x, new = Given((0,), (2,), F8), New((2,), F8)
    launch = Launch(_blend, (x, x, Number((1,)), new, new, Literal(2)), (3, 4, 3))
    out, scratch, again = launcher(launch, 2, _asked)(np.array([1.0, 2.0]), 0.5)
    assert out is again and out is not scratch
    assert out.tolist() == [2.5, 5.0] and scratch.tolist() == [0.5, 1.0]
    del again
    alone = np.empty(2)
    assert sys.getrefcount(out) == sys.getrefcount(scratch) == sys.getrefcount(alone)


def test_matrices_keep_their_axes():
    x, _ = _arrays(F4)
    new = New((3, 2), F4, False)
    call = launcher(Launch(_turned, (Given((0,), (2, 3), F4, False), new), 1), 1, _asked)
    np.testing.assert_array_equal(call(x), x.T)
    assert call(x.T)[0] == "asked"


def test_numbers_are_returned_as_arrays_without_axes():
    operands = Item((0,), (), F8), Item((1,), (1, 1), F4)
    call = launcher(Launch(_both, operands, (Returned((), F8), Returned((), F8))), 2, _asked)
    single = np.array([[1.1]], F4)
    for x in (np.array(3.0), np.float64(3.0)):
        product, total = call(x, single)
        assert type(product) is type(total) is np.ndarray and product.shape == total.shape == ()
        assert (product, total) == (3.0 * float(single[0, 0]), 3.0 + float(single[0, 0]))
    assert call(3.0, single)[0] == call(np.float32(3.0), single)[0] == "asked"


def test_a_factor_is_rounded_once():
    x, _ = _arrays(F4)
    launch = Launch(_lowest, (Given((0,), (2, 3), F4),), Returned((1, 1), F4, 1 / 3))
    found = launcher(launch, 1, _asked)(x)
    assert found.shape == (1, 1) and found[0, 0] == np.float32(float(x.min()) * (1 / 3))


def test_a_kernel_that_raises_is_left_to_the_general_function():
    launch = Launch(_root, (Given((0,), (1,), F8), New((1,), F8)), 1)
    call = launcher(launch, 1, lambda x: _root(x, np.empty(1)))
    assert call(np.array([4.0])) == [2.0]
    with pytest.raises(ValueError, match="negative"):
        call(np.array([-4.0]))


def test_nothing_leaks():
    x, y = _arrays(F8)
    call, pair = _blending(), (None, y)
    refused = x.ravel()

    def counts():
        return [sys.getrefcount(a) for a in (x, y, pair, call, refused, F8)]

    before = counts()
    for _ in range(100):
        call(x, pair, 0.5)
        call(refused, pair, 0.5)
    assert counts() == before
    gc.collect()
    blocks = sys.getallocatedblocks()
    for _ in range(1000):
        call(x, pair, 0.5)
    assert sys.getallocatedblocks() < blocks + 100
