"""Products of matrices and vectors, maxima beside nan, and elements taken one by one: where kernels
take another way for speed."""

import itertools

import numpy as np
import pytest
from helpers.rows import PLAIN_PYTHON

import nbgrad
from nbgrad.kernels import matmul

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_matrices_times_vectors_of_any_layout(dtype):
    for m, n, k in itertools.product((1, 2, 30), (1, 2, 33), (1, 2, 40)):
        x, y = RNG.normal(size=(m, k)).astype(dtype), RNG.normal(size=(k, n)).astype(dtype)
        for a, b in itertools.product((x, np.asfortranarray(x)), (y, np.asfortranarray(y))):
            np.testing.assert_allclose(matmul.compute(a, b), x @ y, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("row", [False, True])
def test_compiled_programs_multiply_vectors(turned, row):
    matrix, vector = RNG.normal(size=(30, 40)), RNG.normal(size=30 if turned != row else 40)

    def product(matrix, vector):
        matrix = matrix.T if turned else matrix
        return vector @ matrix if row else matrix @ vector

    np.testing.assert_allclose(nbgrad.compile(product)(matrix, vector), product(matrix, vector))


@pytest.mark.skipif(PLAIN_PYTHON, reason="vectors are of machine code")
def test_compiled_maxima_beside_nan_and_infinities():
    x = RNG.normal(size=(20, 30))
    x[RNG.random(x.shape) < 0.3] = np.nan
    x[3], x[5, ::2], x[7, 1] = -np.inf, np.inf, np.nan
    for function in (np.nanmax, np.nanmin):
        for dtype in (np.float64, np.float32):
            found = nbgrad.compile(lambda x, f=function: f(x, axis=1))(x.astype(dtype))
            np.testing.assert_array_equal(found, function(x.astype(dtype), axis=1))


def test_many_single_elements_are_taken_and_added_back():
    x, rows = RNG.normal(size=(60, 80)), RNG.integers(-60, 60, (60, 80))
    columns = np.arange(80)
    pull = nbgrad.vjp(lambda x: x[rows, columns], x)
    np.testing.assert_array_equal(pull[0], x[rows, columns])
    wanted = np.zeros(x.shape)
    np.add.at(wanted, (rows, columns), 1.0)
    np.testing.assert_array_equal(pull[1](np.ones(x.shape))[0], wanted)
    rows[5, 5] = 60
    with pytest.raises(IndexError, match="index 60 is out of bounds for axis 0 with size 60"):
        nbgrad.track(x)[rows, columns]
