"""Matrices of `scipy.sparse` beside tracked arrays: their products."""

from typing import Any, NamedTuple

import numpy as np

from ...core.array import implements
from ...core.primitive import bind, shape_of
from ...core.symbols import noted
from ...errors import ComplexError, DimensionMismatch, NoRuleError
from ..layout import given
from .compressed import product_row, transposed_row


class Parts(NamedTuple):
    """A sparse matrix by compressed rows, of `shape`; or by columns, if it `is_turned`: then the
    parts are those of the rows of the transposed matrix."""

    data: Any
    indices: Any
    indptr: Any
    shape: tuple[int, int]
    is_turned: bool = False

    @property
    def turned(self) -> "Parts":
        """The transposed matrix, of the same elements."""
        return self._replace(shape=self.shape[::-1], is_turned=not self.is_turned)

    @property
    def columns(self) -> int:
        """The number of columns of the matrix of which these are the rows."""
        return self.shape[0 if self.is_turned else 1]


def parts_of(matrix: Any, op: str) -> Parts:
    """The parts of a matrix of `scipy.sparse`, without a copy if it is one of compressed rows or
    columns. Raises ComplexError, or DimensionMismatch for one axis."""
    if matrix.ndim != 2:
        raise DimensionMismatch(f"{op}: a sparse array of shape {matrix.shape}; it has two axes")
    if matrix.dtype.kind not in "fiub":
        raise ComplexError(
            f"{op}: a sparse matrix of dtype {matrix.dtype}: its elements are real numbers"
        )
    if matrix.format not in ("csr", "csc"):
        for part in (getattr(matrix, "data", None), *getattr(matrix, "coords", ())):
            noted(part)  # the converted matrix is a constant of a recorded program
        matrix = matrix.tocsr()
    is_turned = matrix.format == "csc"
    return Parts(matrix.data, matrix.indices, matrix.indptr, matrix.shape, is_turned)


def product(parts: Parts, x: Any, op: str = "matmul") -> Any:
    """The product of a sparse matrix and a vector or matrix. Raises DimensionMismatch."""
    x, columns = given(x), parts.shape[1]
    shape = shape_of(x)
    if len(shape) not in (1, 2) or shape[0] != columns:
        raise DimensionMismatch(
            f"{op}: a sparse matrix of shape {parts.shape} and an array of shape {shape}; the "
            f"array is a vector of {columns} elements or a matrix of {columns} rows"
        )
    row = transposed_row if parts.is_turned else product_row
    return bind(row, parts.data, x, parts.indices, parts.indptr, columns=parts.columns)


def product_from_left(x: Any, parts: Parts, op: str = "matmul") -> Any:
    """The product of a vector or matrix and a sparse matrix. Raises DimensionMismatch."""
    x = given(x)
    shape = shape_of(x)
    if len(shape) not in (1, 2) or shape[-1] != parts.shape[0]:
        raise DimensionMismatch(
            f"{op}: an array of shape {shape} and a sparse matrix of shape {parts.shape}; the last "
            f"axis of the array has {parts.shape[0]} elements"
        )
    return np.transpose(product(parts.turned, np.transpose(x), op))


@implements("sparse")
def operator(name: str, x: Any, matrix: Any, reflected: bool) -> Any:
    """`x @ matrix`, or `matrix @ x` if it is reflected; matrices of the old kind write it as
    `*`."""
    if name == "multiply" and not type(matrix).__name__.endswith("_matrix"):
        raise NoRuleError(
            "multiply: elementwise products of sparse arrays and tracked ones have no rule: write "
            "nbgrad.scipy.sparse.csr_array((data * x[rows], indices, indptr), shape)"
        )
    parts = parts_of(matrix, name)
    return product(parts, x) if reflected else product_from_left(x, parts)
