"""Derivatives for many samples: a loop over the samples around the function of one sample."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ..adjoints.build import BOOL, INT, copy, literal, operation
from ..compiler.forks import with_open_properties
from ..ir.affine import ZERO, Affine, variable
from ..ir.spread import MOST_PIECES, Spread
from ..ir.statements import (
    Address,
    Allocate,
    Call,
    For,
    Function,
    If,
    Load,
    Pointer,
    Return,
    Store,
)
from .packed import Derivative
from .signature import Signature
from .status import ALLOWED, WORDS, copied
from .work_of_samples import pieces_of_samples

__all__ = ["Samples", "samples_of"]


@with_open_properties
@dataclass(frozen=True)
class Samples:
    """A derivative for all samples: its arrays have leading axes of samples.

    `levels` has for each axis of samples, the outermost first, the arguments of the op that have
    it; the others are shared by the samples along this axis. The value has all axes of samples.
    """

    of: Derivative
    levels: tuple[tuple[bool, ...], ...]

    def __repr__(self) -> str:
        return f"{self.of!r} for samples {self.levels}"

    @property
    def signature(self) -> Signature:
        return self.of.signature

    @property
    def dtype(self) -> np.dtype:
        return self.of.dtype

    @property
    def name(self) -> str:
        return f"{self.of.name}_samples"

    @cached_property
    def names(self) -> list[str]:
        """The arguments of the op: leaves, cotangent, directions."""
        return self.of.names

    @property
    def dtypes(self) -> list[np.dtype]:
        """The dtypes of these."""
        return self.of.dtypes

    def each(self, arguments: list[Any]) -> Iterator[list[Any]]:
        """The arguments of each sample."""
        counts = self.counts([np.shape(x) for x in arguments])
        for index in np.ndindex(*counts):
            yield [
                np.asarray(x)[tuple([index[k] for k in self.axes(place)])]
                for place, x in enumerate(arguments)
            ]

    def axes(self, place: int) -> list[int]:
        """The levels whose axis of samples the argument at a place has."""
        return [k for k, level in enumerate(self.levels) if level[place]]

    def counts(self, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
        """The numbers of samples at each level, for the shapes of the arguments."""
        found = {}
        for place, shape in enumerate(shapes):
            found |= zip(self.axes(place), shape, strict=False)
        return tuple([found[k] for k in range(len(self.levels))])

    def of_sample(self, shapes: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """The shapes of the arguments of one sample."""
        return [shape[len(self.axes(place)) :] for place, shape in enumerate(shapes)]

    def packed(self, by_address: bool) -> Function:
        """The function that fills an array of vectors, as `Derivative.packed` for one; `by_address`
        the numbers of samples follow the pointers, before the lengths."""
        return _Loops(self, by_address).function


@lru_cache(maxsize=4096)
def samples_of(of: Derivative, levels: tuple[tuple[bool, ...], ...]) -> Samples:
    """The `Samples` with these attributes: equal ones are one object."""
    return Samples(of, levels)


# The statuses of samples: each piece has a cache line. The status of the whole call is `_WHOLE`.
_STATUSES, _PIECE, _APART = "@statuses", "@piece", 8
_WHOLE = "status", ZERO, INT
_OWN = _STATUSES, Affine(0, ((_PIECE, _APART),)), INT


class _Loops:
    """Writes the loops over samples. Names with an @ are none of the function of one sample."""

    def __init__(self, samples: Samples, by_address: bool):
        self._samples, self._of = samples, samples.of
        self._inner = samples.of.packed(False)
        self._by_address = by_address
        self._body: list[Any] = []
        self._news = 0
        depth = range(len(samples.levels))
        self._axes = [f"@sample{k}" for k in depth]
        self._counts: list[Any] = [f"@count{k}" for k in depth]
        self._parameters = self._taken()
        inside = self._inside()
        total = self._counts[0]
        for count in self._counts[1:]:
            total = self._made("multiply", total, count, self._body)
        sample, split = self._split()
        self._body += self._in_pieces(For(sample, 0, total, (*split, *inside)))
        self.function = Function(
            samples.name, tuple(self._parameters), tuple(self._body), (), frozenset(["exact"])
        )  # fmt: skip

    def _taken(self) -> list[tuple[str, Any]]:
        """The parameters."""
        leaves = self._of.signature.leaves
        lengths = {name for name, kind in self._inner.parameters if kind == INT} - {
            f"x{i}" for i in range(len(leaves))
        }
        taken: list[tuple[str, Any]] = []
        places = {name: place for place, name in enumerate(self._samples.names)}
        for name, kind in self._inner.parameters:
            if name in places:
                axes = self._samples.axes(places[name])
                is_number = not axes and not self._by_address
                if not isinstance(kind, Pointer) and not is_number:
                    kind = Pointer(kind)
                taken.append((name, kind))
                if not self._by_address:
                    for k in axes:
                        taken.append((f"{name}@{k}", INT))
                        self._counts[k] = f"{name}@{k}"
            elif name == "out":
                taken.append((name, kind))
                if not self._by_address:
                    taken += [(f"out@{k}", INT) for k in range(len(self._axes))]
            elif (name in lengths or name.startswith("status")) and not self._by_address:
                taken.append((name, kind))
        if self._by_address:
            taken += [(name, INT) for name in self._counts]
            taken += [
                (f"x{i}_n{axis}", INT)
                for i, leaf in enumerate(leaves)
                for axis in range(leaf.ndim or 0)
            ]
        return taken

    def _inside(self) -> list[Any]:
        """The statements for one sample."""
        of, samples = self._of, self._samples
        leaves = of.signature.leaves
        sizes: list[Any] = []
        for i, leaf in enumerate(leaves):
            size: Any = literal(1, INT)
            for axis in range(leaf.ndim or 0):
                size = self._made("multiply", size, f"x{i}_n{axis}", self._body)
            sizes.append(size)
        widths = dict(zip((f"x{i}" for i in range(len(leaves))), sizes, strict=True))
        widths |= {f"d{k}_{i}": sizes[i] for k, moving in enumerate(of.along) for i in moving}
        widths["ct"] = self._total([literal(of.count, INT), *(sizes[i] for i in of.outs)])
        widths["out"] = self._width = self._total(
            [literal(of.given, INT), *(sizes[i] for i in of.places)]
        )
        made: list[Any] = []
        given: dict[str, Any] = {}
        every = [*((name, samples.axes(place)) for place, name in enumerate(samples.names)),
                 ("out", list(range(len(self._axes))))]  # fmt: skip
        kinds = dict(self._inner.parameters)
        for name, axes in every:
            at: Any = literal(0, INT)
            for k in axes:
                at = self._made("multiply", at, self._counts[k], made)
                at = self._made("add", at, self._axes[k], made)
            if axes:
                at = self._made("multiply", at, widths[name], made)
            kind = kinds[name]
            place = variable(at) if isinstance(at, str) else ZERO
            if isinstance(kind, Pointer):
                given[name] = Address(name, place, kind.dtype)
            elif axes or self._by_address:
                given[name] = self._new()
                made.append(Load(given[name], name, place, kind))
            else:
                given[name] = name
        given |= {"out_n0": widths["out"], "ct_n0": widths["ct"], "status_n0": literal(WORDS, INT)}
        given["status"] = Address(*_OWN)
        for k, moving in enumerate(of.along):
            for i in moving:
                given |= {f"d{k}_{i}_n{n}": f"x{i}_n{n}" for n in range(leaves[i].ndim or 0)}
        made.append(
            Call(self._inner, tuple([given.get(name, name) for name, _ in self._inner.parameters]))
        )
        number, failed = self._new(), self._new()
        return [
            *made,
            Load(number, *_OWN),
            operation(failed, "not_equal", (number, literal(0, INT)), BOOL, INT),
            If(failed, (Return(),)),  # the end of a piece
        ]

    def _in_pieces(self, loop: For) -> list[Any]:
        """The loop over samples in pieces. Each has a status: that of the first one whose number is
        not 0 is the status of all."""
        made: list[Any] = []
        count = self._pieces(loop.stop, made)
        each, number, failed = self._new(), self._new(), self._new()
        there = _STATUSES, Affine(0, ((each, _APART),)), INT
        look = [
            Load(number, *there),
            operation(failed, "not_equal", (number, literal(0, INT)), BOOL, INT),
            If(failed, (self._copied(there, _WHOLE), *self._reported(number), Return())),
        ]
        return [
            *made,
            *self._allowed(),
            Allocate(_STATUSES, _APART * MOST_PIECES, INT),
            Spread(loop, count, _PIECE, before=(self._copied(_WHOLE, _OWN),)),
            For(each, 0, count, tuple(look)),
            *self._reported(literal(0, INT)),
        ]

    def _copied(self, source: Any, target: Any) -> For:
        return copied(source, target, WORDS, lambda _: self._new())

    def _allowed(self) -> list[Any]:
        """A status of all samples, with the memory that is allowed; Python passes one."""
        if not self._by_address:
            return []
        every = self._new()
        return [
            Allocate("status", WORDS, INT),
            *(Store("status", Affine(i, ()), literal(0, INT), INT) for i in range(WORDS)),
            Call("allowed", (), (every,), (INT,)),
            Store("status", Affine(ALLOWED, ()), every, INT),
        ]

    def _split(self) -> tuple[str, list[Any]]:
        """The number of a sample among all, and the statements that compute its axes of it."""
        number, made = self._axes[0], []
        for axis, count in list(zip(self._axes, self._counts, strict=True))[:0:-1]:
            whole = self._new()
            made = [
                operation(axis, "modulo", (whole, count), INT),
                operation(number, "floor_quotient", (whole, count), INT),
                *made,
            ]
            number = whole
        return number, made

    def _pieces(self, total: Any, made: list[Any]) -> Any:
        """The number of pieces."""
        leaves, given = self._of.signature.leaves, {}
        for i, leaf in enumerate(leaves):
            for axis in range(leaf.ndim or 0):
                given[f"{leaf.name}_n{axis}"] = f"x{i}_n{axis}"
            if leaf.ndim is None and leaf.dtype == INT and not self._samples.axes(i):
                given[leaf.name] = f"x{i}"
                if self._by_address:
                    given[leaf.name] = self._new()
                    made.append(Load(given[leaf.name], f"x{i}", ZERO, INT))
        return pieces_of_samples(self._of, total, given, self._new, made)

    def _reported(self, number: Any) -> list[Any]:
        """Store the status of all samples; by address, it stands behind the vectors."""
        if not self._by_address:
            return [Store(*_WHOLE[:2], number, INT)]
        made: list[Any] = []
        at, status = self._width, self._new()
        for count in self._counts:
            at = self._made("multiply", at, count, made)
        place = variable(at) if isinstance(at, str) else Affine(at.number, ())
        dtype = self._of.dtype
        return [*made, copy(status, number, dtype), Store("out", place, status, dtype)]

    def _total(self, sizes: Sequence[Any]) -> Any:
        total = sizes[0]
        for size in sizes[1:]:
            total = self._made("add", total, size, self._body)
        return total

    def _made(self, name: str, x: Any, y: Any, made: list[Any]) -> Any:
        """The sum or product of two integers."""
        number = getattr(x, "number", None)
        if number == (0 if name == "add" else 1):
            return y
        if number == 0:
            return x
        new = self._new()
        made.append(operation(new, name, (x, y), INT))
        return new

    def _new(self) -> str:
        self._news += 1
        return f"@{self._news}"
