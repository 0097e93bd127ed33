"""`sparse_jacobian` and `sparse_hessian`, with as many products as the pattern has colours."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..compiler.forks import fork_safe
from ..transforms import trees
from ..transforms.direct import look
from ..transforms.reverse import existing, positions_of
from ..transforms.transformed import Transformed
from .cases import Case
from .prepared import Compression

# Structures of arguments for which patterns are kept.
_MOST = 16


class SparseMatrix(Transformed):
    """A function that computes a sparse matrix of derivatives. Its methods take the same arguments
    and return how it is computed."""

    _op: str
    _argnums: int
    _positions: Any
    _given: Any
    _cases: dict[Any, Case]
    _lock: Any

    def __new__(cls, make: Callable, f: Callable, argnums: int, pattern: Any) -> Any:
        op = make.__name__
        trees.require_function(op, f)
        positions = positions_of(op, argnums)
        self: Any = super().__new__(cls, lambda *args: self._case(args).matrix(args), make, f)
        self.arguments = (f, argnums, pattern)
        self._op, self._argnums, self._positions, self._given = op, argnums, positions, pattern
        self._cases = {}
        self._lock = fork_safe(threading.RLock())
        return self

    def _case(self, args: tuple) -> Case:
        (place,) = existing(self._op, self._argnums, self._positions, len(args))
        look(self.function, args, {})
        key = Case.key(args, place)
        with self._lock:
            case = self._cases.get(key)
            if case is None:
                if len(self._cases) >= _MOST:
                    del self._cases[next(iter(self._cases))]
                case = Case(self._op, self.function, args, place, self._given)
                self._cases[key] = case
        return case

    def pattern(self, *args: Any) -> Any:
        """Return the entries that may be other than 0, for some arguments of these shapes: a
        `scipy.sparse.csr_array` of bools."""
        return self._compression(args).pattern.copy()

    def colors(self, *args: Any) -> np.ndarray:
        """Return the colour of each column, from 0. There is a product for each colour. If the rows
        of a Jacobian need fewer colours, these are the colours of rows, and it is computed from
        rows."""
        return self._compression(args).colors.copy()

    def _compression(self, args: tuple) -> Compression:
        return self._case(args).compression(args)


def sparse_jacobian(f: Callable, argnums: int = 0, pattern: Any = None) -> SparseMatrix:
    """Return a function that computes the Jacobian of `f` as a sparse matrix.

    Arguments:
        f: returns an array, or nested containers of arrays.
        argnums: the position of the argument.
        pattern: the entries that may be other than 0, if they are known: a sparse or dense matrix
            of shape (m, n). By default, they are found in the recorded program of f.

    For an argument of n numbers and a result of m, the function returns a `scipy.sparse.csr_array`
    of shape (m, n): a row for each element of the result and a column for each of the argument, in
    C order, nested ones in the order of `nbgrad.scipy.ravel`. It has the entries of the pattern,
    some of which may be 0 at a point. Inside of other transformations, it returns a `csr_array` of
    `nbgrad.scipy.sparse`, which can be differentiated.

    Columns without a common row get the same colour, and the sum of the columns of a colour is one
    product of the Jacobian. Rows are used if they need fewer colours. The pattern and the colours
    depend on shapes alone, are found at the first call, and are kept; the products are compiled to
    one program. `jacobian.pattern(x)` and `jacobian.colors(x)` return them, for the arguments of
    the function.

    The pattern holds for all values of the arguments. Elements of an array at computed positions,
    the results of decompositions and of functions of `nbgrad.custom_rule` and `nbgrad.njit` count
    as depending on all elements of their arguments; `pattern` helps there.

    Raises:
        TraceError: f cannot be recorded, as its course depends on values: pass `pattern`.
        DimensionMismatch: the pattern has another shape.
        TypeError: the argument or the result holds no float array.

    Source: Gebremedhin, Manne and Pothen, What color is your Jacobian?, SIAM Review 47 (2005).

    >>> bend = lambda u: u[2:] - 2.0 * u[1:-1] + u[:-2] + u[1:-1] ** 2
    >>> jacobian = nbgrad.sparse_jacobian(bend)
    >>> J = jacobian(np.ones(1000))
    >>> J.shape, J.nnz, int(jacobian.colors(np.ones(1000)).max()) + 1
    ((998, 1000), 2994, 3)
    """
    return SparseMatrix(sparse_jacobian, f, argnums, pattern)


def sparse_hessian(f: Callable, argnums: int = 0, pattern: Any = None) -> SparseMatrix:
    """Return a function that computes the Hessian of a scalar function as a sparse matrix.

    Arguments:
        f: returns one number.
        argnums, pattern: as for `sparse_jacobian`; the pattern is symmetric.

    For an argument of n numbers, the function returns a `scipy.sparse.csr_array` of shape (n, n),
    with as many products of the Hessian as a star colouring of the pattern has colours. A Hessian
    is symmetric, so these are fewer than for a Jacobian with the same pattern. Its methods and
    errors are those of `sparse_jacobian` and `gradient`.

    Source: Gebremedhin, Tarafdar, Manne and Pothen, New acyclic and star coloring algorithms, SIAM
    J. Sci. Comput. 29 (2007).

    >>> chain = lambda x: np.sum((x[1:] - x[:-1] ** 2) ** 2)
    >>> hessian = nbgrad.sparse_hessian(chain)
    >>> hessian(np.array([1.0, 2.0, 3.0])).toarray()
    array([[ 4., -4.,  0.],
           [-4., 38., -8.],
           [ 0., -8.,  2.]])
    """
    return SparseMatrix(sparse_hessian, f, argnums, pattern)
