"""The C function through which Python calls machine code, in the subset of Python that the front
end reads.

It has CPython's vectorcall signature. Its `self` is a tuple of an array of words, which is the
table, the exceptions that it raises, and a definition in Python that it may call in their place.
The table says what each argument must be, what is allocated and what is returned; `entry.py` writes
it. Nothing in the code depends on the process, so that the disk cache can hold it.
"""

from functools import cache
from typing import Any

import numpy as np

from ..ir.statements import Pointer
from ..runtime import layout
from .front import Constant, function_of
from .instruction import Extern
from .llvm_function import assembly
from .machine import is_at_hand as is_code_at_hand
from .machine import machine_code
from .optimizer import tidy
from .pointers import address, at_f4, at_f8, at_i4, at_i8, f8, i8, scratch, shift

__all__ = ["code", "is_at_hand", "room"]

# Words of the head of the table.
(
    RUN, BRIEF, ARGUMENTS, ROWS, NEW_FROM, FIRST, LAST, PROGRAM, STEPS, CONSTANTS,
    CONSTANT_COUNT, DEFERRED, COUNTER, NDARRAY, DOUBLE, NEW_ARRAY, LEFT, HEADER,
) = range(18)  # fmt: skip
# Words of a row.
KIND, EXPECTED, SLOT, AXES, LENGTHS, LENGTH_COUNT, ITEMSIZE, PLACE, ELEMENT, ROW = range(10)
# Kinds of rows; to that of arrays the flags are added that an array must have.
FLOATS, SCALARS, INTEGERS, BOOLS, TUPLES, ARRAYS = *range(5), 8
# Words of a step that makes a part of the result. OWNER is the step that made the tuple of which it
# is an item, ITEM the word there.
MADE, NUMBER, OWNER, ITEM, STEP = range(5)
# Kinds of steps.
A_FLOAT, AN_INTEGER, UNSIGNED, A_BOOL, NOTHING, SAME, TAKEN, A_TUPLE = range(8)
# Faults: 0 is none, -1 an exception that is set, others count the exceptions of the list.
UNFIT, MISSHAPED, OVERLAPPING, IS_SET = 1, 2, 3, -1
ANY_FAULT = 2**31

# Words of objects.
_HEAD, FIRST_ITEM, _TYPE = layout.HEAD // 8, layout.ITEMS // 8, layout.TYPE // 8
_DATA, _DTYPE = layout.DATA // 8, layout.DTYPE // 8
_LENGTHS, _STRIDES = layout.LENGTHS // 8, layout.STRIDES // 8
_FLAGS, _NDIM = layout.FLAGS // 4, layout.NDIM // 4

_I8, _I4 = np.dtype(np.int64), np.dtype(np.int32)


def _c(name: str, result: Any = _I8) -> Extern:
    return Extern("c_function", name, result)


_float, _integer = Extern("symbol", "PyFloat_Type"), Extern("symbol", "PyLong_Type")
_bool, _tuple = Extern("symbol", "PyBool_Type"), Extern("symbol", "PyTuple_Type")
_none = Extern("symbol", "_Py_NoneStruct")
_is_subtype, _equal = _c("PyType_IsSubtype", _I4), _c("PyObject_RichCompareBool", _I4)
_as_integer, _is_true = _c("PyLong_AsLongLong"), _c("PyObject_IsTrue", _I4)
_error, _set_error = _c("PyErr_Occurred"), _c("PyErr_SetObject", None)
_new_float, _new_integer = _c("PyFloat_FromDouble"), _c("PyLong_FromLongLong")
_new_unsigned, _new_bool = _c("PyLong_FromUnsignedLongLong"), _c("PyBool_FromLong")
_new_tuple, _vectorcall = _c("PyTuple_New"), _c("PyObject_Vectorcall")
_hold, _release = _c("Py_IncRef", None), _c("Py_DecRef", None)
_save, _restore = _c("PyEval_SaveThread"), _c("PyEval_RestoreThread", None)
_status_of, _made_by = _c("", _I4), _c("")  # at an address


