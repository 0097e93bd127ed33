"""Steps, which take a view of an array, paths of steps, and the composition of indices."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir.naming import naming
from ..runtime.kinds import is_a
from . import modes
from .functions import functions
from .primitive import Tracer, shape_of

Steps = tuple["Step", ...]


class Step:
    """An operation that takes a view: `apply(x)`, for plain arrays and every kind of Array.

    `inverse(x, part)` is x with `part` in place of the view. `refusal` is the reason why the view
    is read-only, or "".
    """

    __slots__ = ()
    refusal = ""

    def apply(self, x: Any) -> Any:
        raise NotImplementedError

    def inverse(self, x: Any, part: Any) -> Any:
        raise NotImplementedError


class Index(Step):
    """`x[index]` of integers, slices, None and Ellipsis."""

    __slots__ = ("index",)

    def __init__(self, index: Any):
        self.index = index

    def apply(self, x: Any) -> Any:
        return x[self.index]

    def inverse(self, x: Any, part: Any) -> Any:
        return functions["at"](x)[self.index].set(part)


class Axes(Step):
    """`np.transpose(x, axes)`."""

    __slots__ = ("axes",)

    def __init__(self, axes: tuple[int, ...]):
        self.axes = axes

    def apply(self, x: Any) -> Any:
        return np.transpose(x, self.axes)

    def inverse(self, x: Any, part: Any) -> Any:
        axes = self.axes
        return np.transpose(part, sorted(range(len(axes)), key=axes.__getitem__))


class Shape(Step):
    """`np.reshape(x, shape)`, if it is a view."""

    __slots__ = ("shape",)

    def __init__(self, shape: tuple[int, ...]):
        self.shape = shape

    def apply(self, x: Any) -> Any:
        return np.reshape(x, self.shape)

    def inverse(self, x: Any, part: Any) -> Any:
        return np.reshape(part, shape_of(x))


class ReadOnly(Step):
    """A read-only view, such as the result of `np.broadcast_to`."""

    __slots__ = ("function", "refusal")

    def __init__(self, function: Callable[[Any], Any], name: str):
        self.function = function
        self.refusal = f"{name} gives a view that cannot be written to: write to a copy of it"

    def apply(self, x: Any) -> Any:
        return self.function(x)


class Strided(Step):
    """The view of a given shape that starts at an element in C order and has given strides, counted
    in elements."""

    __slots__ = ("shape", "start", "strides")

    def __init__(self, view: np.ndarray, owner: np.ndarray):
        size = owner.itemsize
        self.start = (_address(view) - _address(owner)) // size
        self.shape = view.shape
        self.strides = tuple([stride // size for stride in view.strides])

    def apply(self, x: Any) -> Any:
        flat = np.reshape(x, -1)
        if isinstance(x, Tracer):
            return flat[self._places()]
        strides = [stride * x.itemsize for stride in self.strides]
        return np.lib.stride_tricks.as_strided(flat[self.start :], self.shape, strides)

    def inverse(self, x: Any, part: Any) -> Any:
        flat = functions["at"](np.reshape(x, -1))
        return np.reshape(flat[self._places()].set(part), np.shape(x))

    def _places(self) -> np.ndarray:
        """The positions of the elements in the flat array."""
        places = np.full(self.shape, self.start)
        for axis, (length, stride) in enumerate(zip(self.shape, self.strides, strict=True)):
            places += np.arange(length).reshape(-1, *(1,) * (len(self.shape) - axis - 1)) * stride
        return places


def _address(x: np.ndarray) -> int:
    return x.__array_interface__["data"][0]


class Untracked(Step):
    """A step inside of `no_tracking`: the view is a constant."""

    __slots__ = ("refusal", "step")

    def __init__(self, step: Step):
        self.step, self.refusal = step, step.refusal

    def apply(self, x: Any) -> Any:
        with modes.no_tracking():
            return self.step.apply(x)

    def inverse(self, x: Any, part: Any) -> Any:
        return self.step.inverse(x, part)


class Path:
    """A part of an array: the steps to a view, and an index into the view."""

    __slots__ = ("index", "steps")

    def __init__(self, steps: Steps, index: Any):
        self.steps, self.index = steps, index

    def view(self, x: Any) -> Any:
        """Apply the steps to x."""
        for step in self.steps:
            x = step.apply(x)
        return x

    def set(self, x: Any, value: Any) -> Any:
        """A copy of x in which this part is set to a value."""
        return _placed(x, self.steps, self.index, value)


def _placed(x: Any, steps: Sequence[Step], index: Any, value: Any) -> Any:
    if not steps:
        if index is ... and isinstance(value, Tracer) and shape_of(value) == shape_of(x):
            return functions[np.copy](value)
        return functions["at"](x)[index].set(value)
    # Indices are composed as numbers, not as formulas of symbolic lengths.
    composed = None if naming() is not None else _composed(shape_of(x), steps, index, value)
    if composed is not None:  # only this part is written
        index, value = composed
        return functions["at"](x)[index].set(value)
    step, *rest = steps
    return step.inverse(x, _placed(step.apply(x), rest, index, value))


def names_rest(index: Any) -> bool:
    """Whether an index has an Ellipsis. NumPy then returns an array even without axes."""
    return any(part is Ellipsis for part in (index if isinstance(index, tuple) else (index,)))


# -- composition of indices -----------------------------------------------------------------------


def _composed(shape: tuple, steps: Sequence[Step], index: Any, value: Any) -> Any:
    """The index of an array of `shape` that is equal to `index` after `steps`, and the value to
    set there. None if there is none: the steps are not only indices of integers, slices and None,
    and permutations of axes."""
    if not all(isinstance(n, int) for n in shape):
        return None
    # Of each axis of the array: the positions, or one position. Of each axis of the view: the axis
    # of the array that it runs along; None for a new axis.
    taken: list[Any] = [range(n) for n in shape]
    axes: list[Any] = list(range(len(shape)))
    for step in (*steps, Index(index)):
        if isinstance(step, Axes):
            axes = [axes[i] for i in step.axes]
        elif not isinstance(step, Index):
            return None
        elif (parts := _parts(step.index, len(axes))) is None:
            return None
        else:
            before, axes = iter(axes), []
            for part in parts:
                axis = None if part is None else next(before)
                if part is not None:
                    whole = range(1) if axis is None else taken[axis]
                    is_whole = axis is None or whole == range(shape[axis])
                    part = _taken(whole, part, is_whole)
                    if part is None or (axis is None and isinstance(part, range) and not part):
                        return None
                    if axis is not None:
                        taken[axis] = part
                if part is None or isinstance(part, range):
                    axes.append(axis)
    kept = [axis for axis in axes if axis is not None]
    found = [_slice(part) if isinstance(part, range) else part for part in taken]
    if kept != sorted(kept):
        lacking = len(kept) - len(shape_of(value))
        if lacking < 0 or len(kept) < len(axes):
            return None
        if shape_of(value):
            value = np.reshape(value, (1,) * lacking + tuple(shape_of(value)))
            value = np.transpose(value, [kept.index(axis) for axis in sorted(kept)])
    for i in reversed([i for i, axis in enumerate(axes) if axis is None]):
        following = next((axis for axis in axes[i:] if axis is not None), len(found))
        found.insert(following, None)
    return tuple(found), value


def _parts(index: Any, count: int) -> list[Any] | None:
    """The parts of an index of an array with `count` axes: one for each axis, and None for each new
    axis. None if there are too many."""
    parts = list(index) if isinstance(index, tuple) else [index]
    places = [i for i, part in enumerate(parts) if part is Ellipsis]
    missing = count - sum(part is not None and part is not Ellipsis for part in parts)
    if missing < 0 or len(places) > 1:
        return None
    at = places[0] if places else len(parts)
    parts[at : at + len(places)] = [slice(None)] * missing
    return parts


def _taken(positions: range, part: Any, is_whole: bool) -> Any:
    """The positions, or the one, that a part of an index takes; an array without axes is one if all
    positions of the axis are left. None for any other part."""
    if isinstance(part, Tracer):
        return part if is_whole and shape_of(part) == () else None
    if is_a(part, (bool, np.bool_)) or not is_a(part, (int, np.integer, slice)):
        return None
    try:
        return positions[part]
    except (IndexError, TypeError):
        return None


def _slice(taken: range) -> slice:
    """The slice of the positions in a range."""
    if not len(taken):
        return slice(0, 0)
    stop = taken[-1] + (1 if taken.step > 0 else -1)
    return slice(taken[0], stop if stop >= 0 else None, taken.step)
