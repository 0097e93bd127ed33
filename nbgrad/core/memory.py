"""NumPy's memory model: views of arrays, and writes that every alias and every view sees.

An array that is a view has an `Origin`: the array that it was taken from, and the step that takes
it. Each array knows the views of it weakly. A write through any of them goes to the array that owns
the elements, which gets a new value; its views become stale, and a stale view is taken anew when it
is read the next time. So an array is never copied for its views, and code that writes nothing pays
for a note at each view, and no more.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import ref

import numpy as np

from ..errors import TraceError
from . import modes
from .functions import functions
from .naming import naming
from .primitive import Tracer, shape_of

Parts = tuple["Step", ...]


class Step:
    """How a view is taken from an array: `taken(x)`, of plain arrays and of any kind of Array.

    `placed(x, part)` is x with `part` in place of the view. A step whose view cannot be written to
    says why in `refusal`.
    """

    __slots__ = ()
    refusal = ""

    def taken(self, x: Any) -> Any:
        raise NotImplementedError

    def placed(self, x: Any, part: Any) -> Any:
        raise NotImplementedError


class Index(Step):
    """`x[index]` of integers, slices, None and Ellipsis."""

    __slots__ = ("index",)

    def __init__(self, index: Any):
        self.index = index

    def taken(self, x: Any) -> Any:
        return x[self.index]

    def placed(self, x: Any, part: Any) -> Any:
        return functions["at"](x)[self.index].set(part)


class Axes(Step):
    """The axes in another order."""

    __slots__ = ("axes",)

    def __init__(self, axes: tuple[int, ...]):
        self.axes = axes

    def taken(self, x: Any) -> Any:
        return np.transpose(x, self.axes)

    def placed(self, x: Any, part: Any) -> Any:
        axes = self.axes
        return np.transpose(part, sorted(range(len(axes)), key=axes.__getitem__))


class Shape(Step):
    """The elements in another shape, where no element has to move for it."""

    __slots__ = ("shape",)

    def __init__(self, shape: tuple[int, ...]):
        self.shape = shape

    def taken(self, x: Any) -> Any:
        return np.reshape(x, self.shape)

    def placed(self, x: Any, part: Any) -> Any:
        return np.reshape(part, shape_of(x))


class Shown(Step):
    """A view that cannot be written to, such as that of `np.broadcast_to`."""

    __slots__ = ("function", "refusal")

    def __init__(self, function: Callable[[Any], Any], name: str):
        self.function = function
        self.refusal = f"{name} gives a view that cannot be written to: write to a copy of it"

    def taken(self, x: Any) -> Any:
        return self.function(x)


class Origin:
    """The array that a view was taken from, and the step that takes it."""

    __slots__ = ("parent", "step")

    def __init__(self, parent: Any, step: Step):
        self.parent, self.step = parent, step


class Argument:
    """The origin of an argument of a transformation: it is the caller's, and not written to."""

    __slots__ = ("error", "op")

    def __init__(self, op: str, error: type[Exception]):
        self.op, self.error = op, error


class Path:
    """An index into a view: the steps that lead there, and what is read or written behind them."""

    __slots__ = ("index", "steps")

    def __init__(self, steps: Parts, index: Any):
        self.steps, self.index = steps, index

    def of(self, x: Any) -> Any:
        """The view that the steps take from x."""
        for step in self.steps:
            x = step.taken(x)
        return x

    def set(self, x: Any, value: Any) -> Any:
        """x with a value at this place: a new array."""
        return _placed(x, self.steps, self.index, value)


def _placed(x: Any, steps: Sequence[Step], index: Any, value: Any) -> Any:
    if not steps:
        if index is ... and isinstance(value, Tracer) and shape_of(value) == shape_of(x):
            return functions[np.copy](value)
        return functions["at"](x)[index].set(value)
    step, *rest = steps
    # Indices of indices are numbers, and no formulas of lengths that have names.
    if not rest and isinstance(step, Index) and naming() is None:
        joined = _joined(step.index, index, shape_of(x))
        if joined is not None:
            return functions["at"](x)[joined].set(value)
    return step.placed(x, _placed(step.taken(x), rest, index, value))


# -- views ----------------------------------------------------------------------------------------


def view(x: Any, out: Any, step: Step) -> Any:
    """`out`, noted as the view of x that a step takes."""
    if out is not x and isinstance(x, Tracer) and isinstance(out, Tracer):
        link(x, out, step)
    return out


