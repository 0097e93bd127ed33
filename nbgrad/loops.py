"""`nbgrad.loop` and `nbgrad.scan`: repeated steps, differentiable, in both tiers."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .core.array import Array
from .core.primitive import current_level
from .core.symbols import Symbol, user_line
from .errors import DimensionMismatch, TraceError
from .rules.assign import PLAIN, explaining_at
from .rules.families import FLOATS
from .rules.layout import stack
from .static.trace.body import leaf_aval, recorded
from .static.trace.loop_row import run
from .static.trace.record import is_recording
from .transforms import trees
from .values.leaves import track


def loop(n: int, body: Callable[[int, Any], Any], state: Any) -> Any:
    """The state after n steps: `for i in range(n): state = body(i, state)`.

    Arguments:
        n: how many steps, an integer that does not depend on traced values.
        body: gives the next state for the number of the step and the state.
        state: a number, an array, or nested dicts, lists and tuples of them; every step keeps its
            structure, shapes and dtypes.

    Inside of `nbgrad.compile` the body is recorded once and the loop is a loop: compile time does
    not depend on n. Raises TypeError or DimensionMismatch where the body gives another structure,
    shape or dtype, ValueError for a negative n.

    >>> nbgrad.loop(3, lambda i, x: x * 2.0 + i, 1.0)
    12.0
    """
    n = _count("loop", n)
    return _run("loop", body, lambda i, s, x: (body(i, s), None), state, None, n)[0]


def scan(
    body: Callable[[Any, Any], tuple[Any, Any]], state: Any, xs: Any = None,
    length: int | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """The state after one step for each x, and what the steps gave, stacked.

    Arguments:
        body: gives `(next state, y)` for the state and an x; y may be None.
        state: as for `loop`.
        xs: an array, or nested ones, of which each step gets one row; None gives each step None.
        length: the number of steps where xs is None.

    Returns `(state, ys)`, where ys has the structure of y with a first axis of that length.

    Raises as `loop` does, and DimensionMismatch where lengths disagree.

    >>> nbgrad.scan(lambda s, x: (s + x, s * x), 0.0, np.arange(4.0))
    (np.float64(6.0), array([0., 0., 2., 9.]))
    """
    n = _length(xs, length)

    def step(i: Any, s: Any, x: Any) -> tuple[Any, Any]:
        out = body(s, x)
        if not isinstance(out, tuple) or len(out) != 2:
            raise TypeError(
                f"scan: {_name(body)} gave {type(out).__name__}, not a pair: return (state, y), "
                "with None for y where there is nothing to stack" + user_line()
            )
        return out

    return _run("scan", body, step, state, xs, n)


def _run(op: str, body: Callable, step: Callable, state: Any, xs: Any, n: int) -> tuple[Any, Any]:
    leaves, rebuild = trees.flatten_values(state)
    held = _constants(state)
    for leaf in leaves:
        if not isinstance(leaf, (Array, *PLAIN)):
            raise TypeError(
                f"{op}: the state of {_name(body)} holds a {type(leaf).__name__}: only numbers and "
                "arrays can be carried; close over anything else"
            )
    inputs, rebuild_xs = ([], lambda _: None) if xs is None else trees.flatten_values(xs)
    shape = trees.structure([state])
    rebuilds: dict[str, Any] = {}

    def checked(i: Any, s: list, x: list) -> list:
        with explaining_at(f"{op}: {_name(body)}"):
            new, y = step(i, rebuild(s), rebuild_xs(x))
        new_leaves, _ = trees.flatten_values(new)
        _check(op, body, leaves, shape, new_leaves, new)
        if _constants(new) != held:
            raise TypeError(
                f"{op}: {_name(body)} gives {_constants(new)} in its state, where it was given "
                f"{held}: words and functions are carried along as they are{user_line()}"
            )
        ys, rebuilds["ys"] = ([], None) if y is None else trees.flatten_values(y)
        return [*new_leaves, *ys]

    # Without a step, only a recorded one can tell the shapes of the ys.
    unseen = op == "scan" and not n
    if unseen or is_recording() or any(isinstance(_bottom(x), Symbol) for x in [*leaves, *inputs]):
        inputs = [x if isinstance(x, Array) else np.asarray(x) for x in inputs]
        record = lambda recorder, i, s, x: checked(i, s, x)  # noqa: E731
        traced, constants = recorded(record, _name(body), n, leaves, inputs)
        results = run(traced, [*constants, *leaves, *inputs])
        return rebuild(results[: len(leaves)]), _built(rebuilds["ys"], results[len(leaves) :])
    rows: list[list] = []
    current = [_carried(leaf) for leaf in leaves] if current_level() else leaves
    for i in range(n):
        results = checked(i, current, [x[i] for x in inputs])
        current = results[: len(leaves)]
        rows.append(results[len(leaves) :])
    if not n:
        return state, None
    stacked = [_stack([row[k] for row in rows]) for k in range(len(rows[0]))]
    return rebuild(current), _built(rebuilds["ys"], stacked)


def _carried(leaf: Any) -> Any:
    """A leaf of the state inside of a transformation, where a body may write `state.at`: plain
    floats are constants of it."""
    is_plain = type(leaf) is np.ndarray and leaf.ndim and leaf.dtype in FLOATS
    return track(leaf) if is_plain else leaf


def _constants(state: Any) -> list:
    """What stands in a state and is no value."""
    return [x for x in trees.flatten(state)[0] if trees.is_constant(x)]


def _built(rebuild: Callable | None, leaves: list) -> Any:
    return None if rebuild is None else rebuild(leaves)


def _stack(rows: list) -> Any:
    return stack(rows) if any(isinstance(row, Array) for row in rows) else np.stack(rows)


def _check(op: str, body: Callable, old: list, shape: Any, new: list, tree: Any) -> None:
    """Raise where a step changes the structure of the state, a shape or a dtype."""
    if trees.structure([tree]) != shape or len(new) != len(old):
        raise TypeError(
            f"{op}: {_name(body)} changes the structure of the state: it takes {len(old)} leaves "
            f"and gives {len(new)}, or nests them in another way; return what it was given, with "
            "new values" + user_line()
        )
    for before, after in zip(old, new, strict=True):
        if not isinstance(after, (Array, *PLAIN)):
            raise TypeError(
                f"{op}: {_name(body)} gave a {type(after).__name__} in its state; return arrays "
                "and numbers" + user_line()
            )
        a, b = leaf_aval(before), leaf_aval(after)
        if a.shape != b.shape:
            raise DimensionMismatch(
                f"{op}: {_name(body)} changes the state from shape {a.shape} to {b.shape}: start "
                f"with the shape that it gives, such as np.zeros({b.shape}){user_line()}"
            )
        if a.dtype != b.dtype:
            raise TypeError(
                f"{op}: {_name(body)} changes the state from {a.dtype} to {b.dtype} (shape "
                f"{a.shape}): start with that dtype, such as 0.0 for 0, or .astype{user_line()}"
            )


def _count(op: str, n: Any) -> int:
    if isinstance(n, Array):
        raise TraceError(
            f"{op}: the number of steps depends on traced values: name it in static_argnames, or "
            f"run a fixed number of steps with np.where{user_line()}"
        )
    n = operator.index(n)
    if n < 0:
        raise ValueError(f"{op}: {n} steps: the number must not be negative{user_line()}")
    return n


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
        lengths.add(_count("scan", length))
    if len(lengths) != 1:
        raise DimensionMismatch(
            f"scan: the lengths {sorted(lengths)} of xs and length disagree{user_line()}"
            if lengths
            else f"scan: without xs, say length=n{user_line()}"
        )
    return lengths.pop()


def _bottom(x: Any) -> Any:
    while isinstance(x, Array) and not isinstance(x, Symbol):
        x = x.below
    return x


def _name(body: Callable) -> str:
    name = getattr(body, "__name__", type(body).__name__)
    return "body" if name == "<lambda>" else name
