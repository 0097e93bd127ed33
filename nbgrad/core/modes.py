"""Modes of the eager tier, as context managers: `no_tracking`, `detect_nan`, `detect_changes`.

A mode belongs to the thread and the task that opened it, and does not affect another task that runs
while this one awaits. A generator shares the context of its caller, as with `np.errstate`: close
the block before `yield`.
"""

import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary, ref

import numpy as np

from ..errors import ChangedError, NanError
from ..runtime.kinds import is_a

# The open blocks of all threads. If there are none, ops look no further.
active: set["ref[_Block]"] = set()
_HERE = str(Path(__file__).parent.parent)
_EXPERIMENTS = str(Path(_HERE, "experiments"))
_lines: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
_sums: WeakKeyDictionary[Any, dict[int, int]] = WeakKeyDictionary()


# Each call returns a level higher than all others; the number above it stays free.
fresh_level: Callable[[], int] = count(2, 2).__next__


class _Block:
    """One open block. It ends when the mode that opened it drops its reference, even if an
    interrupt comes in the middle of `__exit__`."""

    __slots__ = ("__weakref__", "level")

    def __init__(self):
        self.level = fresh_level()


_Blocks = ContextVar[tuple["ref[_Block]", ...]]


class _Mode:
    """Opens a block each time it is entered, so it is reentrant and reusable."""

    _blocks: _Blocks

    def __init__(self):
        self._held: list[_Block] = []

    def __enter__(self) -> None:
        block = _Block()
        reference = ref(block, active.discard)
        active.add(reference)
        self._blocks.set((*_open(self._blocks), reference))
        self._held.append(block)

    def __exit__(self, *error) -> None:
        here = [reference() for reference in self._blocks.get()]
        # The latest block of this context; a generator may be closed in another context.
        mine = [i for i, block in enumerate(self._held) if block in here]
        del here
        self._held.pop(mine[-1] if mine else -1)
        self._blocks.set(_open(self._blocks))


def _open(blocks: _Blocks) -> tuple["ref[_Block]", ...]:
    return tuple([reference for reference in blocks.get() if reference() is not None])


class no_tracking(_Mode):
    """`with nbgrad.no_tracking():` ops return TrackedArrays without a graph.

    The results are constants for all derivatives, in forward mode and in compiled functions, too.
    A transformation called inside returns correct derivatives with respect to its arguments.

    >>> x = nbgrad.track(2.0)
    >>> with nbgrad.no_tracking():
    ...     y = x * x
    >>> y.parents, len(x.children)
    ((), 0)
    """

    _blocks: _Blocks = ContextVar("nbgrad_untracked", default=())


@contextmanager
def tracking() -> Iterator[None]:
    """Suspend the open blocks of `no_tracking`."""
    outer = no_tracking._blocks.get()
    no_tracking._blocks.set(())
    try:
        yield
    finally:
        no_tracking._blocks.set(outer)


innermost: Callable[[], Any] = bool
"""The transformation opened last in this thread or task; set by `levels`."""


class detect_nan(_Mode):
    """`with nbgrad.detect_nan():` the first op whose result contains nan raises NanError.

    The error names the op, the line of your program that called it, the first index, and the
    forward or the backward pass. Eager ops, their tangents in `jvp`, and backward passes inside of
    the block are checked; compiled programs are not.

    >>> with nbgrad.detect_nan():  # doctest: +ELLIPSIS
    ...     np.log(nbgrad.track([1.0, -1.0]))
    Traceback (most recent call last):
    nbgrad.errors.NanError: log gave nan in the forward pass, first at index (1,) of shape (2,), ...
    """

    _blocks: _Blocks = ContextVar("nbgrad_watching", default=())


class detect_changes(_Mode):
    """`with nbgrad.detect_changes():` a backward pass raises GraphError if an array that it reads
    was written to after the op.

    An op copies index arrays and plain operands of up to 4,096 bytes, and `w.data = ...` and
    `w.data -= ...` are always detected. Writes to longer operands, and to elements of the data of a
    leaf, are not, for speed. In this mode each op computes a checksum of the arrays that its
    pullback will read, and each backward pass inside of the block compares them. Use it for
    debugging.

    >>> x = nbgrad.track([1.0, 2.0])
    >>> with nbgrad.detect_changes():  # doctest: +ELLIPSIS
    ...     y = np.sum(x * x)
    ...     x.data[0] = 5.0
    ...     y.backward()
    Traceback (most recent call last):
    nbgrad.errors.ChangedError: argument 0 of multiply, of shape (2,), was written to after ...
    """

    _blocks: _Blocks = ContextVar("nbgrad_guarding", default=())


