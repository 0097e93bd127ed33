"""Numerical accumulation: local Jacobians, from pullbacks and pushforwards, and their products.

It consists of NumPy functions and primitives, so it can be differentiated and recorded again.
"""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ..core.array import Array
from ..core.primitive import shape_of
from ..values.graph import apply_rule
from .recording import Recording, TapeEntry
from .structure import Edge


class Matrix(NamedTuple):
    """A Jacobian as an array of its diagonal blocks, of shape (blocks, rows, columns)."""

    values: Any

    @property
    def blocks(self) -> int:
        return self.values.shape[0]


def _like(derivative: Any, primal: Any) -> Any:
    """Convert a tangent or cotangent to the shape and dtype of its primal."""
    derivative = np.reshape(derivative, shape_of(primal))
    dtype = getattr(primal, "dtype", derivative.dtype)
    return derivative if derivative.dtype == dtype else derivative.astype(dtype)


class Local:
    """A local Jacobian as a linear operator, applied by pullbacks and pushforwards."""

    def __init__(self, entry: TapeEntry, parent: int, edge: Edge):
        self.entry, self.positions, self.blocks = entry, entry.positions(parent), edge.blocks
        self.primal = entry.args[self.positions[0]]
        self.rows = entry.size // self.blocks
        self.columns = math.prod(shape_of(self.primal)) // self.blocks

    def pull(self, ct: Any) -> Any:
        """Return the product of a flat cotangent with the Jacobian."""
        entry = self.entry
        assert entry.primitive is not None
        need = [i in self.positions for i in range(len(entry.args))]
        ct = _like(ct, entry.out)
        parts = apply_rule(entry.primitive, entry.params, ct, entry.out, entry.args, need)
        found = [np.reshape(parts[i], -1) for i in self.positions if parts[i] is not None]
        if not found:  # the rule returns no cotangent
            return np.zeros(self.blocks * self.columns, self.primal.dtype)
        return sum(found[1:], found[0])

    def push(self, tangent: Any) -> Any:
        """Return the product of the Jacobian with a flat tangent."""
        entry = self.entry
        assert entry.primitive is not None
        tangent = _like(tangent, self.primal)
        tangents = [tangent if i in self.positions else None for i in range(len(entry.args))]
        pushed = entry.primitive.pushforward(tangents, entry.out, entry.args, **entry.params)
        if shape_of(pushed) != shape_of(entry.out):
            pushed = np.broadcast_to(pushed, shape_of(entry.out))
        return np.reshape(pushed, -1)

    def matrix(self) -> Matrix:
        """Return the matrix, with one pullback per row or one pushforward per column of a block."""
        dtype = self.entry.out.dtype
        if self.rows <= self.columns:
            return pulled(Matrix(_identities(self.blocks, self.rows, dtype)), self)
        return pushed(self, Matrix(_identities(self.blocks, self.columns, dtype)))


Jacobian = Matrix | Local


def accumulate(recording: Recording, order: Iterable[int]) -> Any:
    """Return the Jacobian of the last vertex with respect to the first as a matrix.

    Vertices are eliminated in the given order; those that it omits follow, at no cost.
    """
    entries = recording.entries
    last = len(entries) - 1
    edges: dict[tuple[int, int], Jacobian] = {
        (i, j): Local(entries[j], i, edge)
        for (i, j), edge in recording.edges.items()
        if entries[i].size and entries[j].size  # no derivative through empty arrays
    }
    order = list(order)
    order += [v for v in range(last - 1, 0, -1) if v not in order]
    with np.errstate(all="ignore"):  # as in kernels
        for vertex in order:
            _eliminate(edges, vertex)
        if (0, last) not in edges:
            return np.zeros((entries[last].size, entries[0].size), entries[last].out.dtype)
        return _coarser(as_matrix(edges[0, last]), 1).values[0]


def _eliminate(edges: dict[tuple[int, int], Jacobian], vertex: int) -> None:
    out_of = {k: edges.pop((i, k)) for i, k in list(edges) if i == vertex}
    into = {i: edges.pop((i, k)) for i, k in list(edges) if k == vertex}
    for k, left in out_of.items():
        for i, right in into.items():
            partial = product(left, right)
            known = edges.get((i, k))
            edges[i, k] = partial if known is None else _total(as_matrix(known), partial)


