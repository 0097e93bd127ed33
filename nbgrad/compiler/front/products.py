"""Products of arrays, and linear algebra as loops that are read like any other function."""

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import FunctionType
from typing import NamedTuple

import numpy as np

from ...ir.affine import Affine
from ...ir.library import PRODUCT
from ...ir.reductions import SUM
from ...ir.statements import Accumulate, Call, For, Store
from . import algebra, reductions
from .array_table import function_row, known_of
from .arrays import (
    assign,
    broadcast,
    count_of,
    fresh,
    in_memory,
    is_array,
    is_one,
    lazy,
    nest,
    number,
    position_of,
    require_same,
    shape_of,
)
from .elements import row_strides
from .elementwise import each_element, loop_dtype
from .emit import FunctionBuilder, address_of
from .syntax import Unsupported
from .values import DOUBLE, INT, KNOWN_0, KNOWN_1, Array, Known, Lazy, Number, Place, Value
from .views import transposed

__all__ = ["matmul", "outer", "read", "square"]

_REDUCED = Known("reduced")


def _dense(emit: FunctionBuilder, x: Value) -> Lazy:
    """An array whose elements are read several times."""
    found = lazy(emit, x)
    return found if found.cheap else lazy(emit, in_memory(emit, x))


@function_row(np.matmul)
def matmul(emit: FunctionBuilder, x1: Value, x2: Value) -> Value:
    if not (is_array(x1) and is_array(x2)):
        raise Unsupported("the matrix product of a number")
    ranks = len(shape_of(x1)), len(shape_of(x2))
    if not all(ranks):
        raise Unsupported("the matrix product of an array without axes")
    dtype = loop_dtype(emit, [x1, x2])
    if min(ranks) == 1 and max(ranks) < 3:
        if ranks == (1, 1) or isinstance(x1, Lazy) or isinstance(x2, Lazy):
            return _with_vector(emit, x1, x2, dtype)
    x, y = _matrices(emit, x1, dtype), _matrices(emit, x2, dtype)
    require_same(emit, x.shape[-1], y.shape[-2:][0])
    if max(ranks) > 2:
        return _stacked(emit, x, y, dtype)
    made = _zeros(emit, (*x.shape[:-1], *y.shape[1:]), dtype)
    c = _as_matrix(emit, made, ranks[0] == 1)
    _add_product(emit, c, _as_matrix(emit, x, True), _as_matrix(emit, y, False))
    return made


def _with_vector(emit: FunctionBuilder, x1: Value, x2: Value, dtype: np.dtype) -> Value:
    """A product with a vector, of elements that are computed where they are used: those of a matrix
    are used once."""
    left, right = (lazy(emit, x) if len(shape_of(x)) == 2 else _dense(emit, x) for x in (x1, x2))
    require_same(emit, left.shape[-1], right.shape[0])

    def product(x: Value, y: Value) -> Number:
        both = emit.cast(x, dtype), emit.cast(y, dtype)
        return emit.typed(emit.operation(operator.mul, *both))

    def inner(row: Sequence[Value]) -> Value:
        total = emit.accumulator(Known(0), dtype)
        with nest(emit, right.shape[:1]) as (k,):
            value = product(left.element([*row, k]), right.element([k])).operand
            emit.add(Accumulate(str(total.operand), SUM, value, dtype, loose=dtype.kind == "f"))
        return emit.settled(total)

    if len(right.shape) == 1 and len(left.shape) == 1:
        return inner([])
    if len(right.shape) == 1:
        made = fresh(emit, left.shape[:1], dtype)
        with nest(emit, made.shape) as (i,):
            emit.store(made.place, position_of(emit, [KNOWN_1], [i]), inner([i]))
        return made
    made = _zeros(emit, right.shape[1:], dtype)
    with nest(emit, left.shape) as (k,):
        x = emit.settled(left.element([k]))
        with nest(emit, made.shape) as (j,):
            at = made.place.at.plus(position_of(emit, [KNOWN_1], [j]))
            value = product(x, right.element([k, j])).operand
            emit.add(Store(made.place.buffer, at, value, dtype, SUM))
    return made


def _matrices(emit: FunctionBuilder, value: Value, dtype: np.dtype) -> Array:
    """An array in memory, of a dtype."""
    if not isinstance(value, Array) or value.place.dtype != dtype:
        value = in_memory(emit, each_element(emit, lambda x: emit.cast(x, dtype), [value]))
    assert isinstance(value, Array)
    return value


