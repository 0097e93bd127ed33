"""Where the loops of a nest are cut, so that no branch for a pad or a join stays inside.

Found before anything is written: from each member of a group down to its buffers, with the part of
the loops in which each value is read. A value that would take too many pieces is computed in a loop
of its own instead.
"""

from collections.abc import Iterable, Sequence
from math import prod
from typing import NamedTuple

from .affine import Affine, identity
from .fuse import Group, inside, sources_of
from .values import Value

# More pieces than this, or more operations in all of them, and a value gets a loop of its own.
_PIECES, _OPERATIONS, _ANYHOW = 48, 1500, 8
# Rows of up to so many elements are written out.
_SHORT = 4

Bounds = tuple[tuple[int, int], ...]  # of each loop: where it starts and stops


class Cuts(NamedTuple):
    """For axes of the domain, where their loops are cut; and what needs a loop of its own."""

    breaks: dict[int, set[int]]
    apart: set[Value]


def cuts_of(group: Group, roots: set[Value]) -> Cuts:
    domain = group.domain
    cuts = Cuts({}, set())
    split = group.split or 0
    if split and prod(domain[split:]) <= _SHORT:
        # Written out, short rows stay in registers, and vectors run across them.
        for axis in range(split, len(domain)):
            cuts.breaks[axis] = set(range(1, domain[axis]))
    most = min(_PIECES, max(_ANYHOW, _OPERATIONS // max(group.work, 1)))
    whole: Bounds = tuple((0, n) for n in domain)
    seen: set[tuple] = set()
    stack: list[tuple] = []
    for member in group.members[::-1]:
        if member.op in ("reduce", "scatter"):
            stack += [(arg, at, whole, False) for arg, at in sources_of(member)]
        else:
            stack.append((member, identity(domain), whole, True))
    while stack:
        value, at, bounds, is_member = visit = stack.pop()
        if visit in seen or value in cuts.apart:
            continue
        seen.add(visit)
        if not is_member and (value.op in ("input", "full") or value in roots):
            continue
        found = list(_read(value, at, bounds))
        edges = [edge for _, _, _, cut in found for edge in cut]
        if not is_member and _pieces(cuts.breaks, edges) > most:
            cuts.apart.add(value)
            continue
        for axis, edge in edges:
            cuts.breaks.setdefault(axis, set()).add(edge)
        stack += [(arg, inner, part, False) for arg, inner, part, _ in reversed(found)]
    return cuts


def _pieces(breaks: dict[int, set[int]], edges: Sequence[tuple[int, int]]) -> int:
    """Of the loops, with some more edges; 0 where there are none to be added."""
    more = {axis: set(breaks.get(axis, ())) for axis, _ in edges}
    for axis, edge in edges:
        more[axis].add(edge)
    if all(len(found) == len(breaks.get(axis, ())) for axis, found in more.items()):
        return 0
    return prod(len(found) + 1 for found in (breaks | more).values())


def _read(value: Value, at: Sequence[Affine], bounds: Bounds) -> Iterable[tuple]:
    """The arguments of a value, with their indices, where in the loops they are read, and the
    edges of that."""
    for i, (arg, index) in enumerate(inside(value, at)):
        if value.op in ("pad", "concat") or (value.op == "inset" and i == 1):
            part, edges = _held(index, arg.shape, bounds)
            if part is not None:
                yield arg, index, part, edges
        else:
            yield arg, index, bounds, []


def _held(
    index: Sequence[Affine], shape: Sequence[int], bounds: Bounds
) -> tuple[Bounds | None, list[tuple[int, int]]]:
    """Where in the loops an index lies in an array of `shape`, None for nowhere; and the edges."""
    held, edges = list(bounds), []
    for (const, terms), n in zip(index, shape, strict=True):
        if not terms:
            if not 0 <= const < n:
                return None, []
            continue
        ((axis, step),) = terms
        assert isinstance(axis, int)
        first, stop = held[axis]
        start, end = _within(const, step, n)
        edges += [(axis, edge) for edge in (start, end) if first < edge < stop]
        held[axis] = max(first, start), min(stop, end)
        if held[axis][0] >= held[axis][1]:
            return None, []
    return tuple(held), edges


def _within(const: int, step: int, n: int) -> tuple[int, int]:
    """The range of i for which 0 <= const + step * i < n."""
    if step > 0:
        return -(const // step), -((const - n) // step)
    return (const - n) // -step + 1, const // -step + 1
