"""A C function that compares memory before it calls another function: words, items of dicts and
bytes of arrays must be unchanged, and no argument may be an instance of a subclass of ndarray, such
as a masked array, whose mask would be ignored."""

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ..runtime import layout
from ..runtime.layout import IS_KNOWN
from ..runtime.vectorcall import builtin
from . import emitter as native
from .builtin import compiled
from .emitter import INT, WORD, Emitter, word

__all__ = ["Table", "calls"]


_POINTER = ctypes.c_void_p


class Table:
    """The memory to compare with its present contents. `words` are addresses. Each dict has the
    address of its version, or None, and pairs of a key and the address of its value, 0 for a
    missing key. `blocks` are arrays with their bytes. With `never` no call matches.
    """

    def __init__(
        self,
        words: Sequence[int],
        dicts: Sequence[tuple[dict, int | None, list[tuple[str, int]]]],
        blocks: Sequence[tuple[np.ndarray, bytes]],
        never: bool = False,
    ):
        self._kept: list[Any] = [dicts, blocks]
        self._memory = self._array([x for at in words for x in (at, _read(at))])
        rows: list[int] = []
        for mapping, version, items in dicts:
            pairs = self._array([len(items), *(x for k, v in items for x in (id(k), v))])
            seen = [version, _read(version)] if version is not None else [0, 0]
            rows += [id(mapping), *seen, pairs.ctypes.data]
        if never:  # the third number differs from the second
            self._memory = self._array([0, 1, 0])
            self._memory[0] = self._memory.ctypes.data + 16
        self._dicts = self._array(rows)
        held: list[Any] = [
            (array.ctypes.data, ctypes.cast(ctypes.c_char_p(numbers), _POINTER).value, len(numbers))
            for array, numbers in blocks
        ]
        self._blocks = self._array([x for row in held for x in row])
        self.head = [
            len(words) or int(never), self._memory.ctypes.data,
            len(dicts), self._dicts.ctypes.data,
            len(blocks), self._blocks.ctypes.data,
        ]  # fmt: skip

    def _array(self, numbers: list[int]) -> np.ndarray:
        made = np.array(numbers, np.uint64).view(np.int64)
        self._kept.append(made)
        return made


def calls(target: Callable, head: np.ndarray, general: Callable) -> Callable | None:
    """A function that calls `target` if the memory in the table of `head` is unchanged and no
    argument is of a subclass of ndarray, and `general` otherwise. None if C functions are not
    available."""
    if not IS_KNOWN or _memcmp() is None:
        return None
    return builtin("compared", _code(), (general, target, head))


def _read(address: int) -> int:
    return ctypes.c_size_t.from_address(address).value


@cache
def _memcmp() -> int | None:
    """The address of the C function memcmp."""
    try:
        return ctypes.cast(ctypes.CDLL(None).memcmp, ctypes.c_void_p).value
    except (AttributeError, OSError, TypeError):
        return None


@cache
def _code() -> int:
    """The address of the function's code."""
    emit = Emitter(None, keywords=True)
    head = emit.data(emit.item(emit.own, 2))
    count, start = (emit.load(head, offset) for offset in (0, 8))
    with emit.each(count) as i:
        row = emit.build.add(start, emit.build.mul(i, word(16)))
        emit.demand(emit.equal(emit.load(emit.load(row)), emit.load(row, 8)))
    count, start = (emit.load(head, offset) for offset in (16, 24))
    with emit.each(count) as i:
        row = emit.build.add(start, emit.build.mul(i, word(32)))
        _demand_items(emit, row)
    count, start = (emit.load(head, offset) for offset in (32, 40))
    with emit.each(count) as i:
        row = emit.build.add(start, emit.build.mul(i, word(24)))
        memory = [emit.load(row, offset) for offset in (0, 8, 16)]
        differ = emit.call(word(_memcmp() or 0), INT, *memory)
        emit.demand(emit.equal(differ, INT(0)))
    with emit.each(emit.build.and_(emit.given, word(2**63 - 1))) as i:  # a flag beside the count
        _demand_plain(emit, emit.load(emit.build.add(emit.args, emit.build.mul(i, word(8)))))
    given = emit.item(emit.own, 1), emit.args, emit.given, emit.keywords
    emit.build.ret(emit.python("PyObject_Vectorcall", WORD, *given))
    return compiled(emit, level=2)  # it has loops


def _demand_items(emit: Emitter, row: Any) -> None:
    """Call the definition unless a dict has the same version or the same items."""
    mapping, version, seen, items = (emit.load(row, offset) for offset in (0, 8, 16, 24))
    now = emit.row(1)
    emit.store(word(0), now)
    with emit.build.if_then(emit.build.icmp_signed("!=", version, word(0))):
        emit.store(emit.load(version), now)
    current = emit.load(now)
    unknown = emit.equal(version, word(0))
    with emit.build.if_then(emit.build.or_(unknown, emit.build.icmp_signed("!=", current, seen))):
        with emit.each(emit.load(items)) as j:
            pair = emit.build.add(items, emit.build.mul(j, word(16)))
            found = emit.python("PyDict_GetItemWithError", WORD, mapping, emit.load(pair, 8))
            emit.demand(emit.equal(found, emit.load(pair, 16)))
        emit.store(current, row, 16)


def _demand_plain(emit: Emitter, x: Any) -> None:
    """Call the definition if the type of x is a subclass of ndarray."""
    known = [emit.is_a(x, kind) for kind in (native.ARRAY, native.FLOAT, native.INTEGER)]
    with emit.build.if_then(emit.build.not_(emit.build.or_(known[0], emit.build.or_(*known[1:])))):
        kind = emit.load(x, layout.TYPE)
        below = emit.python("PyType_IsSubtype", INT, kind, word(native.ARRAY))
        emit.demand(emit.equal(below, INT(0)))