def untracked(level: int = 0) -> bool:
    """Whether ops of a level record no graph, as an open block is newer than the level."""
    blocks = [reference() for reference in no_tracking._blocks.get()]
    return any([block is not None and block.level > level for block in blocks])


def watching() -> bool:
    return bool(active) and bool(_open(detect_nan._blocks))


def guarding() -> bool:
    return bool(active) and bool(_open(detect_changes._blocks))


def note_saved(node: Any, saved: tuple) -> None:
    """Compute checksums of the arrays that the pullback of a new node reads."""
    _sums[node] = {i: _checksum(saved[i]) for i in _read(node)}
    _lines[node] = user_line()


def check_saved(node: Any, saved: tuple) -> None:
    """Raise GraphError if one of these arrays has changed."""
    for i, known in _sums.get(node, {}).items() if saved else ():
        if _checksum(saved[i]) != known:
            raise ChangedError(
                f"argument {i} of {node.name}, of shape {np.shape(saved[i])}, was written to after "
                f"the op ran at {_lines.get(node, 'an unknown line')}, and its backward pass needs "
                "the old values: call backward before the write, or give the op a copy"
            )


def _read(node: Any) -> list[int]:
    return [i for i in node.plan.residuals(node.plan.need) if i < len(node.plan.need)]


def _checksum(x: Any) -> int:
    return zlib.crc32(x.tobytes()) if is_a(x, np.ndarray) else 0


def watch_forward(node: Any, saved: tuple, value: Any) -> None:
    """Raise NanError if an op returned nan; keep the user's line for its backward pass."""
    _lines[node] = line = user_line()
    if _has_nan(value):
        before = any(_has_nan(x) for x in saved)
        raise NanError(
            f"{node.name} gave nan in the forward pass, {_first(value)}, at {line}"
            + ("; an argument was nan already" if before else "")
        )


def watch_backward(node: Any, contributions: Any, cotangents: dict) -> None:
    """Raise NanError if the pullback of a node returned nan, or what cancels other cotangents of an
    argument to nan."""
    for i, (parent, contribution) in enumerate(zip(node.parents, contributions)):  # noqa: B905
        before = cotangents.get(parent)
        with np.errstate(invalid="ignore"):
            total = contribution if before is None else np.asarray(before + contribution)
        if _has_nan(contribution):
            why = f"gave nan in the backward pass, for its argument {i}, {_first(contribution)}"
        elif _has_nan(total):
            why = (
                f"gave an infinite cotangent of its argument {i}, which is nan when it is added to "
                f"those of other ops in the backward pass, {_first(total)}"
            )
        else:
            continue
        line = _lines.get(node, "an unknown line")
        raise NanError(f"{node.name} {why}; the op was called at {line}")


def watch_pushforward(name: str, value: Any, tangent: Any) -> None:
    """Raise NanError if an op returned nan, or if the tangent of its result is nan."""
    for x, what in ((value, "gave nan"), (tangent, "gave a tangent that is nan")):
        if is_a(x, (np.ndarray, np.floating)) and _has_nan(np.asarray(x)):
            raise NanError(
                f"{name} {what} in forward mode, {_first(np.asarray(x))}, at {user_line()}"
            )


def user_line() -> str:
    """The innermost running line outside of nbgrad and NumPy."""
    frame: Any = sys._getframe(1)
    numpy = str(Path(np.__file__).parent)
    while frame is not None:
        name = frame.f_code.co_filename
        ours = name.startswith((_HERE, numpy)) and not name.startswith(_EXPERIMENTS)
        if not ours and not (name == "<string>" and "kernel" in frame.f_globals):
            return f"{name}:{frame.f_lineno}"
        frame = frame.f_back
    return "an unknown line"


def _has_nan(x: Any) -> bool:
    return is_a(x, np.ndarray) and x.dtype.kind == "f" and bool(np.isnan(x).any())


def _first(x: np.ndarray) -> str:
    index = tuple(int(i) for i in np.argwhere(np.isnan(x))[0])
    return f"first at index {index} of shape {x.shape}"
