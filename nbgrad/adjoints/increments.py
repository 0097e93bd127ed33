"""Stores that add to the element that was there, as such: their adjoint changes no shadow."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir.reductions import SUM
from ..ir.scalar import Apply
from ..ir.statements import Assign, Load, Operand, Store
from ..ir.walk import inner, walk, with_inner
from .build import names_of, operation

__all__ = ["with_increments"]


def with_increments(
    body: Sequence[Any], results: Sequence[Operand], new: Callable[[str, np.dtype], str]
) -> list[Any]:
    """The statements with `a[i] = a[i] + x` as one store that adds x."""
    uses = Counter(name for each in walk(body) for name in names_of(each))
    uses.update(x for x in results if isinstance(x, str))
    # A statement may read a name twice.
    for each in walk(body):
        operands = [x for x in getattr(each, "operands", ()) if isinstance(x, str)]
        uses.update(x for x, count in Counter(operands).items() for _ in range(count - 1))
    return _changed(body, uses, new)


def _changed(body: Sequence[Any], uses: Counter, new: Callable[[str, np.dtype], str]) -> list[Any]:
    made: list[Any] = []  # None in place of what is dropped
    places: dict[Any, int] = {}  # of the statements that define names
    written: dict[Any, int] = {}  # the places of the latest stores to buffers

    def defined(name: Any) -> Any:
        return made[places[name]] if name in places else None

    for each in body:
        if inner(each):
            each = with_inner(each, lambda part: tuple(_changed(part, uses, new)))
        elif isinstance(each, Store) and each.kind is None:
            if (found := _increment(defined, each, uses)) is not None:
                load, value, is_minus = found
                if places[load] > written.get(each.buffer, -1):
                    made[places[load]] = made[places[each.value]] = None
                    if is_minus:
                        name = new("minus", each.dtype)
                        made.append(operation(name, "negative", (value,), each.dtype))
                        value = name
                    each = Store(each.buffer, each.at, value, each.dtype, SUM)
        if isinstance(each, (Assign, Load)):
            places[each.target] = len(made)
        for one in walk([each]):
            if isinstance(one, Store):
                written[one.buffer] = len(made)
        made.append(each)
    return [each for each in made if each is not None]


def _increment(defined: Callable[[Any], Any], store: Store, uses: Counter) -> tuple | None:
    """The name of the element that is loaded, what is added to it, and whether it is subtracted."""
    total = defined(store.value)
    if not isinstance(total, Assign) or uses[store.value] != 1:
        return None
    if not isinstance(total.body, Apply) or total.dtype != store.dtype:
        return None
    sign = total.body.function.name
    places = {"add": (0, 1), "subtract": (0,)}.get(sign, ())
    for i in places:
        load, value = defined(total.operands[i]), total.operands[1 - i]
        if isinstance(load, Load) and uses[load.target] == 1:
            if (load.buffer, load.at, load.dtype) == (store.buffer, store.at, store.dtype):
                return load.target, value, sign == "subtract"
    return None
