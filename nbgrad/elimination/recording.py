"""Recording of a function at a point as a tape of operations."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from ..core.array import Array
from ..core.memory import Argument
from ..core.primitive import Aval, Primitive, bind, new_level, shape_of
from ..core.symbols import static_key
from ..errors import ArgumentTypeError, GraphError, NoFloatError, ResultError
from ..rules.arithmetic import copy
from ..rules.families import Elementwise
from ..rules.index import index_row
from ..runtime.kinds import is_a
from ..values.operands import aval_of, float_array, in_kind, operand
from ..values.tracked import TrackedArray, below
from . import structure
from .graph import Graph, Partial
from .structure import Edge


class TapeEntry(NamedTuple):
    """A vertex: a primitive, its plain arguments and its result.

    `parents` holds the vertex of each argument, or None. The input is a vertex without a primitive.
    """

    primitive: Primitive | None
    params: dict[str, Any]
    args: Sequence[Any]
    parents: Sequence[int | None]
    out: Any

    @property
    def size(self) -> int:
        return aval_of(self.out).size

    @property
    def label(self) -> str:
        """The name of the primitive, or the index of an indexing operation."""
        if self.primitive is None:
            return "x"
        index = self.params["index"] if self.primitive is index_row else None
        places = index if isinstance(index, tuple) else (index,)
        if all(type(place) is int for place in places):
            return f"[{', '.join(map(str, places))}]"
        return self.primitive.name

    def edges(self) -> dict[int, Edge]:
        """Return the structure of the local Jacobian with respect to each parent."""
        if self.primitive is None:
            return {}
        shapes = [shape_of(arg) for arg in self.args]
        out = shape_of(self.out)
        return {
            parent: structure.local(
                self.primitive, shapes, self.positions(parent), out, self.params
            )
            for parent in self.parents
            if parent is not None
        }

    def positions(self, parent: int) -> list[int]:
        """Return the positions of a vertex among the arguments."""
        return [i for i, other in enumerate(self.parents) if other == parent]


class Tape:
    """The operations of one level, in the order of their computation, without duplicates."""

    def __init__(self, level: int, x: Any):
        self.level = level
        self.entries = [TapeEntry(None, {}, (), (), x)]
        self._known: dict[tuple, int] = {}

    def apply(self, primitive: Primitive, args: Sequence, params: dict) -> Any:
        """Apply a primitive to recorded and other values, and record the result."""
        parents = [
            arg.vertex if self.owns(arg) and _has_partial(primitive, i) else None
            for i, arg in enumerate(args)
        ]
        # Plain arrays are copied, because the function may modify them later.
        values = [arg.below if self.owns(arg) else _copied(operand(arg, primitive)) for arg in args]
        key = (
            primitive,  # not its name, which user-defined primitives may share
            tuple(map(_key, parents, values)),
            tuple((name, static_key(params[name])) for name in sorted(params)),
        )
        if key not in self._known:
            out = bind(primitive, *values, **params)
            if not primitive.differentiable or all(parent is None for parent in parents):
                return out
            self._known[key] = len(self.entries)
            self.entries.append(TapeEntry(primitive, params, values, parents, out))
        return Recorded(self, self._known[key])

    def constant(self, value: Any) -> "Recorded":
        """Record a value without parents."""
        self.entries.append(TapeEntry(copy, {}, [value], [None], value))
        return Recorded(self, len(self.entries) - 1)

    def owns(self, x: Any) -> "TypeGuard[Recorded]":
        """Return whether x is a value of this tape."""
        return isinstance(x, Recorded) and x.level == self.level


def _has_partial(primitive: Primitive, position: int) -> bool:
    """Return whether an argument is differentiated; refused arguments raise an error later."""
    return (
        not isinstance(primitive, Elementwise)
        or primitive.partials[position] is not None
        or position in primitive.refusals
    )


def _copied(x: Any) -> Any:
    return np.array(x) if is_a(x, np.ndarray) else x


def _key(vertex: int | None, value: Any) -> Any:
    if vertex is not None:
        return ("vertex", vertex)
    if isinstance(value, Array):
        return ("array", id(getattr(value, "node", value)))
    return repr(value) if is_a(value, float) else static_key(value)


class Recorded(Array):
    """An array whose operations are recorded: a vertex of a tape."""

    __slots__ = ("aval", "level", "tape", "vertex")
    value_slots = ("vertex",)
    aval: Aval
    level: int

    def __init__(self, tape: Tape, vertex: int):
        self.tape, self.level, self.vertex = tape, tape.level, vertex
        self.aval = aval_of(self.below)
        self.origin = self.views = None

    def _snapshot(self) -> "Recorded":
        """Return this value, which later writes to the array do not change."""
        return Recorded(self.tape, self.vertex)

    @classmethod
    def process(cls, level: int, primitive: Primitive, args: Sequence, params: dict):
        tape = next(arg.tape for arg in args if isinstance(arg, Recorded) and arg.level == level)
        return tape.apply(primitive, args, params)

    @property
    def below(self) -> Any:
        return self.tape.entries[self.vertex].out

    def constant(self, value: Any) -> "Recorded":
        return self.tape.constant(in_kind(self.below, value))

    @property
    def data(self) -> Any:
        """The values, without derivatives."""
        return self.below.data if isinstance(self.below, TrackedArray) else self.below

    def item(self, *index: int) -> float:
        """Return an element as a Python float, without derivatives."""
        return np.asarray(self.data).item(*index)

    def __bool__(self) -> bool:
        return bool(self.below)

    def __repr__(self):
        return f"{self.below} (recorded)"


class Recording(NamedTuple):
    """The operations that the result of a function depends on, from the input to the result.

    `entries` is empty if the result does not depend on the input.
    """

    x: Any
    out: Any
    entries: Sequence[TapeEntry]

    @property
    def edges(self) -> dict[tuple[int, int], Edge]:
        """All local Jacobians, by pairs of vertices."""
        return {(i, j): e for j, entry in enumerate(self.entries) for i, e in entry.edges().items()}

    def graph(self) -> Graph:
        """Return the linearised computational graph, whose vertices are the entries.

        If the function uses only parts of its input, by operations whose Jacobians hold 0, 1 and -1
        (indexing, reshape), with at most as many elements in total, the parts become the inputs of
        the graph, because eliminating them takes no multiplications. In the same way, the parts of
        the result become its outputs.
        """
        sizes = [entry.size for entry in self.entries]
        labels = [entry.label for entry in self.entries]
        if not sizes:
            return Graph((), ())
        whole = Partial(sizes, self.edges)
        _take_apart(0, whole.out_of, whole.into, sizes)
        _take_apart(len(sizes) - 1, whole.into, whole.out_of, sizes)
        edges = {(i, j): edge for j, into in whole.into.items() for i, edge in into.items()}
        return Graph(sizes, edges, labels)


Edges = dict[int, dict[int, Edge]]


def _take_apart(end: int, ahead: Edges, behind: Edges, sizes: Sequence[int]) -> None:
    """Replace an end of the graph by its parts, repeatedly, if that takes no multiplications.

    `ahead` are the edges of vertices that lead away from the end, `behind` those towards it.
    """
    stack = [end]
    while stack:
        vertex = stack.pop()
        parts = ahead.get(vertex, {})
        free = all(edge.unit and len(behind[part]) == 1 for part, edge in parts.items())
        if free and sum(sizes[part] for part in parts) <= sizes[vertex]:
            stack.extend(parts)
            for part in parts:
                del behind[part][vertex]
            ahead[vertex] = {}


def record(f: Callable, x: Any) -> Recording:
    """Run `f` at x and record it.

    Raises TypeError if x is not an array of floats, or if `f` does not return one array.
    """
    if not callable(f):
        raise ArgumentTypeError(
            f"elimination: not a function but a value of type {type(f).__name__}: pass the "
            "function itself, f instead of f(x)",
            code="NB-FUNCTION",
        )
    x = _input(x)
    with new_level() as level:
        tape = Tape(level, x)
        argument = Recorded(tape, 0)
        if argument.shape:
            argument.origin = Argument("jacobian", GraphError)
        out = below(f(argument), level)
        if not isinstance(out, (Array, np.ndarray, np.generic, float, int)):
            raise ResultError(
                f"elimination: the function returned a {type(out).__name__}, not an array: return "
                "one array (np.stack and np.concatenate join several)"
            )
        if not tape.owns(out):
            return Recording(x, out, ())
        if out.vertex == 0:
            out = bind(copy, out)
    return Recording(x, out.below, _needed(tape.entries, out.vertex))


def _input(x: Any) -> Any:
    array = float_array(x, op="elimination")
    dtype = x.dtype if isinstance(x, Array) else np.asarray(x).dtype
    if dtype.kind != "f":
        raise NoFloatError(
            f"elimination: x has dtype {dtype}, but only floats can be differentiated: write 2.0 "
            "for 2, or convert the array to float64"
        )
    return array


def _needed(entries: Sequence[TapeEntry], last: int) -> list[TapeEntry]:
    """Return the entries between the input and the last one, renumbered."""
    needed = {0}
    stack = [last]
    while stack:
        vertex = stack.pop()
        if vertex not in needed:
            needed.add(vertex)
            stack.extend(parent for parent in entries[vertex].parents if parent is not None)
    number = {vertex: i for i, vertex in enumerate(sorted(needed))}
    return [
        entry._replace(parents=[None if p is None else number[p] for p in entry.parents])
        for vertex, entry in enumerate(entries)
        if vertex in needed
    ]
