"""`Emitter`: builds a C function for Python as LLVM IR, against the C interfaces of CPython and
NumPy.

Its methods replace their C macros. Addresses and pointers are integers, as they come from tables
and other structures.
"""

import ctypes
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, reduce
from itertools import count
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils

from ..runtime import layout

WORD, INT, DOUBLE, SINGLE = ir.IntType(64), ir.IntType(32), ir.DoubleType(), ir.FloatType()
VOID = ir.VoidType()
_IN_ORDER = layout.C_ORDER | layout.ALIGNED
_AS_KERNELS_TAKE = _IN_ORDER | layout.WRITEABLE
ARRAY, DICT, FLOAT, INTEGER, LIST, SCALAR, TUPLE = map(
    id, (np.ndarray, dict, float, int, list, np.float64, tuple)
)
NOTHING, ALWAYS, NEVER = WORD(id(None)), ir.IntType(1)(1), ir.IntType(1)(0)


_names = count()


@cache
def _of_python(name: str) -> int:
    """The address of a function of CPython's C interface."""
    address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    assert address
    return address


def word(number: int) -> ir.Constant:
    """A constant integer or address."""
    return ir.Constant(WORD, number)


class Emitter:
    """Builds a C function of `count` arguments, or of any number if that is None.

    Its `self` is `own`, a tuple whose first item is the definition in Python. `demand` tests that
    a condition holds, and calls the definition if it does not. References to objects are borrowed,
    unless they are in `owned`: these are released when the function is left early.
    """

    def __init__(self, count: int | None, keywords: bool = False):
        self.module = ir.Module()
        name = f"nbgrad_native_{next(_names)}"
        self.function = ir.Function(self.module, ir.FunctionType(WORD, [WORD] * 4), name)
        self.own, self.args, self.given, self.keywords = self.function.args
        self.build = ir.IRBuilder(self.function.append_basic_block())
        self.owned: list[Any] = []
        self.kept: list[Any] = []
        self.slow, self.failed = (self.function.append_basic_block() for _ in range(2))
        with self.build.goto_block(self.failed):
            self.build.ret(word(0))
        with self.build.goto_block(self.slow):
            operands = self.item(self.own, 0), self.args, self.given, self.keywords
            self.build.ret(self.python("PyObject_Vectorcall", WORD, *operands))
        if count is not None:
            self.demand(self.equal(self.given, word(count)))
        if not keywords:
            self.demand(self.equal(self.keywords, word(0)))

    def demand(self, condition: Any) -> None:
        """Call the definition unless `condition` holds."""
        self._unless(condition, self.slow)

    def require(self, condition: Any) -> None:
        """Return an error unless `condition` holds; an exception has been set."""
        self._unless(condition, self.failed)

    def _unless(self, condition: Any, leave: ir.Block) -> None:
        """Release the owned references and branch to `leave` unless `condition` holds."""
        following = self.function.append_basic_block()
        leaving = self.function.append_basic_block() if self.owned else leave
        self.build.cbranch(condition, following, leaving)
        if self.owned:
            self.build.position_at_end(leaving)
            self._leave(leave)
        self.build.position_at_end(following)

    def _leave(self, block: ir.Block) -> None:
        for x in self.owned:
            self.count(x, -1)
        self.build.branch(block)

    def made(self, x: Any) -> Any:
        """A new reference that a C function returned; 0 is an error."""
        self.require(self.is_set(x))
        self.owned.append(x)
        return x

    def chosen(self, *cases: tuple[Any, Callable[[], tuple]]) -> list[Any]:
        """If-else chain: the values of the branch of the first condition that holds, each written
        by a function. If no condition holds, call the definition."""
        done, found = self.function.append_basic_block(), []
        for condition, write in cases:
            here, following = (self.function.append_basic_block() for _ in range(2))
            self.build.cbranch(condition, here, following)
            self.build.position_at_end(here)
            found.append((write(), self.build.block))
            self.build.branch(done)
            self.build.position_at_end(following)
        self._leave(self.slow)
        self.build.position_at_end(done)
        values = []
        for i, value in enumerate(found[0][0]):
            values.append(self.build.phi(value.type))
            for given, block in found:
                values[-1].add_incoming(given[i], block)
        return values

    def either(self, condition: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
        """The value of one of two branches, each written by a function."""
        return self.chosen((condition, lambda: (then(),)), (ALWAYS, lambda: (otherwise(),)))[0]

    @contextmanager
    def each(self, count: Any) -> Iterator[Any]:
        """`with emit.each(count) as i:` a loop over i from 0 to `count`."""
        with cgutils.for_range(self.build, count) as loop:
            yield loop.index

    @contextmanager
    def pairs(self, given: Any, count: Any) -> Iterator[tuple[Any, Any, Any]]:
        """`with emit.pairs(d, n) as (i, key, value):` a loop over the n items of a dict, which must
        not change."""
        row = self.row(3)
        self.store(word(0), row)
        key, value = (self.build.add(row, word(offset)) for offset in (8, 16))
        with self.each(count) as i:
            self.python("PyDict_Next", INT, given, row, key, value)
            yield i, self.load(key), self.load(value)

    def as_word(self, condition: Any) -> Any:
        """1 if a condition holds, else 0."""
        return self.build.zext(condition, WORD)

    def argument(self, i: int) -> Any:
        return self.load(self.args, 8 * i)

    def equal(self, x: Any, y: Any) -> Any:
        return self.build.icmp_signed("==", x, y)

    def call(self, address: Any, result: Any, *operands: Any) -> Any:
        """Call the C function at an address."""
        kind = ir.FunctionType(result, [operand.type for operand in operands])
        return self.build.call(self.build.inttoptr(address, kind.as_pointer()), operands)

    def python(self, name: str, result: Any, *operands: Any) -> Any:
        """Call a function of CPython's C interface."""
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

    def is_a(self, x: Any, *kinds: int) -> Any:
        """Whether the type of x is one of these, not a subclass."""
        found = self.load(x, layout.TYPE)
        return reduce(self.build.or_, [self.equal(found, word(kind)) for kind in kinds])

    def is_instance(self, x: Any, kind: type, often: type) -> Any:
        """Whether x is an instance of `kind`, so that it has its slots. The type of x is mostly the
        subclass `often`, which is tested first."""

        def is_subtype() -> Any:
            found = self.load(x, layout.TYPE), self.constant(kind)
            return self.is_set(self.python("PyType_IsSubtype", INT, *found))

        return self.either(self.is_a(x, id(often)), lambda: ALWAYS, is_subtype)

    def is_set(self, x: Any) -> Any:
        """Whether a word is not zero."""
        return self.build.icmp_signed("!=", x, x.type(0))

    def slot(self, x: Any, offset: int) -> Any:
        """The value in a slot. If it is 0, the slot is unset: call the definition, which raises
        AttributeError."""
        value = self.load(x, offset)
        self.demand(self.is_set(value))
        return value

    def count(self, x: Any, change: int) -> None:
        """Change the reference count of x by 1 or -1."""
        self.python("Py_IncRef" if change > 0 else "Py_DecRef", VOID, x)

    def referenced(self, x: Any) -> Any:
        """Add a reference to x in one of several branches, after which it is owned or passed on."""
        self.count(x, 1)
        return x

    def held(self, x: Any) -> Any:
        """Add a reference to x, which is owned."""
        self.owned.append(self.referenced(x))
        return x

    def handed(self, x: Any) -> Any:
        """Pass the owned reference to x on, to a container or the caller."""
        self.owned.remove(x)
        return x

    def let_go(self, x: Any) -> None:
        self.count(self.handed(x), -1)

    def constant(self, x: Any) -> ir.Constant:
        """The address of an object, which the code keeps alive."""
        self.kept.append(x)
        return word(id(x))

    def replace(self, x: Any, slot: int, value: Any) -> None:
        """Set a slot to a value, which gets a new reference."""
        old = self.load(x, slot)
        self.count(value, 1)
        self.store(value, x, slot)
        self.count(old, -1)

    def new_object(self, kind: type) -> Any:
        """A new instance of a class with slots, which are all unset."""
        return self.made(self.python("PyType_GenericAlloc", WORD, self.constant(kind), word(0)))

    def attribute(self, x: Any, name: str) -> Any:
        return self.made(self.python("PyObject_GetAttr", WORD, x, self.constant(sys.intern(name))))

    def called(self, function: Any, *operands: Any) -> Any:
        """Call a Python function."""
        place = self.row(len(operands))
        for i, x in enumerate(operands):
            self.store(x, place, 8 * i)
        return self.called_with(function, place, len(operands))

    def called_with(self, function: Any, operands: Any, count: int) -> Any:
        """Call a Python function with `count` objects in an array at an address."""
        given = function, operands, word(count), word(0)
        return self.made(self.python("PyObject_Vectorcall", WORD, *given))

    def row(self, count: int) -> Any:
        """The address of `count` words on the stack."""
        with self.build.goto_entry_block():
            place = self.build.alloca(WORD, max(1, count))
        return self.build.ptrtoint(place, WORD)

    def reference(self, x: Any) -> Any:
        """A new weak reference to an object."""
        return self.made(self.python("PyWeakref_NewRef", WORD, x, word(0)))

    def item(self, x: Any, i: Any) -> Any:
        """Item i of a tuple, without a bounds check."""
        return self.load(self.place(x, i))

    def place(self, x: Any, i: Any = 0) -> Any:
        """The address of item i of a tuple."""
        step = word(8 * i) if isinstance(i, int) else self.build.mul(i, word(8))
        return self.build.add(self.build.add(x, word(layout.ITEMS)), step)

    def length(self, x: Any) -> Any:
        """The number of items of a tuple or a list."""
        return self.load(x, layout.HEAD)

    def new_list(self, x: Any) -> Any:
        """A new list of one object."""
        made = self.made(self.python("PyList_New", WORD, word(1)))
        item = self.handed(self.held(self.constant(x)))
        self.python("PyList_SetItem", INT, made, word(0), item)
        return made

    def packed(self, items: list[Any]) -> Any:
        """A new tuple of owned references, which it takes over."""
        made = self.made(self.python("PyTuple_New", WORD, word(len(items))))
        for i, x in enumerate(items):
            self.store(self.handed(x), self.place(made, i))
        return made

    def number(self, x: Any) -> Any:
        """The value of a float or np.float64."""
        return self.load(x, layout.HEAD, DOUBLE)

    # -- arrays ---------------------------------------------------------------------------------

    def data(self, x: Any) -> Any:
        """The address of the first element of an array."""
        return self.load(x, layout.DATA)

    def dtype(self, x: Any) -> Any:
        """The dtype of an array."""
        return self.load(x, layout.DTYPE)

    def is_float_array(self, x: Any) -> Any:
        """Whether an array is float64 or float32, contiguous, aligned and writeable."""
        flags = self.build.and_(self.load(x, layout.FLAGS, INT), INT(_AS_KERNELS_TAKE))
        kinds = [self.equal(self.dtype(x), self.constant(np.dtype(kind))) for kind in ("f8", "f4")]
        return self.build.and_(self.build.or_(*kinds), self.equal(flags, INT(_AS_KERNELS_TAKE)))

    def is_view(self, x: Any) -> Any:
        """Whether the memory of an array belongs to another object."""
        return self.is_set(self.load(x, layout.OWNER))

    def is_short(self, x: Any, most: int) -> Any:
        """Whether a contiguous array has at most `most` bytes."""
        lengths, strides = self.load(x, layout.LENGTHS), self.load(x, layout.STRIDES)
        scalar = self.equal(self.load(x, layout.NDIM, INT), INT(0))
        with_axes = self.build.not_(scalar)
        # The lengths and strides of a 0-d array may be null: read any other word.
        lengths, strides = (self.build.select(with_axes, y, x) for y in (lengths, strides))
        size = self.build.mul(self.load(lengths), self.load(strides))
        return self.build.or_(scalar, self.build.icmp_unsigned("<=", size, word(most)))

    def copied(self, x: Any) -> Any:
        """A copy of an array."""
        return self.made(self.call(word(layout.copy_address()), WORD, x, INT(0)))
