"""Calls of solvers as ops, with the derivatives of the equations that they solve."""

from collections.abc import Callable, Sequence
from math import prod
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..core.array import Array
from ..core.primitive import bind, new_level, shape_of
from ..errors import CustomRuleError, DimensionMismatch, EagerOnlyError, NanError
from ..runtime.lines import user_line
from ..values.batched import Batched
from ..values.tracked import below
from . import trees
from .calls import CallPrimitive, FunctionCall, called
from .forward import jvp
from .reverse import vjp
from .ruled import Rule, ruled
from .run import array_leaves
from .systems import Dense, Products


def solved(equation: "Equation") -> Any:
    """Return the solution, as one op if an argument is tracked."""
    return called(_primitive, equation)


def _linear(name: str, optimality: Callable, solver: Callable, args: tuple, solve: Any) -> Any:
    """Return the solution of a linear system as an implicit function of all its arguments."""
    return solved(Equation(name, optimality, solver, args, {}, solve, None, False))


def joined(name: str, value: Any, x: Any) -> Any:
    """Return the values of equations for unknowns x as one vector of the size and dtype of x."""
    parts = [np.reshape(part, -1) for part in array_leaves(name, value)[0]]
    vector = parts[0] if len(parts) == 1 else np.concatenate(parts)
    size = prod(shape_of(x))
    if shape_of(vector) != (size,):
        raise DimensionMismatch(
            f"{name} returned {shape_of(vector)[0]} numbers for {size} unknowns: it must return as "
            "many equations as there are unknowns"
        )
    return vector if vector.dtype == x.dtype else vector.astype(x.dtype)


class Equation(FunctionCall):
    """One call of a solver, with the equation that its result solves."""

    def __init__(
        self, name: str, optimality: Callable, f: Callable, args: tuple, options: dict,
        solve: Any, tol: float | None, records: bool,
    ):  # fmt: skip
        super().__init__("implicit", f, args, options)
        self.optimality, self.solve, self.tol, self.records = optimality, solve, tol, records
        self.label = name
        self.rule = SimpleNamespace(pullback=optimality, pushforward=None)  # for `Rule`

    @property
    def name(self) -> str:
        return self.label

    def residual(self, x: Any, arrays: Sequence) -> Any:
        """Return the vector F(x, p) for the packed solution, of its dtype."""
        args, options = self.arguments([trees.scalar(a) for a in arrays])
        value = self.optimality(self.unpack(x), *args, **options)
        return joined(f"{self.name}: optimality", value, x)

    def solved(self, *arrays: Any) -> Any:
        """Return the packed solution for plain arrays, after checks."""
        with new_level() as level:
            out = below(self.apply(*(trees.scalar(a) for a in arrays)), level)
            self._require_own(out)
            rest = below(self.residual(np.asarray(out), arrays), level)
            self._require_own(rest)
        if not (np.all(np.isfinite(out)) and np.all(np.isfinite(rest))):
            raise NanError(
                f"{self.name}: the solution {_shown(out)} or its residual {_shown(rest)} is not "
                "finite: the solver did not converge"
            )
        return np.asarray(out)

    def recorded(self, *arrays: Any) -> Any:
        """Record the solver."""
        if hasattr(self.f, "py_func") and type(self.f).__module__.startswith("numba."):
            raise EagerOnlyError(
                f"{self.name} is compiled by Numba and cannot be recorded: decorate it with "
                "nbgrad.njit in place of numba.njit" + user_line()
            )
        with new_level() as level:
            out = below(self.apply(*arrays), level)
            rest = below(self.residual(out, arrays), level)
        top = max((a.level for a in arrays if isinstance(a, Array)), default=-1)
        for x in (out, rest):
            if isinstance(x, Array) and x.level > top:
                raise self._captured()
        return out

    def pull(self, ct: Any, out: Any, args: Sequence, need: Sequence[bool]) -> list:
        """Return the cotangents of the arguments."""
        moving = [i for i, needed in enumerate(need) if needed]
        with new_level() as level:
            rest, back = vjp(
                lambda x, given: self._at(x, moving, given, args), out, _of(args, moving)
            )
            lam = self.system(out, args, rest).transposed(np.reshape(ct, -1))
            found = back(-lam)[1]
        cotangents: list[Any] = [None] * len(args)
        for i, g in zip(moving, found, strict=True):
            cotangents[i] = below(g, level)
        return cotangents

    def push(self, tangents: Sequence, out: Any, args: Sequence) -> Any:
        """Return the tangent of the packed solution."""
        moving = [i for i, t in enumerate(tangents) if t is not None]
        with new_level() as level:
            primals = out, _of(args, moving)
            still = np.zeros(shape_of(out), out.dtype)
            rest, moved = jvp(
                lambda x, given: self._at(x, moving, given, args),
                primals, (still, _of(tangents, moving)),
            )  # fmt: skip
            found = self.system(out, args, rest).direct(-moved)
        return np.reshape(below(found, level), shape_of(out))

    def system(self, out: Any, args: Sequence, rest: Any) -> Any:
        """Return the linear systems with the Jacobian at the solution."""
        shape = shape_of(out)

        def residual(vector: Any, *arrays: Any) -> Any:
            return self.residual(np.reshape(vector, shape), arrays)

        parts = self.name, residual, np.reshape(out, -1), args, rest, self.tol
        return Dense(*parts) if self.solve is None else Products(*parts, self.solve, _linear)

    def _at(self, x: Any, moving: Sequence[int], given: Sequence, args: Sequence) -> Any:
        arrays = list(args)
        for i, a in zip(moving, given, strict=True):
            arrays[i] = a
        return self.residual(x, arrays)

    def _require_own(self, x: Any) -> None:
        if isinstance(x, Array):
            raise self._captured()

    def _captured(self) -> CustomRuleError:
        return CustomRuleError(
            f"{self.name}: the solver or its optimality uses a tracked value that is neither an "
            "argument nor in its closure, so a part of the derivative would be lost: pass it as an "
            "argument"
        )


