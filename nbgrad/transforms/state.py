"""What functions hold: the arrays that a closure captures, those of a bound method's object and of
the arguments that `functools.partial` fixed.

A function has no structure in which a gradient could stand, so its state has: a dict of what a
closure captures by name, the object of a bound method, a tuple of a partial's three parts.
"""

import functools
import types
from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy as np

from ..core.remade import Wrapper
from ..runtime.kinds import is_a
from . import trees
from .objects import COMMON, NUMBERS, conceals


class State:
    """The leaves of a tree, those that its functions hold among them.

    `rebuild` makes the tree from other leaves, with new functions; `gradient` has the functions'
    states in place of them.
    """

    __slots__ = ("_parts", "_rebuild", "leaves")

    def __init__(self, tree: Any, path: tuple = (), cycles: list | None = None):
        if isinstance(tree, NUMBERS):
            self.leaves, self._rebuild, self._parts = [tree], itemgetter(0), None
            return
        cycles = [] if cycles is None else cycles
        holds = lambda x: trees.is_differentiable(x) or _part(x, path, cycles) is not None  # noqa: E731
        contents, self._rebuild = trees.flatten(tree, holds)
        # For each leaf of the containers, the state of a function and who makes that anew.
        parts = [
            None if isinstance(leaf, NUMBERS) else _part(leaf, path, cycles) for leaf in contents
        ]
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
    """The tree with copies of its plain arrays, those that functions hold among them: for what
    outlives the call, after which the caller may write to his own."""
    if isinstance(tree, NUMBERS):
        return tree.copy() if is_a(tree, np.ndarray) else tree
    if isinstance(tree, types.FunctionType) and not tree.__closure__:
        return tree
    state = State(tree)
    if not any(is_a(leaf, np.ndarray) for leaf in state.leaves):
        return tree
    return state.rebuild([x.copy() if is_a(x, np.ndarray) else x for x in state.leaves])


def require_open(op: str, leaves: list[Any]) -> None:
    """Raise TypeError for an object that holds floats where nobody can say how."""
    if COMMON.issuperset(map(type, leaves)):
        return
    for leaf in leaves:
        if conceals(leaf):
            name = type(leaf).__name__
            raise TypeError(
                f"{op}: an object of {name} holds floats, and {name} is no plain class, so they "
                f"would get no gradient: tell its attributes by nbgrad.register({name}, "
                "fields=[...]), or close over it if it is constant"
            )


def _part(f: Any, path: tuple, cycles: list) -> tuple[State, Callable] | None:
    """The state of a function that holds floats and how to make it anew; None for all else.

    `path` has the functions that hold this one, and `cycles` gets those that hold themselves.
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
        raise TypeError(
            f"the closure {_name(f)} holds floats and, through another function, itself, so a part "
            "of its gradient would be lost: pass what it captures as an argument, or make it a "
            "class with attributes, as for nbgrad.register"
        )
    return (state, make) if state.holds_floats else None


def _name(f: Any) -> str:
    return getattr(f, "__name__", type(f).__name__)


def _captured(f: types.FunctionType) -> dict[str, Any]:
    """What stands in the cells of a closure, by name, itself not."""
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
    """`f` with other values in its cells; where it names itself, the new one."""
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
