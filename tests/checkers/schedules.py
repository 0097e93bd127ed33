"""Whether a schedule is sound: for tests of what makes it."""

from collections.abc import Iterator

from nbgrad.errors import TraceError
from nbgrad.ir.affine import flat, identity
from nbgrad.static.lower.buffered import Nested, Reduce, Scatter
from nbgrad.static.lower.values import Full, Input, Value
from nbgrad.static.schedule.edges import domain_edges
from nbgrad.static.schedule.fuse import (
    FusionGroup,
    Schedule,
    ScheduledStep,
    Single,
    domain_of,
    reads_of,
)


def check_schedule(schedule: Schedule) -> None:
    """Raise TraceError unless every materialized value is computed once and before it is read, and
    the members of each group fit its domain, its sweeps and its edges. The steps of loops are
    checked too."""
    results: set[Value] = set()
    for step in schedule.steps:
        values = _results_of(step, schedule)
        _require(not results & set(values), f"{values} are computed twice")
        if isinstance(step, FusionGroup):
            _group(step, schedule, results)
        else:
            for value in _read_by(step, schedule):
                _require(value in results, f"{step.value} reads {value}, which comes later")
            for inner in step.inner:
                check_schedule(inner.schedule)
        results.update(values)
    missing = schedule.policy.materialized - results
    _require(not missing, f"{missing} are never computed")
    for value in schedule.outputs:
        known = value in results or isinstance(value, Input)
        number = isinstance(value, Full) and value.shape == ()
        _require(known or number, f"the output {value} is never computed")


def _results_of(step: ScheduledStep, schedule: Schedule) -> list[Value]:
    if isinstance(step, FusionGroup):
        return list(step.sweeps)
    return [step.value, *(item for item in step.items if item in schedule.policy)]


def _read_by(single: Single, schedule: Schedule) -> Iterator[Value]:
    """The materialized values that a single step reads, through values that are not."""
    stack, seen = list(single.value.args), set()
    while stack:
        value = stack.pop()
        if value in seen or isinstance(value, Input):
            continue
        seen.add(value)
        if value in schedule.policy:
            yield value
        else:
            _require(not isinstance(value, Nested), f"{single.value} reads a loop or a choice")
            stack += value.args


def _group(group: FusionGroup, schedule: Schedule, results: set[Value]) -> None:
    split, done = group.split, []
    for value in group.members:
        fits = domain_of(value) == group.domain
        _require(fits, f"{value} does not run over the group's {group.domain}")
        if isinstance(value, Reduce) and value.is_row:
            _require(split == value.axes[0], f"the rows of {value} do not begin at axis {split}")
        for axis, positions in domain_edges(value, schedule.policy.edges).items():
            cut = group.edges.get(axis, frozenset())
            _require(positions <= cut, f"the loops of {value} are not cut at {positions - cut}")
        for producer, position in reads_of(value, schedule.policy):
            if isinstance(producer, Input) or producer in results:
                continue
            _require(producer in group.sweeps, f"{value} reads {producer}, which comes later")
            sweep, own = group.sweeps[producer], group.sweeps[value]
            if isinstance(producer, Reduce):
                _require(
                    producer.is_row and split is not None,
                    f"{value} reads {producer} before its end",
                )
                outer = group.domain[:split]
                here = position == flat(outer, identity(outer)) and sweep < own
            else:
                whole = position == flat(group.domain, identity(group.domain))
                here = whole and producer in done and not isinstance(producer, Scatter)
            _require(here, f"{value} reads another element of {producer} than the loops are at")
        done.append(value)


def _require(fits: bool, told: str) -> None:
    if not fits:
        raise TraceError(told)


__all__ = ["check_schedule"]
