"""Checkpointed loops: spans of steps that are primitives, recomputed in the backward pass.

The result of a span is one array, in which equal results occur once. Contributions to a state are
therefore added in the same order as without spans, and gradients are bitwise identical.
"""

from collections.abc import Callable, Sequence
from math import isqrt, prod
from typing import Any

import numpy as np

from ..core.array import Array
from ..core.primitive import bind
from ..errors import ArgumentError, ArgumentTypeError
from ..rules.layout import reshape
from ..runtime.kinds import is_a
from ..runtime.lines import user_line
from ..transforms import trees
from ..transforms.calls import FunctionCall, Part
from ..transforms.checkpoint import checkpointed
from ..transforms.state import State

# The number of parts of each span with "log": seven states at each length; a million steps are
# computed seven times.
_PARTS = 8


def lengths(op: str, checkpoint: Any, n: int) -> tuple[int, ...]:
    """Return the lengths of nested spans of n steps, from the longest; see `Body`.

    Raises TypeError or ValueError for an invalid checkpoint.
    """
    if checkpoint is None:
        return ()
    if checkpoint == "sqrt":
        found = (isqrt(max(n - 1, 0)) + 1,)
    elif checkpoint == "log":
        found = tuple(_PARTS**k for k in range(1, 64) if _PARTS**k < n)[::-1]
    elif is_a(checkpoint, (int, np.integer)) and not isinstance(checkpoint, bool):
        if checkpoint < 1:
            raise ArgumentError(
                f"{op}: checkpoint={checkpoint}: the number of steps between stored states must be "
                f"positive{user_line()}"
            )
        found = (int(checkpoint),)
    else:
        raise ArgumentTypeError(
            f'{op}: checkpoint={checkpoint!r}: use "sqrt", "log", the number of steps between '
            f"stored states, or None to store all{user_line()}"
        )
    return tuple(length for length in found if 1 < length < n)


def span(
    op: str, body: Callable, run: Callable[[Callable, list, list], Any], state: list, xs: list
) -> Any:
    """Call `run(body, state, xs)` as one primitive of the tracked values in its arguments.

    These include the values that `body` captures. If nothing is tracked, call it directly.
    """
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
    """A call whose arguments and results as a primitive are only the tracked arrays.

    The first run determines which results are tracked; later runs, with constants in place of some
    arguments, return as many.
    """

    label = ""
    _parts: list[Part | None] | None = None

    @property
    def name(self) -> str:
        return self.label

    def taken(self) -> list[Any]:
        """Return the tracked arguments, each once, and drop them: the graph keeps them alive."""
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
            # A new array object, because the body may write to its state.
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
    """Return the identity of an array; arrays of the same node are equal."""
    return id(getattr(x, "node", x)) if isinstance(x, Array) else id(x)


def nodes_of(values: Sequence) -> list[Any]:
    """Return the nodes of tracked arrays, None for other values."""
    return [getattr(x, "node", None) if isinstance(x, Array) else None for x in values]


def separate(old: Sequence, new: Sequence, rows: Sequence, since: int) -> tuple[list, list]:
    """Return the next state and the ys of a step with separate nodes.

    The step began at the time `since` with a state of the nodes `old`. To make the order of
    contributions independent of spans, an unchanged state gets a node of its own, and so does an
    array that occurs twice among the ys or belongs to neither state.
    """
    before = {node for node in old if node is not None}
    state = [
        bind(reshape, x, shape=x.shape) if node in before else x
        for x, node in zip(new, nodes_of(new), strict=True)
    ]
    found: list[Any] = []
    seen: set[Any] = set()
    for row, node in zip(rows, nodes_of(rows), strict=True):
        if node is not None:
            known = node.time > since or node in before
            row = row if known and node not in seen else np.copy(row)
            seen.add(node)
        found.append(row)
    return state, found
