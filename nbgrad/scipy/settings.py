"""Conversion of initial values, bounds, callbacks and constraints from trees to vectors."""

import copy
import inspect
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from scipy.optimize import BFGS, Bounds, NonlinearConstraint, OptimizeResult

from ..core.array import Array
from ..errors import DimensionMismatch, StructureMismatch
from ..rules.layout import given
from ..runtime.kinds import is_a
from ..transforms import trees
from ..transforms.flat import ravel
from .found import Found
from .functions import Flat, Residuals


class Start:
    """The initial value as a float64 `vector`, and its inverse `unravel`.

    As in SciPy, numbers and flat sequences of numbers are vectors, also of integers.
    """

    def __init__(self, x0: Any):
        x0 = as_vector(x0)
        self.is_tree = not (is_a(x0, np.ndarray) and x0.ndim == 1)
        self._leaves, _ = trees.flatten(x0)
        self._x0 = x0
        vector, self.unravel = ravel(x0)
        self.vector = np.array(vector, np.float64)

    def finished(self, found: OptimizeResult) -> Found:
        """Replace the vector in SciPy's result by a tree."""
        return Found({**found, "x": self.unravel(found.x)})

    def bounds(self, given: Any) -> Any:
        """Convert a pair (lower, upper) of numbers or trees to bounds of the vector."""
        pair = isinstance(given, (tuple, list)) and len(given) == 2
        if not (self.is_tree and pair and all(map(self._is_side, given))):
            if type(given) is dict or (pair and dict in map(type, given)):
                raise StructureMismatch(
                    f"bounds of parameters that nest as {trees.describe(self._x0)}: pass a pair "
                    "(lower, upper) of numbers, None, or values that nest as the parameters do"
                )
            return given
        lower, upper = self._side(given[0], -np.inf), self._side(given[1], np.inf)
        return Bounds(cast(Any, lower), cast(Any, upper))

    def _is_side(self, side: Any) -> bool:
        return _is_number(side) or side is None or trees.same_structure(side, self._x0)

    def _side(self, side: Any, missing: float) -> np.ndarray:
        alone = _is_number(side) or side is None
        values = [side] * len(self._leaves) if alone else trees.flatten(side)[0]
        parts = []
        for leaf, value in zip(self._leaves, values, strict=True):
            if trees.is_differentiable(leaf):
                value = np.asarray(missing if value is None else value, np.float64)
                try:
                    parts.append(np.broadcast_to(value, np.shape(leaf)).ravel())
                except ValueError:
                    raise DimensionMismatch(
                        f"bounds of shape {value.shape} for a parameter of shape "
                        f"{np.shape(leaf)}; they must be numbers or broadcast to this shape"
                    ) from None
        return np.concatenate(parts)

    def callback(self, given: Any) -> Any:
        """Convert a callback of trees to one of vectors."""
        if not (self.is_tree and callable(given)):
            return given
        if _takes_result(given):

            def with_result(intermediate_result):
                x = self.unravel(intermediate_result.x)
                return given(intermediate_result=OptimizeResult(intermediate_result | {"x": x}))

            return with_result
        return lambda x, *rest: given(self.unravel(x), *rest)

    def constraints(self, given: Any, method: Any, compile: bool) -> Any:
        """Convert constraint functions of trees to functions of vectors with derivatives."""
        if isinstance(given, (list, tuple)):
            return [self._constraint(one, method, compile) for one in given]
        return self._constraint(given, method, compile)

    def _constraint(self, given: Any, method: Any, compile: bool) -> Any:
        exact = method == "trust-constr"  # the only method that uses Hessians of constraints
        if isinstance(given, dict) and callable(given.get("fun")):
            args = given.get("args", ())
            parts, jac = self.residuals(given["fun"], args, {}, compile), given.get("jac")
            jac: Any = with_arguments(jac, args, {}) if callable(jac) else parts.jac
            if exact:
                upper = 0.0 if given.get("type") == "eq" else np.inf
                return NonlinearConstraint(parts.fun, 0.0, upper, jac, parts.hess)
            return given | {"fun": parts.fun, "jac": jac, "args": ()}
        if not isinstance(given, NonlinearConstraint):
            return given
        parts, new = self.residuals(given.fun, (), {}, compile), cast(Any, copy.copy(given))
        new.fun = parts.fun
        is_sparse = isinstance(given.jac, str) and given.jac == "sparse"
        if is_sparse or given.jac == "2-point":
            new.jac = parts.sparse_jac if is_sparse and exact else parts.jac
        if is_sparse and exact and isinstance(given.hess, BFGS):
            new.hess = parts.sparse_hess
        elif exact and isinstance(given.hess, BFGS):  # SciPy's default
            new.hess = parts.hess
        return new

    def residuals(self, f: Callable, args: tuple, options: dict, compile: bool) -> Residuals:
        return Residuals(Flat(f, self.unravel, args, options, True), self.vector, compile)


def as_vector(x0: Any) -> Any:
    """Convert a number or a flat sequence of numbers to a vector, and integers to floats."""
    if type(x0) in (list, tuple) and x0 and all(isinstance(x, Array) or _is_number(x) for x in x0):
        x0 = given(list(x0))
    if _is_number(x0) or is_a(x0, np.ndarray) or isinstance(x0, Array):
        x0 = np.atleast_1d(x0)
        x0 = x0.astype(np.float64) if x0.dtype.kind in "iub" else x0
    return x0


def with_arguments(f: Callable, args: tuple, options: dict) -> Callable:
    """Return a derivative provided by the user as a function of flat vectors only."""
    return lambda *vectors: f(*vectors, *args, **options)


def _takes_result(callback: Callable) -> bool:
    """Return whether SciPy passes its intermediate result, which depends on the parameter name."""
    try:
        return set(inspect.signature(callback).parameters) == {"intermediate_result"}
    except (TypeError, ValueError):
        return False


def _is_number(x: Any) -> bool:
    return is_a(x, (float, int, np.number))
