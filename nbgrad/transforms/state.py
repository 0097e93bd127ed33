"""State of functions: arrays that a closure captures, in the object of a bound method, and in the
arguments of a `functools.partial`.

A function is no container, so its gradient has the structure of its state: for a closure, a dict of
the captured variables; for a bound method, the object; for a partial, a tuple of function,
arguments and keyword arguments.
"""

import functools
import types
from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy as np

from ..core.remade import Wrapper
from ..errors import ArgumentTypeError
from ..runtime.kinds import is_a
from . import trees
from .objects import COMMON, conceals, is_number


class State:
    """A tree with the states of its functions: `leaves` includes the leaves of those.

    `rebuild` makes the tree from other leaves, with new functions; `gradient` makes the same tree
    with states in place of functions.
    """

    __slots__ = ("_parts", "_rebuild", "leaves")

    def __init__(self, tree: Any, path: tuple = (), cycles: list | None = None):
        if is_number(tree):
            self.leaves, self._rebuild, self._parts = [tree], itemgetter(0), None
            return
        cycles = [] if cycles is None else cycles
        holds = lambda x: trees.is_differentiable(x) or _part(x, path, cycles) is not None  # noqa: E731
        contents, self._rebuild = trees.flatten(tree, holds)
        # For each leaf of the containers, the state of a function and its constructor, or None.
        parts = [None if is_number(leaf) else _part(leaf, path, cycles) for leaf in contents]
        self._parts = parts if any(parts) else None
        self.leaves = contents
        if self._parts:
            own = [
                [x] if part is None else part[0].leaves
                for x, part in zip(contents, parts, strict=True)
            ]
            self.leaves = [leaf for leaves in own for leaf in leaves]

    def rebuild(self, leaves: list[Any]) -> Any:
        return self._built(leaves, lambda state, make, own: make(state.rebuild(own)))

    def gradient(self, leaves: list[Any]) -> Any:
        return self._built(leaves, lambda state, make, own: state.gradient(own))

    @property
    def holds_floats(self) -> bool:
        return any(map(trees.is_differentiable, self.leaves))

    def _built(self, leaves: list[Any], build: Callable) -> Any:
        if self._parts is None:
            return self._rebuild(leaves)
        parts, at = [], 0
        for part in self._parts:
            size = 1 if part is None else len(part[0].leaves)
            own = leaves[at : at + size]
            parts.append(own[0] if part is None else build(*part, own))
            at += size
        return self._rebuild(parts)


def kept(tree: Any) -> Any:
    """Copy the plain arrays of a tree and of the states of its functions. Values that outlive a
    call are copied, since the caller may write to its arrays later."""
    if is_number(tree):
        return tree.copy() if is_a(tree, np.ndarray) else tree
    if isinstance(tree, types.FunctionType) and not tree.__closure__:
        return tree
    state = State(tree)
    if not any(is_a(leaf, np.ndarray) for leaf in state.leaves):
        return tree
    return state.rebuild([x.copy() if is_a(x, np.ndarray) else x for x in state.leaves])


def require_open(op: str, leaves: list[Any]) -> None:
    """Raise TypeError for an object with floats that cannot be flattened."""
    if COMMON.issuperset(map(type, leaves)):
        return
    for leaf in leaves:
        if conceals(leaf):
            name = type(leaf).__name__
            raise ArgumentTypeError(
                f"{op}: an object of {name} holds floats, and {name} is no plain class, so they "
                f"would get no gradient: name its attributes with nbgrad.register({name}, "
                "fields=[...]), or close over it if it is constant",
                code="NB-OBJECT",
            )


def _part(f: Any, path: tuple, cycles: list) -> tuple[State, Callable] | None:
    """Return the state of a function that holds floats, and a constructor of the function from a
    new state; None for anything else.

    `path` lists the functions whose states contain this one. A function whose state contains itself
    is appended to `cycles`.
    """
    if isinstance(f, types.FunctionType):
        held, make = _captured(f), lambda new: _closed_over(f, new)
    elif isinstance(f, types.MethodType):
        held, make = f.__self__, lambda new: types.MethodType(f.__func__, new)
    elif type(f) is functools.partial:
        held = (f.func, f.args, f.keywords)
        make = lambda new: functools.partial(new[0], *new[1], **new[2])  # noqa: E731
    elif isinstance(f, Wrapper):
        held, make = {"function": f.function}, lambda new: f.of(new["function"])
    else:
        return None
    if any(f is other for other in path):
        cycles.append(f)
        return None
    if isinstance(held, dict) and not held:
        return None
    state = State(held, (*path, f), cycles)
    if cycles and not path and state.holds_floats:
        raise ArgumentTypeError(
            f"the closure {_name(f)} holds floats and, through another function, itself, so a part "
            "of its gradient would be lost: pass what it captures as an argument, or make it a "
            "class with attributes, as for nbgrad.register",
            code="NB-OBJECT",
        )
    return (state, make) if state.holds_floats else None


def _name(f: Any) -> str:
    return getattr(f, "__name__", type(f).__name__)


def _captured(f: types.FunctionType) -> dict[str, Any]:
    """Return the variables that a closure captures by name, without the function itself."""
    cells = {}
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
        try:
            value = cell.cell_contents
        except ValueError:  # not yet set
            continue
        if value is not f:
            cells[name] = value
    return cells


def _closed_over(f: types.FunctionType, values: dict[str, Any]) -> Callable:
    """Copy `f` with other values of its captured variables. A variable that refers to `f` refers to
    the copy."""
    closure = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
    own = [name for name in closure if name not in values and _is_of(closure[name], f)]
    cells = closure | {name: types.CellType(value) for name, value in values.items()}
    cells |= {name: types.CellType() for name in own}
    new = types.FunctionType(
        f.__code__, f.__globals__, f.__name__, f.__defaults__, tuple(cells.values())
    )
    new.__kwdefaults__ = f.__kwdefaults__
    for name in own:
        cells[name].cell_contents = new
    return new


def _is_of(cell: types.CellType, f: Callable) -> bool:
    try:
        return cell.cell_contents is f
    except ValueError:  # not yet set
        return False