def _zeros(emit: FunctionBuilder, shape: Sequence[Number], dtype: np.dtype) -> Array:
    made = fresh(emit, shape, dtype)
    assign(emit, made, Known(0))
    return made


class _Matrix(NamedTuple):
    """A matrix in memory: its lengths, and the steps to the next row and to the next column."""

    place: Place
    shape: tuple[Number, Number]
    steps: tuple[Value, Value]


def _as_matrix(emit: FunctionBuilder, array: Array, is_row: bool) -> _Matrix:
    """An array of one or two axes; a vector as a row or as a column."""
    steps = row_strides(emit, array)
    if len(steps) == 2:
        return _Matrix(array.place, array.shape, tuple(steps))  # pyright: ignore
    length, step = array.shape[0], steps[0]
    if is_row:
        return _Matrix(array.place, (number(1), length), (length, step))
    return _Matrix(array.place, (length, number(1)), (step, KNOWN_1))


def _add_product(emit: FunctionBuilder, c: _Matrix, a: _Matrix, b: _Matrix) -> None:
    """c += a @ b, for c in memory that nothing else uses. The sums are in order."""
    (m, k), (_, n) = a.shape, b.shape
    dtype = c.place.dtype

    def at(x: _Matrix, *indices: Value) -> Affine:
        return position_of(emit, x.steps, indices)

    with nest(emit, [m]) as (i,):
        with nest(emit, [k]) as (p,):
            x = emit.load(a.place, at(a, i, p))
            with nest(emit, [n]) as (j,):
                y = emit.load(b.place, at(b, p, j))
                product = emit.operation(operator.mul, x, y)
                operand = emit.cast(product, dtype).operand
                place = c.place.at.plus(at(c, i, j))
                emit.add(Store(c.place.buffer, place, operand, dtype, SUM))
    if dtype.kind == "f":
        addresses = [address_of(x.place) for x in (c, a, b)]
        numbers = [emit.cast(x, INT).operand for x in (m, n, k, *c.steps, *a.steps, *b.steps)]
        loop = emit.body[-1]
        assert isinstance(loop, For)
        emit.body[-1] = replace(loop, call=Call(PRODUCT, (*addresses, *numbers)))


def _stacked(emit: FunctionBuilder, x: Array, y: Array, dtype: np.dtype) -> Value:
    """The products of stacks of matrices, whose other axes are broadcast."""
    if len(x.shape) < 2 or len(y.shape) < 2:
        raise Unsupported("the matrix product of a vector and more than two axes")
    (m, k), n = x.shape[-2:], y.shape[-1]
    if len(y.shape) == 2 and x.strides is None:  # one product
        rows = emit.typed(count_of(emit, x.shape[:-1]))
        made = _zeros(emit, (*x.shape[:-1], n), dtype)
        left = _Matrix(x.place, (rows, k), (k, KNOWN_1))
        right = _as_matrix(emit, y, False)
        _add_product(emit, _Matrix(made.place, (rows, n), (n, KNOWN_1)), left, right)
        return made
    stacks = [Lazy(each.shape[:-2], dtype, lambda at: KNOWN_0, cheap=True) for each in (x, y)]
    shape, _ = broadcast(emit, stacks)
    made = _zeros(emit, (*shape, m, n), dtype)
    with nest(emit, shape) as at:
        _add_product(emit, *(_matrix_at(emit, each, at) for each in (made, x, y)))
    return made


def _matrix_at(emit: FunctionBuilder, array: Array, at: Sequence[Value]) -> _Matrix:
    """The matrix of a stack at indices, which are broadcast."""
    *steps, row, column = row_strides(emit, array)
    own = at[len(at) - len(steps) :]
    pairs = zip(own, array.shape, strict=False)
    indices = [KNOWN_0 if is_one(length) else i for i, length in pairs]
    place = replace(array.place, at=array.place.at.plus(position_of(emit, steps, indices)))
    return _Matrix(place, array.shape[-2:], (row, column))  # pyright: ignore


def _unaligned(x: Lazy) -> tuple[tuple[Array, bool], ...]:
    return tuple((array, False) for array, _ in x.sources)


@function_row(np.dot)
def dot(emit: FunctionBuilder, a: Value, b: Value) -> Value:
    if not (is_array(a) and is_array(b)):
        return emit.operation(operator.mul, a, b)
    if max(len(shape_of(a)), len(shape_of(b))) > 2:
        raise Unsupported("np.dot of more than two axes: use @")
    return matmul(emit, a, b)


