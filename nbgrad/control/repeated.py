"""`nbgrad.loop` and `nbgrad.scan`: repeated steps, differentiable, in both tiers."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..core.array import Array
from ..core.memory import Argument
from ..errors import DimensionMismatch, GraphError
from ..rules.assign import explaining_at
from ..rules.layout import stack
from ..runtime.kinds import is_a
from ..runtime.lines import user_line
from ..static.trace.body import recorded
from ..static.trace.loop_row import run_loop
from ..transforms import trees
from ..values.graph import tick
from .carried import (
    arrays,
    carried,
    constants,
    count_of,
    is_traced,
    name_of,
    require_same,
    require_values,
)
from .spans import lengths, nodes_of, separate, span


def loop(
    n: int, body: Callable[[int, Any], Any], state: Any, *, checkpoint: int | str | None = None
) -> Any:
    """The state after n steps: `for i in range(n): state = body(i, state)`.

    Arguments:
        n: how many steps, an integer that does not depend on traced values.
        body: gives the next state for the number of the step and the state. The state is the
            loop's own: a body may write to it, and the arrays that the loop began with stay.
        state: a number, an array, or nested dicts, lists and tuples of them; every step keeps its
            structure, shapes and dtypes.
        checkpoint: which states a reverse pass keeps, as for `scan`.

    Inside of `nbgrad.compile` the body is recorded once and the loop is a loop: compile time does
    not depend on n. Raises TypeError or DimensionMismatch where the body gives another structure,
    shape or dtype, ValueError for a negative n.

    >>> nbgrad.loop(3, lambda i, x: x * 2.0 + i, 1.0)
    12.0
    """
    n = count_of("loop", n)
    return _run("loop", body, state, None, n, lengths("loop", checkpoint, n))[0]


def scan(
    body: Callable[[Any, Any], tuple[Any, Any]], state: Any, xs: Any = None,
    length: int | None = None, *, checkpoint: int | str | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """The state after one step for each x, and what the steps gave, stacked.

    Arguments:
        body: gives `(next state, y)` for the state and an x; y may be None. It may write to the
            state, as for `loop`.
        state: as for `loop`.
        xs: an array, or nested ones, of which each step gets one row; None gives each step None.
        length: the number of steps where xs is None.
        checkpoint: which states a reverse pass keeps. None keeps those of all n steps. "sqrt" keeps
            about 2 sqrt(n) and computes the others once more; a number k keeps one every k steps,
            and those of k steps at a time; "log" keeps 8 for each power of 8 in n, and computes
            as many times again as there are powers. The gradient is the same to the last bit, and
            the body must give the same at each run.

    Returns `(state, ys)`, where ys has the structure of y with a first axis of that length.

    Raises as `loop` does, DimensionMismatch where lengths disagree, and, in eager code with a
    checkpoint, GraphError for a body that uses a tracked array which is neither given nor in its
    closure.

    >>> nbgrad.scan(lambda s, x: (s + x, s * x), 0.0, np.arange(4.0))
    (np.float64(6.0), array([0., 0., 2., 9.]))
    >>> long = lambda r: nbgrad.scan(
    ...     lambda s, _: (r * s * (1.0 - s), None), 0.5, length=10_000, checkpoint="sqrt"
    ... )[0]
    >>> nbgrad.grad(long)(2.0)
    np.float64(0.25)
    """
    n = _length(xs, length)
    return _run("scan", body, state, xs, n, lengths("scan", checkpoint, n))


@dataclass
class _Steps:
    """The steps of a loop on flat states and xs; `built` gets what makes trees of ys."""

    op: str
    body: Callable
    leaves: list
    rebuild: Callable
    rebuild_xs: Callable
    shape: Any
    held: list
    built: dict[str, Any] = field(default_factory=dict)

    def step(self, i: Any, s: list, x: list) -> list:
        """The next state and the ys of one step."""
        op, body = self.op, self.body
        with explaining_at(f"{op}: {name_of(body)}"):
            state, x = self.rebuild(s), self.rebuild_xs(x)
            new, y = (body(i, state), None) if op == "loop" else self._pair(body(state, x))
        new_leaves, _ = trees.flatten_values(new)
        require_same(op, body, self.leaves, self.shape, new_leaves, new)
        if constants(new) != self.held:
            raise TypeError(
                f"{op}: {name_of(body)} gives {constants(new)} in its state, where it was given "
                f"{self.held}: words and functions are carried along as they are{user_line()}"
            )
        ys, self.built["ys"] = ([], None) if y is None else trees.flatten_values(y)
        return [*new_leaves, *ys]

    def run(
        self, first: int, n: int, state: list, inputs: list, spans: tuple[int, ...]
    ) -> tuple[list, list[tuple]]:
        """The state after n steps, and the rows of ys that they gave, for `_joined`."""
        length = spans[0] if spans else n
        if length >= n:
            return self._one_by_one(first, n, state, inputs)
        parts: list[tuple] = []
        for start in range(0, n, length):
            stop = min(start + length, n)
            xs = [x[start:stop] for x in inputs]

            def steps(body: Callable, s: list, x: list, at=first + start, count=stop - start):
                of_body = replace(self, body=body)
                before, rows = of_body.run(at, count - 1, s, x, spans[1:])
                # The ys of the last step may be its state, and are given as such.
                new, ends = of_body.run(at + count - 1, 1, before, [a[count - 1 :] for a in x], ())
                return new, _joined(rows), _last(ends)

            state, ys, end = span(self.op, self.body, steps, state, xs)
            parts += [([], ys), ([end], [])]
        return state, parts

    def _one_by_one(
        self, first: int, n: int, state: list, inputs: list
    ) -> tuple[list, list[tuple]]:
        rows: list[list] = []
        k = len(state)
        for i in range(n):
            since, before = tick(), nodes_of(state)
            results = self.step(first + i, state, [_row(x, i) for x in inputs])
            new, ys = results[:k], results[k:]
            if ys:
                # What a step gives stays, whatever the next one writes to its state.
                new, ys = separate(before, new, [_kept(y) for y in ys], since)
                rows.append(ys)
            state = new
        return state, [(rows, [])]

    def _pair(self, out: Any) -> tuple[Any, Any]:
        if not isinstance(out, tuple) or len(out) != 2:
            raise TypeError(
                f"scan: {name_of(self.body)} gave {type(out).__name__}, not a pair: return "
                "(state, y), with None for y where there is nothing to stack" + user_line()
            )
        return out


def _run(
    op: str, body: Callable, state: Any, xs: Any, n: int, spans: tuple[int, ...]
) -> tuple[Any, Any]:
    leaves, rebuild = trees.flatten_values(state)
    require_values(op, f"the state of {name_of(body)}", leaves)
    inputs, rebuild_xs = ([], lambda _: None) if xs is None else trees.flatten_values(xs)
    shape = trees.structure([state])
    steps = _Steps(op, body, leaves, rebuild, rebuild_xs, shape, constants(state))
    # Without a step, only a recorded one can tell the shapes of the ys.
    unseen = op == "scan" and not n
    if unseen or is_traced([*leaves, *inputs]):
        inputs = arrays(inputs)
        record = lambda recorder, i, s, x: steps.step(i, s, x)  # noqa: E731
        traced, lifted = recorded(record, name_of(body), n, leaves, inputs, spans=spans)
        results = run_loop(traced, [*lifted, *leaves, *inputs])
        ys = results[len(leaves) :]
        return rebuild(results[: len(leaves)]), _built(steps.built["ys"], ys)
    if not n:
        return rebuild([carried(leaf) for leaf in leaves]), None
    current = [carried(leaf) for leaf in leaves]
    current, rows = steps.run(0, n, current, inputs, spans)
    return rebuild(current), _built(steps.built["ys"], _joined(rows))


def _row(x: Any, i: int) -> Any:
    """The row of xs that a step gets, which is the caller's."""
    row = x[i]
    if isinstance(row, Array) and row.shape:
        row.origin = Argument("scan (a row of xs)", GraphError)
    return row


