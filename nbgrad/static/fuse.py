"""What is kept and what is computed where it is read: loop nests from values.

A *root* is a value that gets a buffer or a scalar variable: results, operands of products, sources
of gathers, reductions, and dear values that several others read. All else is computed where it is
read, and layout only changes the index there.

Roots over one domain share a loop nest, a `Group`. Within it rows are swept over several times: a
reduction of a row ends a sweep, and what reads it joins the next one. Reductions of everything, or
of leading axes, end with the nest.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from . import affine
from .affine import Affine, flat, identity
from .roots import MOST, OPS, roots_of
from .values import Value, below_of, places_of, topological


@dataclass(eq=False)
class Group:
    """One loop nest over `domain`; the axes from `split` on are swept once for each sweep."""

    domain: tuple[int, ...]
    sweeps: dict[Value, int] = field(default_factory=dict)
    split: int | None = None
    closed: bool = False
    work: int = 0  # operations for each element
    at_hand: set[Value] = field(default_factory=set)  # what it makes and reads

    @property
    def members(self) -> list[Value]:
        return sorted(self.sweeps, key=lambda v: self.sweeps[v])


@dataclass(eq=False)
class Single:
    """A step that is no loop nest: a product, a call, a loop, or a line of scalar code.

    `items` are what a loop gives and what it needs room for.
    """

    value: Value
    items: list[Value] = field(default_factory=list)


Step = Group | Single


@dataclass
class Schedule:
    """The steps in order, and the roots."""

    steps: list[Step]
    roots: set[Value]
    outputs: list[Value]


def kind_of(value: Value) -> tuple[str, int]:
    """How a reduction lies in its domain: `row` from an axis on, `lead` up to an axis, `all`."""
    _, gone = value.data
    n = len(value.args[0].shape)
    if len(gone) == n:
        return "all", 0
    return ("row", gone[0]) if gone[-1] == n - 1 else ("lead", len(gone))


def schedule(outputs: Sequence[Value], apart: Iterable[Value] = ()) -> Schedule:
    """Steps that compute `outputs`; `apart` are values that are to have a loop of their own."""
    order = topological(outputs)
    apart = set(apart)
    roots, work = roots_of(order, outputs, apart)
    steps: list[Step] = []
    place: dict[Value, int] = {}
    for value in order:
        if value.op == "loop":
            place[value] = len(steps)
            used = [v for v in order if v.op == "item" and v.args[0] is value]
            steps.append(Single(value, [*used, *value.data.rooms(value, used)]))
            continue
        if value not in roots:
            continue
        if value.op == "item":
            place[value] = place[value.args[0]]
            continue
        if _stands_alone(value):
            place[value] = len(steps)
            steps.append(Single(value))
            continue
        joined = None if value in apart else _join(value, steps, place, roots, work[value])
        if joined is None:
            joined = len(steps)
            group = Group(domain_of(value), closed=value in apart)
            _enter(group, value, 0, work[value])
            group.at_hand = {value, *(root for root, _ in reads_of(value, roots))}
            steps.append(group)
        place[value] = joined
    return Schedule(steps, roots, list(outputs))


def domain_of(value: Value) -> tuple[int, ...]:
    return value.args[0].shape if value.op in ("reduce", "scatter") else value.shape


def _stands_alone(value: Value) -> bool:
    if value.op in ("matmul", "call"):
        return True
    return value.shape == () and value.op not in ("reduce", "scatter")


def _enter(group: Group, value: Value, sweep: int, work: int) -> None:
    group.sweeps[value] = sweep
    group.work += work
    if value.op == "scatter":
        group.closed = True
    if value.op == "reduce" and kind_of(value)[0] == "row":
        group.split = kind_of(value)[1]


def _join(
    value: Value, steps: list[Step], place: dict[Value, int], roots: set, work: int
) -> int | None:
    """The group that can take `value` in and has most of what it reads at hand; else the last."""
    if value.op == "scatter":
        return None
    domain = domain_of(value)
    reads = list(reads_of(value, roots))
    ready = max((place[root] for root, _ in reads if root in place), default=-1)
    wanted = {root for root, _ in reads}
    best: tuple[int, int, int, Group] | None = None
    for at in range(max(ready, 0), len(steps)):
        group = steps[at]
        if not isinstance(group, Group) or group.closed or group.domain != domain:
            continue
        if group.work + work > MOST:
            continue
        sweep = _sweep_in(group, value, reads, place, at)
        if sweep is not None:
            found = len(wanted & group.at_hand), at, sweep, group
            best = found if best is None or found[:2] > best[:2] else best
    if best is None:
        return None
    _, at, sweep, group = best
    _enter(group, value, sweep, work)
    group.at_hand |= {value, *wanted}
    return at


def _sweep_in(group: Group, value: Value, reads, place, at: int) -> int | None:
    """The sweep in which `value` can be computed in the group; None where it cannot."""
    split = group.split
    if value.op == "reduce" and kind_of(value)[0] == "row":
        if split not in (None, kind_of(value)[1]):
            return None
        split = kind_of(value)[1]
    sweep = 0
    whole = flat(group.domain, identity(group.domain))
    for root, position in reads:
        if root not in group.sweeps:
            if place.get(root, -1) >= at:
                return None
            continue
        if root.op == "reduce":
            if kind_of(root)[0] != "row" or split is None:
                return None
            outer = group.domain[:split]
            if position != flat(outer, identity(outer)):
                return None
            sweep = max(sweep, group.sweeps[root] + 1)
        elif position != whole:
            return None
        else:
            sweep = max(sweep, group.sweeps[root])
    return sweep


# -- what is read ---------------------------------------------------------------------------------


def inlined(value: Value, index: Sequence[Affine]) -> list[tuple[Value, tuple[Affine, ...]]]:
    """The arguments of a value that is computed where it is read, with their indices."""
    if value.op == "map":
        return [(arg, dropped(arg, value, index)) for arg in value.args]
    if value.op == "view":
        return [(value.args[0], affine.seen(value.data, index))]
    if value.op == "pad":
        inner = tuple(i.shifted(-s) for i, s in zip(index, value.data, strict=True))
        return [(value.args[0], inner)]
    if value.op == "inset":
        inner = tuple(i.shifted(-s) for i, s in zip(index, value.data, strict=True))
        return [(value.args[0], tuple(index)), (value.args[1], inner)]
    if value.op == "concat":
        found, start = [], 0
        for arg in value.args:
            inner = [i.shifted(-start) if a == value.data else i for a, i in enumerate(index)]
            found.append((arg, tuple(inner)))
            start += arg.shape[value.data]
        return found
    if value.op == "take":
        axes, place, joint = value.data
        arrays = [(arg, tuple(index[place : place + joint])) for arg in value.args[1:]]
        dynamic = [affine.variable(f"?{id(arg)}") for arg in value.args[1:]]
        return [*arrays, (value.args[0], taken(axes, dynamic, index))]
    return []


def dropped(arg: Value, value: Value, index: Sequence[Affine]) -> tuple[Affine, ...]:
    """The index of an argument that broadcasts."""
    lost = len(value.shape) - len(arg.shape)
    return tuple(affine.ZERO if n == 1 else index[i + lost] for i, n in enumerate(arg.shape))


def taken(axes, dynamic: Sequence[Affine], index: Sequence[Affine]) -> tuple[Affine, ...]:
    return tuple(
        dynamic[axis] if isinstance(axis, int) else affine.seen((axis,), index)[0] for axis in axes
    )


def reads_of(root: Value, roots: set[Value]) -> Iterable[tuple[Value, Affine]]:
    """The inputs and roots that computing `root` reads, with positions in their buffers."""
    domain = domain_of(root)
    index = identity(domain)
    if root.op in ("reduce", "scatter"):
        stack = sources_of(root)
        if root.op == "scatter" and (below := below_of(root)) is not None:
            stack.append((below, identity(root.shape)))
    elif root.op in OPS:
        stack = [(arg, identity(arg.shape)) for arg in root.args]
    else:
        stack = inside(root, index)
    seen: set = set()
    while stack:
        value, at = stack.pop()
        if (value, at) in seen:
            continue
        seen.add((value, at))
        if value.op == "input" or value in roots:
            yield value, flat(value.shape, at)
        else:
            stack += inside(value, at)


def sources_of(root: Value) -> list[tuple[Value, tuple[Affine, ...]]]:
    """What the loops of a reduction or a scatter read, at the element they are at."""
    index = identity(domain_of(root))
    found = [(root.args[0], index)]
    if root.op == "scatter":
        _, place, joint, _ = root.data
        found += [(arg, index[place : place + joint]) for arg in places_of(root)]
    return found


def inside(value: Value, index: Sequence[Affine]) -> list[tuple[Value, tuple[Affine, ...]]]:
    """The same, of reshapes too."""
    if value.op == "reshape":
        # Its source has a buffer, in which it is the same positions.
        source = value.args[0]
        return [(source, _as_flat(source, flat(value.shape, index)))]
    return inlined(value, index)


def _as_flat(source: Value, position: Affine) -> tuple[Affine, ...]:
    """An index that `flat` maps to `position`."""
    return (*(affine.ZERO for _ in source.shape[1:]), position)
