"""`nbgrad.loop` and `nbgrad.scan`: repeat a step."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..core.array import Array
from ..core.memory import Argument
from ..errors import ArgumentTypeError, DimensionMismatch, GraphError, SampleMismatch
from ..rules.assign import explaining_at
from ..rules.layout import stack
from ..runtime.kinds import is_a
from ..runtime.lines import user_line
from ..static.trace.body import recorded
from ..static.trace.loop_row import run_loop
from ..transforms import trees
from ..values.graph import tick
from .carried import Carried, arrays, count_of, is_traced, name_of
from .flattening import quick_flatten
from .spans import lengths, nodes_of, separate, span


def loop(
    n: int, body: Callable[[int, Any], Any], state: Any, *, checkpoint: int | str | None = None
) -> Any:
    """Return the state after n steps: `for i in range(n): state = body(i, state)`.

    Arguments:
        n: the number of steps, an integer that does not depend on traced values.
        body: a function of the index of the step and the state that returns the next state. It may
            write to the state, which is a copy of the initial state.
        state: a number, an array, or nested dicts, lists and tuples of them. Each step must keep
            its structure, shapes and dtypes.
        checkpoint: the states that a reverse pass stores, as for `scan`.

    Inside `nbgrad.compile`, the body is traced once, so the compile time does not depend on n.

    Raises TypeError or DimensionMismatch if the body changes the structure, shapes or dtypes,
    ValueError for a negative n.

    >>> nbgrad.loop(3, lambda i, x: x * 2.0 + i, 1.0)
    12.0
    """
    n = count_of("loop", n)
    return _run("loop", body, state, None, n, lengths("loop", checkpoint, n))[0]


def scan(
    body: Callable[[Any, Any], tuple[Any, Any]], state: Any, xs: Any = None,
    length: int | None = None, *, checkpoint: int | str | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Repeat a step for each row of xs; return the final state and the stacked results.

    Arguments:
        body: a function of the state and a row of xs that returns `(next state, y)`; y may be None.
            It may write to the state, as for `loop`.
        state: as for `loop`.
        xs: an array, or nested containers of arrays, with a row for each step; with None, each step
            receives None.
        length: the number of steps if xs is None.
        checkpoint: the states that a reverse pass stores. None stores the states of all n steps.
            "sqrt" stores about 2 sqrt(n) and recomputes the others once. A number k stores one
            every k steps, and k at a time. "log" stores 8 for each power of 8 in n, and recomputes
            each once for each power. The gradient is bitwise identical; the body must be
            deterministic.

    Returns `(state, ys)`, where ys has the structure of y with a leading axis for the steps.

    Raises the errors of `loop`, DimensionMismatch if lengths disagree, and, in eager code with a
    checkpoint, GraphError if the body uses a tracked array that is neither an argument nor in its
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
    """The steps of a loop on flat states and xs. `built` holds the function that rebuilds ys, and a
    quick function that flattens them."""

    body: Callable
    carried: Carried
    rebuild_xs: Callable
    built: dict[str, Any] = field(default_factory=lambda: {"ys": None, "quick": None})

    def step(self, i: Any, s: list, x: list) -> list:
        """Return the leaves of the next state and of the ys of one step."""
        carried, state = self.carried, self.carried.rebuild(s)
        if carried.op == "loop":
            return carried.checked(self.body(i, state))
        new, y = self._pair(self.body(state, self.rebuild_xs(x)))
        return [*carried.checked(new), *self._ys(y)]

    def _ys(self, y: Any) -> list:
        """Return the leaves of the ys of a step."""
        if y is None:
            self.built["ys"] = self.built["quick"] = None
            return []
        quick = self.built["quick"]
        leaves = quick and quick(y)
        if leaves is None:
            leaves, self.built["ys"] = trees.flatten_values(y)
            self.built["quick"] = quick_flatten(y, exact=False)
        return leaves

    def run(
        self, first: int, n: int, state: list, inputs: list, spans: tuple[int, ...]
    ) -> tuple[list, list[tuple]]:
        """Return the state after n steps, and the rows of ys for `_joined`."""
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
                # The ys of the last step may be its state, so they are returned separately.
                new, ends = of_body.run(at + count - 1, 1, before, [a[count - 1 :] for a in x], ())
                return new, _joined(rows), _last(ends)

            state, ys, end = span(self.carried.op, self.body, steps, state, xs)
            parts += [([], ys), ([end], [])]
        return state, parts

    def _one_by_one(
        self, first: int, n: int, state: list, inputs: list
    ) -> tuple[list, list[tuple]]:
        rows: list[list] = []
        k = len(state)
        for i in range(n):
            since, before = tick(), nodes_of(state)
            state = self.step(first + i, state, [_row(x, i) for x in inputs])
            if len(state) > k:
                # Copied, because the next step may write to its state.
                ys = [_kept(y) for y in state[k:]]
                state, ys = separate(before, state[:k], ys, since)
                rows.append(ys)
        return state, [(rows, [])]

    def _pair(self, out: Any) -> tuple[Any, Any]:
        if not isinstance(out, tuple) or len(out) != 2:
            raise ArgumentTypeError(
                f"scan: {self.carried.name} returned a {type(out).__name__}, not a pair: return "
                f"(state, y), or (state, None) if there is nothing to stack{user_line()}",
                code="NB-STATE",
            )
        return out


def _run(
    op: str, body: Callable, state: Any, xs: Any, n: int, spans: tuple[int, ...]
) -> tuple[Any, Any]:
    with explaining_at(f"{op}: {name_of(body)}"):
        return _repeated(op, body, state, xs, n, spans)


def _repeated(
    op: str, body: Callable, state: Any, xs: Any, n: int, spans: tuple[int, ...]
) -> tuple[Any, Any]:
    carried = Carried(op, body, state)
    leaves, rebuild = carried.leaves, carried.rebuild
    inputs, rebuild_xs = ([], lambda _: None) if xs is None else trees.flatten_values(xs)
    steps = _Steps(body, carried, rebuild_xs)
    # Without steps, the shapes of the ys are known only from a recorded one.
    unseen = op == "scan" and not n
    if unseen or is_traced([*leaves, *inputs]):
        inputs = arrays(inputs)
        record = lambda recorder, i, s, x: steps.step(i, s, x)  # noqa: E731
        traced, lifted = recorded(record, carried.name, n, leaves, inputs, spans=spans)
        results = run_loop(traced, [*lifted, *leaves, *inputs])
        ys = results[len(leaves) :]
        return rebuild(results[: len(leaves)]), _built(steps.built["ys"], ys)
    if not n:
        return rebuild(carried.start()), None
    current, rows = steps.run(0, n, carried.start(), inputs, spans)
    return rebuild(current), _built(steps.built["ys"], _joined(rows))


def _row(x: Any, i: int) -> Any:
    """Return the row of xs for a step, which belongs to the caller."""
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
    """Return the ys of a single step."""
    rows, _ = parts[0]
    return rows[0] if rows else []


def _joined(parts: list[tuple]) -> list:
    """Join rows of ys to arrays, after all steps.

    Cotangents are added in the order of operations, which is then the same with and without spans.
    """
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
                f"scan: xs holds a number: each leaf needs a first axis for the steps{user_line()}",
                code="NB-STATE",
            )
        lengths.add(shape[0])
    if length is not None:
        lengths.add(count_of("scan", length))
    if len(lengths) != 1:
        raise SampleMismatch(
            f"scan: the lengths {sorted(lengths)} of xs and length disagree{user_line()}"
            if lengths
            else f"scan: without xs, pass length=n{user_line()}"
        )
    return lengths.pop()
