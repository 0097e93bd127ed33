"""One class for each kind of place that a recorded function reads: how it is compared in Python,
and as words of memory.

A place `is_same` while it holds the very objects that it held before. `words` gives the addresses
of the words of memory that tell; it raises `NotInMemory` where they are not known.
"""

import ctypes
import types
from collections.abc import Hashable, Iterator
from functools import cache
from typing import Any

import numpy as np

from ...core.symbols import static_key
from ...runtime import layout
from ...runtime.layout import version_place as _version_place

_MISSING = object()
_MANAGED_DICT = 1 << 4  # Py_TPFLAGS_MANAGED_DICT
_MANAGED_PLACE = -24


class NotInMemory(Exception):
    """A place that is compared in Python alone."""


def _objects_words(x: object) -> list[int]:
    """The words of an object."""
    return list((ctypes.c_size_t * (type(x).__basicsize__ // 8)).from_address(id(x)))


def _read(address: int) -> int:
    return ctypes.c_size_t.from_address(address).value


class Cell:
    """A variable of a closure."""

    def __init__(self, cell: types.CellType):
        self._cell, self._value = cell, self._now(cell)

    @staticmethod
    def _now(cell: types.CellType) -> object:
        try:
            return cell.cell_contents
        except ValueError:  # not filled yet
            return _MISSING

    def is_same(self) -> bool:
        return self._now(self._cell) is self._value

    def words(self) -> Iterator[int]:
        yield id(self._cell) + layout.HEAD


class Items:
    """Items of a dict: of globals, of a module, a class or an object, whose `is_object` says so."""

    def __init__(self, mapping: dict, keys: list[Hashable], is_object: bool = False):
        self.mapping, self._is_object = mapping, is_object
        self.items = [(key, dict.get(mapping, key, _MISSING)) for key in keys]

    def is_same(self) -> bool:
        get, mapping = dict.get, self.mapping
        return all(get(mapping, key, _MISSING) is value for key, value in self.items)

    def version(self) -> int | None:
        """The address of the number that every change of the dict renews, or None."""
        try:
            return version_word(self.mapping, self._is_object)
        except NotInMemory:
            return None

    def expected(self) -> list[tuple[str, int]]:
        """Keys, and the addresses of what they stand for, 0 for nothing."""
        found: list[tuple[str, int]] = []
        for key, x in self.items:
            if isinstance(key, str) and type(key) is str:
                found.append((key, 0 if x is _MISSING else id(x)))
        if len(found) < len(self.items) or type(self.mapping) is not dict:
            raise NotInMemory
        return found


class Contents:
    """All items of a dict in their order."""

    def __init__(self, mapping: dict, is_object: bool = False):
        self._mapping, self._items = mapping, list(mapping.items())
        self._is_object = is_object

    def is_same(self) -> bool:
        return len(self._mapping) == len(self._items) and all(
            key is known and value is old
            for (key, value), (known, old) in zip(self._mapping.items(), self._items, strict=True)
        )

    def words(self) -> Iterator[int]:
        yield version_word(self._mapping, self._is_object)


class Elements:
    """The elements of a list, or of another sequence."""

    def __init__(self, sequence: Any):
        self._sequence, self._elements = sequence, list(sequence)

    def is_same(self) -> bool:
        return len(self._sequence) == len(self._elements) and all(
            map(_is, self._sequence, self._elements)
        )

    def words(self) -> Iterator[int]:
        place = id(self._sequence) + layout.HEAD
        if isinstance(self._sequence, list):
            yield from (place, place + 8)  # its length and its memory
            yield from (_read(place + 8) + 8 * i for i in range(len(self._sequence)))
        elif isinstance(self._sequence, set) and _is_table(frozenset((_MISSING,))):
            yield from _table_words(place)
        else:
            raise NotInMemory


def _table_words(place: int) -> Iterator[int]:
    """The words of a set: how many elements it has had and has, one less than the length of its
    table, the table, and elements there with their hashes."""
    yield from (place + 8 * i for i in range(4))
    yield from (_read(place + 24) + 8 * i for i in range(2 * _read(place + 16) + 2))


@cache
def _is_table(x: frozenset) -> bool:
    """Whether the words of a set hold its elements."""
    place = id(x) + layout.HEAD
    if [_read(place + 8 * i) for i in (0, 1, 2)] != [len(x), len(x), 7]:
        return False
    held = {_read(word) for word in _table_words(place)}
    return all(id(element) in held and hash(element) in held for element in x)


def _is(x: object, y: object) -> bool:
    return x is y


class Code:
    """The code and the defaults of a function."""

    def __init__(self, function: types.FunctionType):
        self._function, self._parts = function, self._now(function)

    @staticmethod
    def _now(f: types.FunctionType) -> tuple:
        return f.__code__, f.__defaults__, f.__kwdefaults__

    def is_same(self) -> bool:
        return all(map(_is, self._now(self._function), self._parts))

    def words(self) -> Iterator[int]:
        return (id(self._function) + offset for offset in _function_slots())


@cache
def _function_slots() -> tuple[int, ...]:
    """The offsets of code and defaults in function objects, as found in one."""

    def f(x=_MISSING, *, y=_MISSING):
        pass

    words = _objects_words(f)
    try:
        return tuple(8 * words.index(id(x)) for x in (f.__code__, f.__defaults__, f.__kwdefaults__))
    except ValueError:
        raise NotInMemory from None


class Slots:
    """Attributes of an object that lie in `__slots__`."""

    def __init__(self, x: object, members: list[types.MemberDescriptorType]):
        self._x, self._members = x, members
        self._values = self._now()

    def _now(self) -> list[object]:
        return [slot(self._x, member) for member in self._members]

    def is_same(self) -> bool:
        return all(map(_is, self._now(), self._values))

    def words(self) -> Iterator[int]:
        words = _objects_words(self._x)
        for value in self._values:
            places = [i for i, held in enumerate(words) if held == id(value)]
            if not places:
                raise NotInMemory
            yield from (id(self._x) + 8 * i for i in places)


def slot(x: object, member: types.MemberDescriptorType) -> object:
    try:
        return member.__get__(x)
    except AttributeError:  # not set
        return _MISSING


class Class:
    """The class of an object, which can be assigned."""

    def __init__(self, x: object):
        self._x, self._kind = x, type(x)

    def is_same(self) -> bool:
        return type(self._x) is self._kind

    def words(self) -> Iterator[int]:
        yield id(self._x) + layout.TYPE


class Bases:
    """The classes that a class inherits from."""

    def __init__(self, kind: type):
        self._kind, self._mro = kind, kind.__mro__

    def is_same(self) -> bool:
        return self._kind.__mro__ is self._mro

    def words(self) -> Iterator[int]:
        words = _objects_words(self._kind)
        if id(self._mro) not in words:
            raise NotInMemory
        yield id(self._kind) + 8 * words.index(id(self._mro))


class Buffer:
    """The bytes of an object that is no array of NumPy's."""

    def __init__(self, x: Any):
        self._x, self._bytes = x, bytes(x)

    def is_same(self) -> bool:
        return bytes(self._x) == self._bytes

    def words(self) -> Iterator[int]:
        raise NotInMemory


class Namespace:
    """The dict that holds the attributes of an object: it can be replaced."""

    def __init__(self, x: Any):
        self._x, self._dict = x, object.__getattribute__(x, "__dict__")

    def is_same(self) -> bool:
        return object.__getattribute__(self._x, "__dict__") is self._dict

    def words(self) -> Iterator[int]:
        kind = type(self._x)
        if kind.__flags__ & _MANAGED_DICT:
            offset = _MANAGED_PLACE
        else:
            offset = kind.__dictoffset__
            if offset <= 0:
                raise NotInMemory
        place = id(self._x) + offset
        if _read(place) != id(self._dict):
            raise NotInMemory
        yield place


class Array:
    """The shape and dtype of an array and, where `key` is given, its numbers."""

    def __init__(self, array: np.ndarray, key: Any = None):
        self.array, self._key = array, key
        self._shape, self._dtype = array.shape, array.dtype
        self.numbers = None if key is None else array.tobytes()

    def is_same(self) -> bool:
        array = self.array
        if self._key is not None:
            return static_key(array) == self._key
        return array.shape == self._shape and array.dtype == self._dtype

    def words(self) -> Iterator[int]:
        if self._key is not None and not self.array.flags.c_contiguous:
            raise NotInMemory
        place, lengths = id(self.array), layout.LENGTHS
        yield from (place + at for at in (layout.DATA, layout.NDIM, layout.DTYPE))
        for at in (lengths, lengths + 8):  # and strides
            yield place + at
            yield from (_read(place + at) + 8 * i for i in range(self.array.ndim))


@cache
def _attributes_renew(place: int) -> bool:
    """Whether an attribute that is set renews the number of the dict of its object: not on Python
    3.13, where objects keep their values beside their dicts."""

    class Owner:
        pass

    x: Any = Owner()
    x.a = 0
    seen = {_read(id(x.__dict__) + place)}
    for value in (1, 2, 3):
        x.a = value
        seen.add(_read(id(x.__dict__) + place))
    return len(seen) == 4


def version_word(mapping: dict, is_object: bool) -> int:
    """The address of the number that every change of a dict renews, which may be that of an
    object's attributes."""
    place = _version_place()
    if place is None or not isinstance(mapping, dict):
        raise NotInMemory
    if is_object and not _attributes_renew(place):
        raise NotInMemory
    return id(mapping) + place
