"""`csr_array`: a sparse matrix whose elements may be tracked."""

import math
from typing import Any

import numpy as np

from ..core.array import Array
from ..core.primitive import shape_of
from ..errors import (
    ArgumentError,
    ArgumentTypeError,
    DimensionMismatch,
    IndexOutOfBounds,
    MissingAttribute,
)
from ..rules.layout import given
from ..rules.linalg.sparse_operands import Parts, parts_of, product, product_from_left
from ..runtime.kinds import is_a
from ..transforms import trees


class csr_array:
    """A sparse matrix by compressed rows, whose elements may be tracked.

    Arguments:
        matrix: `(data, indices, indptr)` as in SciPy: row i has the elements `data[p]` in the
            columns `indices[p]`, for p from `indptr[i]` to `indptr[i + 1]`. Or `(data, (rows,
            columns))`, where elements at one place are added, as finite elements are assembled.
            Or a matrix of `scipy.sparse`, or a dense one. `data` holds floats; it may be tracked.
            The positions are plain integers.
        shape: the numbers of rows and columns; by default those that the positions reach.

    `A @ x`, `x @ A`, `A.T @ x` and `nbgrad.scipy.sparse.linalg.spsolve(A, b)` have derivatives in
    `A.data` and in the other operand, of any order. The products are compiled and batched. The
    matrix is a pytree: it can be an argument and a result of transformations and of compiled
    functions, and the gradient with respect to it is a matrix with the same positions.

    Matrices with the same positions can be added; a matrix can be multiplied by numbers.

    Raises:
        DimensionMismatch: the lengths of the parts do not fit.
        IndexOutOfBounds: a position is outside of the shape.
        TypeError: the elements are no real numbers.

    >>> def energy(data, x):
    ...     A = nbgrad.scipy.sparse.csr_array((data, [0, 0, 1], [0, 1, 3]), shape=(2, 2))
    ...     return x @ (A @ x)
    >>> nbgrad.grad(energy)(np.array([1.0, 2.0, 3.0]), np.array([1.0, 10.0]))
    array([  1.,  10., 100.])
    """

    __array_ufunc__ = None  # NumPy's operators leave it to the methods
    data: Any
    indices: Any
    indptr: Any

    def __init__(self, matrix: Any, shape: tuple[int, int] | None = None):
        if isinstance(matrix, tuple) and len(matrix) == 2:
            data, (rows, columns) = matrix
            parts = _of_places(data, rows, columns, shape)
        elif isinstance(matrix, tuple) and len(matrix) == 3:
            data, indices, indptr = matrix
            parts = _of_rows(data, indices, indptr, shape)
        elif isinstance(matrix, csr_array):
            parts = matrix._parts
        elif hasattr(matrix, "tocsr"):
            parts = parts_of(matrix, "csr_array")
        else:
            parts = _of_dense(matrix)
        if shape is not None and tuple(shape) != parts.shape:
            raise DimensionMismatch(
                f"csr_array: a matrix of shape {parts.shape}, and shape={tuple(shape)}"
            )
        self._set(parts)

    def _set(self, parts: Parts) -> None:
        self.data, self.indices, self.indptr = parts.data, parts.indices, parts.indptr
        self.shape, self._is_turned = parts.shape, parts.is_turned

    @staticmethod
    def _of(parts: Parts) -> "csr_array":
        new = object.__new__(csr_array)
        new._set(parts)
        return new

    @property
    def _parts(self) -> Parts:
        return Parts(self.data, self.indices, self.indptr, self.shape, self._is_turned)

    ndim = 2

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the elements."""
        return self.data.dtype

    @property
    def nnz(self) -> int:
        """The number of elements that are stored."""
        return math.prod(shape_of(self.data))

    @property
    def T(self) -> "csr_array":
        """The transposed matrix, of the same elements."""
        return csr_array._of(self._parts.turned)

    def transpose(self) -> "csr_array":
        """The transposed matrix, of the same elements."""
        return self.T

    def __matmul__(self, other: Any) -> Any:
        if hasattr(other, "tocsr") or isinstance(other, csr_array):
            raise ArgumentTypeError(
                "matmul: products of two sparse matrices have no rule: multiply a vector by one "
                "after the other, A @ (B @ x)"
            )
        return product(self._parts, other)

    dot = __matmul__

    def __rmatmul__(self, other: Any) -> Any:
        if hasattr(other, "tocsr"):
            return csr_array(other) @ self
        return product_from_left(other, self._parts)

    def _with(self, data: Any) -> "csr_array":
        return csr_array._of(self._parts._replace(data=data))

    def __neg__(self) -> "csr_array":
        return self._with(-self.data)

    def __mul__(self, number: Any) -> "csr_array":
        if shape_of(number) != ():
            raise ArgumentTypeError(
                "multiply: a sparse matrix is multiplied by a number; A.data * v multiplies its "
                "elements, and A @ x is the product"
            )
        return self._with(self.data * number)

    __rmul__ = __mul__

    def __truediv__(self, number: Any) -> "csr_array":
        return self * (1.0 / number)

    def __add__(self, other: Any) -> "csr_array":
        return self._with(self.data + self._same(other).data)

    __radd__ = __add__

    def __sub__(self, other: Any) -> "csr_array":
        return self._with(self.data - self._same(other).data)

    def __rsub__(self, other: Any) -> "csr_array":
        return self._with(self._same(other).data - self.data)

    def _same(self, other: Any) -> "csr_array":
        """Another matrix with the same positions. Raises ArgumentError."""
        other = other if isinstance(other, csr_array) else csr_array(other)
        parts = self._parts._replace(data=None), other._parts._replace(data=None)
        if parts[0][3:] == parts[1][3:] and all(map(_are_equal, parts[0][1:3], parts[1][1:3])):
            return other
        raise ArgumentError(
            "add: sparse matrices with different positions: join their elements, as "
            "csr_array((np.concatenate([a, b]), (rows, columns))) adds those at one place"
        )

    def sum(self, axis: int | None = None) -> Any:
        """Sums of the elements: of the columns (0), of the rows (1), or of all (None)."""
        if axis is None:
            return np.sum(self.data)
        if axis not in (0, 1, -1, -2):
            raise ArgumentError(f"sum: axis={axis!r}; a matrix has the axes 0 and 1")
        matrix = self if axis % 2 else self.T
        return matrix @ np.ones(matrix.shape[1])

    def toarray(self) -> Any:
        """The dense matrix."""
        return self @ np.eye(self.shape[1])

    def to_scipy(self) -> Any:
        """The matrix as a `scipy.sparse.csr_array`. Its elements must be plain."""
        import scipy.sparse

        kind = scipy.sparse.csc_array if self._is_turned else scipy.sparse.csr_array
        plain: Any = kind((np.asarray(self.data), self.indices, self.indptr), shape=self.shape)
        return plain.tocsr()

    def __getattr__(self, name: str) -> Any:
        raise MissingAttribute(
            f"a csr_array of nbgrad has no attribute {name!r}: to_scipy() is the matrix of SciPy, "
            "of plain numbers",
            name=name,
            obj=self,
        )

    def __repr__(self) -> str:
        return f"<csr_array of shape {self.shape} with {self.nnz} elements>"


trees.register(csr_array, fields=("data", "indices", "indptr"))


def _are_equal(x: Any, y: Any) -> bool:
    if x is y:
        return True
    return not isinstance(x, Array) and not isinstance(y, Array) and np.array_equal(x, y)


def _elements(data: Any) -> Any:
    data = given(data)
    if data.dtype.kind not in "fiub":
        raise ArgumentTypeError(
            f"csr_array: data of dtype {data.dtype}; the elements are real numbers"
        )
    if len(shape_of(data)) != 1:
        raise DimensionMismatch(f"csr_array: data of shape {shape_of(data)}; it has one axis")
    return data if data.dtype.kind == "f" else data.astype(np.float64)


def _positions(x: Any, name: str) -> Any:
    x = x if isinstance(x, Array) else np.asarray(x)
    if is_a(x, np.ndarray) and not x.size:
        x = x.astype(np.int64)
    if x.dtype.kind not in "iu" or len(shape_of(x)) != 1:
        raise ArgumentTypeError(
            f"csr_array: {name} of dtype {x.dtype} and shape {shape_of(x)}; positions are integers "
            "along one axis"
        )
    return x


def _of_rows(data: Any, indices: Any, indptr: Any, shape: tuple[int, int] | None) -> Parts:
    data = _elements(data)
    indices, indptr = _positions(indices, "indices"), _positions(indptr, "indptr")
    rows, count = shape_of(indptr)[0] - 1, shape_of(indices)[0]
    if shape is None:
        _require_plain(indices, "shape=(rows, columns)")
        shape = rows, int(indices.max(initial=-1)) + 1
    shape = _pair(shape)
    if shape_of(data)[0] != count or rows != shape[0]:
        raise DimensionMismatch(
            f"csr_array: {shape_of(data)[0]} elements, {count} indices and {rows + 1} starts of "
            f"rows for a matrix of shape {shape}: there is an index for each element, and indptr "
            "has an element more than there are rows"
        )
    if not isinstance(indptr, Array):
        wrong = indptr[0] != 0 or indptr[-1] != count or (np.diff(indptr) < 0).any()
        if wrong:
            raise ArgumentError(
                f"csr_array: indptr must rise from 0 to the number of elements, {count}"
            )
    _require_within(indices, shape[1], "a column")
    return Parts(data, indices, indptr, shape)


def _of_places(data: Any, rows: Any, columns: Any, shape: tuple[int, int] | None) -> Parts:
    data, rows, columns = _elements(data), _positions(rows, "rows"), _positions(columns, "columns")
    for x in (rows, columns):
        _require_plain(x, "indices and indptr, which may be traced")
    if not len(rows) == len(columns) == shape_of(data)[0]:
        raise DimensionMismatch(
            f"csr_array: {shape_of(data)[0]} elements, {len(rows)} rows and {len(columns)} columns"
        )
    if shape is None:
        shape = int(rows.max(initial=-1)) + 1, int(columns.max(initial=-1)) + 1
    shape = _pair(shape)
    _require_within(rows, shape[0], "a row")
    _require_within(columns, shape[1], "a column")
    keys = rows.astype(np.int64) * shape[1] + columns
    places, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    if len(places) == len(keys):
        data = data[first]
    else:
        from ..rules.assign import at

        data = at(np.zeros(len(places), data.dtype))[inverse].add(data)
    indptr = np.searchsorted(places, np.arange(shape[0] + 1) * shape[1])
    return Parts(data, places % max(shape[1], 1), indptr, shape)


def _of_dense(matrix: Any) -> Parts:
    import scipy.sparse

    if isinstance(matrix, Array):
        raise ArgumentTypeError(
            "csr_array: a tracked dense matrix, whose zeros are not known: pass its elements and "
            "their positions, csr_array((x[rows, columns], (rows, columns)), shape)"
        )
    return parts_of(scipy.sparse.csr_array(np.asarray(matrix)), "csr_array")


def _pair(shape: Any) -> tuple[int, int]:
    try:
        rows, columns = shape
        return int(rows), int(columns)
    except (TypeError, ValueError):
        raise DimensionMismatch(f"csr_array: shape={shape!r}; it is (rows, columns)") from None


def _require_plain(x: Any, instead: str) -> None:
    if isinstance(x, Array):
        raise ArgumentTypeError(f"csr_array: positions that are traced need {instead}")


def _require_within(x: Any, length: int, what: str) -> None:
    if not isinstance(x, Array) and x.size and not (0 <= x.min() and x.max() < length):
        bad = x.min() if x.min() < 0 else x.max()
        raise IndexOutOfBounds(
            f"csr_array: {what} {bad} in a matrix whose axis has the length {length}"
        )
