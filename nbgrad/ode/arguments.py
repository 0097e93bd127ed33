"""The arguments of `solve`: checked, and in the form that programs take."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..complex import is_complex
from ..core.array import Array
from ..core.primitive import shape_of
from ..errors import ArgumentError, ArgumentTypeError, ComplexError, DimensionMismatch
from ..rules.layout import given
from ..runtime.kinds import is_a
from ..transforms import trees
from ..transforms.holomorphic import complex_leaves
from .problem import METHODS, Nest, numbers, plain_of

__all__ = ["count_of", "options_of", "start", "times_of"]

_AUTO = 2.0**20  # words: records beyond the caches of processors take longer than steps


def start(y0: Any, t_span: Sequence, atol: Any, method: str) -> tuple[Nest, Any, Any, Any, Any]:
    """The structure and the vector of the state, the ends, and atol as a vector."""
    if not isinstance(method, str) or method not in METHODS:
        raise ArgumentError(f"ode.solve: method={method!r}: use one of {', '.join(METHODS)}")
    if any(map(is_complex, complex_leaves(y0))):
        raise ComplexError(
            "ode.solve: the state is complex: integrate the real and imaginary parts"
        )
    if isinstance(y0, list) and all(not shape_of(x) for x in y0 if hasattr(x, "__float__")):
        y0 = given(y0)
    leaves, rebuild = trees.flatten_values(y0)
    leaves = [numbers(x, "y0") for x in leaves]
    if not leaves:
        raise ArgumentTypeError(f"ode.solve: y0 is {y0!r}: give an array, or a tree of arrays")
    tree = rebuild(leaves)
    state = Nest(tree)
    y = state.vector(tree)
    if not state.size:
        raise ArgumentError("ode.solve: the state y0 has no elements")
    if not hasattr(t_span, "__len__"):
        raise ArgumentTypeError(f"ode.solve: t_span is {t_span!r}: give (t0, t1)")
    if len(t_span) != 2:
        raise ArgumentError(f"ode.solve: t_span has {len(t_span)} times: give (t0, t1)")
    t0, t1 = (_time(x) for x in t_span)
    atol = np.asarray(plain_of(numbers(atol, "atol")), float)
    if atol.ndim and atol.shape != (state.size,):
        raise DimensionMismatch(
            f"ode.solve: atol has shape {atol.shape}, and the state has {state.size} elements"
        )
    if not (atol >= 0.0).all():
        raise ArgumentError("ode.solve: atol must not be negative")
    return state, y, t0, t1, atol if atol.ndim else np.full(state.size, atol)


def _time(x: Any) -> Any:
    x = numbers(x, "t_span")
    if shape_of(x) != ():
        raise DimensionMismatch(f"ode.solve: t_span holds shape {shape_of(x)}: give two numbers")
    if isinstance(x, Array):
        return x
    if np.isnan(x):
        raise ArgumentError("ode.solve: t_span holds nan")
    return float(x)


def _number(x: Any, name: str) -> float:
    x = plain_of(numbers(x, name))
    if x is None or np.shape(x) != ():
        raise ArgumentTypeError(f"ode.solve: {name} must be one number that is known")
    return float(x)


def options_of(
    method: str, t0: Any, t1: Any, rtol: Any, first_step: Any, max_step: Any, checkpoint: Any
) -> np.ndarray:
    """rtol, the first step or 0, the largest one, the words that a gradient may record."""
    rtol, max_step = _number(rtol, "rtol"), _number(max_step, "max_step")
    if not rtol >= 0.0:
        raise ArgumentError(f"ode.solve: rtol={rtol} must not be negative")
    rtol = max(rtol, 100.0 * float(np.finfo(float).eps))  # SciPy's least one
    most = max_step
    if not most > 0.0:
        raise ArgumentError(f"ode.solve: max_step={max_step} must be positive")
    first = 0.0 if first_step is None else _number(first_step, "first_step")
    if first_step is not None and not first > 0.0:
        raise ArgumentError(f"ode.solve: first_step={first_step} must be positive")
    ends = plain_of(t0), plain_of(t1)
    if first and None not in ends and first > abs(ends[1] - ends[0]):
        raise ArgumentError(f"ode.solve: first_step={first_step} is longer than t_span")
    if method == "RK4":
        if not np.isfinite(most):
            raise ArgumentError('ode.solve: method="RK4" needs max_step, the size of its steps')
        if None not in ends:
            span = abs(float(ends[1] - ends[0]))
            most = span / max(1.0, np.ceil(span / most - 1e-9)) or most
        first = most
    return np.array([rtol, first, most, _words(checkpoint)])


def _words(checkpoint: Any) -> float:
    """How many words a gradient records before it keeps few states only."""
    if checkpoint is None:
        return 2.0**60
    if isinstance(checkpoint, str):
        if checkpoint in ("auto", "sqrt"):
            return _AUTO if checkpoint == "auto" else 0.0
    elif is_a(checkpoint, (int, np.integer)) and type(checkpoint) is not bool and checkpoint >= 0:
        return float(checkpoint // 8)
    raise ArgumentError(
        f"ode.solve: checkpoint={checkpoint!r}: use 'auto', 'sqrt', None or a number of bytes"
    )


def times_of(t_eval: Any, t0: Any, t1: Any) -> Any:
    t_eval = numbers(t_eval, "t_eval")
    if len(shape_of(t_eval)) != 1:
        raise DimensionMismatch(
            f"ode.solve: t_eval has shape {shape_of(t_eval)}: give a vector of times"
        )
    times, begin, end = plain_of(t_eval), plain_of(t0), plain_of(t1)
    if times is not None and np.any(np.isnan(times)):
        raise ArgumentError("ode.solve: t_eval holds nan")
    if times is not None and begin is not None and end is not None:
        sign = 1.0 if end >= begin else -1.0
        if np.any(sign * np.diff(times) < 0.0):
            raise ArgumentError("ode.solve: t_eval is not in order from t_span[0] to t_span[1]")
        if np.any(sign * (times - begin) < 0.0) or np.any(sign * (times - end) > 0.0):
            raise ArgumentError("ode.solve: t_eval holds times outside of t_span")
    return t_eval


def count_of(max_events: Any) -> int | None:
    """The length of the rows of roots."""
    if max_events is not None and (
        not is_a(max_events, (int, np.integer)) or type(max_events) is bool or max_events < 1
    ):
        raise ArgumentError(f"ode.solve: max_events={max_events!r} must be a positive integer")
    return None if max_events is None else int(max_events)
