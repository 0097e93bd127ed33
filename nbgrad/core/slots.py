"""C slots of the classes of arrays that have no name in Python: `sq_item` and `tp_iter`.

`clear_sequence_item` clears the sequence slot `sq_item` of classes that define `__getitem__`.

`plain[i] = x` calls `float(x)` of a tracked x, which raises an error with a remedy. If
`PySequence_Check(x)` is true, that is if the class has `sq_item`, NumPy replaces the error by
"setting an array element with a sequence.". CPython sets two slots for `__getitem__`:
`mp_subscript`, which implements `x[i]` and `operator.getitem`, and `sq_item`, which few C functions
use, such as `reversed` without `__reversed__`, and `bisect`. Without `sq_item` NumPy passes on our
error, and `bisect.bisect(x, v)` raises TypeError; use np.searchsorted instead.

`iterate_by_next` makes `iter(x)` call `__anext__`. Arrays are iterable and numbers are not,
although they have one class: with an `__iter__`, `hasattr(x, "__iter__")` and
`collections.abc.Iterable` would be true for both. CPython's function in `am_anext` calls
`__anext__`, and has the signature of `tp_iter`.

The slots are written by ctypes, at the offsets that CPython's type objects have had since 3.5.
`is_known` and `can_iterate` test these offsets on classes of their own. If a test fails nothing is
written: NumPy's error then has ours as its cause, and numbers have an `__iter__` that raises
TypeError.
"""

import ctypes
from functools import cache
from typing import Any

from ..runtime import layout

_WORD = ctypes.sizeof(ctypes.c_void_p)
# Words of a type object behind the head of an object: its size, tp_name, tp_basicsize, tp_itemsize,
# tp_dealloc, tp_vectorcall_offset, tp_getattr, tp_setattr, tp_as_async, tp_repr, tp_as_number,
# tp_as_sequence, tp_as_mapping.
_ASYNC, _SEQUENCE, _MAPPING = 8, 11, 12
# tp_hash, tp_call, tp_str, tp_getattro, tp_setattro, tp_as_buffer, tp_flags, tp_doc, tp_traverse,
# tp_clear, tp_richcompare, tp_weaklistoffset come before it.
_ITER = 25
# Words of PySequenceMethods, PyMappingMethods and PyAsyncMethods.
_SQ_ITEM, _MP_SUBSCRIPT, _AM_ANEXT = 3, 1, 2


def clear_sequence_item(kind: type) -> None:
    """Clear `sq_item` of a class. CPython sets it again when `__getitem__` of the class or a base
    is set, and in each new subclass: call this from `__init_subclass__`, too."""
    if is_known():
        place = _place(kind, _SEQUENCE, _SQ_ITEM)
        if place is not None:
            ctypes.c_size_t.from_address(place).value = 0


def iterate_by_next(kind: type) -> None:
    """Make `iter(x)` call `__anext__` for a class. Call this for each subclass, too."""
    if can_iterate():
        word = _word(_place(kind, _ASYNC, _AM_ANEXT))
        ctypes.c_size_t.from_address(_iter_place(kind)).value = word


@cache
def can_iterate() -> bool:
    """Whether `tp_iter` is at the expected offset."""
    try:
        return is_known() and _can_iterate()
    except Exception:
        return False


def _can_iterate() -> bool:
    class Plain:
        def __anext__(self) -> Any:
            return iter((1, 2))

    class Iterable(Plain):
        def __iter__(self) -> Any:
            return iter((3,))

    class Other(Iterable):
        def __iter__(self) -> Any:
            return iter((4,))

    if (_iter_place(Plain) or 0) + _WORD > id(Plain) + _size(type):
        return False
    words = [_word(_iter_place(kind)) for kind in (Plain, Iterable, Other)]
    anext = [_word(_place(kind, _ASYNC, _AM_ANEXT)) for kind in (Plain, Other)]
    if words[0] or not words[1] or words[1] != words[2] or not anext[0] or anext[0] != anext[1]:
        return False
    ctypes.c_size_t.from_address(_iter_place(Plain)).value = anext[0]
    return list(Plain()) == [1, 2] and not hasattr(Plain, "__iter__")  # pyright: ignore


def _iter_place(kind: type) -> int:
    return id(kind) + _size(object) + _ITER * _WORD


@cache
def is_known() -> bool:
    """Whether `sq_item` is at the expected offset, and clearing it has no other effect."""
    try:
        return layout.IS_KNOWN and _is_known()
    except Exception:
        return False


def _is_known() -> bool:
    class Without:
        pass

    class One:
        def __getitem__(self, index: Any) -> Any:
            return index

    class Other(One):
        def __getitem__(self, index: Any) -> Any:
            return (index,)

    kinds = Without, One, Other
    places = [(_place(k, _SEQUENCE, _SQ_ITEM), _place(k, _MAPPING, _MP_SUBSCRIPT)) for k in kinds]
    if any(place is None for pair in places for place in pair):
        return False
    (none, no_map), (item, subscript), others = [tuple(map(_word, pair)) for pair in places]
    if none or no_map or not item or not subscript or item == subscript:
        return False
    if others != (item, subscript) or not _is_sequence(Other()):
        return False
    ctypes.c_size_t.from_address(places[2][0]).value = 0  # pyright: ignore[reportArgumentType]
    cleared = Other()
    return cleared[3] == (3,) and not _is_sequence(cleared) and _is_sequence(One())


def _is_sequence(x: object) -> bool:
    return bool(ctypes.pythonapi.PySequence_Check(ctypes.py_object(x)))


def _word(address: int | None) -> int:
    return ctypes.c_size_t.from_address(address).value if address else 0


def _place(kind: type, table: int, entry: int) -> int | None:
    """The address of a slot; None if its table is not part of the type object, as for classes that
    are defined in C."""
    size, head = _size(type), _size(object)
    pointer = head + table * _WORD
    if pointer + _WORD > size:
        return None
    start = _word(id(kind) + pointer)
    inside = id(kind) < start and start + (entry + 1) * _WORD <= id(kind) + size
    return start + entry * _WORD if inside else None


def _size(kind: Any) -> int:
    return kind.__basicsize__
