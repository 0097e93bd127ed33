"""Residuals of a loop whose step writes to parts of its states.

The reverse steps read the state before each step. If a step writes to a few elements of a state,
storing the states of all steps is expensive. The loop then stores, as ys for its pullback alone,
either the values that the reverse steps read, or the elements that it overwrites, from which a
reverse step restores the state before the step. This is done if it takes less memory.
"""

from collections.abc import Container, Iterable, Sequence
from typing import Any, NamedTuple

from ...core.symbols import Symbol, topological
from .body import Body
from .program import Program, replay_from
from .undo import Write, writes_of


class Undone(NamedTuple):
    """A state that reverse steps restore: its number, its symbol there, and its writes."""

    number: int
    state: Symbol
    writes: list[Write]

    def needs(self) -> list[Symbol]:
        """Return the symbols that must be stored to undo the writes."""
        return list(dict.fromkeys(x for write in self.writes for x in write.needs()))


class Residuals(NamedTuple):
    """The values that a loop stores in place of its states.

    These are the `values` that the reverse steps read, and those that the `undone` states need; in
    this order, they are the ys with the numbers `ys` of the body. `checked` are the checks that run
    in the reverse steps.
    """

    values: list[Symbol]
    undone: list[Undone]
    ys: list[int]
    checked: list[Symbol]

    def needs(self) -> list[Symbol]:
        return [x for state in self.undone for x in state.needs()]


def written_states(body: Body) -> list[int]:
    """Return the states to parts of which a step writes."""
    first = 1 + body.constants
    states = body.program.inputs[first : first + body.states]
    outputs = body.program.outputs[: body.states]
    return [
        k for k, (out, state) in enumerate(zip(outputs, states, strict=True))
        if state.shape and state.dtype.kind == "f" and _is_written(out, state)
    ]  # fmt: skip


def _is_written(out: Symbol, state: Symbol) -> bool:
    """Return whether a new state is the old one after writes or additions at an index."""
    writes, seen, stack = False, {out}, [out]
    found = False
    while stack:
        symbol = stack.pop()
        found |= symbol is state
        name = symbol.primitive.name if symbol.primitive is not None else ""
        below: Iterable = ()
        if name in ("assign", "assign_at"):
            writes, below = True, symbol.args[:1]
        elif name == "add":
            below = symbol.args
        elif name in ("reshape", "index"):
            below = symbol.args[:1] if symbol.shape == state.shape or name == "index" else ()
        elif name in ("scatter", "scatter_at"):
            writes = True
        elif name == "loop":
            inner: Body = symbol.params["body"]
            below = [symbol.args[inner.constants + k] for k in written_states(inner)]
            writes |= bool(below)
        for arg in below:
            if isinstance(arg, Symbol) and arg not in seen:
                seen.add(arg)
                stack.append(arg)
    return writes and found


def residuals(
    body: Body, back: Program, primals: dict[Symbol, Any], states: dict[int, Symbol]
) -> Residuals | None:
    """Return the residuals that the loop stores for the reverse steps; None if its states take no
    more memory.

    `primals` maps inputs of `back` to those of the body or to numbers, and `states` maps numbers to
    the states that the reverse steps read.
    """
    numbers = {states[k]: k for k in written_states(body) if k in states}
    if not numbers:
        return None
    undone = {state: found for state, k in numbers.items() if (found := _undone(body, k, state))}
    sources = {
        state: sum(map(_bytes, undone[state].needs())) if state in undone else _bytes(state)
        for state in numbers
    }
    every = topological([*back.outputs, *back.checked])
    known = {*primals}  # values that the forward step can compute
    moving = {*numbers}  # values that depend on the states
    for symbol in every:
        if symbol.primitive is not None and all(
            arg in known for arg in symbol.args if isinstance(arg, Symbol)
        ):
            known.add(symbol)
            if any(arg in moving for arg in _args(symbol)):
                moving.add(symbol)
    used = topological(back.outputs)
    wanted = [arg for user in used if user not in moving for arg in _args(user) if arg in moving]
    wanted += [out for out in back.outputs if out in moving]
    wanted = list(dict.fromkeys(wanted))
    whole: dict[Symbol, None] = {}
    while True:
        values = _cut(wanted, moving, sources, whole)
        more = [value for value in values if value in sources and value not in whole]
        if not more:
            break
        whole |= dict.fromkeys(more)
    values = [value for value in values if value not in whole]
    taken = [undone[state] for state in whole if state in undone]
    if sum(map(_bytes, values)) + sum(sources[x] for x in whole) >= sum(map(_bytes, numbers)):
        return None
    rest = [symbol for symbol in back.checked if symbol not in moving]
    done = [symbol for symbol in back.checked if symbol in moving]
    mine = replay_from(dict(primals), [*values, *done], body.program.inputs[0].builder)
    needs = [x for state in taken for x in state.needs()]
    ys = body.keep([*mine[: len(values)], *needs], mine[len(values) :])
    return Residuals(values, taken, ys, rest)


def _undone(body: Body, k: int, state: Symbol) -> Undone | None:
    """Return how to restore a state, if that takes at most half of its memory."""
    own = body.program.inputs[1 + body.constants + k]
    writes = writes_of(body.program.outputs[k], own)
    found = Undone(k, state, writes) if writes else None
    return found if found and 2 * sum(map(_bytes, found.needs())) <= _bytes(state) else None


def _args(symbol: Symbol) -> list[Symbol]:
    return [arg for arg in symbol.args if isinstance(arg, Symbol)]


def _bytes(symbol: Symbol) -> int:
    return symbol.aval.size * symbol.dtype.itemsize


def _cut(
    wanted: Sequence[Symbol], moving: Container, sources: dict[Symbol, int], free: Container
) -> list[Symbol]:
    """Return a small set of values from which the wanted ones can be computed. `sources` have the
    costs of states in bytes; those in `free` cost nothing."""
    cost: dict[Symbol, int] = {}
    is_kept: dict[Symbol, bool] = {}
    for symbol in topological(wanted):
        if symbol not in moving:
            continue
        if symbol in sources:
            cost[symbol], is_kept[symbol] = 0 if symbol in free else sources[symbol], True
            continue
        again = sum(cost[arg] for arg in dict.fromkeys(_args(symbol)) if arg in moving)
        is_kept[symbol] = _bytes(symbol) < again
        cost[symbol] = min(_bytes(symbol), again)
    kept: dict[Symbol, None] = {}
    stack, seen = list(wanted), {*wanted}
    while stack:
        symbol = stack.pop()
        if is_kept[symbol]:
            kept[symbol] = None
            continue
        for arg in _args(symbol):
            if arg in moving and arg not in seen:
                seen.add(arg)
                stack.append(arg)
    return list(kept)