class Samples:
    """An `Equation` under `vmap`: the arguments that are `batched` have an axis of samples."""

    def __init__(self, of_one: Any, size: int, batched: Sequence[bool]):
        self.of_one, self.size, self.batched = of_one, size, tuple(batched)
        self.name, self.records, self.rule = of_one.name, of_one.records, of_one.rule

    def solved(self, *arrays: Any) -> Any:
        if self.records:
            return self.recorded(*arrays)
        rows = [
            self.of_one.solved(*(self._row(x, i, has) for x, has in self._pairs(arrays)))
            for i in range(self.size or 1)  # without samples, one of zeros gives the shape
        ]
        return np.stack(rows)[: self.size]

    def recorded(self, *arrays: Any) -> Any:
        return self._together(self.of_one.recorded, arrays)

    def pull(self, ct: Any, out: Any, args: Sequence, need: Sequence[bool]) -> list:
        with new_level() as level:
            ct, out, *given = self._of_samples((ct, out, *args), level, (True, True, *self.batched))
            found = self.of_one.pull(ct, out, given, need)
        return [
            None if g is None else self._stacked(g, level, has) for g, has in self._pairs(found)
        ]

    def push(self, tangents: Sequence, out: Any, args: Sequence) -> Any:
        with new_level() as level:
            out, *given = self._of_samples((out, *args), level, (True, *self.batched))
            moved = [
                None if t is None else Batched(t, level) if has else t
                for t, has in self._pairs(tangents)
            ]
            found = self.of_one.push(moved, out, given)
        return self._stacked(found, level, True)

    def _together(self, f: Callable, arrays: Sequence) -> Any:
        with new_level() as level:
            found = f(*self._of_samples(arrays, level, self.batched))
        return self._stacked(found, level, True)

    def _of_samples(self, args: Sequence, level: Any, batched: Sequence[bool]) -> list:
        return [Batched(x, level) if has else x for x, has in zip(args, batched, strict=True)]

    def _stacked(self, g: Any, level: int, has: bool) -> Any:
        g = below(g, level)
        mine = isinstance(g, Batched) and g.level == level
        rows = g.value if mine else np.broadcast_to(g, (self.size, *shape_of(g)))
        return rows if has else np.sum(rows, axis=0)

    def _pairs(self, values: Sequence) -> zip:
        return zip(values, self.batched, strict=True)

    def _row(self, x: Any, i: int, has: bool) -> Any:
        if not has:
            return x
        return x[i] if self.size else np.zeros(shape_of(x)[1:], x.dtype)


class _Implicit(CallPrimitive):
    """A call of a solver."""

    def evaluate(self, *args, **params):
        return params["call"].solved(*args)

    def inline(self, *args, call: Any) -> Any:
        return call.recorded(*args)

    def inline_step(self, *args, call: Any) -> Any:
        rule = Rule(self, call, args)
        return bind(ruled, self.inline(*args, call=call), *args, *rule.others, rule=rule)

    def pullback(self, ct, out, args, need, **params):
        return params["call"].pull(ct, out, args, need)

    def pushforward(self, tangents, out, args, **params):
        return params["call"].push(tangents, out, args)

    def batch(self, size, args, batched, **params):
        return bind(self, *args, call=Samples(params["call"], size, batched))


_primitive = _Implicit("implicit")


def _of(values: Sequence, places: Sequence[int]) -> list:
    return [values[i] for i in places]


def _shown(x: Any) -> str:
    """Return a short text of numbers, for messages."""
    x = np.asarray(x)
    return np.array2string(x, precision=4, threshold=6, edgeitems=2)
