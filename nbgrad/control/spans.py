"""Long loops in little memory: which states a loop keeps, and spans of steps as ops that a backward
walk takes apart.

The result of a span is one array, in which what stands twice is once: so contributions to a state
are added in the order in which they would be without spans, and gradients are equal to the last
bit.
"""

from collections.abc import Callable, Sequence
from math import isqrt
from typing import Any

import numpy as np

from ..core.array import Array
from ..core.primitive import bind
from ..core.symbols import user_line
from ..transforms import trees
from ..transforms.calls import FunctionCall, Part
from ..transforms.checkpoint import checkpointed
from ..transforms.state import State

# Of "log", each span is cut into so many: seven states at each length, and a million steps are
# computed seven times.
_PARTS = 8


def lengths(op: str, checkpoint: Any, n: int) -> tuple[int, ...]:
    """The lengths of spans of n steps, each of which holds those of the next: see `Body`.

    Raises TypeError or ValueError for a checkpoint that is none.
    """
    if checkpoint is None:
        return ()
    if checkpoint == "sqrt":
        found = (isqrt(max(n - 1, 0)) + 1,)
    elif checkpoint == "log":
        found = tuple(_PARTS**k for k in range(1, 64) if _PARTS**k < n)[::-1]
    elif isinstance(checkpoint, (int, np.integer)) and not isinstance(checkpoint, bool):
        if checkpoint < 1:
            raise ValueError(
                f"{op}: checkpoint={checkpoint}: a state is kept every so many steps, so the "
                f"number must be positive{user_line()}"
            )
        found = (int(checkpoint),)
    else:
        raise TypeError(
            f'{op}: checkpoint={checkpoint!r}: give "sqrt", "log", or how many steps lie between '
            f"states that are kept; None keeps all{user_line()}"
        )
    return tuple(length for length in found if 1 < length < n)


def span(
    op: str, body: Callable, run: Callable[[Callable, list, list], Any], state: list, xs: list
) -> Any:
    """`run(body, state, xs)` as one op of what is tracked among the state, xs and what `body`
    holds; computed as it is where nothing is."""
    held = State(body)
    if any(isinstance(x, Array) for x in held.leaves):
        call = _Span(
            op, lambda own, s, x: run(held.rebuild(own), s, x), (held.leaves, state, xs), {}
        )
    else:
        call = _Span(op, lambda s, x: run(body, s, x), (state, xs), {})
    call.label = getattr(body, "__name__", type(body).__name__)
    tracked = call.taken()
    if not tracked:
        return run(body, state, xs)
    return call.unpack(bind(checkpointed, *tracked, call=call))


class _Span(FunctionCall):
    """A call that takes and gives arrays of transformations alone, all else as it is."""

    label = ""

    @property
    def name(self) -> str:
        return self.label

    def taken(self) -> list[Any]:
        """The arrays that it is given, which it does not keep: the graph does."""
        self.places = [i for i, x in enumerate(self.leaves) if isinstance(x, Array)]
        tracked = self.arrays
        for i in self.places:
            self.leaves[i] = None
        return tracked

    def pack(self, result: Any) -> Any:
        leaves, self._rebuild = trees.flatten(result)
        parts: dict[int, Any] = {id(x): x for x in leaves if isinstance(x, Array)}
        order = {key: i for i, key in enumerate(parts)}
        self._whole = [Part(x) for x in parts.values()]
        self._leaves = [order.get(id(x), -1) for x in leaves]
        self._rest = [None if isinstance(x, Array) else x for x in leaves]
        if not parts:
            return np.zeros(0)
        dtype = np.result_type(*(part.dtype for part in self._whole))
        flat = [np.reshape(x, -1) for x in parts.values()]
        return np.concatenate([x if x.dtype == dtype else x.astype(dtype) for x in flat])

    def unpack(self, packed: Any) -> Any:
        wholes, at = [], 0
        for part in self._whole:
            size = int(np.prod(part.shape))
            x = np.reshape(packed[at : at + size], part.shape)
            wholes.append(x if x.dtype == part.dtype else x.astype(part.dtype))
            at += size
        return self._rebuild(
            [
                rest if at < 0 else wholes[at]
                for at, rest in zip(self._leaves, self._rest, strict=True)
            ]
        )


def separate(rows: Sequence, old: Sequence, new: Sequence, since: int) -> list:
    """What a step gives, where an array that stands there twice, or that was there before and goes
    on, is a copy: it may count in many spans, and sums of its cotangents must not depend on
    them."""
    found: list[Any] = []
    for row in rows:
        node = getattr(row, "node", None)
        if node is not None:
            first = all(row is not other for other in found)
            ends = any(row is x for x in old) and all(row is not x for x in new)
            if not (first and (node.time > since or ends)):
                row = np.copy(row)
        found.append(row)
    return found
