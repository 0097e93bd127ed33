"""Compiled programs in plain Python, on memory that knows what was written.

A compiled program's text is run without Numba: its kernels are given pointers that raise where an
element is read before it was written, where it lies beyond its buffer, and where an argument would
be overwritten. So one call proves, for these shapes, what no comparison of numbers can: that the
program does not depend on what lay in memory. It takes no compilation.
"""

import builtins
import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from nbgrad.array import Array
from nbgrad.static.function import StaticFunction
from nbgrad.static.loops.memory import Argument
from nbgrad.static.variant import Variant
from nbgrad.transforms import trees

_NAN = 255  # bytes of it are nan as a float, -1 as an integer


class MemoryFault(AssertionError):
    """A program that reads what is not written, or goes beyond a buffer."""


class Block:
    """Bytes, and which of them were written."""

    def __init__(self, name: str, data: np.ndarray, is_written: bool, is_open: bool = True):
        self.name, self.is_open = name, is_open
        self.data = data.reshape(-1).view(np.uint8)
        self.written = np.full(self.data.size, is_written)

    def require_written(self) -> None:
        if not self.written.all():
            count = int((~self.written).sum())
            raise MemoryFault(f"{self.name}: {count} of {self.data.size} bytes were never written")


class Pointer:
    """Where a kernel reads and writes: elements of a dtype from a byte of a block on."""

    def __init__(self, block: Block, dtype: Any, at: int = 0):
        self.block, self.dtype, self.at = block, np.dtype(dtype), at
        self.itemsize = self.dtype.itemsize

    def __len__(self) -> int:
        return (self.block.data.size - self.at) // self.itemsize

    def view(self, dtype: Any) -> "Pointer":
        return Pointer(self.block, dtype, self.at)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):  # further on: an array has nothing before its first element
            if index.start < 0:
                raise MemoryFault(f"{self.block.name}: {-index.start} before byte {self.at}")
            return Pointer(self.block, self.dtype, self.at + int(index.start) * self.itemsize)
        return self._read(np.array([int(index)]))[0]

    def __setitem__(self, index: Any, value: Any) -> None:
        self._write(np.array([int(index)]), np.array([value]))

    def _read(self, places: np.ndarray) -> np.ndarray:
        found = self._bytes(places)
        if not self.block.written[found].all():
            raise MemoryFault(f"{self.block.name}: {self._told(places)} is read before written")
        return self.block.data[found].view(self.dtype)[..., 0]

    def _write(self, places: np.ndarray, values: np.ndarray) -> None:
        found = self._bytes(places)
        if not self.block.is_open:
            raise MemoryFault(f"{self.block.name}: {self._told(places)} is written")
        with np.errstate(all="ignore"):
            given = np.ascontiguousarray(values.astype(self.dtype))
        self.block.data[found] = given[..., None].view(np.uint8)
        self.block.written[found] = True

    def _bytes(self, places: np.ndarray) -> np.ndarray:
        found = self.at + places[..., None] * self.itemsize + np.arange(self.itemsize)
        if found.size and not (0 <= found.min() and found.max() < self.block.data.size):
            raise MemoryFault(f"{self.block.name}: {self._told(places)} lies beyond it")
        return found

    def _told(self, places: np.ndarray) -> str:
        last = f"..{places.max()}" if places.size > 1 else ""
        return f"{self.dtype} {places.min()}{last} from byte {self.at} of {self.block.data.size}"

    def matrix(self, rows: int, columns: int, ld: int) -> np.ndarray:
        """The places of a matrix with rows `ld` elements apart."""
        return np.arange(rows)[:, None] * ld + np.arange(columns)


def _gemm(a, b, c, m, n, k, ta, tb, lda, ldb, ldc):
    x = a._read(a.matrix(k, m, lda)).T if ta else a._read(a.matrix(m, k, lda))
    y = b._read(b.matrix(n, k, ldb)).T if tb else b._read(b.matrix(k, n, ldb))
    c._write(c.matrix(m, n, ldc), x @ y)


def _scratch(size: int) -> Pointer:
    """What lies on the stack: nothing that is known."""
    return Pointer(Block("scratch", np.full(size, _NAN, np.uint8), False), np.uint8)


def _at(dtype: type) -> Callable:
    """A pointer from an element of a table, which here holds the pointers."""
    return lambda place: place.view(dtype)


_WATCHED: dict[str, Any] = {
    "gemm_at": _gemm,
    "scratch": _scratch,
    "at_b1": _at(np.uint8),
    **{f"at_{kind}{size}": _at(np.dtype(f"{kind}{size}").type)
       for kind in "iu" for size in (1, 2, 4, 8)},
    "at_f4": _at(np.float32), "at_f8": _at(np.float64),
}  # fmt: skip
_plain_of: dict[int, Any] = {}


