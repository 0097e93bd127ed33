"""An innermost loop that adds to several elements of one shadow, as one loop for each.

The adjoint of a stencil adds to neighbours, so that its rounds depend on each other; a loop that
adds to one element a round has no such dependence, and LLVM vectorises it. The arithmetic that the
loops share is repeated in each, so it has to be cheap.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..ir.affine import ZERO
from ..ir.reductions import SUM
from ..ir.statements import Assign, For, Load, Position, Store
from .build import COPY, names_of, renamed

__all__ = ["moving", "split"]

_MOST = 12  # operations that a loop may repeat


def split(loop: For, new: Callable[[str], str], is_variable: Callable[[str], bool]) -> list[For]:
    """The loops into which a loop is split; the loop alone if that is not possible, or not worth
    it."""
    body = _without_copies(loop.body, is_variable)
    if not all(isinstance(each, (Assign, Load, Position, Store)) for each in body):
        return [loop]
    stores = [each for each in body if isinstance(each, Store)]
    sums = [each for each in stores if each.kind is SUM]
    counts = Counter(each.buffer for each in sums)
    if max(counts.values(), default=0) < 2 or not _is_free(body, stores, loop.axis):
        return [loop]
    groups: list[list[Any]] = [[each] for each in sums]
    if assigned := [x for x in body if isinstance(x, Assign) and is_variable(x.target)]:
        groups.append(assigned)
    # Elements that are set are read at the same positions: their loop is the last one.
    rest = [each for each in stores if each.kind is None]
    if rest:
        groups.append(rest)
    slices = [_needed(body, group, is_variable) for group in groups]
    for each in assigned:  # a variable that changes is read where it is assigned only
        for part in slices:
            if each not in part and any(each.target in names_of(x) for x in part):
                return [loop]
    cost = sum(each.body.price for part in slices for each in part if isinstance(each, Assign))
    once = sum(each.body.price for each in body if isinstance(each, Assign))
    if cost - once > _MOST * len(groups):
        return [loop]
    return [_renamed(loop, part, new, is_variable) for part in slices]


def _without_copies(body: Sequence[Any], is_variable: Callable[[str], bool]) -> Sequence[Any]:
    """Without assignments of variables to themselves."""
    copied: dict[Any, Any] = {
        x.target: x.operands[0] for x in body if isinstance(x, Assign) and x.body is COPY
    }
    return [
        each for each in body
        if not (isinstance(each, Assign) and each.body is COPY and is_variable(each.target)
                and copied.get(each.operands[0]) == each.target)
    ]  # fmt: skip


def _is_free(body: Sequence[Any], stores: Sequence[Store], axis: Any) -> bool:
    """Whether the order of the stores of a round to different elements does not matter."""
    variables = {each.target for each in body if isinstance(each, Assign)}
    if len(variables) < sum(isinstance(each, Assign) for each in body):
        return False
    changing = moving(body, axis)
    for store in stores:
        loads = [x for x in body if isinstance(x, Load) and x.buffer == store.buffer]
        place = next(i for i, each in enumerate(body) if each is store)
        later = [x for x in body[place:] if any(x is one for one in loads)]
        others = [x for x in stores if x.buffer == store.buffer and x is not store]
        if store.kind is None:
            # One element a round, which is another one in each round.
            own = {name for name, _ in store.at.terms if isinstance(name, str)}
            if others or later or any(x.at != store.at for x in loads) or len(own & changing) != 1:
                return False
        elif loads or any(x.kind is None for x in others):
            return False
    return True


def moving(body: Sequence[Any], axis: Any) -> set[str]:
    """Names that differ by one constant from round to round."""
    found = {axis}
    for each in body:
        if isinstance(each, Position):
            terms = [(name, factor) for name, factor in each.at.terms if name in found]
            if len(terms) == 1:
                found.add(each.target)
        elif isinstance(each, Assign) and each.dtype.kind == "i":
            own = [x for x in each.operands if x in found]
            if len(own) == 1 and str(each.body) in ("x + y", "x - y", "x"):
                found.add(each.target)
    return found


def _needed(
    body: Sequence[Any], group: Sequence[Any], is_variable: Callable[[str], bool]
) -> list[Any]:
    """The statements of a body that some of its stores and assignments need."""
    names: set[str] = set()
    found: list[Any] = []
    for each in reversed(body):
        if isinstance(each, Store) or is_variable(each.target):
            if not any(each is one for one in group):
                continue
        elif each.target not in names:
            continue
        found.append(each)
        names |= names_of(each)
    return found[::-1]


def _renamed(
    loop: For, body: Sequence[Any], new: Callable[[str], str], is_variable: Callable[[str], bool]
) -> For:
    names = [each.target for each in body if not isinstance(each, Store)]
    own = {name: new(name) for name in names if not is_variable(name)}
    own[loop.axis] = new(loop.axis)

    def name(x: str) -> str:
        return own.get(x, x)

    changed = [renamed(each, name, lambda buffer: (buffer, ZERO), name) for each in body]
    return replace(loop, axis=own[loop.axis], body=tuple(changed))
