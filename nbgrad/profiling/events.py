"""Timed versions of the functions that apply ops, walk back, and call compiled functions.

An event that begins inside of another one belongs to that. They are written out one by one, as each
call more that they make would be seen in the times of small ops.
"""

from collections.abc import Callable
from functools import cache
from sys import _getframe
from threading import get_ident
from typing import Any

import numpy as np

from ..adjoints.record import Fact
from ..loops.kernels import runs_of
from ..loops.status import FACTS
from ..values.tracked import TrackedArray
from . import kept_values
from .tally import Cell, Tally, Walk, cell_of_node, clock, codes, inner, marks, own, tallies, user

PASS = "backward pass"
"""The name of what belongs to no op in a walk."""

__all__ = ["PASS", "answer", "backward_pass", "bind1", "bind2", "call_of_njit", "cost"]
__all__ += ["derivative", "history", "item", "nested_result", "observer", "process", "result"]

_NARROW = np.dtype(np.float32)


def bind1(real: Callable) -> Callable:
    find, tracked = tallies.get, TrackedArray

    def bind1(primitive: Any, x: Any, **params: Any) -> Any:
        tally = find(get_ident()) or own()
        if tally.busy:
            return real(primitive, x, **params)
        frame: Any = _getframe(2)
        code = frame.f_code
        while inner[code.co_filename] and frame.f_back is not None:
            frame = frame.f_back
            code = frame.f_code
        tally.busy = True
        began = clock()
        try:
            out = real(primitive, x, **params)
        except BaseException:
            _left(tally)
            raise
        spent = clock() - began
        tally.busy = False
        key = id(code), frame.f_lasti, primitive, x.aval
        cell = tally.cells.get(key) or _new(tally, key, code, out, x)
        cell.calls += 1
        cell.seconds += spent
        if type(out) is tracked:
            marks[out.node.time] = cell
        if tally.inner or tally.made:
            _settled(tally, cell)
        return out

    return bind1


def bind2(real: Callable) -> Callable:
    find, tracked = tallies.get, TrackedArray

    def bind2(primitive: Any, x: Any, y: Any) -> Any:
        tally = find(get_ident()) or own()
        if tally.busy:
            return real(primitive, x, y)
        frame: Any = _getframe(2)
        code = frame.f_code
        while inner[code.co_filename] and frame.f_back is not None:
            frame = frame.f_back
            code = frame.f_code
        tally.busy = True
        began = clock()
        try:
            out = real(primitive, x, y)
        except BaseException:
            _left(tally)
            raise
        spent = clock() - began
        tally.busy = False
        key = id(code), frame.f_lasti, primitive, out.aval if type(out) is tracked else None
        cell = tally.cells.get(key) or _new(tally, key, code, out, x, y)
        cell.calls += 1
        cell.seconds += spent
        if type(out) is tracked:
            marks[out.node.time] = cell
        if tally.inner or tally.made:
            _settled(tally, cell)
        return out

    return bind2


@cache
def cost() -> float:
    """The seconds that the measurement of an op takes."""
    kept, tallies[get_ident()] = own(), Tally()
    x, timed = TrackedArray(), bind1(lambda primitive, x: None)
    x.aval = None  # pyright: ignore[reportAttributeAccessIssue]
    best = 1.0
    for _ in range(20):
        began = clock()
        for _ in range(50):
            timed(None, x)
        best = min(best, (clock() - began) / 50)
    tallies[get_ident()] = kept
    return best


def _left(tally: Tally) -> None:
    """End an event that raised."""
    tally.busy, tally.inner = False, 0.0
    tally.made.clear()


def _settled(tally: Tally, cell: Cell) -> None:
    """Take compilations out of the time of the event that ended, and mark its nodes."""
    cell.seconds -= tally.inner
    cell.bytes = max(cell.bytes, tally.bytes)
    tally.inner, tally.bytes = 0.0, 0
    for time in tally.made:
        marks[time] = cell
    tally.made.clear()


def _new(tally: Tally, key: tuple, code: Any, out: Any, *args: Any) -> Cell:
    """A new cell, with what its first call shows."""
    codes[id(code)] = code
    cell = tally.cell(key)
    wide = getattr(out, "dtype", None) == np.float64
    if wide and any(getattr(x, "dtype", None) == _NARROW for x in args):
        other = [x for x in args if getattr(x, "dtype", None) != _NARROW]
        cell.note = f"float32 with {_told(other[0])}" if other else "float32"
    return cell


def _told(x: Any) -> str:
    dtype = getattr(x, "dtype", None)
    return f"{dtype} of shape {np.shape(x)}" if dtype is not None else f"a {type(x).__name__}"


def _event(tally: Tally, name: Any, kind: Any, run: Callable, /, *args: Any, **options: Any) -> Any:
    """Run a function as an event of the line that calls."""
    cell = tally.cell((*user(_getframe(2)), name, kind))
    tally.busy = True
    began = clock()
    try:
        out = run(*args, **options)
    except BaseException:
        _left(tally)
        raise
    spent = clock() - began
    tally.busy = False
    cell.calls += 1
    cell.seconds += spent
    if isinstance(out, TrackedArray):
        marks[out.node.time] = cell
    _settled(tally, cell)
    return out


