"""The memory layout of CPython's and NumPy's objects, which is tested on live objects at import.

nbgrad's machine code reads and creates objects by these offsets. `IS_KNOWN` is false on builds of
Python or NumPy with another layout, on debug builds, and on builds without the GIL, where other
threads may change an object at the same time. nbgrad then uses functions in Python.
"""

import ctypes
import sys
import sysconfig
from functools import cache
from typing import Any

import numpy as np

__all__ = ["IS_KNOWN", "prototype"]

# Offsets of the first word after the head of an object (the value of a float, the length of a
# tuple, the first field of an array), of the items of a tuple, and of the type, the last word of
# the head.
HEAD, ITEMS, TYPE = object.__basicsize__, tuple.__basicsize__, object.__basicsize__ - 8
DATA, NDIM, LENGTHS, STRIDES, OWNER, DTYPE, FLAGS = (HEAD + 8 * i for i in range(7))
C_ORDER, ALIGNED, WRITEABLE = 0x0001, 0x0100, 0x0400
# Entries of NumPy's table of C functions: three types, `PyArray_NewCopy`, `PyArray_NewFromDescr`.
_TYPES = {2: np.ndarray, 3: np.dtype, 10: np.generic}
_COPY, _NEW_ARRAY = 85, 94


def prototype(name: str, result: Any, *arguments: Any) -> Any:
    """A function of Python's C interface, as an object of its own: attributes of
    `ctypes.pythonapi` are shared with all other code of the process."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


def _word(address: int) -> int:
    return ctypes.c_size_t.from_address(address).value


@cache
def version_place() -> int | None:
    """The offset of the version of a dict, a number that each change renews; None if it has
    none."""
    x: dict[str, object] = {"a": None}
    place = id(x) + object.__basicsize__ + 8
    seen = []
    for value in (0, 1, 2):
        x["a"] = value
        seen.append(_word(place))
    del x["a"]
    seen.append(_word(place))
    x.clear()
    return place - id(x) if len(set(seen)) == len(seen) and sorted(seen) == seen else None


def new_array_address() -> int:
    """The address of NumPy's `PyArray_NewFromDescr`."""
    return _of_numpy(_NEW_ARRAY)


def copy_address() -> int:
    """The address of NumPy's `PyArray_NewCopy`."""
    return _of_numpy(_COPY)


def _of_numpy(entry: int) -> int:
    get = prototype("PyCapsule_GetPointer", ctypes.c_size_t, ctypes.py_object, ctypes.c_char_p)
    capsule = np._core._multiarray_umath._ARRAY_API  # pyright: ignore[reportAttributeAccessIssue]
    table = get(capsule, None)
    if any(_word(table + 8 * i) != id(kind) for i, kind in _TYPES.items()):
        raise LookupError("NumPy's table of C functions has another order")
    return _word(table + 8 * entry)


def _is_plain_build() -> bool:
    """Whether this is CPython for 64 bits, with the GIL and without debug checks, and NumPy 2."""
    return (
        sys.implementation.name == "cpython"
        and np.__version__.startswith("2.")
        and ctypes.sizeof(ctypes.c_void_p) == 8
        and getattr(sys, "_is_gil_enabled", lambda: True)()
        and not any(map(sysconfig.get_config_var, ("Py_GIL_DISABLED", "Py_DEBUG", "Py_TRACE_REFS")))
        and not hasattr(sys, "gettotalrefcount")
    )


def _keeps_objects() -> bool:
    """Whether types, reference counts, floats, tuples and lists have the expected layout."""
    number, held = 1.2345678e89, [object(), object(), object()]
    pair = tuple(held)
    bits = int(np.float64(number).view(np.int64))
    before = _word(id(held[0]))
    again = held[0]
    return (
        all(_word(id(x) + TYPE) == id(type(x)) for x in (number, held, pair, again, np.ones(1)))
        and _word(id(again)) == before + 1
        and all(_word(id(x) + HEAD) == bits for x in (number, np.float64(number)))
        and _word(id(pair) + HEAD) == _word(id(held) + HEAD) == len(pair)
        and [_word(id(pair) + ITEMS + 8 * i) for i in range(3)] == list(map(id, pair))
    )


def _keeps_scalars() -> bool:
    """Whether NumPy's scalars have their bytes behind the head, in a word of their own."""
    scalars = [np.dtype(kind).type(77) for kind in ("f8", "f4", *"bBhHiIlLqQ")]
    return all(
        ctypes.string_at(id(x) + HEAD, x.itemsize) == x.tobytes()
        and type(x).__basicsize__ >= HEAD + 8
        for x in scalars
    )


def _keeps_arrays(array: np.ndarray, owner: Any) -> bool:
    """Whether the fields of an array are at the expected offsets."""
    place, axes = id(array), range(array.ndim)
    flags = array.flags
    known = C_ORDER * flags.c_contiguous + ALIGNED * flags.aligned + WRITEABLE * flags.writeable
    return (
        FLAGS + 4 <= np.ndarray.__basicsize__
        and _word(place + DATA) == array.ctypes.data
        and ctypes.c_int.from_address(place + NDIM).value == array.ndim
        # One block of memory: if the distance is right, both words are valid pointers.
        and _word(place + STRIDES) == _word(place + LENGTHS) + 8 * array.ndim
        and [_word(_word(place + LENGTHS) + 8 * i) for i in axes] == list(array.shape)
        and [_word(_word(place + STRIDES) + 8 * i) for i in axes] == list(array.strides)
        and _word(place + OWNER) == (0 if owner is None else id(owner))
        and _word(place + DTYPE) == id(array.dtype)
        and _word(place + FLAGS) & (C_ORDER | ALIGNED | WRITEABLE) == known
    )


def _makes_arrays() -> bool:
    """Whether the functions of NumPy's table create and copy arrays."""
    word, whole = ctypes.c_size_t, ctypes.c_int
    kinds = ctypes.py_object, ctypes.py_object, whole, word, word, word, whole, word
    make = ctypes.PYFUNCTYPE(ctypes.py_object, *kinds)(new_array_address())
    lengths, dtype = (word * 2)(3, 5), np.dtype(np.float32)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(dtype))  # which the function takes over
    made = make(np.ndarray, dtype, 2, ctypes.addressof(lengths), 0, 0, 0, 0)
    made[...] = np.arange(5)
    copy = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, whole)(copy_address())(made, 0)
    return (
        type(made) is np.ndarray
        and made.shape == (3, 5)
        and made.dtype == dtype
        and made.flags.owndata
        and _keeps_arrays(made, None)
        and _keeps_arrays(copy, None)
        and not np.may_share_memory(made, copy)
        and np.array_equal(made, copy)
    )


def _is_known() -> bool:
    if not _is_plain_build() or not (_keeps_objects() and _keeps_scalars()):
        return False
    array = np.empty((3, 5), np.float32)
    view, fixed = array.T, np.empty(2)
    fixed.flags.writeable = False
    arrays = (array, None), (view, array), (fixed, None)
    return all(_keeps_arrays(*pair) for pair in arrays) and _makes_arrays()


try:
    IS_KNOWN = _is_known()
except Exception:  # an unknown version may raise anything
    IS_KNOWN = False
