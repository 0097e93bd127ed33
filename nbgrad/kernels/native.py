"""C functions that Python calls, written in LLVM's terms against Python's and NumPy's interfaces.

An `Emitter` writes one: what C code does by macros of Python and NumPy is a method of it. Addresses
and pointers are integers here, as they come from tables and from other structures.
"""

import ctypes
from collections.abc import Callable
from functools import cache, cached_property
from itertools import count
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

from .jit.kernel import undisturbed

__all__ = ["ARRAY", "FLOAT", "SCALAR", "TUPLE", "Emitter", "builtin", "compiled"]

WORD, INT, DOUBLE, SINGLE = ir.IntType(64), ir.IntType(32), ir.DoubleType(), ir.FloatType()
_FASTCALL = 0x80
# Where things lie: behind the head of an object is a float's number, a tuple's length, and an
# array's data, number of axes, their lengths and strides, owner, dtype and flags.
_HEAD, _ITEMS, _TYPE = object.__basicsize__, tuple.__basicsize__, object.__basicsize__ - 8
_DATA, _NDIM, _LENGTHS, _DTYPE, _FLAGS = (_HEAD + offset for offset in (0, 8, 16, 40, 48))
_IN_ORDER = 0x0101  # C order, and aligned
IS_KNOWN = ctypes.sizeof(ctypes.c_void_p) == 8
"""Whether objects lie in memory as it is said here."""
ARRAY, FLOAT, SCALAR, TUPLE = map(id, (np.ndarray, float, np.float64, tuple))


@cache
def _of_python(name: str) -> int:
    """The address of a function of Python's C interface."""
    address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    assert address
    return address


@cache
def _new_array() -> int:
    """The address of NumPy's `PyArray_NewFromDescr`, which its table of functions has."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsule = np._core._multiarray_umath._ARRAY_API  # pyright: ignore[reportAttributeAccessIssue]
    return ctypes.cast(get(capsule, None), ctypes.POINTER(ctypes.c_size_t))[94]


def word(number: int) -> ir.Constant:
    """An integer, or an address."""
    return ir.Constant(WORD, number)


class Emitter:
    """Writes `name(self, args, count)`, a function of Python's fast calling convention.

    `demand(condition)` goes on where a condition holds; where one does not, `slow` is run.
    """

    def __init__(self, name: str):
        self.module = ir.Module(name)
        self.function = ir.Function(self.module, ir.FunctionType(WORD, [WORD] * 3), name)
        self.own, self.args, self.count = self.function.args
        self.build = ir.IRBuilder(self.function.append_basic_block())

    @cached_property
    def slow(self) -> ir.Block:
        """The block for arguments that were not foreseen."""
        return self.function.append_basic_block()

    def demand(self, condition: Any) -> None:
        """Go on where `condition` holds."""
        following = self.function.append_basic_block()
        self.build.cbranch(condition, following, self.slow)
        self.build.position_at_end(following)

    def equal(self, x: Any, y: Any) -> Any:
        return self.build.icmp_signed("==", x, y)

    def call(self, address: Any, result: Any, *operands: Any) -> Any:
        """Call the C function at an address."""
        kind = ir.FunctionType(result, [operand.type for operand in operands])
        return self.build.call(self.build.inttoptr(address, kind.as_pointer()), operands)

    def python(self, name: str, result: Any, *operands: Any) -> Any:
        """Call a function of Python's C interface."""
        return self.call(word(_of_python(name)), result, *operands)

    # -- memory ---------------------------------------------------------------------------------

    def load(self, address: Any, offset: int = 0, kind: Any = WORD) -> Any:
        return self.build.load(self._place(address, offset, kind))

    def store(self, value: Any, address: Any, offset: int = 0) -> None:
        self.build.store(value, self._place(address, offset, value.type))

    def _place(self, address: Any, offset: int, kind: Any) -> Any:
        if offset:
            address = self.build.add(address, word(offset))
        return self.build.inttoptr(address, kind.as_pointer())

    # -- objects --------------------------------------------------------------------------------

    def is_a(self, x: Any, kind: int) -> Any:
        """Whether x is just of this type."""
        return self.equal(self.load(x, _TYPE), word(kind))

    def hold(self, x: Any) -> None:
        self.python("Py_IncRef", ir.VoidType(), x)

    def release(self, x: Any) -> None:
        self.python("Py_DecRef", ir.VoidType(), x)

    def item(self, x: Any, i: int) -> Any:
        """Item i of a tuple that is long enough."""
        return self.load(x, _ITEMS + 8 * i)

    def length(self, x: Any) -> Any:
        """The number of items of a tuple."""
        return self.load(x, _HEAD)

    def packed(self, items: list[Any]) -> Any:
        """A tuple of items that are handed over."""
        made = self.python("PyTuple_New", WORD, word(len(items)))
        for i, x in enumerate(items):
            self.store(x, made, _ITEMS + 8 * i)
        return made

    def number(self, x: Any) -> Any:
        """What a Python float holds, or a NumPy one of 64 bits."""
        return self.load(x, _HEAD, DOUBLE)

    # -- arrays ---------------------------------------------------------------------------------

    def data(self, x: Any) -> Any:
        """Where the first element of an array lies."""
        return self.load(x, _DATA)

    def demand_array(self, x: Any, dtype: np.dtype, lengths: list[Any]) -> None:
        """Go on where x is an array of a dtype, with axes of such lengths, in C order."""
        self.demand(self.is_a(x, ARRAY))
        self.demand(self.equal(self.load(x, _DTYPE), word(id(dtype))))
        flags = self.build.and_(self.load(x, _FLAGS, INT), ir.Constant(INT, _IN_ORDER))
        self.demand(self.equal(flags, ir.Constant(INT, _IN_ORDER)))
        self.demand(self.equal(self.load(x, _NDIM, INT), ir.Constant(INT, len(lengths))))
        if lengths:
            found = self.load(x, _LENGTHS)
            for i, length in enumerate(lengths):
                self.demand(self.equal(self.load(found, 8 * i), length))

    def new_array(self, dtype: np.dtype, ndim: int, lengths: Any) -> Any:
        """A new array, whose axes have the lengths that stand at an address; 0 where there is no
        memory."""
        kind, axes = word(id(dtype)), ir.Constant(INT, ndim)
        self.hold(kind)
        unset = [word(0), word(0), ir.Constant(INT, 0), word(0)]
        return self.call(word(_new_array()), WORD, word(ARRAY), kind, axes, lengths, *unset)


_names = count()


def unused_name() -> str:
    """A name for one more C function."""
    return f"nbgrad_native_{next(_names)}"


@cache
def _engine() -> Any:
    """What makes machine code. Straight code has nothing to optimise, and is made in a third of the
    time without trying."""
    machine = llvm.Target.from_default_triple().create_target_machine(opt=0, jit=True)
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)


def compiled(emitter: Emitter) -> int:
    """The address of the function that was written."""
    with undisturbed():
        engine = _engine()
        engine.add_module(llvm.parse_assembly(str(emitter.module)))
        engine.finalize_object()
        return engine.get_function_address(emitter.function.name)


class _Definition(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


@cache
def _definition(name: str, address: int) -> _Definition:
    """Python's definition of a function, which is kept."""
    return _Definition(name.encode(), address, _FASTCALL, None)


def builtin(name: str, address: int, own: Any) -> Callable:
    """The C function at an address as a function of Python; it is handed `own` first."""
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = (
        ctypes.py_object,
        [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p],
    )
    return make(ctypes.addressof(_definition(name, address)), own, None)
