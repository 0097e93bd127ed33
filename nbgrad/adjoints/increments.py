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
    made: list[Any] = []
    for each in body:
        if inner(each):
            each = with_inner(each, lambda part: tuple(_changed(part, uses, new)))
        elif isinstance(each, Store) and each.kind is None:
            if (found := _increment(made, each, uses)) is not None:
                load, total, value, is_minus = found
                made.remove(load)
                made.remove(total)
                if is_minus:
                    name = new("minus", each.dtype)
                    made.append(operation(name, "negative", (value,), each.dtype))
                    value = name
                each = Store(each.buffer, each.at, value, each.dtype, SUM)
        made.append(each)
    return made


def _increment(made: Sequence[Any], store: Store, uses: Counter) -> tuple | None:
    """The load, the sum, what is added, and whether it is subtracted."""
    defined: dict[Any, Any] = {
        each.target: each for each in made if isinstance(each, (Assign, Load))
    }
    total = defined.get(store.value)
    if not isinstance(total, Assign) or uses[store.value] != 1:
        return None
    if not isinstance(total.body, Apply) or total.dtype != store.dtype:
        return None
    sign = total.body.function.name
    places = {"add": (0, 1), "subtract": (0,)}.get(sign, ())
    for i in places:
        load, value = defined.get(total.operands[i]), total.operands[1 - i]
        if isinstance(load, Load) and uses[load.target] == 1:
            if (load.buffer, load.at, load.dtype) == (store.buffer, store.at, store.dtype):
                later = made[made.index(load) :]
                if not any(_writes(each, store.buffer) for each in later):
                    return load, total, value, sign == "subtract"
    return None


def _writes(each: Any, buffer: Any) -> bool:
    return any(isinstance(one, Store) and one.buffer == buffer for one in walk([each]))
