"""Calls of library functions in functions of loops."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from ..adjoints.build import INT, buffers_of
from ..adjoints.library import SIZES, with_calls
from ..compiler.front.arrays import assign, count_of, fresh, nest, number, position_of
from ..compiler.front.emit import FunctionBuilder, address_of
from ..compiler.front.functions import function_of
from ..compiler.front.syntax import Unsupported
from ..compiler.front.values import KNOWN_1, Array, Known, Number, Value
from ..ir.library import CONSTANT, FOREIGN, FOURIER, LIBRARY, RULE, SET_PRODUCT
from ..ir.reductions import SUM
from ..ir.statements import Call, For, Function, Literal, New, Pointer, Store
from ..ir.walk import walk, with_inner
from ..kernels import systems
from ..kernels.cholesky import choleskied, factor_pulled_back
from ..kernels.complex_factors import complex_choleskied, complex_reflected
from ..kernels.fourier_plans import added_transform  # whose symbol stored code asks for
from ..kernels.lapack import BY_LAPACK
from ..kernels.reflections import reflected

__all__ = [
    "CONSTANTS", "add_constant", "constant_array", "declare_foreign", "with_call", "with_library",
]  # fmt: skip

_LARGEST_CONSTANT = 256

CONSTANTS = (
    *BY_LAPACK, systems.factored, systems.inverted, systems.diagonals, systems.solved_plain,
    systems.solved_transposed, systems.solved_forward, systems.solved_backward, choleskied,
    factor_pulled_back, complex_choleskied, reflected, complex_reflected,
)  # fmt: skip
"""Kernels whose results are constants for all derivatives: `row_rules.py` gives them some."""


def with_library(function: Function) -> Function:
    """The function with library functions for the products of matrices in it."""
    return replace(function, body=_changed(with_calls(function.body)))


def add_constant(
    emit: FunctionBuilder, kernel: Callable, result: Array, source: Array, sizes: Sequence[Value]
) -> None:
    """A call of a kernel of `CONSTANTS` for arrays in memory. The loops say what it reads, and that
    it adds to a result that was 0: a sum, whose terms have no old values that are to be kept."""
    dtype = result.place.dtype
    assign(emit, result, Known(0))
    counts = [emit.typed(count_of(emit, x.shape)) for x in (result, source)]
    with nest(emit, counts) as (i, k):
        element = emit.load(source.place, position_of(emit, [KNOWN_1], [k]))
        at = result.place.at.plus(position_of(emit, [KNOWN_1], [i]))
        emit.add(Store(result.place.buffer, at, element.operand, dtype, SUM))
    addresses = [address_of(x.place) for x in (result, source)]
    number = Literal(CONSTANTS.index(kernel), INT)
    numbers = [emit.cast(x, INT).operand for x in sizes]
    with_call(emit, Call(CONSTANT, (*addresses, number, *numbers)))


def constant_array(emit: FunctionBuilder, array: np.ndarray) -> Array:
    """An array of constants."""
    if array.size > _LARGEST_CONSTANT:
        raise Unsupported(f"an array of {array.size} constants: make it outside")
    found = fresh(emit, [number(n) for n in array.shape], array.dtype)
    for i, x in enumerate(array.ravel().tolist()):
        at = position_of(emit, [KNOWN_1], [Known(i)])
        emit.store(found.place, at, Number(Literal(x, array.dtype), array.dtype))
    return found


def with_call(emit: FunctionBuilder, call: Call) -> None:
    """Have the loop that was written last stand for a call."""
    loop = emit.body[-1]
    assert isinstance(loop, For)
    emit.body[-1] = replace(loop, call=call)


_FOREIGN: dict[int, Function] = {}


def declare_foreign(function: Function) -> int:
    """The number under which calls of `FOREIGN` call a function."""
    number = int(hashlib.sha256(repr(function).encode()).hexdigest()[:15], 16)
    _FOREIGN[number] = function
    return number


def _changed(body: Any) -> tuple:
    kept = (x for x in body if not (isinstance(x, Call) and x.function == RULE))  # which add 0
    return tuple(map(_statement, _with_set(list(kept))))


def _with_set(body: Sequence[Any]) -> list[Any]:
    """The statements, in which calls set new arrays that were 0."""
    made = list(body)
    for call in body:
        if isinstance(call, Call) and call.function in (FOURIER, CONSTANT):
            at = next(i for i, x in enumerate(made) if x is call)
            clears = [_clear(made[:at], buffer) for buffer in _written(call)]
            if None in clears:
                continue
            if call.function == FOURIER:
                made[at] = replace(call, arguments=(*call.arguments[:-1], Literal(0, INT)))
            made = [x for x in made if not any(x is each for each in clears)]
    return made


def _written(call: Call) -> set[Any]:
    """The buffers of the results."""
    if call.function == CONSTANT:
        return {call.pointers[0].buffer}
    return {x.buffer for i, x in enumerate(call.pointers[:2]) if _there(call) >> i & 1}


def _there(call: Call) -> int:
    return call.arguments[4].number


def _clear(before: Sequence[Any], buffer: Any) -> For | None:
    """The loop that sets a new array to 0, if nothing else uses it: that are all of its elements,
    as others are not set."""
    uses = [x for x in before if any(buffer in _touched(each) for each in walk([x]))]
    if len(uses) != 2:
        return None
    made, clear = uses
    stores = [x for x in walk([clear]) if isinstance(x, Store)]
    if isinstance(made, New) and isinstance(clear, For) and len(stores) == 1:
        (store,) = stores
        is_zero = getattr(store.value, "number", None) == 0 and store.kind is None
        return clear if is_zero and store.buffer == buffer else None
    return None


def _touched(each: Any) -> set[Any]:
    return {*buffers_of(each), getattr(each, "target", None)}


def _statement(each: Any) -> Any:
    if not isinstance(each, Call):
        return with_inner(each, _changed)
    if isinstance(each.function, Function):
        return replace(each, function=with_library(each.function))
    if each.function not in LIBRARY:
        return each
    dtype = each.pointers[0].dtype
    if each.function == FOURIER:
        return replace(each, function=_transform(dtype))
    if each.function == CONSTANT:
        out, x, number, *sizes = each.arguments
        function = _kernel(dtype, number.number, len(sizes))
        return replace(each, function=function, arguments=(x, out, *sizes))
    if each.function == FOREIGN:
        count = len(each.pointers)
        number, _, *whole = each.arguments[count:]
        function = _FOREIGN[number.number]
        return replace(each, function=function, arguments=(*each.pointers, *whole))
    count = 0 if each.function == SET_PRODUCT else len(each.arguments)
    return replace(each, function=_product(dtype, count))


@cache
def _product(dtype: np.dtype, count: int) -> Function:
    """The function that adds a product, or a series of them; of no arguments the one that sets."""
    from ..kernels.added import set_product
    from ..kernels.series import added_product, series_of_products

    function = {0: set_product, SIZES: added_product}.get(count, series_of_products)
    found = function_of(function, (*[Pointer(dtype)] * 3, *[INT] * ((count or SIZES) - 3)))
    return replace(found, attributes=found.attributes | {"noalias"})


@cache
def _transform(dtype: np.dtype) -> Function:
    found = function_of(added_transform, (*[Pointer(dtype)] * 4, *[INT] * 7))
    return replace(found, attributes=found.attributes | {"noalias", "noinline"})


@cache
def _kernel(dtype: np.dtype, number: int, sizes: int) -> Function:
    found = function_of(CONSTANTS[number], (*[Pointer(dtype)] * 2, *[INT] * sizes))
    return replace(found, attributes=found.attributes | {"noalias", "noinline"})
