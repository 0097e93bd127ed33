"""Functions of the kernel IR that the front end makes of Python functions."""

import operator
from typing import Any

import numpy as np
import pytest
from helpers.rows import PLAIN_PYTHON
from numba.core import errors
from numba.core.registry import cpu_target

from nbgrad.compiler.front import ArrayType, Constant, function_of
from nbgrad.compiler.front.dtypes import operand_dtypes
from nbgrad.compiler.front.syntax import Unsupported
from nbgrad.compiler.llvm_function import FunctionModule
from nbgrad.ir.show import function_text
from nbgrad.ir.statements import Pointer
from nbgrad.kernels import scalar, sorting

INT, DOUBLE = np.dtype(np.int64), np.dtype(np.float64)
DTYPES = [
    np.dtype(code) for code in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")
]
OPERATORS = (
    operator.add, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.and_,
    operator.lshift, operator.rshift, operator.lt, operator.eq,
)  # fmt: skip


def clamped(x, n, out):
    for i in range(n):
        if x[i] < 0.0:
            out[i] = 0.0
            continue
        out[i] = x[i]


def test_a_function_as_text():
    pointer = Pointer(DOUBLE)
    assert function_text(function_of(clamped, (pointer, INT, pointer))) == "\n".join([
        "function clamped.pf8.i8.pf8(x: float64*, n: int64, out: float64*)",
        "    for i in 0, ..., n - 1",
        "        .1: float64 = x[i]",
        "        .2: bool = .1 < 0.0",
        "        if .2",
        "            out[i] = 0.0",
        "            continue",
        "        .3: float64 = x[i]",
        "        out[i] = .3",
    ])  # fmt: skip


def doubled_sum(x):
    y = np.empty(x.size)
    for i in range(x.size):
        y[i] = 2.0 * x[i]
    return y[0]


def test_a_buffer_on_the_heap_as_text():
    text = function_text(function_of(doubled_sum, (ArrayType(DOUBLE, 1),)))
    assert "    new = x_n0 x float64 on the heap\n" in text


def test_functions_are_read_once():
    assert function_of(clamped, (Pointer(DOUBLE), INT, Pointer(DOUBLE))) is function_of(
        clamped, (Pointer(DOUBLE), INT, Pointer(DOUBLE))
    )


def test_constants_choose_a_branch():
    def chosen(x, which):
        return x if which is None else -x

    assert "-x" not in function_text(function_of(chosen, (DOUBLE, Constant(None))))


def test_other_syntax_is_refused():
    def comprehension(x):
        return [x for _ in range(3)]

    with pytest.raises(Unsupported, match="a list"):
        function_of(comprehension, (DOUBLE,))


@pytest.mark.skipif(PLAIN_PYTHON, reason="functions are plain Python")
def test_every_scalar_function_is_written():
    for name in scalar.__all__:
        function = getattr(scalar, name)
        code = getattr(getattr(function, "py_func", None), "__code__", None)
        if code is None:
            continue
        for dtype in (DOUBLE, np.dtype(np.float32)):
            module = FunctionModule()
            module.name_of_function(function_of(function, (dtype,) * code.co_argcount))
            assert not module.needs


@pytest.mark.skipif(PLAIN_PYTHON, reason="functions are plain Python")
def test_a_function_that_may_raise_returns_a_status():
    kinds = Pointer(DOUBLE), Pointer(INT), Pointer(INT), INT, INT, INT
    module = FunctionModule()
    module.name_of_function(function_of(sorting.merged, kinds))
    assert module.errors == [("ValueError", "range() arg 3 must not be zero")]
    assert "define internal i32" in module.texts()[-1]


@pytest.mark.parametrize("function", OPERATORS, ids=lambda function: function.__name__)
def test_dtypes_are_those_of_numba(function):
    import numba

    typing: Any = cpu_target.typing_context
    typing.refresh()
    named = typing.resolve_value_type(function)
    for x in DTYPES:
        for y in DTYPES:
            kinds = tuple(numba.from_dtype(dtype) for dtype in (x, y))
            try:
                theirs = typing.resolve_function_type(named, kinds, {})
            except errors.TypingError:
                theirs = None
            if theirs is None:
                with pytest.raises(Unsupported):
                    operand_dtypes(function, x, y)
                continue
            assert numba.from_dtype(operand_dtypes(function, x, y)[1]) == theirs.return_type, (x, y)
