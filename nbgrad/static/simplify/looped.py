"""`Looped`, one loop of a program, with all results that the program wants of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from ...core.keys import number_key, static_key
from ...core.symbols import Symbol, is_full
from ...ir.sizes import is_dynamic
from ...rules.index import index_row
from ..trace.body import Body
from ..trace.program import Program

Numbers = Sequence[int] | Mapping[int, int]
Key = tuple[str, int]
"""The kind of a result of a loop, "state", "y", "states" or "marks", and its number."""


@dataclass
class Looped:
    """A loop: its body, its arguments, and the results that each op of the program has; None for
    one that nothing reads."""

    body: Body
    args: tuple[Any, ...]
    wanted: dict[Symbol, list[Key | None]]

    @property
    def keys(self) -> list[Key]:
        """The results that are read."""
        return [key for keys in self.wanted.values() for key in keys if key is not None]

    def numbered(self, body: Body, args: Sequence, states: Numbers, ys: Numbers) -> "Looped":
        """The same results of another body, where the states and ys have other numbers."""

        def moved(key: Key | None) -> Key | None:
            return key and (key[0], (ys if key[0] == "y" else states)[key[1]])

        wanted = {symbol: list(map(moved, keys)) for symbol, keys in self.wanted.items()}
        return Looped(body, tuple(args), wanted)


def loops_of(program: Program) -> list[Looped]:
    """The loops of a program: ops with one body and equal arguments want results of one loop."""
    read = _read(program)
    found: dict[tuple, Looped] = {}
    for symbol, places in read.items():
        one = looped(symbol)
        keys = [key if k in places else None for k, key in enumerate(one.wanted[symbol])]
        key = (one.body, *map(argument_key, symbol.args))
        found.setdefault(key, one).wanted[symbol] = keys
    return list(found.values())


def looped(symbol: Symbol) -> Looped:
    """The loop of one op, with all of its results."""
    body: Body = symbol.params["body"]
    return Looped(body, symbol.args, {symbol: list(map(body.key, symbol.params["outs"]))})


def _read(program: Program) -> dict[Symbol, set[int]]:
    """Which of its results the program reads, for each op that runs a loop."""
    equations = program.equations
    found = {x: set() for x in equations if isinstance(x.params.get("body"), Body)}
    for symbol in equations:
        for arg in symbol.args:
            if isinstance(arg, Symbol) and arg in found:
                found[arg].update(_parts_at(arg, symbol))
    for symbol in (*program.outputs, *program.checked):
        if isinstance(symbol, Symbol) and symbol in found:
            found[symbol].update(range(len(symbol.params["outs"])))
    return found


def _parts_at(loop: Symbol, reader: Symbol) -> list[int]:
    """The places of the results in the flat array of a loop that an op reads."""
    body, outs = loop.params["body"], loop.params["outs"]
    sizes = [body.avals[k].size for k in outs]
    index = reader.params.get("index") if reader.primitive is index_row else None
    if not isinstance(index, slice) or any(map(is_dynamic, sizes)):
        return [*range(len(outs))]
    start, stop, _ = index.indices(sum(sizes))
    ends = list(accumulate(sizes))
    return [
        k for k, (end, size) in enumerate(zip(ends, sizes, strict=True))
        if end - size < stop and start < end
    ]  # fmt: skip


def argument_key(x: Any) -> Any:
    """Equal for equal arguments of the ops of a program."""
    if is_full(x):
        return "full", number_key(x.params["number"]), static_key(x.shape), x.dtype
    return id(x) if isinstance(x, Symbol) else number_key(x)


def arguments_in(loops: Sequence[Looped]) -> Callable[[Symbol], Sequence[Any]]:
    """Return a function that returns the arguments of a symbol: those of its loop, for a result of
    one of `loops`."""
    of_loops = {symbol: loop.args for loop in loops for symbol in loop.wanted}
    return lambda symbol: of_loops.get(symbol, symbol.args)