def process(real: Callable) -> Callable:
    """Of all ways to apply an op, that for any arguments and parameters."""

    def process(cls: Any, level: Any, primitive: Any, args: Any, params: dict) -> Any:
        tally = own()
        if tally.busy:
            return real(cls, level, primitive, args, params)
        of: Any = params.get("of")
        name = f"{of.signature.name} (njit)" if hasattr(of, "signature") else primitive
        kind = next((x.aval for x in args if hasattr(x, "aval")), None)
        return _event(tally, name, kind, real, cls, level, primitive, args, params)

    return process


def item(real: Callable) -> Callable:
    def __getitem__(self: Any, index: Any) -> Any:
        tally = own()
        if tally.busy:
            return real(self, index)
        return _event(tally, "x[...]", self.aval, real, self, index)

    return __getitem__


def result(real: Callable) -> Callable:
    """The record of an op, of which the event is told the node."""

    def result(plan: Any, parents: Any, saved: Any, value: Any) -> Any:
        tally = own()
        if not tally.busy:
            return _event(tally, plan.primitive, plan.aval, real, plan, parents, saved, value)
        out = real(plan, parents, saved, value)
        tally.made.append(out.node.time)
        return out

    return result


def nested_result(real: Callable) -> Callable:
    """The same above the base level."""

    def nested_result(*args: Any) -> Any:
        out, tally = real(*args), own()
        if tally.busy:
            tally.made.append(out.node.time)
        return out

    return nested_result


# -- backward -------------------------------------------------------------------------------------


def backward_pass(real: Callable) -> Callable:
    """A walk from one node or several. Some walks are observed node by node, which takes longer and
    tells how the time of the others divides among the ops."""

    def backward_pass(root: Any, *args: Any, **options: Any) -> Any:
        tally = own()
        if tally.busy:
            return real(root, *args, **options)
        place = user(_getframe(1))
        cell = tally.cell((*place, PASS, None))
        walk = tally.walks.get(place) or tally.walks.setdefault(place, Walk(cell))
        tally.busy, before = True, clock()
        kept_values.look(walk.passes, root, tally, options.get("since", 0))
        if walk.is_due():
            tally.walk = walk
            walk.begin()
        began = tally.last = clock()
        tally.aside += began - before
        try:
            return real(root, *args, **options)
        finally:
            spent = clock() - began
            tally.aside += walk.add(spent - tally.inner, tally.walk is not None)
            tally.walk = None
            tally.inner = tally.seen = 0.0
            tally.busy = False
            tally.made.clear()

    return backward_pass


def observer() -> Callable | None:
    """What a walk of this thread calls for each node: nothing, if it is not observed."""
    return observe if own().walk is not None else None


def history(real: Callable) -> Callable:
    """The search for the nodes of a walk, which belongs to no op."""

    def history(*roots: Any, **options: Any) -> Any:
        found = real(*roots, **options)
        own().last = clock()
        return found

    return history


def observe(node: Any, contributions: Any, cotangents: dict) -> None:
    """Give the time since the node before to the op of this one."""
    now, tally = clock(), own()
    if tally.walk is not None:
        seconds = now - tally.last - (tally.inner - tally.seen)
        cell = cell_of_node(tally, node)
        tally.seen, tally.last = tally.inner, clock()
        tally.walk.note(cell, seconds, tally.last - now)


# -- compiled functions ---------------------------------------------------------------------------


def answer(real: Callable) -> Callable:
    """What a compiled function is told to call is timed."""

    def _answer(self: Any, front: Callable) -> None:
        name, nothing = f"{_name_of(self)} (compiled)", None

        def timed(*args: Any, **options: Any) -> Any:
            tally = own()
            if tally.busy:
                return front(*args, **options)
            return _event(tally, name, nothing, front, *args, **options)

        timed.untimed = front  # pyright: ignore[reportFunctionMemberAccess]
        real(self, timed)

    return _answer


def _name_of(f: Any) -> str:
    return getattr(f._f, "__name__", type(f._f).__name__)


def call_of_njit(real: Callable) -> Callable:
    def __call__(self: Any, *args: Any, **options: Any) -> Any:
        tally = own()
        if tally.busy:
            return real(self, *args, **options)
        return _event(tally, f"{self.__name__} (njit)", None, real, self, *args, **options)

    return __call__


def derivative(real: Callable) -> Callable:
    """The derivative of an njit function on plain arrays."""

    def evaluate(*args: Any, of: Any, **options: Any) -> Any:
        tally = own()
        if not tally.busy:
            kind = "value" if of.wrt is None else "value and gradient"
            return _event(tally, f"{of.signature.name} (njit)", kind, evaluate, *args, of=of)
        out = real(*args, of=of, **options)
        tally.bytes = max(tally.bytes, runs_of(of).status.item(FACTS + Fact.KEPT))
        return out

    return evaluate
