"""Calls that are recorded for named lengths: a program for each order of these.

Lengths that a call needs to be equal are found by trying. What it decides by comparing lengths
becomes conditions; another order of them gives another program.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product
from typing import Any

from ..compiler.front.refusals import described
from ..compiler.front.syntax import Unsupported
from ..core.memory import Argument, Origin
from ..core.steps import ReadOnly
from ..errors import SizesError
from ..ir.formulas import Condition
from ..ir.naming import Naming
from ..ir.scalar import Expr
from ..ir.sizes import names_in, stand_in
from ..static.lower.graph import Graph
from ..static.lower.lowering import Lowering, fill
from ..static.lower.values import topological
from ..static.trace.program import Program
from ..static.trace.record import trace
from ..static.trace.same import Comparison
from ..transforms import trees
from .given import Given, in_parts
from .linking import Linking
from .rows import scalar_code

__all__ = ["Variant", "told", "variants_of"]

_MOST_OPS, _MOST_CONDITIONS = 1_000, 12
_MOST_VARIANTS, _MOST_LEAST, _MOST_RECENT = 4, 12, 64
_LARGE, _LARGE_OF_MATRICES = 20_000, 2_000  # of which masks are made
_NAMES = "abcdefgh"
# Neither a stand-in nor the number below is a multiple of 25: 0.01 would be taken for its share.
_STAND_INS = ((1009, 1153, 1321, 1447, 1579, 1733), (2042, 2234, 2374, 2518, 2654, 2798))


def _partitions(axes: Mapping[str, int]) -> list[tuple[tuple[str, ...], ...]]:
    """The ways to make groups of lengths, which have axes: those of more groups first, and of these
    the ones with the same axes in a group."""

    def ways(names: Sequence[str]) -> Iterator[list[list[str]]]:
        if not names:
            yield []
            return
        for rest in ways(names[1:]):
            yield [[names[0]], *rest]
            for i, group in enumerate(rest):
                yield [*rest[:i], [names[0], *group], *rest[i + 1 :]]

    def price(groups: Sequence[Sequence[str]]) -> tuple[int, int]:
        return -len(groups), sum(len({axes[name] for name in group}) for group in groups)

    return sorted((tuple(map(tuple, each)) for each in ways(list(axes))), key=price)


class _Few(Naming):
    """Named sizes with few conditions: a loop whose rounds depend on a size has ever more."""

    verified = False

    def require(self, left: int, relation: str, right: int) -> None:
        super().require(left, relation, right)
        if len(self.conditions) > _MOST_CONDITIONS:
            raise SizesError("it depends on lengths in too many ways")


class _Formulas(Lowering):
    """A graph whose scalar code has the derivatives of the rows."""

    def body_of(self, primitive: Any, params: dict, whole: bool) -> Expr:
        if whole:
            return super().body_of(primitive, params, whole)
        return scalar_code(primitive, tuple(params.items()))


@dataclass(frozen=True)
class Variant:
    """A call that is recorded for lengths of which those in one of `groups` are equal, and that are
    at least `least`; `names` are those of the groups, `conditions` what else must hold."""

    program: Program
    graph: Graph
    outputs: list[Any]
    groups: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]
    conditions: list[Condition]
    text: str
    views: tuple[bool, ...]
    least: int = 1

    @property
    def is_always_right(self) -> bool:
        is_free = all(len(group) == 1 for group in self.groups)
        return is_free and not self.conditions and self.least == 1


_recent: dict[tuple, tuple[list[str], list[Variant]]] = {}


def variants_of(function: Callable, given: Given, same: Any = None) -> list[Variant]:
    """The recorded programs for a call, the first of which holds for most lengths. They are kept
    for calls of functions with an equal `same`, if it is not None."""
    if same is None:
        return _made(function, given)
    key = same, given.key
    known = _recent.get(key)
    if known is None:
        known = _recent[key] = list(given.sizes), _made(function, given)
        if len(_recent) > _MOST_RECENT:
            _recent.pop(next(iter(_recent)), None)
    names, found = known
    now = dict(zip(names, given.sizes, strict=True))
    return [replace(x, groups=tuple(tuple(now[n] for n in g) for g in x.groups)) for x in found]


def _made(function: Callable, given: Given) -> list[Variant]:
    found: list[Variant] = []
    last: Exception | None = None
    for groups in _partitions(given.axes):
        for order in permutations(range(len(groups))):
            names = tuple(_NAMES[i] for i in order)
            try:
                one, other = (_recorded(function, given, groups, names, n) for n in _STAND_INS)
                if one.text != other.text:
                    raise Unsupported("it depends on lengths in a way that has no formula")
                one = replace(one, least=_least(function, given, one))
            except Exception as error:  # of any kind, as for lengths that do not fit
                last = error
                break
            if all(told(one) != told(x) for x in found):
                found.append(one)
            if not one.conditions or len(found) == _MOST_VARIANTS:
                break
        if found and (not found[-1].conditions or len(found) == _MOST_VARIANTS):
            break
    if not found:
        raise Unsupported(f"{described(function)}: {last}")
    return found


def _recorded(
    function: Callable, given: Given, groups: tuple[tuple[str, ...], ...],
    names: tuple[str, ...], numbers: Sequence[int],
) -> Variant:  # fmt: skip
    views: list[bool] = []
    noting = _noting(function, views)
    naming, program = _traced(noting, given, groups, names, numbers, False)
    with naming:
        graph = _Formulas()
        outputs = fill(graph, program)
        conditions = list(naming.conditions.values())
        text = _text(graph, outputs) + "".join(map(str, naming.conditions))
    return Variant(program, graph, outputs, groups, names, conditions, text, tuple(views))


def _noting(function: Callable, views: list[bool]) -> Callable:
    """The function, which notes which of its results are views of arguments."""

    def called(*args: Any, **options: Any) -> Any:
        result = in_parts(function(*args, **options))
        leaves = [x for x in trees.flatten(result)[0] if x is not None and type(x) is not str]
        views[:] = map(_is_view, leaves)
        return result

    called.__name__ = function.__name__
    return called


def _is_view(x: Any) -> bool:
    """Whether writing to a result writes to an argument, too."""
    origin = getattr(x, "origin", None)
    while isinstance(origin, Origin):
        if isinstance(origin.step, ReadOnly):
            return False
        origin = origin.parent.origin
    return isinstance(origin, Argument)


def _traced(
    function: Callable, given: Given, groups: Sequence[Sequence[str]], names: Sequence[str],
    numbers: Sequence[int], small: bool, named: bool = True,
) -> tuple[Naming, Program]:  # fmt: skip
    naming = _Few(lambda: "", checks=small, small=small)
    sizes: dict[str, int] = {}
    for group, name, n in zip(groups, names, numbers, strict=False):
        sizes |= dict.fromkeys(group, stand_in(name, n, naming) if named else n)
    with naming:
        avals = given.avals(sizes)
        return naming, trace(
            function, function.__name__, avals, [False] * len(avals),
            lambda symbols: given.rebuilt(symbols, sizes), _MOST_OPS, Linking,
        )  # fmt: skip


def _least(function: Callable, given: Given, variant: Variant) -> int:
    """The least length for which the same program is recorded: Python code may have decided by
    lengths in ways that are no condition. Raises Unsupported if there is none."""
    names, groups = variant.names, variant.groups
    naming, program = _traced(function, given, groups, names, _STAND_INS[0], False)
    if not naming.seen or not names:
        return 1
    comparison = Comparison(naming, program)

    def is_same(numbers: Sequence[int]) -> bool:
        sizes = dict(zip(names, numbers, strict=False))
        if not all(each.holds(sizes) for each in variant.conditions):
            return True
        for named in (True, False):  # a short length may be taken for another number
            try:
                other = _traced(function, given, groups, names, numbers, True, named)[1]
            except Exception:  # it raises for these lengths
                continue
            if comparison.difference(other, sizes) is None:
                return True
        return False

    large = _LARGE if given.rank < 2 else _LARGE_OF_MATRICES
    for length in (large, *range(_MOST_LEAST, 0, -1)):
        several = [length + 2 * i for i in range(len(groups))]
        orders = [several, several[::-1]] if len(groups) > 1 else [several]
        if not all(map(is_same, orders)):
            if length >= _MOST_LEAST:
                raise Unsupported("it depends on lengths in a way that has no formula")
            return length + 1
    return 1


def _text(graph: Graph, outputs: Sequence[Any]) -> str:
    """All that values are, as text: equal if no stand-in is in it."""
    numbers: dict[Any, int] = {}
    lines = [repr([x.tolist() for x in graph.captured])]
    for each in topological([*outputs, *(ok for ok, _ in graph.checks)]):
        args = [numbers[x] for x in each.args]
        fields = {k: v for k, v in vars(each).items() if k not in ("args", "line")}
        lines.append(f"{type(each).__name__} {args} {fields}")
        numbers[each] = len(numbers)
    return "\n".join(lines)


def told(variant: Variant) -> str:
    """The conditions of a variant, in terms of the arguments."""
    groups = [[re.sub(r"_n(\d+)$", r".shape[\1]", x) for x in group] for group in variant.groups]
    spelled = {name: group[0] for name, group in zip(variant.names, groups, strict=False)}
    equal = [f"{group[0]} == {other}" for group in groups for other in group[1:]]
    others = [x for x in variant.conditions if not _of_least(x, variant.least)]
    of_least = {n for x in variant.conditions if x not in others for n in _names_of(x)}
    told = [f"{x.left} {x.relation} {x.right}" for x in others]
    told += [f"{n} >= {variant.least}" for n in spelled if variant.least > 1 or n in of_least]
    text = re.sub(r"\b[a-h]\b", lambda found: spelled.get(found[0], found[0]), " and ".join(told))
    return " and ".join([*equal, *([text] if text else [])]) or "equal lengths"


def _names_of(condition: Condition) -> list[str]:
    return sorted({*names_in(condition.left), *names_in(condition.right)})


def _of_least(condition: Condition, least: int) -> bool:
    """Whether a condition holds for all lengths that are at least `least`."""
    names = _names_of(condition)
    lengths = (*range(least, least + 4), *_STAND_INS[0][:2])
    return all(
        condition.holds(dict(zip(names, numbers, strict=True)))
        for numbers in product(lengths, repeat=len(names))
    )