def product(left: Jacobian, right: Jacobian) -> Matrix:
    """Multiply two Jacobians.

    A linear operator is applied to the rows or columns of the other factor, unless it takes fewer
    applications to compute its matrix.
    """
    if isinstance(left, Local) and isinstance(right, Local):
        if min(left.rows, left.columns) <= min(right.rows, right.columns):
            left = left.matrix()
        else:
            right = right.matrix()
    if isinstance(right, Local):
        assert isinstance(left, Matrix)
        rows = left.values.shape[1] * left.blocks // math.gcd(left.blocks, right.blocks)
        if rows <= min(right.rows, right.columns):
            return pulled(left, right)
        right = right.matrix()
    if isinstance(left, Local):
        columns = right.values.shape[2] * right.blocks // math.gcd(left.blocks, right.blocks)
        if columns <= min(left.rows, left.columns):
            return pushed(left, right)
        left = left.matrix()
    return _multiplied(left, right)


def as_matrix(jacobian: Jacobian) -> Matrix:
    return jacobian.matrix() if isinstance(jacobian, Local) else jacobian


def pulled(left: Matrix, right: Local) -> Matrix:
    """Multiply a matrix by a local Jacobian, row by row."""
    blocks = math.gcd(left.blocks, right.blocks)
    values = _coarser(left, blocks).values
    rows = [np.reshape(right.pull(values[:, r]), (blocks, -1)) for r in range(values.shape[1])]
    return Matrix(np.stack(rows, axis=1))


def pushed(left: Local, right: Matrix) -> Matrix:
    """Multiply a local Jacobian by a matrix, column by column."""
    blocks = math.gcd(left.blocks, right.blocks)
    values = _coarser(right, blocks).values
    columns = [np.reshape(left.push(values[:, :, c]), (blocks, -1)) for c in range(values.shape[2])]
    return Matrix(np.stack(columns, axis=2))


def _multiplied(left: Matrix, right: Matrix) -> Matrix:
    """Multiply two block diagonal matrices, without multiplying zeros between blocks.

    The matrix with more blocks multiplies parts of the blocks of the other.
    """
    if left.blocks % right.blocks and right.blocks % left.blocks:
        left = _coarser(left, math.gcd(left.blocks, right.blocks))
    (b, p, q), (c, _, r) = left.values.shape, right.values.shape
    if b >= c:
        each = b // c
        out = _matmul(
            np.reshape(left.values, (c, each, p, q)), np.reshape(right.values, (c, each, q, r))
        )
        return Matrix(np.reshape(out, (c, each * p, r)))
    each = c // b
    stretches = np.swapaxes(np.reshape(left.values, (b, p, each, q // each)), 1, 2)
    out = _matmul(stretches, np.reshape(right.values, (b, each, q // each, r)))
    return Matrix(np.reshape(np.swapaxes(out, 1, 2), (b, p, each * r)))


def _matmul(x: Any, y: Any) -> Any:
    """Multiply stacks of matrices. Zero times inf or nan is zero, as in pullbacks."""
    plain = not (isinstance(x, Array) or isinstance(y, Array))
    if plain and not (np.isfinite(x).all() and np.isfinite(y).all()):
        left, right = x[..., :, :, None], y[..., None, :, :]
        return np.sum(np.where((left == 0) | (right == 0), 0.0, left * right), axis=-2)
    return np.matmul(x, y)


def _total(x: Matrix, y: Matrix) -> Matrix:
    blocks = math.gcd(x.blocks, y.blocks)
    return Matrix(_coarser(x, blocks).values + _coarser(y, blocks).values)


def _coarser(matrix: Matrix, blocks: int) -> Matrix:
    """Convert a matrix to fewer blocks, with the zeros between the old blocks."""
    b, p, q = matrix.values.shape
    if b == blocks:
        return matrix
    each = b // blocks
    inside = np.reshape(np.eye(each, dtype=bool), (1, each, 1, each, 1))
    spread = np.where(inside, np.reshape(matrix.values, (blocks, each, p, 1, q)), 0.0)
    return Matrix(np.reshape(spread, (blocks, each * p, each * q)))


def _identities(blocks: int, n: int, dtype: np.dtype) -> np.ndarray:
    """Return a stack of identity matrices of n rows."""
    return np.broadcast_to(np.eye(n, dtype=dtype), (blocks, n, n))
