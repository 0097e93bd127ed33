"""Products of arrays, and linear algebra as loops that are read like any other function."""

import operator
from collections.abc import Callable
from types import FunctionType

import numpy as np

from . import algebra, reductions
from .array_table import function_row
from .arrays import (
    fresh,
    in_memory,
    is_array,
    lazy,
    nest,
    number,
    position_of,
    require_same,
    shape_of,
)
from .elements import row_strides
from .elementwise import each_element, loop_dtype
from .emit import FunctionBuilder
from .syntax import Unsupported
from .values import DOUBLE, Array, Known, Lazy, Value

__all__ = ["matmul", "outer"]


def _dense(emit: FunctionBuilder, x: Value) -> Lazy:
    """An array whose elements are read several times."""
    found = lazy(emit, x)
    return found if found.cheap else lazy(emit, in_memory(emit, x))


@function_row(np.matmul)
def matmul(emit: FunctionBuilder, x1: Value, x2: Value) -> Value:
    if not (is_array(x1) and is_array(x2)):
        raise Unsupported("the matrix product of a number")
    x, y = _dense(emit, x1), _dense(emit, x2)
    if not x.shape or not y.shape:
        raise Unsupported("the matrix product of an array without axes")
    inner = y.shape[-2:][0]
    require_same(emit, x.shape[-1], inner)
    dtype = loop_dtype(emit, [x, y])
    if max(len(x.shape), len(y.shape)) > 2:
        return _stacked(emit, x, y, dtype)
    rows, columns = x.shape[:-1], y.shape[1:]

    def total(left: tuple, right: tuple) -> Value:
        found = emit.accumulator(Known(0), dtype)
        with nest(emit, x.shape[-1:]) as (k,):
            both = emit.cast(x.element([*left, k]), dtype), emit.cast(y.element([k, *right]), dtype)
            product = emit.operation(operator.mul, *both)
            emit.accumulate(found, emit.operation(operator.add, found, product))
        return emit.settled(found)

    if not rows and not columns:
        return total((), ())
    made = fresh(emit, (*rows, *columns), dtype)
    strides = row_strides(emit, made)
    with nest(emit, made.shape) as at:
        found = total(at[: len(rows)], at[len(rows) :])
        emit.store(made.place, position_of(emit, strides, at), found)
    return made


def _stacked(emit: FunctionBuilder, x: Lazy, y: Lazy, dtype: np.dtype) -> Value:
    """The products of stacks of matrices, whose other axes are broadcast."""
    if len(x.shape) < 2 or len(y.shape) < 2:
        raise Unsupported("the matrix product of a vector and more than two axes")
    # With the axes (..., rows, inner, columns).
    left = Lazy((*x.shape, number(1)), x.dtype, lambda at: x.element(at[:-1]), _unaligned(x), True)
    right = Lazy(
        (*y.shape[:-2], number(1), *y.shape[-2:]), y.dtype,
        lambda at: y.element([*at[:-3], *at[-2:]]), _unaligned(y), True,
    )  # fmt: skip

    def product(a: Value, b: Value) -> Value:
        return emit.operation(operator.mul, emit.cast(a, dtype), emit.cast(b, dtype))

    return reductions.sum_(emit, each_element(emit, product, [left, right]), Known(-2))


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


def _square(emit: FunctionBuilder, a: Value, name: str) -> Array:
    """A square matrix of floats in memory."""
    x = lazy(emit, a)
    if len(x.shape) != 2:
        raise Unsupported(f"np.linalg.{name} of other than two axes")
    if x.dtype.kind != "f":
        x = each_element(emit, lambda each: emit.cast(each, DOUBLE), [x])
    require_same(emit, x.shape[0], x.shape[1])
    found = in_memory(emit, a if x.dtype.kind == "f" and isinstance(a, Array) else x)
    assert isinstance(found, Array)
    return found


@function_row(np.linalg.solve)
def solve(emit: FunctionBuilder, a: Value, b: Value) -> Value:
    right = lazy(emit, b)
    function = algebra.solve_vector if len(right.shape) == 1 else algebra.solve_matrix
    x = _square(emit, a, "solve")
    require_same(emit, x.shape[0], right.shape[0])
    return read(emit, function, x, b)


@function_row(np.linalg.inv)
def inv(emit: FunctionBuilder, a: Value) -> Value:
    return read(emit, algebra.inverse, _square(emit, a, "inv"))


@function_row(np.linalg.det)
def det(emit: FunctionBuilder, a: Value) -> Value:
    return read(emit, algebra.determinant, _square(emit, a, "det"))


@function_row(np.linalg.cholesky)
def cholesky(emit: FunctionBuilder, a: Value) -> Value:
    return read(emit, algebra.cholesky, _square(emit, a, "cholesky"))
