"""The states of loops with checkpoints, and the words of the record that hold one."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import LoopError
from ..ir.affine import Affine, variable
from ..ir.statements import Call, For, Literal, Load, New, Operand, PointTo, Position, Store
from ..ir.walk import walk
from .build import INT, buffers_of, copy, defined_names, literal, names_of, operation
from .record import Block, Record
from .tree import Body, Loop, bodies, parts, statements_of

__all__ = ["Layout", "State", "state_of", "states"]

_ONE = literal(1, INT)


@dataclass(frozen=True)
class State:
    """Variables, and buffers with the numbers whose product is how many elements they have. A loop
    `may_keep` its record."""

    variables: tuple[str, ...]
    buffers: Mapping[Any, tuple[Operand, ...]]
    may_keep: bool = False

    def restores(self, buffer: Any) -> bool:
        """Whether the reverse pass sets a buffer that the loop writes to what it held: by a copy,
        or by the rounds that run again."""
        return not self.may_keep or buffer in self.buffers


def states(
    top: Body, variables: Sequence[str], lengths: Mapping[Any, Sequence[str] | None]
) -> dict[Loop, State]:
    """The state of each loop with checkpoints. `lengths` are those of the arrays among the
    parameters; None where they do not tell the number of elements. A loop that may keep its record
    has no checkpoints if no copies can be made."""
    found: dict[Loop, State] = {}
    for body in bodies(top):
        for item in body.items:
            if isinstance(item, Loop) and getattr(item.statement, "checkpoint", ""):
                try:
                    found[item] = state_of(top, item, variables, lengths)
                except LoopError:
                    if item.statement.checkpoint != "kept":
                        raise
                    item.statement = replace(item.statement, checkpoint="", snapshots=None)
    return found


def state_of(
    top: Body, loop: Loop, variables: Sequence[str], lengths: Mapping[Any, Sequence[str] | None]
) -> State:
    """The state of a loop. Raises NoRuleError for one of which no copies can be made."""
    news = Counter(
        each.target for body in bodies(top) for item in body.items
        for each in walk(getattr(item, "statements", ())) if isinstance(each, New)
    )  # fmt: skip
    sizes = {**lengths, **_made(top, loop), **_ends(loop.statement)}
    return _state(loop, variables, sizes, news, _read(top, loop))


def _read(top: Body, loop: Loop) -> set[Any]:
    """The buffers that the loop, or what runs before it or again, may read. An array that only
    takes the output of the rounds has no place in the state."""
    found: set[Any] = set()
    for item in top.items:
        inside = statements_of(item)
        found.update(x for each in inside if not isinstance(each, Store) for x in buffers_of(each))
        if any(body.loop is loop for part in parts(item) for body in bodies(part)):
            break
    return found


def _ends(loop: Any) -> dict[Any, tuple[Operand, ...]]:
    """The numbers of elements of the buffers that a loop makes again."""
    return {
        x.buffer: (x.at.terms[0][0] if x.at.terms else literal(x.at.const, INT),)
        for x in getattr(loop, "ends", ())
    }


def _made(top: Body, loop: Loop) -> dict[Any, tuple[Operand, ...] | None]:
    """The buffers that are made, and how many elements they have; None where a loop cannot know, as
    they are made in several places, or in another loop or branch."""
    found: dict[Any, tuple[Operand, ...] | None] = {}
    around, here = [], loop.body.parent
    while here is not None:
        around.append(here)
        here = here.parent
    for body in bodies(top):
        for item in body.items:
            statements = getattr(item, "statements", ())
            for each in walk(statements):
                if isinstance(each, New):
                    is_before = any(body is x for x in around) and each in statements
                    is_one = is_before and each.target not in found
                    found[each.target] = (each.count,) if is_one else None
    return found


def _state(
    loop: Loop, variables: Sequence[str], sizes: Mapping[Any, Any], total: Counter,
    read: Collection[Any],
) -> State:  # fmt: skip
    inside = walk(loop.statement.body)
    made = Counter(each.target for each in inside if isinstance(each, New))
    own = {x for x, count in made.items() if count == total[x]}
    written: list[Any] = []
    for each in inside:
        if isinstance(each, Store):
            written.append(each.buffer)
        elif isinstance(each, Call):
            written += [x.buffer for x in each.pointers]
        elif isinstance(each, PointTo):
            raise LoopError(
                "nbgrad.steps: the loop uses an array that may be one of several: loop over range"
            )
    buffers = {}
    for buffer in dict.fromkeys(written):
        if buffer in own or buffer not in read:
            continue
        if sizes.get(buffer) is None:
            raise LoopError(
                f"nbgrad.steps: the loop writes to {buffer}, an array that is not contiguous, has "
                "no axis, or is made in several places: write to a contiguous array that is made "
                "once, or loop over range"
            )
        buffers[buffer] = tuple(sizes[buffer])
    used = {name for each in inside for name in (*names_of(each), *defined_names([each]))}
    names = tuple(name for name in variables if name in used)
    return State(names, buffers, getattr(loop.statement, "checkpoint", "") == "kept")


class Layout:
    """The words of a snapshot; `value` gives the numbers of its sizes."""

    def __init__(
        self, state: State, value: Callable[[str], str], new: Callable[..., str],
        dtypes: Mapping[str, np.dtype], buffers: Mapping[Any, np.dtype], record: Record,
    ):  # fmt: skip
        self._state, self._value, self._new = state, value, new
        self._dtypes, self._buffers, self._record = dtypes, buffers, record
        self._sizes: list[Any] = []

    def sized(self, made: list[Any]) -> Operand:
        """How many words it has."""
        words = Affine(len(self._state.variables), ())
        self._sizes = []
        for factors in self._state.buffers.values():
            size: Any = _ONE
            for x in factors:
                x = self._value(x) if isinstance(x, str) else x
                if size == _ONE:
                    size = x
                    continue
                product = self._new("size")
                made.append(operation(product, "multiply", (size, x), INT))
                size = product
            self._sizes.append(size.number if isinstance(size, Literal) else size)
            words = words.plus(_affine(self._sizes[-1]))
        name = self._new("state")
        made.append(Position(name, words))
        return name

    def save(self, block: Block, made: list[Any]) -> None:
        """Copy the state to words of the self._record."""
        for name in self._state.variables:
            value = self._new(name, self._dtypes[name])
            made.append(copy(value, name, self._dtypes[name]))
            made += self._record.write(block, 0, value, self._dtypes[name])
            block = block.shifted(Affine(1, ()))
        for buffer, size in zip(self._state.buffers, self._sizes, strict=True):
            axis, dtype = self._new("each"), self._buffers[buffer]
            value = self._new("element", dtype)
            load = Load(value, buffer, variable(axis), dtype)
            write = self._record.write(block.shifted(variable(axis)), 0, value, dtype)
            made.append(For(axis, 0, size, (load, *write)))
            block = block.shifted(_affine(size))

    def restore(self, block: Block, made: list[Any]) -> None:
        """Set the state to words of the self._record."""
        for name in self._state.variables:
            value = self._new(name, self._dtypes[name])
            made += self._record.read(block, 0, value, self._dtypes[name])
            made.append(copy(name, value, self._dtypes[name]))
            block = block.shifted(Affine(1, ()))
        for buffer, size in zip(self._state.buffers, self._sizes, strict=True):
            axis, dtype = self._new("each"), self._buffers[buffer]
            value = self._new("element", dtype)
            read = self._record.read(block.shifted(variable(axis)), 0, value, dtype)
            made.append(For(axis, 0, size, (*read, Store(buffer, variable(axis), value, dtype))))
            block = block.shifted(_affine(size))


def _affine(x: Any) -> Affine:
    return Affine(x, ()) if isinstance(x, int) else variable(x)
