"""The state of loops, and checks of arguments of control flow."""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.array import Array
from ..core.primitive import current_level
from ..core.symbols import is_recorded
from ..errors import ArgumentError, ArgumentTypeError, DimensionMismatch, StaticError
from ..rules.assign import PLAIN
from ..rules.families import FLOATS
from ..runtime.lines import user_line
from ..static.trace.body import leaf_aval
from ..static.trace.record import is_recording
from ..transforms import trees
from ..values.creation import own_constant
from .flattening import quick_flatten

VALUES = (Array, *PLAIN)


def require_values(op: str, what: str, leaves: Sequence) -> None:
    """Raise TypeError for a leaf that is neither a number nor an array."""
    for leaf in leaves:
        if not isinstance(leaf, VALUES):
            raise ArgumentTypeError(
                f"{op}: {what} holds a {type(leaf).__name__}: only numbers and arrays are allowed; "
                "use a closure for other values",
                code="NB-STATE",
            )


class Carried:
    """The state of a loop: its leaves, and the structure that each step must keep."""

    def __init__(self, op: str, body: Callable, state: Any):
        self.op, self.name = op, name_of(body)
        self.leaves, self.rebuild = trees.flatten_values(state)
        require_values(op, f"the state of {self.name}", self.leaves)
        self._quick = quick_flatten(state, exact=True)

    def start(self) -> list:
        """Return the leaves as arrays that the body may write to."""
        return [_owned(leaf) for leaf in self.leaves]

    def checked(self, state: Any) -> list:
        """Return the leaves of the next state.

        Raises DimensionMismatch or TypeError if its structure, shapes, dtypes or constants differ.
        """
        quick = self._quick(state)
        if quick is not None:
            return quick
        leaves, _ = trees.flatten_values(state)
        first = self.rebuild(self.leaves)
        if not trees.same_structure(state, first) or len(leaves) != len(self.leaves):
            raise ArgumentTypeError(
                f"{self.op}: {self.name} changes the structure of the state, from "
                f"{len(self.leaves)} leaves to {len(leaves)} or in its nesting: return a state of "
                f"the same structure{user_line()}",
                code="NB-STATE",
            )
        for before, after in zip(self.leaves, leaves, strict=True):
            self._require_same(before, after)
        if constants(state) != constants(first):
            raise ArgumentTypeError(
                f"{self.op}: {self.name} changes the strings or functions in its state from "
                f"{constants(first)} to {constants(state)}: they must not change{user_line()}",
                code="NB-STATE",
            )
        return leaves

    def _require_same(self, before: Any, after: Any) -> None:
        if not isinstance(after, VALUES):
            raise ArgumentTypeError(
                f"{self.op}: {self.name} returned a {type(after).__name__} in its state: return "
                f"arrays and numbers{user_line()}",
                code="NB-STATE",
            )
        a, b = leaf_aval(before), leaf_aval(after)
        if a.shape != b.shape:
            raise DimensionMismatch(
                f"{self.op}: {self.name} changes the state from shape {a.shape} to {b.shape}: "
                f"start with the final shape, such as np.zeros({b.shape}){user_line()}",
                code="NB-STATE",
            )
        if a.dtype != b.dtype:
            raise ArgumentTypeError(
                f"{self.op}: {self.name} changes the state from {a.dtype} to {b.dtype} (shape "
                f"{a.shape}): start with that dtype, such as 0.0 for 0, or .astype{user_line()}",
                code="NB-STATE",
            )


def _owned(leaf: Any) -> Any:
    """Return a leaf of the initial state as an array that a body may write to.

    Inside a transformation, a plain array of floats becomes a constant of that transformation.
    """
    if isinstance(leaf, Array):
        return leaf._fresh() if leaf.shape else leaf
    if type(leaf) is not np.ndarray or not leaf.ndim:
        return leaf
    if current_level() and leaf.dtype in FLOATS:
        return own_constant(leaf, current_level())
    return leaf.copy()


def constants(state: Any) -> list:
    """Return the strings, functions and other constants in a state."""
    return [x for x in trees.flatten(state)[0] if trees.is_constant(x)]


def as_bool(truth: Any) -> Any:
    """Return a condition as a bool array."""
    return truth if truth.dtype == bool else truth != 0


def count_of(op: str, n: Any, remedy: str = "") -> int:
    """Return a number of steps. Raises TraceError if it is traced, ValueError if it is negative."""
    if isinstance(n, Array):
        raise StaticError(
            f"{op}: the number of steps depends on traced values: add it to static_argnames, or "
            f"{remedy or 'use nbgrad.while_loop'}{user_line()}"
        )
    n = operator.index(n)
    if n < 0:
        raise ArgumentError(f"{op}: {n} steps: the number must not be negative{user_line()}")
    return n


def is_traced(leaves: Sequence) -> bool:
    """Return whether operations on the leaves are recorded."""
    return is_recording() or any(map(is_recorded, leaves))


def arrays(leaves: Sequence) -> list:
    """Convert plain leaves to arrays."""
    return [x if isinstance(x, Array) else np.asarray(x) for x in leaves]


def name_of(body: Callable, what: str = "body") -> str:
    """Return the name of a function for messages, or `what` for a lambda."""
    name = getattr(body, "__name__", type(body).__name__)
    return what if name == "<lambda>" else name
