"""The right-hand side of an equation as a function of vectors, and programs that integrate it."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from ctypes import ArgumentError
from typing import Any

import numpy as np

from ..compiler.forks import fork_safe
from ..compiler.numba_api import CPUDispatcher
from ..core import refusals
from ..core.array import Array
from ..core.primitive import shape_of
from ..errors import (
    ArgumentTypeError,
    ComplexError,
    DimensionMismatch,
    LoopError,
    NoRuleError,
    TraceError,
    UntrackedError,
)
from ..loops.njit import njit
from ..rules.layout import given
from ..static.compiling import compile
from ..static.reads.kinds import Array as ReadArray
from ..static.reads.walk import Reads
from ..transforms import jacobian, jvp, trees
from . import dormand_prince, rodas, runge_kutta
from .captured import Lifted
from .loops import integrators
from .rates import Read, Recorded

__all__ = ["METHODS", "Nest", "Problem", "key_of", "numbers", "plain_of", "problem_of"]

METHODS: dict[str, Any] = {
    "RK45": dormand_prince, "DOP5": dormand_prince, "RK4": runge_kutta, "Rosenbrock": rodas,
}  # fmt: skip
_MOST = 128
_lock = fork_safe(threading.RLock())
_problems: OrderedDict[Any, "Problem"] = OrderedDict()
_reads: OrderedDict[int, tuple[Callable, Reads]] = OrderedDict()


def numbers(x: Any, what: str) -> Any:
    """An array of floats. Raises ComplexError or ArgumentTypeError for other elements."""
    x = given(x)
    if x.dtype.kind == "c":
        raise ComplexError(f"ode.solve: {what} is complex: integrate the real and imaginary parts")
    if x.dtype.kind not in "fiub":
        raise ArgumentTypeError(
            f"ode.solve: {what} is of dtype {x.dtype}: numbers are needed, in a list or an array"
        )
    return x if x.dtype == np.float64 else x.astype(np.float64)


def plain_of(x: Any) -> Any:
    """The numbers of an array below all transformations; None while they are not known."""
    while isinstance(x, Array):
        if hasattr(x, "builder") or x.is_batch:
            return None
        x = x.below if hasattr(x, "node") else getattr(x, "primal", None)
    return x


class Nest:
    """The structure of a tree of floats: its leaves as one vector, and back."""

    def __init__(self, tree: Any):
        leaves, self._rebuild = trees.flatten_values(tree)
        self.shapes = [tuple(shape_of(x)) for x in leaves]
        self.size = sum(int(np.prod(shape)) for shape in self.shapes)
        self.key = repr((trees.structure(tree), self.shapes))
        self.is_vector = hasattr(tree, "dtype") and len(self.shapes[0]) == 1

    def vector(self, tree: Any) -> Any:
        """The leaves of a tree of this structure as a vector."""
        leaves = [given(x) for x in trees.flatten_values(tree)[0]]
        parts = [np.reshape(x, (-1,)) for x in leaves]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def tree(self, vector: Any) -> Any:
        """The tree of a vector, or of a matrix whose last axis is that of times."""
        rest = tuple(shape_of(vector))[1:]
        if self.is_vector:
            return vector
        parts, at = [], 0
        for shape in self.shapes:
            size = int(np.prod(shape))
            parts.append(np.reshape(vector[at : at + size], (*shape, *rest)))
            at += size
        return self._rebuild(parts)


class Problem:
    """A right-hand side of given structures, with programs for a method."""

    def __init__(self, f: Callable, method: str, state: Nest, args: tuple):
        self.f, self.name = f, getattr(f, "__name__", type(f).__name__)
        self.method, self.state = method, state
        self._args, self._rebuild = trees.flatten(args)
        self.moving = [i for i, x in enumerate(self._args) if trees.is_differentiable(x)]
        self.is_read, self._read = isinstance(f, CPUDispatcher), None
        shapes = [(), (state.size,), *(tuple(shape_of(self._args[i])) for i in self.moving)]
        self._rate = Recorded(self.rate, self.name, shapes)
        self._jacobian = Recorded(self._slopes, f"the Jacobian of {self.name}", shapes)
        self._programs: dict[Any, Any] = {}
        self.events: dict[Any, Recorded] = {}  # values of events, by the names of their programs
        self.adjoint: Problem | None = None  # of the adjoint equation

    @property
    def examples(self) -> tuple:
        """Arguments with the shapes of the floats among those of the function."""
        return tuple(np.zeros(shape_of(self._args[i])) for i in self.moving)

    def arguments(self, leaves: Sequence) -> tuple:
        """The arguments of the function, by their floats."""
        every = list(self._args)
        for i, x in zip(self.moving, leaves, strict=True):
            every[i] = x
        return self._rebuild(every)

    def leaves(self, args: tuple) -> tuple:
        """The floats among the arguments."""
        found = trees.flatten(args)[0]
        return tuple(found[i] for i in self.moving)

    def rate(self, t: Any, y: Any, *leaves: Any) -> Any:
        """The slope of the state vector, for arguments by their floats."""
        if self._read is not None:
            return self._read(t, y, *leaves)
        found = self.f(t, self.state.tree(y), *self.arguments(leaves))
        return self._checked(found)

    def _checked(self, found: Any) -> Any:
        if self.state.is_vector or len(self.state.shapes) == 1:
            found = numbers(found, f"what {self.name} returned")
            shape = tuple(shape_of(found))
            if shape != self.state.shapes[0]:
                raise DimensionMismatch(
                    f"ode.solve: {self.name} returned shape {shape} for a state of shape "
                    f"{self.state.shapes[0]}: return the derivative of each element"
                )
            found = np.reshape(found, (-1,))
        else:
            if (key := Nest(found).key) != self.state.key:
                raise DimensionMismatch(
                    f"ode.solve: {self.name} returned {key} for a state of {self.state.key}: "
                    "return a tree of the same structure and shapes"
                )
            found = numbers(self.state.vector(found), f"what {self.name} returned")
        return found

    def look(self, t: Any, y: Any, leaves: tuple) -> None:
        """Evaluate the right-hand side once, so that errors in it are those of the function."""
        if self._programs or self.is_read:
            return
        before = refusals.total.count
        try:
            self.rate(t, y, *leaves)
        except (TraceError, UntrackedError):
            refusals.forget(before)
            self.is_read = True
        except ArgumentError:  # pointers as compiled code takes them
            self.is_read = True

    def run(self, name: Any, *args: Any) -> Any:
        """Call a program: "states", "path", or that of the roots of events."""
        first = ""
        while True:
            try:
                return self._program(name)(*args)
            except LoopError as refused:
                first = first or str(refused)
                if name in self.events and (why := self.events[name].refused):
                    raise NoRuleError(
                        f"ode.solve: an event cannot be compiled: write it with NumPy functions of "
                        f"its arguments ({why})"
                    ) from None
                if self.is_read:
                    raise NoRuleError(
                        f"ode.solve: {self.name} cannot be compiled: write it with NumPy functions "
                        f"of its arguments, or with loops for numba.njit ({first}; "
                        f"{self._jacobian.refused or self._rate.refused or refused})"
                    ) from None
                self._programs.clear()
                self.is_read = True

    def _program(self, name: Any) -> Any:
        if name not in self._programs:
            states, path, roots = integrators(
                METHODS[self.method], *self._functions(), self.state.size, self.events.get(name)
            )

            def states_of(t0, t1, y0, times, options, atol, args):
                return states(t0, t1, y0, times, options, atol, args)

            def path_of(t0, t1, y0, h, options, atol, args, rows):
                return path(t0, t1, y0, h, options, atol, args, rows)

            def roots_of(t0, t1, y0, options, atol, limits, directions, args, every, most):
                return roots(t0, t1, y0, options, atol, limits, directions, args, every, most)

            self._programs["states"] = compile(states_of)
            self._programs["path"] = compile(path_of, static_argnames=("rows",))
            if name in self.events:
                self._programs[name] = compile(roots_of, static_argnames=("most",))
        return self._programs[name]

    def _functions(self) -> tuple[Callable, Callable]:
        """The right-hand side, and its derivatives by the state and by time, for loops."""
        if not self.is_read:
            return self._rate, self._jacobian
        f, n = Read(self.f, self.arguments), self.state.size

        def rate(t, y, *args):
            found = f(t, y, *args)
            out = np.empty(n)
            for i in range(n):
                out[i] = found[i]
            return out

        self._read = njit(rate)
        return rate, self._jacobian

    def _slopes(self, t: Any, y: Any, *leaves: Any) -> tuple[Any, Any]:
        if self._read is None:
            by_y = jacobian(lambda y: self.rate(t, y, *leaves))(y)
        else:  # one after the other: what spreads over threads cannot be differentiated again
            columns = [
                jvp(lambda y: self.rate(t, y, *leaves), (y,), (unit,))[1]
                for unit in np.eye(self.state.size)
            ]
            by_y = np.stack(columns, -1)
        by_t = jvp(lambda t: self.rate(t, y, *leaves), (t,), (np.ones(()),))[1]
        return by_y, by_t


def _reads_of(f: Callable) -> Reads:
    """The values that a function reads."""
    known = _reads.get(id(f))
    if known is not None and known[0] is f and known[1].is_same():
        return known[1]
    reads = Reads([f])
    with _lock:
        _reads[id(f)] = f, reads
        if len(_reads) > _MOST:
            _reads.popitem(last=False)
    return reads


def key_of(f: Callable) -> Any:
    """A key that is equal for functions of the same code that read the same."""
    reads = _reads_of(f.function if isinstance(f, Lifted) else f)
    small = tuple(
        (x.array.shape, str(x.array.dtype), x.array.tobytes())
        for x in reads.places if isinstance(x, ReadArray)
    )  # fmt: skip
    return reads.key, f.places if isinstance(f, Lifted) else (), small


def problem_of(f: Callable, method: str, state: Nest, args: tuple) -> Problem:
    """The problem of a function; that of an earlier call if what it reads is unchanged."""
    leaves = trees.flatten(args)[0]
    fixed = tuple(
        (tuple(shape_of(x)), str(x.dtype)) if hasattr(x, "dtype") and trees.is_differentiable(x)
        else "float" if trees.is_differentiable(x)
        else (type(x).__name__, shape_of(x), str(x.dtype), x.tobytes()) if hasattr(x, "tobytes")
        else (type(x).__name__, repr(x)) for x in leaves
    )  # fmt: skip
    key = (key_of(f), method, state.key, repr(trees.structure(args)), fixed)
    with _lock:
        found = _problems.get(key)
        if found is None:
            found = _problems[key] = Problem(f, method, state, args)
            if len(_problems) > _MOST:
                _problems.popitem(last=False)
        _problems.move_to_end(key)
    return found