def _plain(value: Any, name: str = "") -> Any:
    """What means the same in plain Python."""
    if name in _WATCHED:
        return _WATCHED[name]
    if value is math.sqrt:
        return np.sqrt
    if hasattr(value, "twin"):
        return value.twin
    if not isinstance(value, Dispatcher):
        return value
    function = value.py_func
    if id(function) not in _plain_of:
        names: dict[str, Any] = {"__builtins__": builtins}
        made = types.FunctionType(
            function.__code__, names, function.__name__, function.__defaults__, function.__closure__
        )
        _plain_of[id(function)] = made, function
        for used in _names_of(function.__code__):
            if used in function.__globals__:
                names[used] = _plain(function.__globals__[used], used)
    return _plain_of[id(function)][0]


def _names_of(code: types.CodeType) -> set[str]:
    inner = (_names_of(part) for part in code.co_consts if isinstance(part, types.CodeType))
    return set(code.co_names).union(*inner)


def _core(variant: Variant) -> Callable:
    """The program's core in plain Python."""
    emitted = variant._emitted
    lines = emitted.source.split("\n")
    imports = "\n".join(line for line in lines if line.startswith(("from ", "import ")))
    scope: dict[str, Any] = {}
    exec(imports, scope)
    scope = {name: _plain(value, name) for name, value in scope.items()}
    scope["device"] = lambda function: function
    text = "\n".join("" if line.startswith("from ") else line for line in lines)
    exec(compile(text, f"<{emitted.name}>", "exec"), scope)
    return scope[emitted.core.name]


def watched(f: StaticFunction, *args: Any) -> Any:
    """The result of a compiled function, as its text gives it in plain Python on watched memory.

    Raises MemoryFault for an element that is read before it is written or lies beyond its buffer,
    for one of a result that is never written, and for one of an argument that is.

    >>> watched(nbgrad.compile(lambda x: np.cumsum(x) * 2.0), np.ones(3))
    array([2., 4., 6.])
    """
    variant, leaves = f._find(args, {})
    return run(variant, leaves)


def run(variant: Variant, leaves: list[Any]) -> Any:
    """The same for leaves in order."""
    frame = variant.frame
    given: list[Any] = []
    for i, (leaf, value) in enumerate(zip([*leaves, *variant.captured], frame.inputs, strict=True)):
        if value.shape == ():
            given.append(value.dtype.type(leaf))
        else:
            data = np.array(leaf, value.dtype, order="C")
            given.append(Pointer(Block(f"argument {i}", data, True, False), _kind(value.dtype)))
    arrays: dict[int, np.ndarray] = {}
    blocks: dict[int, Block] = {}
    for i in frame.arrays():
        value = frame.outputs[i]
        arrays[i] = np.full(value.size * value.dtype.itemsize, _NAN, np.uint8).view(value.dtype)
        arrays[i] = arrays[i].reshape(value.shape)
        blocks[i] = Block(f"result {i}", arrays[i], False)
    places = {i: Pointer(blocks[i], _kind(frame.outputs[i].dtype)) for i in blocks}
    if frame.packed:
        table = [x for x in given if isinstance(x, Pointer)] + list(places.values())
        passed = [table, *(x for x in given if not isinstance(x, Pointer))]
    else:
        passed = [*given, *(places[i] for i in frame.memory.written)]
    if frame.large:
        passed.append(_scratch(frame.memory.size))
    with np.errstate(all="ignore"):
        found = list(_core(variant)(*passed))
    scalars, checks = found[: len(frame.scalars())], found[len(frame.scalars()) :]
    for i in frame.memory.written:
        blocks[i].require_written()
    for ok, message in zip(checks, frame.messages, strict=True):
        if not ok:
            raise eval(message, {"np": np})
    for i, source in frame.memory.copies.items():
        is_given = isinstance(source, Argument)
        block = given[source.position].block if is_given else blocks[source.position]
        blocks[i].data[...] = block.data
    results: list[Any] = [None] * len(frame.outputs)
    for i, number in zip(frame.scalars(), scalars, strict=True):
        results[i] = frame.outputs[i].dtype.type(number).item()
    for i, array in arrays.items():
        results[i] = array
    return variant.python._built([results[i] for i in frame.arrays()],
                                 [results[i] for i in frame.scalars()])  # fmt: skip


def _kind(dtype: np.dtype) -> Any:
    return np.uint8 if dtype.kind == "b" else dtype


def check_written(f: StaticFunction, *args: Any) -> None:
    """Raise MemoryFault unless the program for these arguments writes all that it reads and all
    of its results, and AssertionError unless it gives what the function gives to 1e-10 of the
    scale."""
    mine, _ = trees.flatten(watched(f, *args))
    with np.errstate(all="ignore"):
        theirs, _ = trees.flatten(f._f(*args))
    assert len(mine) == len(theirs)
    pairs = [
        (np.asarray(x), np.asarray(y.data if isinstance(y, Array) else y))
        for x, y in zip(mine, theirs, strict=True)
        if x is not None or y is not None
    ]
    floats = [y[np.isfinite(y)] for _, y in pairs if y.dtype.kind == "f"]
    scale = max((float(np.abs(y).max()) for y in floats if y.size), default=1.0)
    for x, y in pairs:
        assert x.shape == y.shape, (x.shape, y.shape)
        rtol = 1e-4 if np.float32 in (x.dtype, y.dtype) else 1e-10
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol * scale)