def entry(own, args, given, names, size):
    """Check the arguments, run the machine code and return the result."""
    table = at_i8(at_i8(own[FIRST_ITEM])[_DATA])
    words, sizes, numbers = i8(scratch(size), 0), i8(scratch(size), 0), i8(scratch(size), 0)
    objects, made = i8(scratch(size), 0), i8(scratch(size), 0)
    longest = i8(scratch(8), 0)
    fault, result, longest[0] = UNFIT, 0, 0
    if given == table[ARGUMENTS] and names == 0:
        fault = _check(table, args, words, sizes, objects, longest)
    if fault == 0:
        fault = _compare(table, words, sizes)
    if fault == 0:
        fault = _prepare(table, words, objects)
        if fault == 0:
            fault = _run(table, words, numbers, longest[0])
        if fault == 0:
            result = _build(table, numbers, objects, made)
        if result == 0 or table[LEFT] != 0:
            _drop(table, objects)
    if fault <= 0:
        return result
    if fault <= table[DEFERRED]:
        return _vectorcall(own[FIRST_ITEM + 2], args, given, names)
    pair = at_i8(at_i8(own[FIRST_ITEM + 1])[FIRST_ITEM - 1 + fault])
    _set_error(pair[FIRST_ITEM], pair[FIRST_ITEM + 1])
    return 0


def _check(table, args, words, sizes, objects, longest):
    """Check all arguments; store the words for the machine code, and the longest of the lengths
    that may be any. Rows of items of a tuple follow that of the tuple."""
    fault, taken = 0, address(args)
    for i in range(table[NEW_FROM]):
        row = shift(table, HEADER + ROW * i)
        kind = row[KIND]
        x = at_i8((args if kind == TUPLES else at_i8(taken))[row[PLACE]])
        objects[i] = address(x)
        if kind >= ARRAYS:
            fault = _check_array(table, row, kind, x, words, sizes, longest)
        elif kind < TUPLES:
            fault = _check_number(row, kind, x, shift(words, row[SLOT]))
        elif x[_TYPE] == address(_tuple()) and row[AXES] <= x[_HEAD] <= row[LENGTH_COUNT]:
            taken = address(shift(x, FIRST_ITEM))
        else:
            fault = UNFIT
        if fault != 0:
            return fault
    return 0


def _check_number(row, kind, x, place):
    expected, found = row[EXPECTED], x[_TYPE]
    if kind <= SCALARS:
        if (kind == SCALARS or found != address(_float())) and found != expected:
            if kind == SCALARS or _is_subtype(found, _float()) == 0:
                return UNFIT
        place[0] = x[_HEAD]
        return 0
    if kind == INTEGERS:
        if found != address(_integer()) and found != expected:
            if found == address(_bool()) or _is_subtype(found, _integer()) == 0:
                return UNFIT
        place[0] = _as_integer(x)
        return IS_SET if place[0] == -1 and _error() != 0 else 0
    place[0] = _is_true(x)
    return 0 if found == address(_bool()) or found == expected else UNFIT


def _check_array(table, row, kind, x, words, sizes, longest):
    if x[_TYPE] != table[NDARRAY]:
        if x[_TYPE] != table[DOUBLE] or row[ELEMENT] != 8 or row[AXES] != 0:
            return UNFIT
        words[row[SLOT]] = x[_HEAD]
        return 0
    halves, mask, expected = at_i4(address(x)), kind - ARRAYS, row[EXPECTED]
    if halves[_FLAGS] & mask != mask:
        return UNFIT
    if x[_DTYPE] != expected:
        # Another object may be an equal dtype: np.longlong, or the result of newbyteorder.
        equal = _equal(x[_DTYPE], expected, 2)
        if equal <= 0:
            return UNFIT if equal == 0 else IS_SET
    if halves[_NDIM] != row[AXES]:
        return MISSHAPED
    lengths, expected_lengths = at_i8(x[_LENGTHS]), shift(table, row[LENGTHS])
    strides = shift(at_i8(x[_STRIDES]), -row[AXES])  # which follow the lengths of the row
    size = row[ITEMSIZE]
    for k in range(row[LENGTH_COUNT]):
        n, length = lengths[k], expected_lengths[k]
        if k >= row[AXES]:
            n = strides[k]
        if n != length:
            if length >= 0:
                return MISSHAPED
            words[~length] = n
            if n > longest[0]:
                longest[0] = n
        size *= n
    slot, element = row[SLOT], row[ELEMENT]
    sizes[slot] = size
    if element == 0:
        words[slot] = x[_DATA]
    elif element == 8:
        words[slot] = at_i8(x[_DATA])[0]
    else:
        f8(shift(words, slot), 0)[0] = at_f4(x[_DATA])[0]
    return 0


