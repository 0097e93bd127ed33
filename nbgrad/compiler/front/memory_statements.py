"""Memory of a function while it is read: buffers, elements, addresses, variables."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ir.affine import Affine, variable
from ...ir.reductions import SUM
from ...ir.scalar import NAMES, arg
from ...ir.statements import (
    Address,
    Assign,
    Call,
    Function,
    Load,
    New,
    Operand,
    PointTo,
    Position,
    Store,
    Variable,
)
from .syntax import Unsupported
from .values import INT, Complex, Number, Place, Value, part_dtype, planes

__all__ = ["Memory", "address_of"]

_COPY = arg(NAMES[0])


class Memory:
    """The part of a function builder that reads and writes memory."""

    if TYPE_CHECKING:
        buffers: list[str]
        add: Any
        applied: Any
        cast: Any
        dtype: Any
        name: Any
        settled: Any

    def new(self, count: Value, dtype: np.dtype, shape: Sequence[Number] = ()) -> Place:
        """A new buffer on the heap, for an array of a shape."""
        place = Place(self.name("new"), dtype)
        self.make(place, self.cast(count, INT), [x.operand for x in shape])
        return place

    def make(self, place: Place, count: Number, shape: Sequence[Operand] = ()) -> None:
        """Allocate a buffer of a name."""
        for each in planes(place) if place.dtype.kind == "c" else [place]:
            self.add(New(each.buffer, count.operand, each.dtype, shape=tuple(shape)))
        self.buffers.append(place.buffer)

    def accumulator(self, start: Value, dtype: np.dtype) -> Any:
        """A variable for a number, which `accumulate` assigns."""
        if dtype.kind == "c":
            parts = self.cast(start, dtype)
            return Complex(self.accumulator(x, part_dtype(dtype)) for x in parts)
        name = self.name("total")
        self.add(Variable(name, self.cast(start, dtype).operand, dtype))
        return Number(name, dtype, lasting=False)

    def accumulate(self, total: Any, value: Value) -> None:
        """Assign a variable."""
        if isinstance(total, Complex):
            parts = self.settled(self.cast(value, self.dtype(total)))
            for each, part in zip(total, parts, strict=True):
                self.accumulate(each, part)
            return
        operand, dtype = self.cast(value, total.dtype).operand, total.dtype
        self.add(Assign(str(total.operand), _COPY, (operand,), dtype, dtype))

    def load(self, place: Place, index: Affine) -> Any:
        """An element."""
        if place.dtype.kind == "c":
            return Complex(self.load(each, index) for each in planes(place))
        at = self._position(place, index)
        name = self.name()
        self.add(Load(name, place.buffer, at, place.dtype))
        return Number(name, place.dtype)

    def store(self, place: Place, index: Affine, value: Value) -> None:
        """Set an element."""
        if place.dtype.kind == "c":
            parts = self.cast(value, place.dtype)
            for each, part in zip(planes(place), parts, strict=True):
                self.store(each, index, part)
            return
        operand = self.cast(value, place.dtype).operand
        self.add(Store(place.buffer, self._position(place, index), operand, place.dtype))

    def add_to(self, place: Place, index: Affine, value: Value, loose: bool = False) -> None:
        """Add to an element of the dtype of the value."""
        if place.dtype.kind == "c":
            parts = self.cast(value, place.dtype)
            for each, part in zip(planes(place), parts, strict=True):
                self.add_to(each, index, part, loose)
            return
        operand = self.cast(value, place.dtype).operand
        at = place.at.plus(index)
        self.add(Store(place.buffer, at, operand, place.dtype, SUM, loose))

    def _position(self, place: Place, index: Affine) -> Affine:
        """A position in a buffer; a flat one is the absolute value of itself."""
        at = place.at.plus(index)
        if not place.flat:
            return at
        name = self.name()
        self.add(Position(name, at))
        return variable(str(self.applied("abs", [Number(name, INT)], INT).operand))

    def address(self, place: Place) -> Number:
        """The address of the first element, as an integer."""
        return self.call("address", (address_of(place),), (INT,))[0]

    def pointing(self, address: Value, dtype: np.dtype) -> Place:
        """A pointer to elements at an address."""
        if isinstance(address, Place):
            source: Address | Operand = address_of(address)
        else:
            source = self.cast(address, INT).operand
        name = self.name("p")
        self.add(PointTo(name, source, dtype))
        return Place(name, dtype)

    def call(
        self, function: Function | str, arguments: Sequence[Address | Operand | Function],
        results: Sequence[np.dtype],
    ) -> list[Number]:  # fmt: skip
        names = tuple(self.name() for _ in results)
        self.add(Call(function, tuple(arguments), names, tuple(results)))
        return [Number(name, dtype) for name, dtype in zip(names, results, strict=True)]


def address_of(place: Place) -> Address:
    if place.dtype.kind == "c":
        raise Unsupported("a pointer to complex numbers")
    return Address(place.buffer, place.at, place.dtype)
