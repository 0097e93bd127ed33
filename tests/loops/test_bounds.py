"""Functions that check their indices do so when they are differentiated."""

import numpy as np
import pytest

import nbgrad


@nbgrad.njit(boundscheck=True)
def element(x, i):
    x[0] = 2.0 * x[0]
    return x[i] * x[0]


def test_an_index_out_of_bounds_raises():
    x = np.ones(6)
    assert np.array_equal(nbgrad.grad(element)(x, 5), [2.0, 0, 0, 0, 0, 2.0])
    for i in (6, 10, 1000, -7):
        with pytest.raises(IndexError):
            nbgrad.grad(element)(x, i)
        with pytest.raises(IndexError):
            nbgrad.jvp(lambda x, i=i: element(x * 1.0, i), (x,), (x,))
        tracked = nbgrad.track(x) * 1.0
        with pytest.raises(IndexError):
            element(tracked, i)
    assert np.array_equal(x, np.ones(6))


def test_compiled_programs_refuse_them():
    with pytest.raises(nbgrad.NoRuleError, match="boundscheck"):
        nbgrad.compile(nbgrad.grad(element))(np.ones(6), 5)
