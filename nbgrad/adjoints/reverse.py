"""Reverse mode: from a function to one that gives its value and the cotangents of its arguments."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import NoRuleError
from ..ir.statements import (
    Assign,
    Call,
    Function,
    Literal,
    Load,
    New,
    Pointer,
    Position,
    Return,
    Store,
)
from ..ir.walk import inner, walk
from .activity import active_names, under_choices, under_roots
from .adjoint import Adjoint
from .build import BOOL, INT, Names, defined_names, names_of, unused
from .carried import Carried
from .checkpoints import Checkpoints
from .ends import with_ends
from .fusion import fused
from .gather import Gather
from .hoist import hoisted
from .increments import with_increments
from .inline import inlined
from .joint_reversal import Fused, fusible
from .lengths import known_lengths, shapes_of, with_made
from .once import first_stores, made_once
from .positions import Positions
from .preaccumulate import preaccumulated
from .products import adjoints_of_product
from .record import Record
from .rounds import Rounds
from .row_lengths import RowLengths, row_lengths
from .segments import segmented
from .selects import selected
from .shadows import with_shadows
from .simplify import Simplified
from .skips import computing
from .states import State, state_of, states
from .sweep_pieces import Pieces
from .to_record import Plan, is_dear
from .tree import Body, Segment, bodies, outermost, tree
from .unroll import unrolled
from .whole import without_pieces

__all__ = ["Recorded", "outer_loop", "recorded", "value_and_cotangents"]


def value_and_cotangents(
    function: Function, wrt: Collection[str], lengths: Sequence[str],
    private: Collection[str] = (),
) -> Function:  # fmt: skip
    """A function of the parameters, of a shadow buffer for each buffer of `wrt`, and of a cotangent
    for each result that is a float. It adds to the shadows what flows back, where they hold before
    the cotangents of what the buffers hold at the end; it returns the results, and the cotangents
    of the numbers among `wrt`. The shadows of buffers that are `private` are 0 before, and hold
    anything after."""
    return _Reverse(function, wrt, lengths, private).function


@dataclass(frozen=True)
class Recorded:
    """A word that the forward sweep records: the value of a name, or with `buffer` the element of a
    buffer that a store of this value overwrites. `loops` are the loops around, outermost first. A
    value that `is_dear` takes longer to compute again."""

    name: Any
    buffer: Any
    loops: tuple[Any, ...]
    is_dear: bool = False


def recorded(
    function: Function, wrt: Collection[str], lengths: Sequence[str]
) -> tuple[list[Recorded], dict[Any, State], dict[Any, str]]:
    """The words that reverse mode of a function records, the loops with checkpoints with the
    state that is copied before their segments, and on how many threads loops run, and why."""
    made = _Reverse(function, wrt, lengths)
    found: list[Recorded] = []
    for body in bodies(made._tree):
        loops = tuple(loop.statement for loop in reversed(body.loops()))
        found += [
            Recorded(name, None, loops, name in segment.kept or is_dear(statement))
            for name in body.recorded
            for segment, statement in [body.defined[name]]
        ]
        for item in body.items:
            if isinstance(item, Segment):
                found += [
                    Recorded(each.value, each.buffer, loops)
                    for each in walk(item.statements)
                    if isinstance(each, Store) and id(each) in made._plan.written
                ]
    threads = {loop.statement: f"one thread: {why}" for loop, why in made.rounds.reasons.items()}
    threads |= {loop.statement: note for loop, note in made._pieces.notes.items()}
    return found, {loop.statement: state for loop, state in made._states.items()}, threads


def outer_loop(
    function: Function, wrt: Collection[str], lengths: Sequence[str], number: int
) -> tuple[Any, State | None]:
    """The outermost loop that has a number, as `Fact.LOOP`, and its state; None for a loop of which
    no copies of the state can be made."""
    made = _Reverse(function, wrt, lengths)
    loop = outermost(made._tree)[number - 1]
    try:
        return loop.statement, state_of(made._tree, loop, sorted(made._variables), made._sizes)
    except NoRuleError:
        return loop.statement, None


_WORTH = 8  # operations that save a word of the record


class _Reverse:
    def __init__(
        self, function: Function, wrt: Collection[str], lengths: Sequence[str],
        private: Collection[str] = (),
    ):  # fmt: skip
        if any(isinstance(x, Call) and x.function == "resized" for x in walk(function.body)):
            raise NoRuleError(
                "reverse mode of a function that reverse mode made: take forward mode of it, which "
                "is the same, as the derivative of a gradient is symmetric"
            )
        function = without_pieces(function)
        parameters = [name for name, _ in function.parameters]
        self._private = private
        names = self._names = Names([*parameters, *defined_names(function.body)])
        # Suffixes of cotangents, and of values of the forward pass that are computed again.
        self._bar, self._mark = unused(".bar", function), unused("~", function)
        flat = inlined(function, names)
        numbers = {n: k for n, k in function.parameters if not isinstance(k, Pointer)}
        counts, body = with_ends(flat.body, names)
        flat.declared += counts
        body = unrolled(body, {each.target for each in flat.declared}, names)
        flat.body = segmented(body, names)
        plain = Simplified(flat.declared, flat.body, flat.results, numbers, lengths, names)
        given, constants = shapes_of(function, lengths), _unchanging(plain, numbers)
        shapes = with_made(given, plain.body, constants)
        body = fused(plain.body, shapes, constants, {each.target for each in plain.declared})
        if len(walk(body)) < len(walk(plain.body)):
            plain = Simplified(plain.declared, body, plain.results, numbers, lengths, names)
            constants = _unchanging(plain, numbers)
            shapes = with_made(given, plain.body, constants)
        self._shapes = shapes
        self._dtypes = plain.dtypes
        self._buffers = {n: k.dtype for n, k in function.parameters if isinstance(k, Pointer)}
        self._buffers |= {x.target: x.dtype for x in walk(plain.body) if isinstance(x, New)}
        self._variables = {each.target for each in plain.declared}
        self._plain = plain
        body = selected(plain.body, self._variables, self._dtype, self._new)
        body = with_increments(body, plain.results, self._new)
        plain.body = hoisted(body, shapes, constants, self._variables, self._flag)
        active = self._active(wrt)
        plain.body = with_shadows(plain.body, active, self._shadow)
        self._primal = {n for each in walk(plain.body) for n in _defines(each)}
        self._tree = tree(plain.body, self._variables)
        self._visible = set(self._tree.defined)
        results = [x for x in plain.results if isinstance(x, str)]
        passed = [name for name, kind in function.parameters if isinstance(kind, Pointer)]
        self._shadows = [name for name in passed if name in active]
        self._record = Record(names, self._dtypes)
        positions = Positions(walk(plain.body), shapes, constants)
        once = made_once(self._tree)
        self._adjoint = Adjoint(
            names, self._dtypes, active, self._variables,
            self._shared(active, {*results, *numbers}), self._shadow,
            under_roots(plain.body, self._dtype), under_choices(plain.body, self._dtype),
            once, first_stores(self._tree, once, positions),
        )  # fmt: skip
        for body in bodies(self._tree):
            for item in body.items:
                if isinstance(item, Segment):
                    item.adjoint = self._adjoint.of(item.statements)
                    if body.loop is not None:
                        self._preaccumulate(item, body)
                elif arguments := getattr(getattr(item, "statement", None), "product", ()):
                    item.adjoint = adjoints_of_product(arguments, self._shadow_of(active))
        variables = sorted(self._variables)
        sizes = self._sizes = known_lengths(function, given)
        self._states = states(self._tree, variables, sizes)
        self.rounds = Rounds(
            self._tree, positions, variables, results, active, sizes,
            lambda name: self._dtype(name).kind == "f",
        )  # fmt: skip
        inside = self._adjoint.inside
        self._rows = row_lengths(walk(plain.body), positions, given)
        self._plan = Plan(self._tree, self._variables, inside, positions, self._states)
        self._pieces = Pieces(
            self.rounds.loops, positions, self._new, self._shadow, self._record,
            self._adjoint.declared, self._dtypes, self._variables, self._plan.is_passed,
        )  # fmt: skip
        self.fused = fusible(self._tree, self._plan, self.rounds, self._shadow)
        self.function = self._whole(function, wrt)

    def _preaccumulate(self, segment: Segment, body: Body) -> None:
        """Multiply partial derivatives beforehand; record the products if they are no more words
        than the results of functions from which they follow, or worth the words: a recurrence waits
        for itself in the forward sweep, too, which computes them meanwhile."""
        found = preaccumulated(segment.adjoint, self._adjoint.declared, self._new)
        if found is None:
            return
        segment.slopes, segment.adjoint, slopes = found
        read = {name for each in (*found.slopes, *found.adjoint) for name in names_of(each)}
        dear = [x for x in computing(read, segment.statements) if is_dear(x)]
        price = sum(x.body.price for x in found.slopes)
        if len(slopes) <= len(dear) or price >= _WORTH * len(slopes):
            segment.kept = set(slopes)
        for each in found.slopes:
            body.defined[each.target] = segment, each
            self._primal.add(each.target)

    def _active(self, wrt: Collection[str]) -> set[Any]:
        """The names through which derivatives flow."""
        plain = self._plain
        results = [x for x in plain.results if isinstance(x, str)]
        outs = [n for n in self._buffers if n in wrt]
        return active_names(plain.body, wrt, [*results, *outs], self._dtype) | set(wrt)

    def _shadow(self, name: Any) -> Any:
        """The name of the cotangent of a number or a buffer."""
        return name + self._bar

    def _shadow_of(self, active: Collection[Any]) -> Callable[[Any], Any]:
        return lambda buffer: self._shadow(buffer) if buffer in active else None

    def _dtype(self, x: Any) -> np.dtype:
        if isinstance(x, Literal):
            return x.dtype
        return self._dtypes[x] if x in self._dtypes else self._buffers.get(x, INT)

    def _new(self, hint: str, dtype: np.dtype = INT) -> str:
        name = self._names.new(hint)
        self._dtypes[name] = dtype
        return name

    def _flag(self, hint: str) -> str:
        return self._new(hint, BOOL)

    def _shared(self, active: Collection[str], start: set[str]) -> set[str]:
        """The values that are used in another sequence of statements than the one that defines
        them."""
        home: dict[str, int] = {}
        found = set(start)

        def visit(statements: Sequence[Any], place: int) -> None:
            for each in statements:
                for name in names_of(each):
                    if home.get(name, place) != place:
                        found.add(name)
                for name in _defines(each):
                    home[name] = place
                for part in inner(each):
                    visit(part, id(part))

        for body in bodies(self._tree):
            for item in body.items:
                if isinstance(item, Segment):
                    visit(item.statements, id(item))
        return found & set(active) | (start & set(active))

    def _again(self, name: str) -> str:
        """The name in the reverse pass of a value of the forward pass."""
        if name not in self._primal or name in self._visible or name in self._variables:
            return name
        own = name + self._mark
        self._names.take([own])
        self._dtypes[own] = self._dtypes[name]
        return own

    # -- the whole --------------------------------------------------------------------------------

    def _whole(self, function: Function, wrt: Collection[str]) -> Function:
        adjoint, plain = self._adjoint, self._plain
        checkpoints = Checkpoints(
            self._states, self._dtypes, self._buffers, self._new, self._again, self._record
        )
        seeds: list[tuple[str, np.dtype]] = []
        for x, dtype in zip(plain.results, function.results, strict=True):
            if dtype.kind == "f":
                seeds.append((self._new("cotangent", dtype), dtype))
                adjoint.add(x, seeds[-1][0])
        start = adjoint.flushed()
        made = [each.target for each in walk(plain.body) if isinstance(each, New)]
        every = self._shapes.lengths
        shadows = {self._shadow(name): shape for name, shape in every.items()}
        gather = Gather(
            [x for x in plain.body if isinstance(x, (Assign, Position))],
            self._shapes._replace(lengths={**every, **shadows}),
            [self._shadow(x) for x in (*self._private, *made)],
            self._new,
            self._dtypes,
            [
                n
                for n, k in function.parameters
                if not isinstance(k, Pointer) and n not in self._variables
            ],
            lambda name: name in self._variables or name in adjoint.declared,
            adjoint.declared.__contains__,
        )
        sweeps = Fused(
            self._tree, self._plan, self._dtypes, self._new, self._again, self._record,
            adjoint.declared, checkpoints, self._pieces, self.fused,
        )  # fmt: skip
        both = sweeps.both(start, gather)
        numbers = [n for n, k in function.parameters if n in wrt and not isinstance(k, Pointer)]
        bars = [adjoint.bar(name) for name in numbers]
        shadows = [(n + self._bar, Pointer(self._buffers[n])) for n in self._shadows]
        declared = [*plain.declared, *sweeps.declared, *checkpoints.declared,
                    *self._record.declared(), *adjoint.declared.values()]  # fmt: skip
        variables = {each.target for each in declared}
        carried = Carried(sweeps.axes, self._new, variables)
        both = carried.of(both)
        declared += carried.declared
        variables.update(each.target for each in carried.declared)
        both = RowLengths(self._rows, self._dtypes, self._new, variables).of(both)
        body = self._record.freed_at_errors([*declared, *both])
        body += [*self._record.ended(), Return((*plain.results, *bars))]
        return Function(
            f"{function.name}.vjp", (*function.parameters, *shadows, *seeds), tuple(body),
            (*function.results, *(self._dtypes[n] for n in numbers)), frozenset(["noalias"]),
        )  # fmt: skip


def _defines(each: Any) -> list[str]:
    names = [getattr(each, "target", None), getattr(each, "axis", None)]
    return [*(x for x in names if isinstance(x, str)), *getattr(each, "results", ())]


def _unchanging(plain: Simplified, numbers: Collection[str]) -> set[str]:
    """The numbers that no statement changes."""
    found = set(numbers) | {
        each.target for each in plain.body if isinstance(each, (Assign, Load, Position))
    }
    return found - {each.target for each in plain.declared}
