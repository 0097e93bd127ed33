"""A description of reverse mode of a function: the recorded values, and how its loops run."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import NoRuleError
from ..ir.statements import Function, Store
from ..ir.walk import walk
from .partials import is_dear
from .reverse import Reverse
from .states import State, state_of
from .tree import Segment, bodies, outermost

__all__ = ["Recorded", "outer_loop", "recorded"]


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
    made = Reverse(function, wrt, lengths)
    found: list[Recorded] = []
    for body in bodies(made.tree):
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
                    if isinstance(each, Store) and id(each) in made.plan.written
                ]
    threads = {loop.statement: f"one thread: {why}" for loop, why in made.rounds.reasons.items()}
    threads |= {loop.statement: note for loop, note in made.pieces.notes.items()}
    return found, {loop.statement: state for loop, state in made.states.items()}, threads


def outer_loop(
    function: Function, wrt: Collection[str], lengths: Sequence[str], number: int
) -> tuple[Any, State | None]:
    """The outermost loop that has a number, as `Fact.LOOP`, and its state; None for a loop of which
    no copies of the state can be made."""
    made = Reverse(function, wrt, lengths)
    loop = outermost(made.tree)[number - 1]
    try:
        return loop.statement, state_of(made.tree, loop, sorted(made.variables), made.sizes)
    except NoRuleError:
        return loop.statement, None