def link(x: Any, out: Any, step: Step) -> None:
    if modes.active and modes.untracked(x.level) and x.has_history:
        step = Shown(_without_history(step), "a block of no_tracking")
    is_known = type(out.origin) is Origin and out.origin.parent is x
    out.origin = Origin(x, step)
    if not is_known:
        _register(x, out)


def _without_history(step: Step) -> Callable[[Any], Any]:
    def taken(x: Any) -> Any:
        with modes.no_tracking():
            return copied(step.taken(x))

    return taken


def _register(x: Any, out: Any) -> None:
    """Note a view under its parent, in a list that is pruned when it is twice as long as what was
    alive at the last time."""
    views = x.views
    if views is None:
        x.views = [16, ref(out)]
        return
    views.append(ref(out))
    if len(views) > views[0]:
        views[1:] = [view for view in views[1:] if view() is not None]
        views[0] = 2 * len(views) + 16


def copied(out: Any, args: Sequence = ()) -> Any:
    """The result of a function that copies in NumPy, whatever it was made of here: no view of
    anything, and none of the arguments."""
    if isinstance(out, (tuple, list)):
        for x in out:
            copied(x)
    elif isinstance(out, Tracer):
        if any(out is x for x in args):
            return functions[np.copy](out)
        if type(out.origin) is Origin:  # pyright: ignore[reportAttributeAccessIssue]
            out.origin = None  # pyright: ignore[reportAttributeAccessIssue]
    return out


def refreshed(x: Any) -> None:
    """Take a stale view anew."""
    origin = x.origin
    x.become(origin.step.taken(origin.parent))
    _register(origin.parent, x)


def forget_views(x: Any) -> None:
    """Mark the views of an array stale, and their views."""
    views = x.views
    if views is None or len(views) == 1:
        return
    x.views = [16]
    for reference in views[1:]:
        view = reference()
        # What was copied since is no view any more.
        if view is not None and type(view.origin) is Origin and view.origin.parent is x:
            view.forget()
            forget_views(view)


def is_view_in_numpy(x: Any, again: Callable[[np.ndarray], np.ndarray]) -> bool:
    """Whether NumPy gives a view of x, which may be one itself, by a function such as reshape."""
    root, steps = path_to(x)
    if all(isinstance(step, Shape) for step in steps):
        return True
    bytes_ = Path(steps, ...).of(np.empty(root.shape, np.int8))
    return np.may_share_memory(bytes_, again(bytes_))


def share(a: Any, b: Any, asked: Callable) -> bool:
    """`np.shares_memory` or `np.may_share_memory` of two arrays of any kind."""
    (first, to_a), (second, to_b) = path_to(a), path_to(b)
    if first is not second:
        return False
    bytes_ = np.empty(first.shape, np.int8)
    return asked(Path(to_a, ...).of(bytes_), Path(to_b, ...).of(bytes_))


def path_to(x: Any) -> tuple[Any, Parts]:
    """The array that owns the elements of x, and the steps that take x from it."""
    steps: list[Step] = []
    while type(x.origin) is Origin:
        steps.append(x.origin.step)
        x = x.origin.parent
    return x, tuple(reversed(steps))


# -- writes ---------------------------------------------------------------------------------------


def is_memory(x: Any) -> bool:
    """Whether x is an array that can be written to: NumPy's numbers, which most functions give
    where no axes are left, are values."""
    return bool(x.shape) or type(x.origin) is Origin or x.views is not None


def write(x: Any, index: Any, value: Any, what: str) -> None:
    """`x[index] = value`, for x, for what it is a view of, and for all other views of that.

    `what` says for messages what was written: `"{}[...] = ..."`. Raises ValueError for a view that
    cannot be written to, GraphError or TraceError for a leaf or an argument.
    """
    root, steps = _owner(x, what)
    if not _is_itself(x, index, value):
        root.write(Path(steps, index), value, what)


class _Bodies(threading.local):
    """The level of the function given to a loop or a choice that this thread records."""

    level = 0


_bodies = _Bodies()


@contextmanager
def inside_body(level: int) -> Iterator[None]:
    """`with inside_body(level):` arrays of lower levels are not written to."""
    outer, _bodies.level = _bodies.level, level
    try:
        yield
    finally:
        _bodies.level = outer


def replace(x: Any, new: Any, what: str) -> None:
    """`x[...] = new`, for a new array of the shape of x that nobody else holds."""
    inside = x.level < _bodies.level
    if x.origin is None and new.dtype == x.dtype and new.level == x.level and not inside:
        x.require_computed(what)
        forget_views(x)
        x.leave()
        x.become(new)
    elif np.can_cast(new.dtype, x.dtype, "same_kind"):
        write(x, ..., new, what)
    else:
        raise TypeError(
            f"{what.format('y')}: cannot cast a result of dtype {new.dtype} to {x.dtype} in place: "
            "write y = y + v for a new array"
        )