@function_row(np.vdot, np.inner)
def vdot(emit: FunctionBuilder, a: Value, b: Value) -> Value:
    if len(lazy(emit, a).shape) != 1 or len(lazy(emit, b).shape) != 1:
        raise Unsupported("np.vdot or np.inner of more than one axis")
    return matmul(emit, a, b)


def outer(emit: FunctionBuilder, compute: Callable[..., Value], a: Value, b: Value) -> Value:
    """The results of `compute` for all pairs of elements."""
    x, y = _dense(emit, a), _dense(emit, b)
    ones = (number(1),) * len(y.shape)
    count = len(x.shape)
    left = Lazy((*x.shape, *ones), x.dtype, lambda at: x.element(at[:count]), _unaligned(x), True)
    return each_element(emit, compute, [left, y])


@function_row(np.outer)
def _outer(emit: FunctionBuilder, a: Value, b: Value) -> Value:
    if len(shape_of(a)) != 1 or len(shape_of(b)) != 1:
        raise Unsupported("np.outer of other than one axis")
    return outer(emit, lambda p, q: emit.operation(operator.mul, p, q), a, b)


@function_row(np.trace)
def trace(emit: FunctionBuilder, a: Value) -> Value:
    x = _dense(emit, a)
    if len(x.shape) != 2:
        raise Unsupported("np.trace of other than two axes")
    length = emit.extreme(min, list(x.shape))
    diagonal = Lazy((emit.typed(length),), x.dtype, lambda at: x.element([at[0], at[0]]), x.sources)
    return reductions.sum_(emit, diagonal)


# -- functions of Python --------------------------------------------------------------------------


def read(emit: FunctionBuilder, function: FunctionType, *operands: Value) -> Value:
    """The result of a function of Python, which is read in the place of its call."""
    from .calls import read_in_place  # which calls functions of arrays

    return read_in_place(emit, function, [in_memory(emit, x) for x in operands])


def square(emit: FunctionBuilder, a: Value, name: str) -> Array:
    """A square matrix of floats in memory."""
    x = lazy(emit, a)
    if len(x.shape) != 2:
        raise Unsupported(f"np.linalg.{name} of other than two axes")
    if x.dtype.kind not in "fc":
        x = each_element(emit, lambda each: emit.cast(each, DOUBLE), [x])
    require_same(emit, x.shape[0], x.shape[1])
    found = in_memory(emit, a if x.dtype.kind in "fc" and isinstance(a, Array) else x)
    assert isinstance(found, Array)
    return found


@function_row(np.linalg.solve)
def solve(emit: FunctionBuilder, a: Value, b: Value) -> Value:
    right = lazy(emit, b)
    function = algebra.solve_vector if len(right.shape) == 1 else algebra.solve_matrix
    x = square(emit, a, "solve")
    require_same(emit, x.shape[0], right.shape[0])
    if x.place.dtype.kind == "c" and right.dtype.kind != "c":
        b = each_element(emit, lambda each: emit.cast(each, x.place.dtype), [b])
    return read(emit, function, x, b)


@function_row(np.linalg.inv)
def inv(emit: FunctionBuilder, a: Value) -> Value:
    return read(emit, algebra.inverse, square(emit, a, "inv"))


@function_row(np.linalg.det)
def det(emit: FunctionBuilder, a: Value) -> Value:
    return read(emit, algebra.determinant, square(emit, a, "det"))


@function_row(np.linalg.cholesky)
def cholesky(emit: FunctionBuilder, a: Value) -> Value:
    return read(emit, algebra.cholesky, square(emit, a, "cholesky"))


@function_row(np.linalg.qr)
def qr(emit: FunctionBuilder, a: Value, mode: Value = _REDUCED) -> Value:
    wanted = known_of(mode, "a mode")
    if wanted not in ("reduced", "r"):
        raise Unsupported(f"np.linalg.qr with mode {wanted!r}")
    matrix = in_memory(emit, a)
    if not isinstance(matrix, Array) or len(matrix.shape) != 2 or matrix.place.dtype != DOUBLE:
        raise Unsupported("np.linalg.qr of other arrays than matrices of float64")
    factors = read(emit, algebra.orthogonal, matrix)
    return factors[1] if wanted == "r" else factors  # pyright: ignore


@function_row(np.cov)
def cov(emit: FunctionBuilder, m: Value, rowvar: "Value | None" = None) -> Value:
    if len(shape_of(m)) != 2:
        raise Unsupported("np.cov of other than two axes")
    is_turned = rowvar is not None and not known_of(rowvar, "rowvar")
    by_rows = transposed(emit, m) if is_turned else m
    return read(emit, algebra.covariance, by_rows)
