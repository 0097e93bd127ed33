"""A reverse pass in two functions: one runs forward and keeps its record, one runs backward.

The first one also records, at its end, the numbers that the second one reads, and the elements of
arrays that it wrote to. The function backward does not change the record, so it may run again.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..ir.spread import Spread
from ..ir.statements import Call, Load, New, Operand, Return, Store
from ..ir.walk import inner, walk
from .build import INT, buffers_of, defined_names, names_of
from .record import Record
from .states import Layout, State

__all__ = ["BORDER", "Halves", "written_in"]

BORDER = Call("border", ())
"""The statement between the two sweeps."""


class Halves:
    """The bodies of the two functions, of which `whole` is one after the other. `parameters` and
    `variables` are those of both, `shadows` those of arrays that the function makes; `lengths` are
    those of arrays that are passed, None where they do not tell the number of elements."""

    def __init__(
        self, whole: Sequence[Any], parameters: Collection[str], variables: Collection[str],
        shadows: Collection[Any], lengths: Mapping[Any, Sequence[Operand] | None],
        dtypes: dict[str, np.dtype], buffers: Mapping[Any, np.dtype], new: Callable[..., str],
        record: Record,
    ):  # fmt: skip
        self._dtypes, self._buffers, self._new, self._record = dtypes, buffers, new, record
        border = next(i for i, x in enumerate(whole) if x is BORDER)
        self._back = whole[border + 1 :]
        front, back = walk(whole[:border]), walk(self._back)
        self._front = [x for x in whole[:border] if getattr(x, "target", None) not in shadows]
        read = {name for each in back for name in names_of(each)}
        own = set(defined_names(back)).difference(variables)
        passed = read.intersection(defined_names(front)).difference(own, record.variables)
        used = {buffer for each in back for buffer in buffers_of(each)}
        made = [x for x in front if isinstance(x, New) and x.target in used]
        self._made = list({x.target: x for x in made}.values())
        sizes: dict[Any, Any] = {**lengths, **{x.target: (x.count,) for x in made}}
        stored = written_in(front)
        loaded = {x for each in back for x in buffers_of(each) if not isinstance(each, Store)}
        self._sizes = {x: sizes[x] for x in sorted(stored & loaded) if x in sizes}
        parts = {part for each in back if isinstance(each, Spread) for part, _, _ in each.shared}
        every = [*self._sizes.values(), *((x.count,) for x in made)]
        needed = {x for size in every for x in size or () if isinstance(x, str)}
        at_end = {name for each in whole[:border] for name in _defined(each)}
        self._names = tuple(sorted(passed | needed & at_end.difference(variables)))
        known = {*parameters, *self._names}
        self.exist = (
            used.issubset({*parameters, *defined_names(back), *(x.target for x in made), *parts})
            and len(self._made) == len({(x.target, x.count) for x in made})
            and None not in every
            and needed <= known
        )
        """Whether the second function can find all that it reads."""

    def forward(self, declared: Sequence[Any], results: Sequence[Operand]) -> list[Any]:
        """The body of the function that runs forward."""
        made = [*self._front, *(x for x in self._made if x.target in self._sizes)]
        for layout in (self._arrays(), self._numbers()):
            layout.save(self._record.reserve(layout.sized(made), made, is_last=True), made)
        made += self._record.handed_over()
        made = [*declared, *self._record.declared(), *made]
        return [*self._record.freed_at_errors(made), Return(tuple(results))]

    def backward(self, declared: Sequence[Any], results: Sequence[Operand]) -> list[Any]:
        """The body of the function that runs backward."""
        made = self._record.taken_over()
        self._restore(self._numbers(), made)
        made += self._made
        self._restore(self._arrays(), made)
        declared = [*declared, *self._record.declared()]
        return [*declared, *made, *self._back, Return(tuple(results))]

    def _restore(self, layout: Layout, made: list[Any]) -> None:
        layout.restore(self._record.release(layout.sized(made), made), made)

    def _numbers(self) -> Layout:
        for name in self._names:
            self._dtypes.setdefault(name, INT)
        return self._layout(State(self._names, {}))

    def _arrays(self) -> Layout:
        return self._layout(State((), self._sizes))

    def _layout(self, state: State) -> Layout:
        return Layout(state, lambda x: x, self._new, self._dtypes, self._buffers, self._record)


def _defined(each: Any) -> list[str]:
    """The names that a statement defines for those behind it."""
    return [] if inner(each) else defined_names([each])


def written_in(statements: Iterable[Any]) -> set[Any]:
    """The buffers that statements may write to: the second function finds their elements in the
    record."""
    return {x for each in statements if not isinstance(each, Load) for x in buffers_of(each)}