def _kept(y: Any) -> Any:
    if isinstance(y, Array):
        return y._fresh()
    return y.copy() if is_a(y, np.ndarray) else y


def _built(rebuild: Callable | None, leaves: list) -> Any:
    return None if rebuild is None else rebuild(leaves)


def _last(parts: list[tuple]) -> list:
    """The ys of the one step that gave them."""
    rows, _ = parts[0]
    return rows[0] if rows else []


def _joined(parts: list[tuple]) -> list:
    """Rows of ys, one after the other or stacked, as arrays. They are joined after all steps, with
    spans and without: the order of ops is that in which cotangents are added."""
    counts = [len(row) for rows, _ in parts for row in rows] + [len(ys) for _, ys in parts]
    joined = []
    for j in range(max(counts, default=0)):
        pieces = []
        for rows, ys in parts:
            pieces += [_stack([row[j] for row in rows])] if rows else ys[j : j + 1]
        joined.append(pieces[0] if len(pieces) == 1 else np.concatenate(pieces))
    return joined


def _stack(rows: list) -> Any:
    return stack(rows) if any(isinstance(row, Array) for row in rows) else np.stack(rows)


def _length(xs: Any, length: Any) -> int:
    lengths = set()
    for x in [] if xs is None else trees.flatten_values(xs)[0]:
        shape = x.shape if hasattr(x, "shape") else np.shape(x)
        if not shape:
            raise DimensionMismatch(
                f"scan: xs holds a number: every leaf needs a first axis to step along{user_line()}"
            )
        lengths.add(shape[0])
    if length is not None:
        lengths.add(count_of("scan", length))
    if len(lengths) != 1:
        raise DimensionMismatch(
            f"scan: the lengths {sorted(lengths)} of xs and length disagree{user_line()}"
            if lengths
            else f"scan: without xs, say length=n{user_line()}"
        )
    return lengths.pop()