def _compare(table, words, sizes):
    """Whether a result shares memory with an array before it."""
    for j in range(table[FIRST], table[LAST]):
        for i in range(j):
            if words[i] < words[j] + sizes[j] and words[j] < words[i] + sizes[i]:
                return OVERLAPPING
    return 0


def _prepare(table, words, objects):
    """Store the constants, and create the new arrays; 0 stands for those that are missing."""
    constants = shift(table, table[CONSTANTS])
    for i in range(table[CONSTANT_COUNT]):
        words[constants[2 * i]] = constants[2 * i + 1]
    fault = 0
    for i in range(table[NEW_FROM], table[ROWS]):
        row = shift(table, HEADER + ROW * i)
        objects[i] = 0
        if fault == 0:
            _hold(row[EXPECTED])  # which the function takes over
            objects[i] = _made_by(
                table[NEW_ARRAY], table[NDARRAY], row[EXPECTED], row[AXES],
                shift(table, row[LENGTHS]), 0, 0, 0, 0,
            )  # fmt: skip
            if objects[i] == 0:
                fault = IS_SET
            else:
                words[row[SLOT]] = at_i8(objects[i])[_DATA]
    return fault


def _run(table, words, numbers, longest):
    """Run the machine code; the fault."""
    if longest <= table[BRIEF]:
        status = _status_of(table[RUN], words, numbers)
    else:
        thread = _save()
        status = _status_of(table[RUN], words, numbers)
        _restore(thread)
    if status != 0:
        return OVERLAPPING + np.int64(status)
    if table[COUNTER] != 0:
        at_i8(table[COUNTER])[0] += 1
    return 0


def _build(table, numbers, objects, made):
    """The result; 0 where memory is missing. A tuple is made before its items."""
    for i in range(table[STEPS]):
        step = shift(table, table[PROGRAM] + STEP * i)
        x = _object(table, step[MADE], step[NUMBER], numbers, objects)
        if i == 0:
            made[0] = x
        elif x == 0:
            _release(made[0])
            return 0
        else:
            made[i] = x
            at_i8(made[step[OWNER]])[step[ITEM]] = x
    return made[0]


def _object(table, kind, i, numbers, objects):
    """A new reference to a number, an argument, a new array or a tuple."""
    if kind == TAKEN:
        x, row = objects[i], shift(table, HEADER + ROW * i)
        objects[i] = 0
        if row[PLACE] >= 0:
            number = f8(shift(numbers, row[PLACE]), 0)[0] * f8(shift(row, ELEMENT), 0)[0]
            if row[ITEMSIZE] == 4:
                at_f4(at_i8(x)[_DATA])[0] = number
            else:
                at_f8(at_i8(x)[_DATA])[0] = number
        return x
    if kind == A_TUPLE:
        return _new_tuple(i)
    if kind == A_FLOAT:
        return _new_float(f8(shift(numbers, i), 0)[0])
    if kind == AN_INTEGER:
        return _new_integer(numbers[i])
    if kind == UNSIGNED:
        return _new_unsigned(numbers[i])
    if kind == A_BOOL:
        return _new_bool(numbers[i])
    x = objects[i] if kind == SAME else address(_none())
    _hold(x)
    return x


def _drop(table, objects):
    """Release the new arrays that the result has not taken."""
    for i in range(table[NEW_FROM], table[ROWS]):
        if objects[i] != 0:
            _release(objects[i])


def room(words: int) -> int:
    """A size of blocks on the stack that fits: few of them, since each has code of its own."""
    return 1024 if words <= 128 else 8 << (words - 1).bit_length()


@cache
def code(size: int) -> int:
    """The address of the C function with blocks of `size` bytes on the stack."""
    types = [Pointer(_I8), Pointer(_I8), _I8, _I8, Constant(size)]

    def write() -> tuple:
        text = assembly(function_of(entry, types), "entry")
        return text.replace(") {\nentry:", ") alwaysinline {\nentry:"), tuple, None

    return machine_code(_name(size), "", write, is_counted=False, improve=tidy)[0]["entry"]


def is_at_hand() -> bool:
    """Whether the C function of the usual size need not be compiled."""
    return not layout.IS_KNOWN or is_code_at_hand(_name(room(1)), "")


def _name(size: int) -> str:
    return f"entry{size}"
