"""What functions of control flow are given and give: names, lengths, structures that must stay."""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.array import Array
from ..core.primitive import current_level
from ..core.symbols import is_recorded
from ..errors import DimensionMismatch, TraceError
from ..rules.assign import PLAIN
from ..rules.families import FLOATS
from ..runtime.lines import user_line
from ..static.trace.body import leaf_aval
from ..static.trace.record import is_recording
from ..transforms import trees
from ..values.batched import Batched
from ..values.creation import own_constant

VALUES = (Array, *PLAIN)


def require_values(op: str, what: str, leaves: Sequence) -> None:
    """Raise TypeError for a leaf that is neither a number nor an array."""
    for leaf in leaves:
        if not isinstance(leaf, VALUES):
            raise TypeError(
                f"{op}: {what} holds a {type(leaf).__name__}: only numbers and "
                "arrays can be carried; close over anything else"
            )


def carried(leaf: Any) -> Any:
    """A leaf of the first state as an array of the loop's own, to which a body may write: inside
    of a transformation a plain array of floats is a constant of it."""
    if isinstance(leaf, Array):
        return leaf._fresh() if leaf.shape else leaf
    if type(leaf) is not np.ndarray or not leaf.ndim:
        return leaf
    if current_level() and leaf.dtype in FLOATS:
        return own_constant(leaf, current_level())
    return leaf.copy()


def constants(state: Any) -> list:
    """What stands in a state and is no value."""
    return [x for x in trees.flatten(state)[0] if trees.is_constant(x)]


def require_same(op: str, body: Callable, old: list, shape: Any, new: list, tree: Any) -> None:
    """Raise where a step changes the structure of the state, a shape or a dtype."""
    if trees.structure([tree]) != shape or len(new) != len(old):
        raise TypeError(
            f"{op}: {name_of(body)} changes the structure of the state: it takes {len(old)} leaves "
            f"and gives {len(new)}, or nests them in another way; return what it was given, with "
            "new values" + user_line()
        )
    for before, after in zip(old, new, strict=True):
        if not isinstance(after, VALUES):
            raise TypeError(
                f"{op}: {name_of(body)} gave a {type(after).__name__} in its state; return arrays "
                "and numbers" + user_line()
            )
        a, b = leaf_aval(before), leaf_aval(after)
        if a.shape != b.shape:
            raise DimensionMismatch(
                f"{op}: {name_of(body)} changes the state from shape {a.shape} to {b.shape}: start "
                f"with the shape that it gives, such as np.zeros({b.shape}){user_line()}"
            )
        if a.dtype != b.dtype:
            raise TypeError(
                f"{op}: {name_of(body)} changes the state from {a.dtype} to {b.dtype} (shape "
                f"{a.shape}): start with that dtype, such as 0.0 for 0, or .astype{user_line()}"
            )


def count_of(op: str, n: Any, remedy: str = "") -> int:
    """A number of steps. Raises TraceError for one that depends on traced values, ValueError for a
    negative one."""
    if isinstance(n, Array):
        raise TraceError(
            f"{op}: the number of steps depends on traced values: name it in static_argnames, or "
            f"{remedy or 'repeat while something holds by nbgrad.while_loop'}{user_line()}"
        )
    n = operator.index(n)
    if n < 0:
        raise ValueError(f"{op}: {n} steps: the number must not be negative{user_line()}")
    return n


def is_traced(leaves: Sequence) -> bool:
    """Whether what is done to the leaves becomes part of a program."""
    return is_recording() or any(map(is_recorded, leaves))


def is_chosen_by_samples(x: Any) -> bool:
    """Whether the truth of a value may differ from sample to sample."""
    while isinstance(x, Array):
        if isinstance(x, Batched):
            return True
        x = x.below
    return False


def arrays(leaves: Sequence) -> list:
    """The leaves, plain ones as arrays."""
    return [x if isinstance(x, Array) else np.asarray(x) for x in leaves]


def name_of(body: Callable, what: str = "body") -> str:
    """The name of a function, for messages and programs; `what` it is where it has none."""
    name = getattr(body, "__name__", type(body).__name__)
    return what if name == "<lambda>" else name
