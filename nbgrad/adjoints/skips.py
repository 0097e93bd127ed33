"""Adjoints that a cotangent of 0 skips.

In a dynamic programme each element is one of its neighbours, or the least of them, and most
cotangents are 0: only elements on the path that was taken have others. A recurrence whose last
value does not count, as that of an option that expires worthless, has none at all.
"""

from collections import Counter
from collections.abc import Callable, Collection, Container, Sequence
from typing import Any

from ..ir.reductions import SUM
from ..ir.scalar import Apply
from ..ir.statements import Accumulate, Assign, Call, For, If, Load, PointTo, Position, Store
from ..ir.walk import inner
from .build import BOOL, COPY, defined_names, literal, names_of, operation
from .partials import only_computes
from .sums import with_sums
from .tree import Segment

__all__ = ["computing", "skipped", "skipped_loop"]

_MOST = 3  # cotangents that a condition tests


def skipped(
    segment: Segment, local: Sequence[Any], bars: Collection[str], new: Callable[..., str]
) -> list[Any] | None:
    """The statements `local` and the adjoint of a segment, under the condition that the cotangent
    from which all others are computed is not 0; None where there is no such cotangent, or it is
    seldom 0. `bars` are cotangents that are variables."""
    match segment.adjoint:
        case [Load() as load, Store() as store, *rest] if store.kind is None:
            own = load.buffer, load.at
            if (store.buffer, store.at) != own or not _chooses([*rest, *segment.slopes]):
                return None
        case _:
            return None
    others = [x for x in rest if isinstance(x, (Load, Store)) and x.buffer == load.buffer]
    is_recurrence = others and all(isinstance(x, Store) and x.at != load.at for x in others)
    if not is_recurrence or any(map(inner, rest)) or not _only_adds(rest, bars):
        return None
    condition = new("flows", BOOL)
    zero = literal(0, load.dtype)
    before = computing(names_of(load), local)
    inside = (store, *(x for x in local if x not in before), *rest)
    return [
        *before,
        load,
        operation(condition, "not_equal", (load.target, zero), BOOL, load.dtype),
        If(condition, inside, is_skip=True),
    ]


def computing(names: Collection[str], statements: Sequence[Any]) -> list[Any]:
    """Those of statements that compute some values, and what these follow from."""
    found: list[Any] = []
    read = set(names)
    for each in reversed(statements):
        if read.intersection(defined_names([each])):
            found.insert(0, each)
            read |= names_of(each)
    return found


def skipped_loop(
    loop: For, bars: Container[str], mark: str, new: Callable[..., str]
) -> list[Any] | None:
    """A loop that runs a recurrence backward, under the condition that one of the cotangents with
    which it begins is not 0; None for another loop, or if cotangents come from elsewhere. Names of
    shadows end with the mark."""
    for each in loop.body:
        is_plain = isinstance(each, (Accumulate, Assign, Load, Position, PointTo))
        is_plain |= isinstance(each, Store) and each.kind is SUM
        is_plain |= isinstance(each, Call) and only_computes(each.function)
        if not is_plain or (isinstance(each, Load) and str(each.buffer).endswith(mark)):
            return None
    body = [x for x in with_sums(loop, bars.__contains__).body if isinstance(x, Assign)]
    copies: list[tuple[Any, Any]] = [(x.operands[0], x.dtype) for x in body if x.body is COPY]
    reads = {name: dtype for name, dtype in copies if name in bars}
    own = {x.target for x in body if x.target in bars}
    if not own or not own <= set(reads) or len(reads) > _MOST:
        return None
    made: list[Any] = []
    condition: Any = None
    for bar, dtype in sorted(reads.items()):
        flag = new("flows", BOOL)
        made.append(operation(flag, "not_equal", (bar, literal(0, dtype)), BOOL, dtype))
        if condition is not None:
            both = new("flows", BOOL)
            made.append(operation(both, "or", (condition, flag), BOOL))
            flag = both
        condition = flag
    return [*made, If(condition, (loop,), is_skip=True)]


def _chooses(statements: Sequence[Any]) -> bool:
    """Whether cotangents flow to one of several values."""
    return any(
        isinstance(x, Assign) and isinstance(x.body, Apply) and x.body.function.name == "select"
        for x in statements
    )


def _only_adds(statements: Sequence[Any], bars: Collection[str]) -> bool:
    """Whether the statements set elements by addition, and variables, too."""
    uses = Counter(name for each in statements for name in names_of(each))
    sums: dict[Any, str] = {}  # partial sums, and the variable that each began with
    for each in statements:
        if isinstance(each, Load) or (isinstance(each, Store) and each.kind is not SUM):
            return False
        if not isinstance(each, Assign):
            continue
        first: Any = each.operands[0]
        if each.target in bars:
            if each.body is not COPY or sums.get(first) != each.target:
                return False
        elif each.body is COPY and first in bars:
            sums[each.target] = first
        else:
            read: list[Any] = [x for x in each.operands if x in sums]
            if not read:
                continue
            if len(read) > 1 or uses[read[0]] > 1 or str(each.body) != "x + y":
                return False
            sums[each.target] = sums[read[0]]
    return all(uses[name] == 1 or name not in sums for name in uses)
