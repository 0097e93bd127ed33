"""Functions of `scipy.linalg` with derivatives.

Names, arguments and results are those of `scipy.linalg`, whose functions do not use NumPy's
protocols: write `nbgrad.linalg.expm(x)` for a tracked array. Plain arrays give plain arrays.
Functions of `np.linalg` take tracked arrays themselves.

>>> slope = nbgrad.grad(lambda a: np.trace(nbgrad.linalg.expm(a)))(np.zeros((2, 2)))
>>> slope
array([[1., 0.],
       [0., 1.]])
"""

from ..rules.linalg.banded import block_diag, solve_banded
from ..rules.linalg.cholesky import cho_factor, cho_solve
from ..rules.linalg.matrix_functions import expm, logm, sqrtm
from ..rules.linalg.sylvester import solve_sylvester
from ..rules.linalg.toeplitz import matmul_toeplitz, toeplitz
from ..rules.linalg.triangular import solve_triangular

__all__ = [
    "block_diag",
    "cho_factor",
    "cho_solve",
    "expm",
    "logm",
    "matmul_toeplitz",
    "solve_banded",
    "solve_sylvester",
    "solve_triangular",
    "sqrtm",
    "toeplitz",
]