def _owner(x: Any, what: str) -> tuple[Any, Parts]:
    """The array that owns the elements of x, and the steps that take x from it."""
    root, steps = path_to(x)
    for step in steps:
        if step.refusal:
            raise ValueError(
                f"{what.format('y')}: assignment destination is read-only: {step.refusal}"
            )
    if root.level < _bodies.level:
        raise TraceError(
            f"{what.format('y')} inside of a function given to loop, scan, while_loop or cond: the "
            "array comes from outside of it, and the function runs when the program does; carry "
            "the array in the state, or return what is to be written"
        )
    if root.origin is not None:
        raise root.origin.error(
            f"{what.format('y')} would change an argument of {root.origin.op}, which is the "
            "caller's: write x = x.copy() before, or y = x.at[i].set(v) for a new array"
        )
    return root, steps


def _is_itself(x: Any, index: Any, value: Any) -> bool:
    """Whether a value is the view of x at that index: Python ends `x[i] += v` by setting it."""
    if not isinstance(value, Tracer):
        return False
    if value is x:
        return index is ...
    origin = value.origin  # pyright: ignore[reportAttributeAccessIssue]
    if type(origin) is not Origin or origin.parent is not x or type(origin.step) is not Index:
        return False
    first = origin.step.index if isinstance(origin.step.index, tuple) else (origin.step.index,)
    second = index if isinstance(index, tuple) else (index,)
    return len(first) == len(second) and all(map(_is_equal, first, second))


def _is_equal(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if type(a) is slice and type(b) is slice:
        return all(map(_is_equal, (a.start, a.stop, a.step), (b.start, b.stop, b.step)))
    return isinstance(a, (int, np.integer)) and isinstance(b, (int, np.integer)) and a == b


def written(x: Any, path: Path, value: Any) -> Any:
    """The array that x becomes by a write, by ops on arrays of any kind."""
    if isinstance(value, Tracer):
        if value.dtype != x.dtype and value.level <= x.level:  # pyright: ignore
            value = value.astype(x.dtype)  # pyright: ignore[reportAttributeAccessIssue]
    elif not isinstance(value, (int, float)):
        value = np.asarray(value)
        value = value.astype(x.dtype) if value.dtype.kind in "fiub" else value
    mask = path.index
    if isinstance(mask, Tracer) and mask.dtype == bool:  # pyright: ignore
        return Path(path.steps, ...).set(x, _where(mask, value, path.of(x)))
    return path.set(x, value)


def _where(mask: Any, value: Any, part: Any) -> Any:
    """An array with one value where a mask holds that is known only when the program runs."""
    if shape_of(value) != ():
        raise TraceError(
            "y[mask] = v: how many elements the mask takes depends on the arguments, so only one "
            "number can be written: write y[...] = np.where(mask, v, y) with a v of the shape of y"
        )
    rest = len(shape_of(part)) - len(shape_of(mask))
    return np.where(np.reshape(mask, (*shape_of(mask), *(1,) * rest)), value, part)


# -- indices of indices ---------------------------------------------------------------------------


def _joined(first: Any, second: Any, shape: tuple[int, ...]) -> Any:
    """The index that takes from an array of `shape` what `second` takes from `x[first]`; None where
    no tuple of integers, slices and None does."""
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
    """Whether a part is shorter than the axis of the array that it runs over."""
    axis = sum(entry is not None for entry in joined)
    return len(part) != shape[axis]


def _parts(index: Any, shape: tuple[int, ...]) -> list[Any] | None:
    """For each axis an integer in range or the range that is taken, None for new axes; positions
    that are arrays without axes stay as they are."""
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
        if not isinstance(n, int) or isinstance(part, (bool, np.bool_)):
            return None
        if isinstance(part, slice):
            try:
                found.append(range(*part.indices(n)))
            except TypeError:
                return None
        elif isinstance(part, (int, np.integer)):
            if not -n <= part < n:
                return None
            found.append(int(part) % n)
        elif isinstance(part, Tracer) and shape_of(part) == ():
            found.append(part)
        else:
            return None
    return found


def _slice(taken: range) -> slice:
    """The slice that takes the positions of a range."""
    if not len(taken):
        return slice(0, 0)
    stop = taken[-1] + (1 if taken.step > 0 else -1)
    return slice(taken[0], stop if stop >= 0 else None, taken.step)
