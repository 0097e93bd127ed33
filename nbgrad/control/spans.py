"""Long loops in little memory: which states a loop keeps, and spans of steps as ops that a backward
walk takes apart.

The result of a span is one array, and what it gives twice is taken from there once: so
contributions to a state are added in the order in which they would be without spans, and gradients
are equal to the last bit.
"""

from collections.abc import Callable, Sequence
from math import isqrt, prod
from typing import Any

import numpy as np

from ..core.array import Array
from ..core.primitive import bind
from ..rules.layout import reshape
from ..runtime.kinds import is_a
from ..runtime.lines import user_line
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
    elif is_a(checkpoint, (int, np.integer)) and not isinstance(checkpoint, bool):
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
    """A call that takes and gives arrays of transformations alone, all else as it is.

    Which results are such arrays is settled by the first run; others, with constants in place of
    some arguments, give as many.
    """

    label = ""
    _parts: list[Part | None] | None = None

    @property
    def name(self) -> str:
        return self.label

    def taken(self) -> list[Any]:
        """The arrays that it is given, each once; it does not keep them, as the graph does."""
        order: dict[int, int] = {}
        tracked: list[Any] = []
        self._sources = {}
        for i, x in enumerate(self.leaves):
            if isinstance(x, Array):
                key = _key(x)
                if key not in order:
                    order[key] = len(tracked)
                    tracked.append(x)
                self._sources[i] = order[key]
                self.leaves[i] = None
        return tracked

    def arguments(self, arrays: Sequence) -> tuple[list, dict]:
        filled = list(self.leaves)
        for i, source in self._sources.items():
            x = arrays[source]
            # The state is written to, and what the body closes over is not.
            filled[i] = x._fresh() if isinstance(x, Array) else x
        return self.rebuild(filled)

    def pack(self, result: Any) -> Any:
        leaves, self._rebuild = trees.flatten(result)
        if self._parts is None:
            self._parts = [Part(x) if isinstance(x, Array) else None for x in leaves]
        first: dict[int, int] = {}
        self._first = [first.setdefault(_key(x), i) for i, x in enumerate(leaves)]
        pairs = list(zip(leaves, self._parts, strict=True))
        self._rest = [x if part is None else None for x, part in pairs]
        wanted = [(x, part) for x, part in pairs if part is not None]
        if not wanted:
            return np.zeros(0)
        dtype = np.result_type(*(part.dtype for _, part in wanted))
        flat = [np.reshape(x, -1) for x, _ in wanted]
        return np.concatenate([x if x.dtype == dtype else x.astype(dtype) for x in flat])

    def unpack(self, packed: Any) -> Any:
        assert self._parts is not None
        found: list[Any] = []
        at = 0
        for i, part in enumerate(self._parts):
            if part is None:
                found.append(self._rest[i])
                continue
            size, same = prod(part.shape), self._first[i]
            if same < i:
                found.append(found[same]._fresh())
            else:
                x = np.reshape(packed[at : at + size], part.shape)
                found.append(x if x.dtype == part.dtype else x.astype(part.dtype))
            at += size
        return self._rebuild(found)


def _key(x: Any) -> int:
    """The identity of an array: the arrays of one node are the same array."""
    return id(getattr(x, "node", x)) if isinstance(x, Array) else id(x)


def nodes_of(values: Sequence) -> list[Any]:
    """The nodes of arrays of the graph, None for others."""
    return [getattr(x, "node", None) if isinstance(x, Array) else None for x in values]


def separate(old: Sequence, new: Sequence, rows: Sequence, since: int) -> tuple[list, list]:
    """The next state and the ys of a step that began at the time `since` with a state of the nodes
    `old`, so that the order in which contributions to an array come does not depend on spans: a
    state that goes on as it is becomes an op of its own, as does an array that is a y twice, or
    that is of neither state."""
    state = [
        bind(reshape, x, shape=x.shape) if _among(node, old) else x
        for x, node in zip(new, nodes_of(new), strict=True)
    ]
    found: list[Any] = []
    seen: list[Any] = []
    for row, node in zip(rows, nodes_of(rows), strict=True):
        if node is not None:
            known = node.time > since or _among(node, old)
            row = row if known and not _among(node, seen) else np.copy(row)
        found.append(row)
        seen.append(node)
    return state, found


def _among(node: Any, others: Sequence) -> bool:
    return node is not None and any(node is other for other in others)
