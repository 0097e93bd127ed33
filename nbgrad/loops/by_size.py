"""Functions of square matrices: loops for small ones, rules for the others.

As loops, a small factorisation takes less time than a call; but its derivative records the elements
that are overwritten, the cube of the size, where a rule needs the result alone.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..compiler.front.array_table import FUNCTIONS
from ..compiler.front.arrays import assign, fresh, in_memory, shape_of
from ..compiler.front.calls import call, not_read, record_arrays
from ..compiler.front.complex_calls import has_complex
from ..compiler.front.elementwise import dtype_of_elements
from ..compiler.front.emit import FunctionBuilder
from ..compiler.front.products import square
from ..compiler.front.values import COMPLEX, DOUBLE, KNOWN_0, Array, Known, Value, members
from ..ir.statements import If, Literal
from . import factor_rules
from .recorded import call_recorded, has_array

__all__: list[str] = []

_SMALL, _SMALL_FACTOR = 12, 300
"""Rows of matrices up to which loops take less time; those of Cholesky factors, of which little is
overwritten."""
_NUMBERS = {np.linalg.det: 1, np.linalg.slogdet: 2}  # of results
_ARRAYS = (np.linalg.inv, np.linalg.cholesky, np.linalg.solve)
_RULED = {np.linalg.cholesky: factor_rules.cholesky, np.linalg.solve: factor_rules.solve}


def _solution(a, b):
    """That of the real system of twice the size, for the real and the imaginary parts."""
    n = a.shape[0]
    both = np.empty((2 * n, 2 * n))
    both[:n, :n] = both[n:, n:] = a.real
    both[:n, n:] = -a.imag
    both[n:, :n] = a.imag
    found = np.linalg.solve(both, np.concatenate((b.real, b.imag)))
    return found[:n] + 1j * found[n:]


def _inverse(a):
    return _solution(a, np.eye(a.shape[0]))


_OF_COMPLEX = {np.linalg.solve: _solution, np.linalg.inv: _inverse}


def _row(function: Any, operands: Sequence[Value], named: Mapping[str, Value]) -> Callable | None:
    try:
        is_known = function in _NUMBERS or function in _ARRAYS
    except TypeError:  # not hashable
        return None
    if not is_known or named or not all(map(has_array, operands)):
        return None
    kinds = {getattr(x, "dtype", None) or x.place.dtype for x in operands}  # pyright: ignore
    if COMPLEX in kinds and function in _OF_COMPLEX and len(shape_of(operands[0])) == 2:
        return _by_size if kinds <= {DOUBLE, COMPLEX} else None
    return _by_size if kinds == {DOUBLE} else None


@not_read
def _by_size(
    emit: FunctionBuilder, function: Any, operands: Sequence[Value], named: Mapping[str, Value]
) -> Value:
    a = square(emit, operands[0], function.__name__)
    operands = [a, *(emit.settled(in_memory(emit, x)) for x in operands[1:])]
    most = _SMALL_FACTOR if function is np.linalg.cholesky else _SMALL
    rows = a.shape[0].operand
    if isinstance(rows, Literal):
        write = _small if rows.number <= most else _large
        return write(emit, function, operands)
    small = emit.operation(operator.le, a.shape[0], Known(most))
    room = _room(emit, function, operands)
    parts = []
    for write in (_small, _large):
        with emit.block() as body:
            for to, x in zip(room, _members(write(emit, function, operands)), strict=True):
                if isinstance(to, Array):
                    assign(emit, to, x)
                else:
                    emit.accumulate(to, x)
        parts.append(tuple(body))
    emit.add(If(emit.truth(small).operand, *parts))
    found = [x if isinstance(x, Array) else emit.settled(x) for x in room]
    return tuple(found) if len(found) > 1 else found[0]


def _room(emit: FunctionBuilder, function: Any, operands: Sequence[Value]) -> list[Any]:
    """Room for the results."""
    if function in _NUMBERS:
        return [emit.accumulator(KNOWN_0, DOUBLE) for _ in range(_NUMBERS[function])]
    dtype = np.result_type(*(dtype_of_elements(emit, x) for x in operands))
    return [fresh(emit, shape_of(operands[-1]), dtype)]


def _members(x: Value) -> Sequence[Value]:
    return members(x) if isinstance(x, tuple) else (x,)


def _small(emit: FunctionBuilder, function: Any, operands: Sequence[Value]) -> Value:
    return FUNCTIONS[function](emit, *operands)


def _large(emit: FunctionBuilder, function: Any, operands: Sequence[Value]) -> Value:
    if any(map(has_complex, operands)):
        return call(emit, _OF_COMPLEX[function], operands)
    if function in _RULED:
        return call(emit, _RULED[function], operands)
    return call_recorded(emit, function, operands, {})


record_arrays(_row)
