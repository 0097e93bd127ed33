"""The entry of a kernel from Python: a C function that takes a tuple of Python objects.

Numba's own entry allocates an object that owns the memory of each array, and frees it afterwards,
which takes longer than a small kernel. Here the argument tuple keeps the arrays alive while the
function runs, and their data pointers and shapes are read from NumPy's structures.
"""

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from ..runtime.layout import DATA, HEAD, IS_KNOWN, ITEMS, LENGTHS, STRIDES
from .edge import Described
from .externals import refresh
from .numba_api import PyCallWrapper, rtsys
from .numba_arrays import array_of

_WORD = ir.IntType(64)
_BYTES = ir.IntType(8).as_pointer()


def add_entry(
    target: Any,
    library: Any,
    function: Described,
    described: Any,
    environment: Any,
    release_gil: bool,
) -> None:
    """Add the entry of a function to its module; `library` gets Numba's own where that has to
    be."""
    if any(isinstance(kind, types.BaseTuple) for kind in described.argtypes):
        refresh(target)  # Numba's code that reads tuples asks for it
    if IS_KNOWN and all(map(_is_read, described.argtypes)):
        module = function.llvm.module
        entry = _Entry(target, module, function.llvm, described, environment, None, release_gil)
        entry.raises = function.raises
        entry.build()
    else:
        refresh(target)
        library.add_linking_library(rtsys.library)
        target.create_cpython_wrapper(library, described, environment, None, release_gil)


def _is_read(kind: Any) -> bool:
    if isinstance(kind, (types.Tuple, types.UniTuple)):
        return all(isinstance(each, types.Number) for each in kind.types)
    numbers = (types.Number, types.Boolean, types.Omitted, types.NoneType)
    return isinstance(kind, numbers) or (
        isinstance(kind, types.Array) and isinstance(kind.dtype, (types.Number, types.Boolean))
    )


class _Entry(PyCallWrapper):
    """Numba's builder of entries, with a body of ours, for a function that `raises` or cannot."""

    raises = True

    def build_wrapper(self, api: Any, builder: Any, closure: Any, args: Any, kws: Any) -> None:
        kinds = self.fndesc.argtypes
        held = builder.bitcast(args, _BYTES)
        failed = builder.append_basic_block("failed")
        with builder.goto_block(failed):
            builder.ret(api.get_null_object())
        count = _load(builder, held, HEAD, _WORD)
        with builder.if_then(builder.icmp_signed("!=", count, _WORD(len(kinds))), likely=False):
            message = f"{self.fndesc.qualname} takes {len(kinds)} arguments"
            api.err_set_string("PyExc_TypeError", message)
            builder.branch(failed)
        values = [
            self._value(api, builder, _load(builder, held, ITEMS + 8 * i, _BYTES), kind, failed)
            for i, kind in enumerate(kinds)
        ]
        state = api.save_thread() if self.release_gil else None
        convention = self.context.call_conv
        status, result = convention.call_function(
            builder, self.func, self.fndesc.restype, kinds, values, attrs=("noinline",)
        )
        if state is not None:
            api.restore_thread(state)
        if self.raises:
            with builder.if_then(status.is_error, likely=False):
                convention.raise_error(builder, api, status)
                builder.ret(api.get_null_object())
        builder.ret(self._object(api, builder, result))

    def _object(self, api: Any, builder: Any, result: Any) -> Any:
        """The result as an object of Python's."""
        kind = self.fndesc.restype
        return api.make_none() if kind == types.none else api.from_native_return(kind, result, None)

    def _value(self, api: Any, builder: Any, held: Any, kind: Any, failed: Any) -> Any:
        """The value of an object; if there is none, an error is set and it goes on at `failed`."""
        if isinstance(kind, types.Array):
            return self._array(builder, held, kind)
        if isinstance(kind, types.Omitted):
            return self.context.get_dummy_value()
        found = api.to_native_value(kind, builder.bitcast(held, api.pyobj))
        if found.is_error is not cgutils.false_bit:
            with builder.if_then(found.is_error, likely=False):
                builder.branch(failed)
        return found.value

    def _array(self, builder: Any, held: Any, kind: Any) -> Any:
        """Return a Numba array for a NumPy array, without a reference to it."""
        data = _load(builder, held, DATA, _BYTES)
        place = self.context.get_value_type(types.CPointer(kind.dtype))
        shape = _words(builder, held, LENGTHS, kind.ndim)
        strides = _words(builder, held, STRIDES, kind.ndim)
        return array_of(self.context, builder, kind, builder.bitcast(data, place), shape, strides)


def _load(builder: Any, place: Any, offset: int, kind: Any) -> Any:
    """Load the value at an offset in bytes from a pointer."""
    address = builder.gep(place, [_WORD(offset)])
    return builder.load(builder.bitcast(address, kind.as_pointer()))


def _words(builder: Any, held: Any, offset: int, count: int) -> Sequence[Any]:
    """The first words of a table that a word points to."""
    table = _load(builder, held, offset, _BYTES) if count else None
    return [_load(builder, table, 8 * i, _WORD) for i in range(count)]
