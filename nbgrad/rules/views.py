"""NumPy functions whose results may be views of their arguments, so that writes reach both."""

import numpy as np

from ..core.functions import views

_NAMES = """
    transpose permute_dims matrix_transpose swapaxes moveaxis rollaxis reshape ravel squeeze
    expand_dims atleast_1d atleast_2d atleast_3d broadcast_to broadcast_arrays diagonal diag
    split array_split hsplit vsplit dsplit unstack flip fliplr flipud rot90 real real_if_close
    trim_zeros meshgrid nan_to_num einsum cov astype
"""
# The result of np.cov is squeezed: an array without axes, not a number.
views |= {getattr(np, name) for name in _NAMES.split() if hasattr(np, name)}
views |= {
    np.linalg.diagonal,
    np.linalg.matrix_power,
    np.linalg.matrix_transpose,
    np.lib.stride_tricks.sliding_window_view,
}
