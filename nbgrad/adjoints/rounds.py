"""Loops of independent rounds, which may run on several threads.

The rounds of a loop are independent if no round writes to an element that another one reads or
writes, and if the only variables that pass from round to round are sums. This is tested for the
outermost loops and for loops over `prange`.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..ir.reductions import SUM
from ..ir.statements import (
    Address,
    Allocate,
    Call,
    For,
    Load,
    New,
    PointTo,
    Raise,
    Store,
)
from ..ir.walk import walk
from .additions import Additions
from .build import defined_names
from .liveness import assigned, read_after, read_first
from .positions import Access, Positions, around
from .tree import Body, Branch, Loop, bodies
from .work import are_short

__all__ = ["Independent", "Rounds"]

_MANY = 1000  # pairs of accesses that are compared


class _Dependent(Exception):
    """A reason for which rounds are not independent."""


@dataclass
class Independent:
    """A loop of independent rounds."""

    sums: tuple[str, ...]  # variables to which the rounds add
    shared: tuple[tuple[Any, tuple[Any, ...], np.dtype], ...]
    """Buffers that several rounds read, whose shadows they add to: the numbers whose product is
    how many elements they have, and their dtypes."""
    added: tuple[tuple[Any, tuple[Any, ...], np.dtype], ...]
    """The same of buffers to whose elements several rounds add."""
    makes: bool  # whether the rounds make buffers
    inside: set[str] = field(default_factory=set)  # names that the rounds define


class Rounds:
    """The loops of a tree whose rounds are independent, and why others are not.

    `results` are the names that the function returns, `active` those of buffers with shadows,
    `lengths` the numbers whose product is the number of elements of a buffer, None if unknown. With
    `keeps_order`, arrays must hold what they hold on one thread if a round raises.
    """

    def __init__(
        self, top: Body, positions: Positions, variables: Collection[str],
        results: Collection[str], active: Collection[Any],
        lengths: Mapping[Any, Sequence[Any] | None], is_float: Callable[[str], bool],
        keeps_order: bool = False,
    ):  # fmt: skip
        self._keeps_order = keeps_order
        self._positions, self._variables = positions, frozenset(variables)
        self._top, self._results, self._active = top, results, active
        self._lengths, self._is_float = dict(lengths), is_float
        self.loops: dict[Loop, Independent] = {}
        self.reasons: dict[Loop, str] = {}
        inner = {name for body, x in _all(top) if body is not top for name in defined_names([x])}
        for each in [x for _, x in _all(top) if isinstance(x, New)]:
            is_known = each.count not in inner and each.target not in self._lengths
            self._lengths[each.target] = (each.count,) if is_known else None
        self._find(top, True)

    def _find(self, body: Body, is_outermost: bool) -> None:
        for item in body.items:
            if isinstance(item, Branch):
                self._find(item.then, is_outermost)
                self._find(item.otherwise, is_outermost)
            elif isinstance(item, Loop):
                statement = item.statement
                if is_outermost or (isinstance(statement, For) and statement.parallel):
                    try:
                        self.loops[item] = self._independent(item)
                        continue
                    except _Dependent as reason:
                        self.reasons[item] = str(reason)
                self._find(item.body, False)

    def _independent(self, loop: Loop) -> Independent:
        statement = loop.statement
        if not isinstance(statement, For):
            raise _Dependent("how many there are is not known before")
        if loop.leave is not None:
            raise _Dependent("the loop may be left early")
        if statement.checkpoint:
            raise _Dependent("steps depend on each other")
        if any(getattr(getattr(x, "statement", None), "checkpoint", "") for x in _items(loop.body)):
            raise _Dependent("they keep copies of states")
        if statement.call:
            raise _Dependent("they are a call of a library")
        inside = list(_all(loop.body))
        statements = [each for _, each in inside]
        is_innermost = not any(isinstance(x, Loop) for x in _items(loop.body))
        if is_innermost and not statement.parallel and are_short(statements):
            raise _Dependent("they are too short")
        for each in statements:
            if isinstance(each, (PointTo, Allocate)):
                raise _Dependent(f"{_plain(each.target)} may be one of several arrays")
            if isinstance(each, Call) and any(isinstance(x, Address) for x in each.arguments):
                raise _Dependent("they call a function of arrays")
        made = {each.target for each in statements if isinstance(each, New)}
        self._check_made(loop, made)
        sums = self._sums(loop)
        if self._keeps_order and any(isinstance(x, Raise) for x in statements):
            if stored := [x for x in statements if isinstance(x, Store) and x.buffer not in made]:
                raise _Dependent(
                    f"they may raise when they have written to {_plain(stored[0].buffer)}"
                )
        added = self._added(loop, inside, made)
        shared = self._shared(loop, inside, made)
        return Independent(sums, shared, added, bool(made), set(defined_names([statement])))

    def _check_made(self, loop: Loop, made: Collection[Any]) -> None:
        own = set(map(id, bodies(loop.body)))
        for body, each in _all(self._top) if made else ():
            buffer = getattr(each, "target" if isinstance(each, New) else "buffer", None)
            if buffer in made and id(body) not in own:
                raise _Dependent(f"{_plain(buffer)}, which they make, is read behind the loop")

    # -- variables --------------------------------------------------------------------------------

    def _sums(self, loop: Loop) -> tuple[str, ...]:
        """The variables to which the rounds add. Others must not pass from round to round."""
        changed = assigned([x for _, x in _all(loop.body)], self._variables)
        if not changed:
            return ()
        first = read_first(loop.body, self._variables)
        after = read_after(loop, self._results, self._variables)
        found = [name for name in sorted(changed) if name in first or name in after]
        for name in found:
            if name not in first:
                raise _Dependent(f"the last value of {_plain(name)} is read behind the loop")
            count = Additions(name).of(loop.body)
            if count is None:
                raise _Dependent(f"{_plain(name)} passes from round to round, and is not a sum")
            if count > 1 and self._is_float(name) and not loop.statement.parallel:
                raise _Dependent(
                    f"each may add several times to {_plain(name)}: add once, or use prange, "
                    "which may change the order of the sum"
                )
        return tuple(found)

    # -- elements ---------------------------------------------------------------------------------

    def _added(self, loop: Loop, inside: Sequence[Any], made: Collection[Any]) -> tuple:
        """The buffers of which several rounds write an element: in a loop over `prange`, they may
        add to it."""
        accesses = _accesses(inside, made)
        if sum(len(x) ** 2 for x in accesses.values()) > _MANY * max(1, len(accesses)):
            raise _Dependent("they have too many accesses to arrays")
        added = []
        for buffer, found in accesses.items():
            if (reason := self._conflict(loop, buffer, found)) is None:
                continue
            is_sum = all(isinstance(each, Store) and each.kind is SUM for each, _ in found)
            if not is_sum or not loop.statement.parallel:
                raise _Dependent(reason)
            added.append(self._with_lengths(buffer, found, "add to"))
        return tuple(added)

    def _conflict(self, loop: Loop, buffer: Any, found: Sequence[Any]) -> str | None:
        """Why rounds depend on each other by a buffer, if they do."""
        for write, at in found:
            if isinstance(write, Store):
                if all(each is None for each in self._positions.subscripts(at)):
                    return f"which elements of {_plain(buffer)} they write to depends on data"
                for other, there in found:
                    if self._positions.meet_in_rounds(at, there, loop):
                        verb = "write to" if isinstance(other, Store) else "read and write"
                        return f"they may {verb} the same element of {_plain(buffer)}"
        return None

    def _with_lengths(self, buffer: Any, found: Sequence[Any], verb: str) -> tuple:
        """A buffer, its lengths and its dtype."""
        lengths = self._lengths.get(buffer)
        if lengths is None:
            raise _Dependent(
                f"several {verb} the same element of {_plain(buffer)}, which is not contiguous"
            )
        (dtype,) = {each.dtype for each, _ in found}
        return buffer, tuple(lengths), dtype

    def _shared(self, loop: Loop, inside: Sequence[Any], made: Collection[Any]) -> tuple:
        """The buffers of which several rounds read an element."""
        shared = []
        for buffer, found in _accesses(inside, made).items():
            if buffer not in self._active:
                continue
            loads = [at for each, at in found if isinstance(each, Load)]
            meet = self._positions.meet_in_rounds
            if not any(meet(x, y, loop) for x in loads for y in loads):
                continue
            if any(isinstance(each, Store) for each, _ in found):
                raise _Dependent(
                    f"they write to {_plain(buffer)}, and several read the same element of it"
                )
            shared.append(self._with_lengths(buffer, found, "read"))
        return tuple(shared)


def _all(body: Body) -> Any:
    """All statements in a body, with the bodies in which their segments are."""
    for each in bodies(body):
        for item in each.items:
            for statement in walk(getattr(item, "statements", ())):
                yield each, statement


def _items(body: Body) -> list[Any]:
    return [item for each in bodies(body) for item in each.items]


def _accesses(inside: Sequence[Any], made: Collection[Any]) -> dict[Any, list[tuple[Any, Access]]]:
    found: dict[Any, list[tuple[Any, Access]]] = {}
    for body, each in inside:
        if isinstance(each, (Load, Store)) and each.buffer not in made:
            access = Access(each.buffer, each.at, around(body))
            found.setdefault(each.buffer, []).append((each, access))
    return found


def _plain(name: Any) -> str:
    return str(name).partition("#")[0].partition(".")[0]
