"""What a pullback keeps of states that a step writes parts of.

The steps back read the state before each step. Of one that is written to, that is usually little:
the row that the next one is computed from. So the loop gives what is read as ys that only its
pullback sees, where that is less than the states of all steps.
"""

from collections.abc import Container, Iterable, Sequence
from typing import NamedTuple

from ...core.symbols import Symbol, topological
from .body import Body
from .program import Program


class Residuals(NamedTuple):
    """The `values` of the steps back that the loop gives instead of states; `body` has them as the
    ys with the numbers `ys`. `checked` is what the steps back check still."""

    values: list[Symbol]
    ys: list[int]
    checked: list[Symbol]


def written_states(body: Body) -> list[int]:
    """The states of which a step writes parts."""
    first = 1 + body.constants
    states = body.program.inputs[first : first + body.states]
    outputs = body.program.outputs[: body.states]
    return [
        k for k, (out, state) in enumerate(zip(outputs, states, strict=True))
        if state.shape and state.dtype.kind == "f" and _is_written(out, state)
    ]  # fmt: skip


def _is_written(out: Symbol, state: Symbol) -> bool:
    """Whether a new state is the old one with other elements at an index, or sums there."""
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
    body: Body, back: Program, primals: dict[Symbol, Symbol], states: dict[int, Symbol]
) -> Residuals | None:
    """What the loop is to keep for the steps back; None where the states themselves are as good.

    `primals` are the inputs of `back` that the loop has too, with those of the body, and `states`
    those of them that are states which the steps back read.
    """
    written = [states[k] for k in written_states(body) if k in states]
    if not written:
        return None
    sources = {*written}
    every = topological([*back.outputs, *back.checked])
    known = {*primals}  # what depends on nothing that only the steps back have
    moving = {*written}  # what depends on the states
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
    whole: set[Symbol] = set()
    while True:
        values = _cut(wanted, moving, sources, whole)
        more = {value for value in values if value in sources} - whole
        if not more:
            break
        whole |= more
    values = [value for value in values if value not in whole]
    if sum(map(_bytes, [*values, *whole])) >= sum(map(_bytes, written)):
        return None
    rest = [symbol for symbol in back.checked if symbol not in moving]
    done = tuple(symbol for symbol in back.checked if symbol in moving)
    inputs = tuple(primals)
    part = Program(back.name, inputs, (), tuple(values), list, checked=done)
    return Residuals(values, body.keep(part, [primals[x] for x in inputs]), rest)


def _args(symbol: Symbol) -> list[Symbol]:
    return [arg for arg in symbol.args if isinstance(arg, Symbol)]


def _bytes(symbol: Symbol) -> int:
    return symbol.aval.size * symbol.dtype.itemsize


def _cut(
    wanted: Sequence[Symbol], moving: Container, sources: Container, free: Container
) -> list[Symbol]:
    """Values of few bytes, sources or what is computed from them, from which those that are wanted
    can be computed; what is `free` counts as nothing."""
    cost: dict[Symbol, int] = {}
    is_kept: dict[Symbol, bool] = {}
    for symbol in topological(wanted):
        if symbol not in moving:
            continue
        if symbol in sources:
            cost[symbol], is_kept[symbol] = 0 if symbol in free else _bytes(symbol), True
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
