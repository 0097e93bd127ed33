"""Arrays whose strides do not stand behind their lengths, as after `np.squeeze`."""

import numpy as np
import pytest

import nbgrad
from nbgrad.compiler.kernel import kernel


@pytest.mark.parametrize("shape", [(1, 6, 1), (6, 1), (1, 3, 1, 4)])
def test_strides_are_read_where_numpy_keeps_them(shape):
    """`np.squeeze` leaves the strides of an array where they were for more axes."""

    @kernel
    def doubled(xs, outs):
        for k in range(xs.shape[0]):
            outs[k] = 2.0 * xs[k]

    @kernel
    def transposed(xs, outs):
        for i in range(xs.shape[0]):
            for j in range(xs.shape[1]):
                outs[j, i] = xs[i, j]

    whole = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
    for x in (np.squeeze(whole[..., ::-1]), np.squeeze(whole[:, ::-2]), np.squeeze(whole.T)):
        outs = np.zeros(x.shape[::-1])
        for _ in range(3):  # the first call makes a view
            (doubled if x.ndim == 1 else transposed)(x, outs)
            np.testing.assert_array_equal(outs, 2.0 * x if x.ndim == 1 else x.T)


def test_functions_with_loops_take_squeezed_views():
    @nbgrad.njit
    def weighted(x):
        total = 0.0
        for k in range(x.shape[0]):
            total += (k + 1.0) * x[k] ** 2
        return total

    x = np.squeeze(np.arange(6.0).reshape(1, 6, 1)[:, ::-1])
    for _ in range(3):
        assert weighted(x) == weighted(x.copy())
        np.testing.assert_array_equal(nbgrad.grad(weighted)(x), nbgrad.grad(weighted)(x.copy()))
