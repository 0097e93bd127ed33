"""Writes of a loop step to parts of a state, and their undoing in the reverse pass.

The state before a step is restored from the state after it and the overwritten elements, so a loop
stores a row per step instead of a state per step.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...core.primitive import bind
from ...core.symbols import Symbol, symbol_of
from ...rules.assign import assign, assign_at
from ...rules.index import gather, index_row


class Write(NamedTuple):
    """A write or an addition to `below` at an index, whose arrays of positions are `positions`."""

    below: Symbol
    index: Any
    positions: tuple[Any, ...]

    def overwritten(self) -> Symbol:
        """The elements that the write replaces."""
        if self.positions:
            return symbol_of(bind(gather, self.below, *self.positions, index=self.index))
        return symbol_of(bind(index_row, self.below, index=self.index))

    def needs(self) -> list[Symbol]:
        """Return the symbols that are needed to undo the write."""
        return [self.overwritten(), *(p for p in self.positions if isinstance(p, Symbol))]


def writes_of(out: Symbol, state: Symbol) -> list[Write] | None:
    """Return the writes that turn a state into the next one, in order; None if other ops do."""
    writes: list[Write] = []
    while out is not state:
        name = _name_of(out)
        if name in ("assign", "assign_at"):
            below = out.args[0]
            places = tuple(out.args[2:])
            made = [Write(below, out.params["index"], places)]
        elif name == "add":
            terms = _terms(out)
            added = [t for t in terms if _is_scatter(t)]
            main = [t for t in terms if not _is_scatter(t)]
            if len(main) != 1 or not added:
                return None
            below = main[0]
            made = [Write(below, t.params["index"], tuple(t.args[1:])) for t in added]
        else:
            return None
        if not isinstance(below, Symbol):
            return None
        if below.shape != state.shape or below.dtype != state.dtype:
            return None
        writes += made
        out = below
    return writes[::-1]


def _terms(out: Symbol) -> list[Any]:
    terms, stack = [], [out]
    while stack:
        term = stack.pop()
        if isinstance(term, Symbol) and _name_of(term) == "add" and term.shape == out.shape:
            stack += term.args
        else:
            terms.append(term)
    return terms


def _name_of(symbol: Symbol) -> str:
    return symbol.primitive.name if symbol.primitive is not None else ""


def _is_scatter(term: Any) -> bool:
    return isinstance(term, Symbol) and _name_of(term) in ("scatter", "scatter_at")


def undo(state: Any, writes: Sequence[Write], known: dict[Symbol, Any]) -> Any:
    """Return the state before a step from the one after it; `known` has what `Write.needs`."""
    for write in reversed(writes):
        old = known[write.overwritten()]
        if write.positions:
            places = [known[p] if isinstance(p, Symbol) else p for p in write.positions]
            state = bind(assign_at, state, old, *places, index=write.index)
        else:
            state = bind(assign, state, old, index=write.index)
    return state
