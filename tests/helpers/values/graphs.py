"""What is true of every gradient."""

import numpy as np


def assert_grad(x, expected):
    assert type(x.grad) is (np.ndarray if x.shape else x.dtype.type)
    assert x.grad.dtype == x.dtype and x.grad.shape == x.shape
    np.testing.assert_allclose(x.grad, expected, rtol=1e-14)
