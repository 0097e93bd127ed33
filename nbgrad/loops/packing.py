"""The function of the kernel IR that fills the vector of a derivative (`packed.py`).

It makes room for copies of arrays that are written to, for shadows and for tangents, calls the
function of the derivative, and stores what that gives.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..adjoints.build import INT, Names, copy, literal, operation
from ..adjoints.first_sets import with_first_sets
from ..adjoints.halves import written_in
from ..adjoints.lengths import known_lengths, shapes_of
from ..ir.affine import ZERO, Affine, variable
from ..ir.statements import (
    Address,
    Call,
    For,
    Function,
    If,
    Load,
    Pointer,
    PointTo,
    Raise,
    Store,
    Variable,
)
from ..ir.walk import walk
from .library import with_library
from .origins import Origin, origins_of
from .packed import Derivative
from .status import with_status

__all__ = ["Packing"]


class Packing:
    """Writes the packed function."""

    def __init__(self, of: Derivative, by_address: bool):
        self._of, self._signature, self._by_address = of, of.signature, by_address
        self._dtype, self._inner = of.dtype, of.function
        self._set_first: frozenset[str] = frozenset()
        self._overwritten = of.signature.overwritten
        if of.half == "backward" and of.halves is not None:
            # The record only holds arrays that the forward function writes to.
            stored = written_in(walk(of.halves[0].body))
            leaves = enumerate(of.signature.leaves)
            self._overwritten &= {i for i, leaf in leaves if leaf.name in stored}
        if not of.along:
            primal, lengths = of.signature.primal, of.signature.lengths
            known = known_lengths(primal, shapes_of(primal, lengths))
            given = {of.signature.leaves[i].name for i in of.outs}  # whose shadows hold cotangents
            shadows = {f"{n}.bar": shape for n, shape in known.items() if shape and n not in given}
            self._inner, self._set_first = with_first_sets(of.function, shadows)
        self._names = Names(())
        self._parameters: list[tuple[str, Any]] = []
        self._body: list[Any] = []
        self._after: list[Any] = []
        self._declared: list[Variable] = []
        self._scratch: list[str] = []
        leaves = self._signature.leaves
        self._lengths: dict[int, list[str]] = {}
        self._values = [self._taken(f"x{i}", i, leaf.dtype) for i, leaf in enumerate(leaves)]
        self._ct = self._vector("ct") if of.takes_cotangent else None
        self._directions = [
            {i: self._taken(f"d{k}_{i}", i, leaves[i].dtype) for i in moving}
            for k, moving in enumerate(of.along)
        ]
        self._out = self._vector("out")
        if not by_address:
            self._parameters += [("status", Pointer(INT)), ("status_n0", INT)]
        if by_address:
            for i, leaf in enumerate(leaves):
                self._lengths[i] = [f"x{i}_n{axis}" for axis in range(leaf.ndim or 0)]
                self._parameters += [(name, INT) for name in self._lengths[i]]
        self._load()
        self._sizes = {i: self._product(lengths) for i, lengths in self._lengths.items()}
        self._out_at = self._offsets(of.places, of.given if of.gives_value else 0)
        self._ct_at = self._offsets(of.outs, of.count)
        # By address, the status stands behind the vector.
        self._status = ("status", ZERO, INT)
        if by_address:
            place = self._out_at[-1]
            if not of.gives_value:
                place = self._names.new("at")
                end = self._out_at[-1], literal(of.count, INT)
                self._body.append(operation(place, "add", end, INT))
            self._status = (self._out, self._at(place), self._dtype)
        buffer, at, dtype = self._status
        self._body.append(Store(buffer, at, literal(0, dtype), dtype))
        self._call()
        whole = Function(
            of.name, tuple(self._parameters),
            (*self._declared, *self._body, *self._after,
             *(Call("freed", (x,)) for x in self._scratch)),
            (), frozenset(["exact"]),
        )  # fmt: skip
        whole = with_status(
            whole, self._status, of.signature.errors, self._scratch, len(of.along), not by_address
        )
        self.function = with_library(whole)

    # -- parameters -------------------------------------------------------------------------------

    def _taken(self, name: str, leaf: int, dtype: np.dtype) -> str:
        ndim = self._signature.leaves[leaf].ndim
        self._names.new(name)
        if ndim is None and not self._by_address:
            self._parameters.append((name, dtype))
            return name
        self._parameters.append((name, Pointer(dtype)))
        if ndim is not None and not self._by_address:
            lengths = [self._names.new(f"{name}_n{axis}") for axis in range(ndim)]
            self._parameters += [(each, INT) for each in lengths]
            self._lengths.setdefault(leaf, lengths)
        return name

    def _vector(self, name: str) -> str:
        self._names.new(name)
        self._parameters.append((name, Pointer(self._dtype)))
        if not self._by_address:
            self._parameters.append((self._names.new(f"{name}_n0"), INT))
        return name

    def _load(self) -> None:
        """Read numbers that are passed by address."""
        if not self._by_address:
            return
        leaves = self._signature.leaves
        every = [(self._values, i) for i in range(len(leaves))]
        every += [(numbers, i) for numbers in self._directions for i in numbers]
        for values, i in every:
            if leaves[i].ndim is None:
                number = self._names.new("number")
                self._body.append(Load(number, values[i], ZERO, leaves[i].dtype))
                values[i] = number

    def _product(self, lengths: Sequence[str]) -> Any:
        size: Any = literal(1, INT)
        for length in lengths:
            new = self._names.new("size")
            self._body.append(operation(new, "multiply", (size, length), INT))
            size = new
        return size

    def _offsets(self, places: Sequence[int], start: int) -> dict[int, Any]:
        """The positions of leaves that follow one another in a vector; -1 is the end."""
        found: dict[int, Any] = {}
        at: Any = literal(start, INT)
        for i in places:
            found[i] = at
            size = self._sizes.get(i) if self._signature.leaves[i].ndim is not None else None
            new = self._names.new("at")
            self._body.append(
                operation(new, "add", (at, literal(1, INT) if size is None else size), INT)
            )
            at = new
        found[-1] = at
        return found

    # -- buffers ----------------------------------------------------------------------------------

    def _at(self, offset: Any) -> Affine:
        return variable(offset) if isinstance(offset, str) else Affine(offset.number, ())

    def _room(self, leaf: int, dtype: np.dtype) -> str:
        """A buffer of the heap for as many elements as a leaf has."""
        size, found, missing = (self._names.new(x) for x in ("bytes", "room", "missing"))
        more, place = self._names.new("bytes"), self._names.new("scratch")
        self._declared.append(Variable(place, literal(0, INT), INT))
        self._body += [
            operation(size, "multiply", (self._sizes[leaf], literal(dtype.itemsize, INT)), INT),
            operation(more, "add", (size, literal(64, INT)), INT),
            Call("resized", (literal(0, INT), more), (found,), (INT,)),
            operation(missing, "equal", (found, literal(0, INT)), np.dtype(bool), INT),
            If(missing, (Raise("MemoryError", "no memory for a copy of an argument"),)),
            copy(place, found, INT),
        ]
        buffer = self._names.new("copy")
        self._body.append(PointTo(buffer, found, dtype))
        self._scratch.append(place)
        return buffer

    def _fill(
        self, to: str, at: Any, dtype: np.dtype, leaf: int, source: tuple[str, Any] | None,
        made: list[Any], source_dtype: np.dtype | None = None,
    ) -> None:  # fmt: skip
        """Copy as many elements as a leaf has, or set them to zero."""
        axis = self._names.new("i")
        inner: list[Any] = []
        value: Any = literal(0, dtype)
        if source is not None:
            buffer, start = source
            found, kind = self._names.new("element"), source_dtype or dtype
            inner.append(Load(found, buffer, self._at(start).plus(variable(axis)), kind))
            value = found
            if kind != dtype:
                value = self._names.new("element")
                inner.append(copy(value, found, dtype))
        inner.append(Store(to, self._at(at).plus(variable(axis)), value, dtype))
        size = self._sizes[leaf]
        made.append(For(axis, 0, size if isinstance(size, str) else size.number, tuple(inner)))

    # -- the call ---------------------------------------------------------------------------------

    def _call(self) -> None:
        of, inner = self._of, self._inner
        origins, results = origins_of(of, inner)
        every = tuple(range(len(of.along)))
        given: list[Any] = []
        lengths = self._signature.lengths
        passed = {
            name: ours
            for name, ours in zip(
                lengths, [n for i in sorted(self._lengths) for n in self._lengths[i]], strict=True
            )
        }
        for name, kind in inner.parameters:
            if name in passed:
                given.append(passed[name])
                continue
            origin = origins[name]
            if isinstance(kind, Pointer):
                given.append(self._buffer(origin, kind.dtype, origin.along == every))
            else:
                given.append(self._number(origin, kind))
        kind = "leaf" if of.gives_value else "bar"
        passed_on = {origins.get(name) for name, _ in inner.parameters}
        for i in self._out_at:
            is_array = i >= 0 and self._signature.leaves[i].ndim is not None
            if is_array and Origin(kind, i, every) not in passed_on:  # nothing flows to it
                self._fill(self._out, self._out_at[i], self._dtype, i, None, self._body)
        names = [self._names.new("result") for _ in inner.results]
        self._body.append(Call(inner, tuple(given), tuple(names), inner.results))
        place = 0
        end = literal(0, INT) if of.gives_value else self._out_at[-1]
        for name, origin, dtype in zip(names, results, inner.results, strict=True):
            if origin.along != every:
                continue
            if origin.kind == "bar":
                if origin.index in self._out_at:
                    self._put(name, dtype, self._at(self._out_at[origin.index]))
            elif of.is_narrow:
                self._put_wide(name, dtype)
            elif of.takes(dtype):
                self._put(name, dtype, self._at(end).shifted(place))
                place += 1

    def _put_wide(self, name: str, dtype: np.dtype) -> None:
        """Store the result as a float64, at the next even place of the vector."""
        above, even, here, place = (self._names.new(x) for x in ("above", "even", "here", "wide"))
        self._after += [
            operation(above, "add", (self._out_at[-1], literal(1, INT)), INT),
            operation(even, "and", (above, literal(-2, INT)), INT),
            Call("address", (Address(self._out, variable(even), self._dtype),), (here,), (INT,)),
            PointTo(place, here, dtype),
            Store(place, ZERO, name, dtype),
        ]

    def _put(self, name: str, dtype: np.dtype, at: Affine) -> None:
        value = name
        if dtype != self._dtype:
            value = self._names.new("value")
            self._after.append(copy(value, name, self._dtype))
        self._after.append(Store(self._out, at, value, self._dtype))

    def _number(self, origin: Origin, dtype: np.dtype) -> Any:
        """A number as the inner function takes it."""
        if origin.kind == "seed":
            if origin.along or self._ct is None:
                return literal(0 if origin.along else 1, dtype)
            name = self._names.new("seed")
            self._body.append(Load(name, self._ct, Affine(origin.index, ()), self._dtype))
            if dtype == self._dtype:
                return name
            value = self._names.new("seed")
            self._body.append(copy(value, name, dtype))
            return value
        if not origin.along:
            return self._values[origin.index]
        first, *more = origin.along
        zero = literal(0, dtype)
        return zero if more else self._directions[first].get(origin.index, zero)

    def _buffer(self, origin: Origin, dtype: np.dtype, is_whole: bool) -> Address:
        """A buffer as the inner function takes it, with its elements at the start."""
        i, of = origin.index, self._of
        source: tuple[str, Any] | None = None
        zero = literal(0, INT)
        kind = dtype
        is_result = is_whole and (
            (origin.kind == "bar" and i in (of.wrt or ()))
            or (origin.kind == "leaf" and of.gives_value and i in of.outs)
        )
        if origin.kind == "bar":
            if not origin.along and i in of.outs:
                source, kind = (self._ct, self._ct_at[i]), self._dtype  # pyright: ignore
        elif not origin.along:
            source = self._values[i], zero
        elif len(origin.along) == 1 and i in self._directions[origin.along[0]]:
            source = self._directions[origin.along[0]][i], zero
        if origin.kind == "leaf" and i not in self._overwritten and source is not None:
            return Address(source[0], ZERO, dtype)
        if is_result and dtype == self._dtype:
            at = self._out_at[i]
            if f"{self._signature.leaves[i].name}.bar" not in self._set_first:
                self._fill(self._out, at, dtype, i, source, self._body, kind)
            return Address(self._out, self._at(at), dtype)
        buffer = self._room(i, dtype)
        if of.half == "backward" and origin.kind == "leaf":  # its elements are in the record
            return Address(buffer, ZERO, dtype)
        self._fill(buffer, zero, dtype, i, source, self._body, kind)
        if is_result:
            found = buffer, zero
            self._fill(self._out, self._out_at[i], self._dtype, i, found, self._after, dtype)
        return Address(buffer, ZERO, dtype)
