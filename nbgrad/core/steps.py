"""Steps, which take a view of an array, paths of steps, and the composition of indices."""

from collections.abc import Callable, Sequence
from typing import Any, TypeGuard

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
    step, *rest = steps
    direct = _direct(x, step, rest, index, value)
    if direct is not None:
        return direct
    return step.inverse(x, _placed(step.apply(x), rest, index, value))


def _direct(x: Any, step: Step, rest: Sequence[Step], index: Any, value: Any) -> Any:
    """x with a value at an index of x itself, if the steps and the index are equal to one index, so
    that only this part is written. None otherwise."""
    # Indices are composed as numbers, not as formulas of symbolic lengths.
    if naming() is not None or len(rest) > 1:
        return None
    shape = shape_of(x)
    if isinstance(step, Axes) and rest:
        turned = tuple([shape[axis] for axis in step.axes])
        rest, index = (), _joined(rest[0].index, index, turned) if _is_index(rest[0]) else None
        if index is None:
            return None
    if rest:
        return None
    if isinstance(step, Axes):
        found = _turned_back(step.axes, index, value, shape)
    else:
        joined = _joined(step.index, index, shape) if _is_index(step) else None
        found = None if joined is None else (joined, value)
    return None if found is None else functions["at"](x)[found[0]].set(found[1])


def _is_index(step: Step) -> TypeGuard[Index]:
    return isinstance(step, Index)


def _turned_back(axes: tuple, index: Any, value: Any, shape: tuple) -> tuple[Any, Any] | None:
    """Convert an index of a transposed array, and the value to set, to those of the array
    itself."""
    parts = _parts(index, tuple([shape[axis] for axis in axes]))
    if parts is None or any(part is None for part in parts):
        return None
    order = sorted(range(len(axes)), key=axes.__getitem__)
    kept = [axis for axis, part in zip(axes, parts, strict=True) if isinstance(part, range)]
    own = [_slice(part) if isinstance(part, range) else part for part in parts]
    lacking = len(kept) - len(shape_of(value))
    if lacking < 0:
        return None
    if kept != sorted(kept) and shape_of(value):
        value = np.reshape(value, (1,) * lacking + tuple(shape_of(value)))
        value = np.transpose(value, [kept.index(axis) for axis in sorted(kept)])
    return tuple([own[i] for i in order]), value


def names_rest(index: Any) -> bool:
    """Whether an index has an Ellipsis. NumPy then returns an array even without axes."""
    return any(part is Ellipsis for part in (index if isinstance(index, tuple) else (index,)))


# -- composition of indices -----------------------------------------------------------------------


def _joined(first: Any, second: Any, shape: tuple[int, ...]) -> Any:
    """The index `i` for which `x[i]` is `x[first][second]`, for an x of `shape`; None if it is no
    tuple of integers, slices and None."""
    parts = _parts(first, shape)
    if parts is None:
        return None
    free = [i for i, part in enumerate(parts) if part is None or isinstance(part, range)]
    lengths = tuple(1 if parts[i] is None else len(parts[i]) for i in free)
    inner = _parts(second, lengths)
    if inner is None:
        return None
    joined: list[Any] = []
    rest = iter(inner)
    for part in parts:
        if not (part is None or isinstance(part, range)):
            joined.append(part)
            continue
        new = next(rest)
        while new is None:
            joined.append(None)
            new = next(rest)
        if part is None:
            if not isinstance(new, range):
                continue
            if len(new) != 1:
                return None
            joined.append(None)
        elif isinstance(new, range):
            joined.append(_slice(part[new.start :: new.step][: len(new)] if len(new) else part[:0]))
        elif isinstance(new, int):
            joined.append(part[new])
        elif part == range(len(part)) and not _is_cut(part, shape, joined):
            joined.append(new)
        else:
            return None
    joined += list(rest)
    return tuple(joined)


def _is_cut(part: range, shape: tuple[int, ...], joined: list) -> bool:
    """Whether a range is shorter than its axis."""
    axis = sum(entry is not None for entry in joined)
    return len(part) != shape[axis]


def _parts(index: Any, shape: tuple[int, ...]) -> list[Any] | None:
    """The parts of an index: for each axis an integer in bounds, a range, or an array without axes;
    None for a new axis. None if the index has other parts."""
    parts = list(index) if isinstance(index, tuple) else [index]
    found: list[Any] = []
    if sum(part is Ellipsis for part in parts) > 1:
        return None
    named = sum(part is not None and part is not Ellipsis for part in parts)
    if named > len(shape):
        return None
    if not any(part is Ellipsis for part in parts):
        parts.append(Ellipsis)
    axis = 0
    for part in parts:
        if part is None:
            found.append(None)
            continue
        if part is Ellipsis:
            stop = axis + len(shape) - named
            if not all(isinstance(n, int) for n in shape[axis:stop]):
                return None
            found += [range(n) for n in shape[axis:stop]]
            axis = stop
            continue
        n, axis = shape[axis], axis + 1
        if not isinstance(n, int) or is_a(part, (bool, np.bool_)):
            return None
        if isinstance(part, slice):
            try:
                found.append(range(*part.indices(n)))
            except TypeError:
                return None
        elif is_a(part, (int, np.integer)):
            if not -n <= part < n:
                return None
            found.append(int(part) % n)
        elif isinstance(part, Tracer) and shape_of(part) == ():
            found.append(part)
        else:
            return None
    return found


def _slice(taken: range) -> slice:
    """The slice of the positions in a range."""
    if not len(taken):
        return slice(0, 0)
    stop = taken[-1] + (1 if taken.step > 0 else -1)
    return slice(taken[0], stop if stop >= 0 else None, taken.step)
