"""`scipy.sparse.linalg` with a `spsolve` that has derivatives."""

from typing import TYPE_CHECKING, Any

import scipy.sparse.linalg as _plain

from ...core.array import Array
from ...core.primitive import bind, shape_of
from ...core.symbols import noted, recording
from ...errors import DimensionMismatch
from ...rules.layout import given
from ...rules.linalg.sparse_operands import parts_of
from ...rules.linalg.sparse_systems import spsolve_row
from ...sparse.arrays import csr_array

if TYPE_CHECKING:
    from scipy.sparse.linalg import *  # noqa: F403  # pyright: ignore[reportWildcardImportFromLibrary, reportAssignmentType]

    def __getattr__(name: str) -> Any: ...


__all__ = []
__all__ += _plain.__all__
globals().update({name: getattr(_plain, name) for name in __all__})


def spsolve(A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any:
    """Solve A @ x = b for x, for a sparse matrix A.

    Arguments:
        A: a square matrix of `scipy.sparse`, or a `csr_array` of `nbgrad.scipy.sparse`, whose
            elements may be tracked.
        b: a vector (n,), or a matrix (n, k) of right-hand sides; it may be tracked.
        permc_spec, use_umfpack: ignored, for SciPy's signature; SuperLU solves the system.

    Returns x in the shape of b. Derivatives in b and in the elements of A, of any order, solve
    with the factors of A, which are kept; the pullback solves the transposed system: b_bar solves
    A.T @ b_bar = ct, and the elements of -b_bar @ x.T at the positions of A are A_bar.

    In compiled programs a kernel factors A, with row exchanges as SuperLU has them. The order of
    elimination is planned once, from the positions of the elements, which the function closes over;
    other positions are another program. A matrix whose positions are arguments of the compiled
    function is made dense, if it has at most 1000 rows.

    Raises DimensionMismatch for shapes that do not fit, np.linalg.LinAlgError for a singular
    matrix, EagerOnlyError for a larger matrix whose positions are arguments of a compiled function.

    >>> A = nbgrad.scipy.sparse.csr_array((np.array([2.0, 1.0, 4.0]), [0, 0, 1], [0, 1, 3]))
    >>> nbgrad.scipy.sparse.linalg.spsolve(A, np.array([2.0, 5.0]))
    array([1., 1.])
    >>> nbgrad.grad(lambda b: nbgrad.scipy.sparse.linalg.spsolve(A, b)[1])(np.array([2.0, 5.0]))
    array([-0.125,  0.25 ])
    """
    parts = A._parts if isinstance(A, csr_array) else None
    if parts is None and hasattr(A, "tocsr"):
        parts = parts_of(A, "spsolve")
    if parts is None:
        parts = csr_array(A)._parts
    b = given(b)
    n, shape = parts.shape[0], shape_of(b)
    if parts.shape != (n, n) or len(shape) not in (1, 2) or shape[0] != n:
        raise DimensionMismatch(
            f"spsolve: a matrix of shape {parts.shape} and b of shape {shape}: the matrix is "
            "square, and b is a vector or a matrix with as many rows"
        )
    positions = parts.indices, parts.indptr
    known = recording.recorder is not None and not any(isinstance(x, Array) for x in positions)
    places = tuple(map(noted, positions)) if known else None
    return bind(
        spsolve_row, parts.data, b, *positions, is_turned=parts.is_turned, places=places
    )  # fmt: skip
