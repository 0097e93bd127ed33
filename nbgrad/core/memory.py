"""NumPy's memory model: views of arrays, and writes that every alias and every view sees.

An array that is a view has an `Origin`: the array that it was taken from, and the step that takes
it. Each array has weak references to its views. A write through any of them goes to the array that
owns the elements, which gets a new value. Its views become stale: they lose their value, and are
taken anew when they are read. So arrays are not copied for their views, and a program without
writes only pays for registering each view.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import ref

import numpy as np

from .. import errors
from ..capi import gate
from ..errors import DtypeError, GraphError, StaticError, TraceError
from ..runtime.kinds import is_a
from ..runtime.lines import user_line
from . import modes
from .functions import functions, items_of
from .primitive import Tracer, shape_of
from .steps import Index, Path, Shape, Step, Steps, Untracked


class Origin:
    """The array that a view was taken from, and the step that takes it."""

    __slots__ = ("parent", "step")

    def __init__(self, parent: Any, step: Step):
        self.parent, self.step = parent, step


class Argument:
    """The origin of an argument of a transformation: read-only, as it belongs to the caller."""

    __slots__ = ("error", "op")

    def __init__(self, op: str, error: type[errors.NbgradError]):
        self.op, self.error = op, error


class Layout:
    """The origin of an array that owns its elements, in the memory layout of a view of an array of
    `shape`: it decides when NumPy copies."""

    __slots__ = ("shape", "steps")

    def __init__(self, shape: tuple[int, ...], steps: Steps):
        self.shape, self.steps = shape, steps


# -- views ----------------------------------------------------------------------------------------


def view(x: Any, out: Any, step: Step) -> Any:
    """Register `out` as the view of x that a step takes, and return it."""
    if out is not x and isinstance(x, Tracer) and isinstance(out, Tracer):
        link(x, out, step)
    return out


def link(x: Any, out: Any, step: Step) -> None:
    """Register `out` as the view of x that a step takes. A number has no views: np.reshape of one
    gives a new array."""
    if not is_mutable(x):
        return
    if modes.active and modes.untracked(x.level):
        step = Untracked(step)
    is_known = type(out.origin) is Origin and out.origin.parent is x
    out.origin = Origin(x, step)
    if not is_known:
        register(x, out)


def register(x: Any, out: Any) -> None:
    """Add `out` to the views of x."""
    views = x.views
    if views is None:
        x.views = [FIRST_LIMIT, ref(out)]
        return
    views.append(ref(out))
    if len(views) > views[0]:
        prune(views)


FIRST_LIMIT = 16


def make_mutable(x: Any) -> None:
    """Give x a list of views, which makes a value without axes an array that can be written to."""
    if x.views is None:
        x.views = [FIRST_LIMIT]


def prune(references: list) -> None:
    """Remove dead references from a list that has become longer than its first item, its limit,
    which becomes twice the new length plus a constant."""
    references[1:] = [reference for reference in references[1:] if reference() is not None]
    references[0] = 2 * len(references) + FIRST_LIMIT


def register_ancestors(x: Any) -> None:
    """Register a stale view again with all its ancestors, as a new view of it is not stale."""
    while type(x.origin) is Origin:
        register(x.origin.parent, x)
        x = x.origin.parent


def copied(out: Any, args: Sequence = ()) -> Any:
    """Return the result of a function that copies in NumPy: a copy if it is one of the arguments,
    and no view."""
    if isinstance(out, (tuple, list)):
        found = [copied(x, args) for x in out]
        return type(out)(*found) if hasattr(out, "_fields") else type(out)(found)
    if not isinstance(out, Tracer):
        return out
    if any(out is x for x in items_of(args)):
        return functions[np.copy](out)
    if type(out.origin) is Origin:  # pyright: ignore[reportAttributeAccessIssue]
        for name in out.value_slots:  # pyright: ignore[reportAttributeAccessIssue]
            getattr(out, name)  # takes a stale view anew, which needs the origin
        out.origin = None  # pyright: ignore[reportAttributeAccessIssue]
    return out


def refresh(x: Any) -> None:
    """Take a stale view anew."""
    origin = x.origin
    x._become(origin.step.apply(origin.parent))
    register(origin.parent, x)


def invalidate_views(x: Any) -> None:
    """Make the views of an array stale, and the views of these."""
    views = x.views
    if views is None or len(views) == 1:
        return
    x.views = [FIRST_LIMIT]
    for reference in views[1:]:
        view = reference()
        # An array that was copied since is not a view any more.
        if view is not None and type(view.origin) is Origin and view.origin.parent is x:
            view._invalidate()
            invalidate_views(view)


def numpy_gives_view(x: Any, again: Callable[[np.ndarray], np.ndarray]) -> bool:
    """Whether a function such as reshape returns a view of x, which may be a view itself."""
    root, steps = base_of(x)
    shape = root.shape
    if type(root.origin) is Layout:
        shape, steps = root.origin.shape, (*root.origin.steps, *steps)
    if all(isinstance(step, Shape) for step in steps):
        return True
    bytes_ = Path(steps, ...).view(np.empty(shape, np.int8))
    return np.may_share_memory(bytes_, again(bytes_))


def layout_of(x: Any) -> Layout | None:
    """The memory layout of a view, as the origin of an array that owns its elements."""
    root, steps = base_of(x)
    if type(root.origin) is Layout:
        return Layout(root.origin.shape, (*root.origin.steps, *steps))
    return Layout(root.shape, steps) if steps else None


def share(a: Any, b: Any, asked: Callable) -> bool:
    """`np.shares_memory` or `np.may_share_memory` of two arrays of any kind."""
    (first, to_a), (second, to_b) = base_of(a), base_of(b)
    if first is not second:
        return False
    bytes_ = np.empty(first.shape, np.int8)
    return asked(Path(to_a, ...).view(bytes_), Path(to_b, ...).view(bytes_))


def base_of(x: Any) -> tuple[Any, Steps]:
    """The array that owns the elements of x, and the steps that take x from it."""
    steps: list[Step] = []
    while type(x.origin) is Origin:
        steps.append(x.origin.step)
        x = x.origin.parent
    return x, tuple(reversed(steps))


# -- writes ---------------------------------------------------------------------------------------


def is_mutable(x: Any) -> bool:
    """Whether x is an array that can be written to, not a number: most functions of NumPy return a
    number for a result without axes."""
    return bool(x.aval.shape) or type(x.origin) is Origin or x.views is not None


def write(x: Any, index: Any, value: Any, what: str) -> None:
    """`x[index] = value`, for x, the array that owns its elements, and all other views of that.

    `what` is the statement for messages, such as `"{}[...] = ..."`. Raises ValueError for a
    read-only view, and GraphError or TraceError for a leaf or an argument.
    """
    root, steps = _owner(x, what)
    if isinstance(value, (list, tuple)):
        value = functions["given"](value)
    if not _is_itself(x, index, value):
        root._write(Path(steps, index), value, what)


def require_open(x: Any, what: str) -> None:
    """Raise the error of `write` if x cannot be written to."""
    _owner(x, what)[0]._require_computed(what)


class _Bodies(threading.local):
    """The level of the body of a loop or a conditional that this thread records."""

    level = 0


bodies = _Bodies()


@contextmanager
def inside_body(level: int) -> Iterator[None]:
    """`with inside_body(level):` writes to arrays of lower levels raise TraceError."""
    outer, bodies.level, _traced = bodies.level, level, gate.traced
    try:
        yield
    finally:
        bodies.level = outer


def from_outside(what: str) -> TraceError:
    """The error for a write to an array from outside of the body of a loop or a conditional."""
    return TraceError(
        f"{what} inside of a function given to loop, scan, while_loop or cond: the "
        "array comes from outside of it, and the function runs when the program does; carry "
        f"the array in the state, or return what is to be written{user_line()}",
        code="NB-WRITE",
    )


def inner_values(x: Any, what: str) -> GraphError:
    """The error for a write of values of an inner transformation to an array from outside."""
    return GraphError(
        f"{what.format('y')}: an array of dtype {x.dtype} cannot take values of an inner "
        "transformation in place: write y = y.at[i].set(v)",
        code="NB-WRITE",
    )


def replace(x: Any, new: Any, what: str) -> None:
    """`x[...] = new`, for a new array of the shape of x without other references."""
    inside = x.level < bodies.level
    owns = x.origin is None or type(x.origin) is Layout
    if owns and new.dtype == x.dtype and new.level == x.level and not inside:
        x._require_computed(what)
        invalidate_views(x)
        x._leave()
        x._become(new)
    elif np.can_cast(new.dtype, x.dtype, "same_kind"):
        write(x, ..., new, what)
    else:
        raise DtypeError(
            f"{what.format('y')}: cannot cast a result of dtype {new.dtype} to {x.dtype} in place: "
            "write y = y + v for a new array"
        )


def _owner(x: Any, what: str) -> tuple[Any, Steps]:
    """The array that owns the elements of x, and the steps that take x from it."""
    root, steps = base_of(x)
    for step in steps:
        if step.refusal:
            raise errors.ArgumentError(
                f"{what.format('y')}: assignment destination is read-only: {step.refusal}",
                code="NB-WRITE",
            )
    if root.level < bodies.level:
        raise from_outside(what.format("y"))
    if type(root.origin) is Argument:
        raise root.origin.error(
            f"{what.format('y')} would change an argument of {root.origin.op}, which is the "
            "caller's: write x = x.copy() before, or y = x.at[i].set(v) for a new array"
            f"{user_line()}",
            code="NB-WRITE",
        )
    return root, steps


def _is_itself(x: Any, index: Any, value: Any) -> bool:
    """Whether a value is the view `x[index]` itself, which Python assigns at the end of
    `x[i] += v`."""
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
    return is_a(a, (int, np.integer)) and is_a(b, (int, np.integer)) and a == b


def written(x: Any, path: Path, value: Any) -> Any:
    """The new value of x after a write, computed by ops on arrays of any kind. Inside of
    `no_tracking` only `value` is a constant: the other elements keep their derivatives."""
    if modes.active and modes.untracked(x.level):
        with modes.tracking():
            return written(x, path, functions["stopped"](value))
    errors.require_unmasked(value, "y[...] = v: a value")
    if isinstance(value, Tracer):
        if value.dtype != x.dtype and value.level <= x.level:  # pyright: ignore
            value = value.astype(x.dtype)  # pyright: ignore[reportAttributeAccessIssue]
    elif not is_a(value, (int, float)):
        value = np.asarray(value)
        value = value.astype(x.dtype) if value.dtype.kind in "fiub" else value
    mask = path.index
    if isinstance(mask, Tracer) and mask.dtype == bool:  # pyright: ignore
        return Path(path.steps, ...).set(x, _where(mask, value, path.view(x)))
    return path.set(x, value)


def _where(mask: Any, value: Any, part: Any) -> Any:
    """`np.where` for a mask that is known only when the program runs, and one value."""
    if shape_of(value) != ():
        raise StaticError(
            "y[mask] = v: how many elements the mask takes depends on the arguments, so only one "
            "number can be written: write y[...] = np.where(mask, v, y) with a v of the shape of "
            f"y{user_line()}"
        )
    rest = len(shape_of(part)) - len(shape_of(mask))
    return np.where(np.reshape(mask, (*shape_of(mask), *(1,) * rest)), value, part)
