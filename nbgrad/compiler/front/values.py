"""Values of expressions at compile time: numbers at run time, pointers, arrays, and constants."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from ...ir.affine import ZERO, Affine
from ...ir.statements import Literal, Operand
from .syntax import Unsupported

INT, UINT, BOOL = np.dtype(np.int64), np.dtype(np.uint64), np.dtype(bool)
DOUBLE, SINGLE = np.dtype(np.float64), np.dtype(np.float32)


@dataclass(frozen=True, eq=False)
class Number:
    """A number at run time. One that is `natural` is never below 0; one that is `lasting` keeps its
    value: no later statement assigns it."""

    operand: Operand
    dtype: np.dtype
    natural: bool = False
    lasting: bool = True


@dataclass(frozen=True, eq=False)
class Place:
    """A pointer: elements of a buffer from a position on. Positions behind one that is `flat` say
    nothing about the indices in the array of the buffer, as those of `x.ravel()`. Complex elements
    are in two buffers: see `planes`."""

    buffer: str
    dtype: np.dtype
    at: Affine = ZERO
    lasting: bool = True
    flat: bool = False


@dataclass(frozen=True, eq=False)
class Array:
    """An array: a pointer to its first element, its lengths, and its strides in elements; those of
    a contiguous array (None) follow from the lengths."""

    place: Place
    shape: tuple[Number, ...]
    strides: tuple[Number, ...] | None = None
    mutable: bool = True


@dataclass(frozen=True, eq=False)
class Lazy:
    """An array that is not in memory: `element` writes the code of one element. `sources` are the
    arrays that it reads, with whether each is read at the same indices; one that is `cheap` may be
    computed several times."""

    shape: tuple[Number, ...]
    dtype: np.dtype
    element: Callable[[Sequence["Value"]], "Value"]
    sources: tuple[tuple[Array, bool], ...] = ()
    cheap: bool = False


@dataclass(frozen=True, eq=False)
class Slice:
    """A slice of an axis; None for a bound that is left out."""

    start: "Value | None"
    stop: "Value | None"
    step: "Value | None"


@dataclass(frozen=True, eq=False)
class Method:
    """A method of an array, or of a number."""

    holder: "Array | Lazy | Number"
    name: str


@dataclass(frozen=True, eq=False)
class Known:
    """A constant at compile time: a number, a function, a module, a dtype, a type, None."""

    value: Any

    @property
    def is_number(self) -> bool:
        """Whether it is a real number."""
        kinds = (bool, int, float, np.integer, np.floating, np.bool_)
        return isinstance(self.value, kinds)

    @property
    def is_complex(self) -> bool:
        return isinstance(self.value, (complex, np.complexfloating))

    @property
    def is_python_number(self) -> bool:
        """Whether it is a number of Python's, not one of NumPy's."""
        return isinstance(self.value, (bool, int, float)) and not isinstance(self.value, np.generic)


class NamedTuple(tuple):
    """A named tuple: values, or types of them. Each class of named tuples has a class of these."""

    kind: type


class List(tuple):
    """A list of a fixed length: a tuple, but as an index, where it selects several elements."""


@cache
def named_tuple(kind: type) -> type[NamedTuple]:
    """The class of the named tuples of a class."""
    own = {"kind": kind, "__eq__": _is_equal, "__hash__": lambda self: hash((kind, tuple(self)))}
    return type(kind.__name__, (NamedTuple,), own)


def _is_equal(x: tuple, y: object) -> bool:
    return type(x) is type(y) and tuple(x) == tuple(y)  # pyright: ignore


class Pair(tuple):
    """Two parts, the real and the imaginary one."""

    def __eq__(self, other: object) -> bool:
        return _is_equal(self, other)  # pyright: ignore

    __hash__ = tuple.__hash__


class Complex(Pair):
    """A complex number: its parts are numbers of one dtype. Also the type of one."""


class Planes(Pair):
    """The type of a complex array, or an array that is a result: those of its parts."""


COMPLEX, COMPLEX_SINGLE = np.dtype(np.complex128), np.dtype(np.complex64)


def part_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of the parts of complex numbers."""
    return SINGLE if dtype == COMPLEX_SINGLE else DOUBLE


def planes(place: Place) -> tuple[Place, Place]:
    """The pointers to the real and to the imaginary parts of complex elements: they are in two
    buffers, of which the second is named after the first."""
    dtype = part_dtype(place.dtype)
    return replace(place, dtype=dtype), replace(place, dtype=dtype, buffer=f"{place.buffer}.imag")


def whole(buffer: str) -> str:
    """The buffer of the real parts for that of either part."""
    return buffer.removesuffix(".imag")


def rebuilt(like: tuple, parts: Iterable[Any]) -> Any:
    """A tuple of other parts; a named one or a list is one again."""
    return type(like)(parts) if isinstance(like, (NamedTuple, Pair, List)) else tuple(parts)


def instance_of(like: tuple, parts: Iterable[Any]) -> tuple:
    """A tuple of parts for callers; an instance of the user's class where `like` is named."""
    return like.kind(*parts) if isinstance(like, NamedTuple) else tuple(parts)


Value: TypeAlias = "Number | Place | Array | Lazy | Slice | Known | tuple[Value, ...]"

KNOWN_0, KNOWN_1, KNOWN_FALSE = Known(0), Known(1), Known(False)

_EXACT = 2**53  # integers up to here are floats


def dtype_of(number: Any) -> np.dtype:
    """The dtype of a constant, as Numba has it."""
    if isinstance(number, np.generic):
        return number.dtype
    if isinstance(number, bool):
        return BOOL
    if isinstance(number, int):
        return INT if number < 2**63 else UINT
    return COMPLEX if isinstance(number, complex) else DOUBLE


def literal(number: Any, dtype: np.dtype) -> Literal | None:
    """A constant as an operand of a dtype; None where it has to be converted at run time."""
    if isinstance(number, np.generic):
        number = number.item()
    if dtype == DOUBLE:
        return Literal(float(number), dtype)
    if dtype.kind == "f":
        if isinstance(number, int) and abs(number) > _EXACT:
            return None
        with np.errstate(over="ignore"):
            return Literal(float(dtype.type(number)), dtype)
    if dtype.kind == "b":
        return Literal(number, dtype) if isinstance(number, bool) else None
    if isinstance(number, int) and np.iinfo(dtype).min <= number <= np.iinfo(dtype).max:
        return Literal(int(number), dtype)
    return None


def members(value: Value) -> tuple[Value, ...]:
    """The members of a tuple."""
    if isinstance(value, tuple) and not isinstance(value, Pair):
        return value
    if isinstance(value, Known) and isinstance(value.value, tuple):
        values = value.value
        named = hasattr(values, "_fields")
        return named_tuple(type(values))(map(Known, values)) if named else tuple(map(Known, values))
    raise Unsupported("unpacking a value that is not a tuple")
