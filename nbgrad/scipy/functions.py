"""Functions of trees as functions of flat vectors with derivatives, for SciPy's solvers."""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..core.array import Array
from ..core.primitive import shape_of
from ..errors import DimensionMismatch, NotScalarError, ResultError
from ..rules.assign import explaining_at
from ..runtime.kinds import is_a
from ..sparse import sparse_hessian, sparse_jacobian
from ..static import StaticFunction, compile
from ..transforms import hessian, hvp, jacobian, trees, value_and_grad
from ..transforms.flat import Unravel, key_of
from ..transforms.reverse import ones_like
from ..transforms.run import Run, array_leaves
from ..values.operands import real_array


class Flat:
    """A function of a tree as a function of a vector.

    `flat.call(vector, flat.data)` returns `f(unravel(vector), *args, **options)`, with `joined` all
    results in one vector. `data` are the floats and arrays among the arguments, which are passed to
    a compiled program; other arguments are constants. Instances with equal parts are equal.
    """

    def __init__(
        self, f: Callable, unravel: Unravel, args: Sequence, options: dict, joined: bool = False
    ):
        self.unravel = unravel
        self.is_compiled = isinstance(f, StaticFunction)
        leaves, rebuild = trees.flatten([list(args), options])
        is_data = [is_a(leaf, (np.ndarray, np.floating, float)) for leaf in leaves]
        pairs = list(zip(leaves, is_data, strict=True))
        self.data = tuple(leaf for leaf, is_data in pairs if is_data)
        rest = [None if is_data else leaf for leaf, is_data in pairs]
        self._key = (f, unravel, joined, trees.structure([list(args), options]))
        self._key += tuple(map(key_of, rest))
        inner = f.__wrapped__ if isinstance(f, StaticFunction) else f  # pyright: ignore

        def call(vector: Any, data: Sequence) -> Any:
            x = vector if unravel.is_identity else unravel(vector)
            if not rest:
                result = inner(x)
            else:
                arrays = iter(data)
                filled = zip(rest, is_data, strict=True)
                args, options = rebuild([next(arrays) if at else leaf for leaf, at in filled])
                result = inner(x, *args, **options)
            return _joined(result) if joined else result

        call.__name__ = getattr(f, "__name__", type(f).__name__)
        self.call = call

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Flat) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def _joined(result: Any) -> Any:
    leaves, _ = array_leaves("nbgrad.scipy", result)
    parts = [leaf if len(shape_of(leaf)) == 1 else np.ravel(leaf) for leaf in leaves]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


class _Derived:
    """A flat function and its transformations, which are created on first use."""

    def __init__(self, flat: Flat, x0: np.ndarray, compile: bool):
        self.x0, self.unravel, self._flat = x0, flat.unravel, flat
        self._compiled = compile or flat.is_compiled
        self._made: dict[Callable, Callable] = {}

    def _call(self, transform: Callable, *vectors: np.ndarray) -> Any:
        return self.transformed(transform)(*vectors, self._flat.data)

    def _plainly(self, x: Any) -> Any:
        with explaining_at(f"nbgrad.scipy: {self._flat.call.__name__}"):
            return self._call(_itself, self._vector(x))

    def transformed(self, transform: Callable) -> Callable:
        transformed = self._made.get(transform)
        if transformed is None:
            transformed = self._made[transform] = self._make(transform)
        return transformed

    def _make(self, transform: Callable) -> Callable:
        if not self._compiled:
            return transform(self._flat.call)
        # Transformations of a compiled function, which is frozen, can be cached.
        return (_reused if self._flat.is_compiled else _compiled)(transform, self._flat)

    def _sparse(self, transform: Callable, *vectors: np.ndarray) -> Any:
        """A sparse matrix, whose products are compiled in any case."""
        made = self._made.get(transform)
        if made is None:
            made = self._made[transform] = transform(self._flat.call)
        return made(*vectors, self._flat.data)

    def _vector(self, x: Any) -> np.ndarray:
        x = np.asarray(x, np.float64)
        if x.shape != self.x0.shape:
            raise DimensionMismatch(
                f"nbgrad.scipy: a vector of shape {x.shape} for parameters of {self.x0.size} "
                f"numbers; expected shape {self.x0.shape}"
            )
        return x


class Objective(_Derived):
    """The result of `objective`: a function of flat vectors to minimise.

    `x0` is the initial vector; `unravel` converts a vector to a tree.

    >>> parts = nbgrad.scipy.objective(lambda p: np.sum((p["a"] - 1.0) ** 2), {"a": np.zeros(2)})
    >>> float(parts.fun(parts.x0)), parts.jac(parts.x0)
    (2.0, array([-2., -2.]))
    """

    _at: bytes | None = None  # the last point
    _value: float  # the value at that point
    _slope: Any  # the gradient at that point, or a function that computes it

    def fun(self, x: Any) -> float:
        """Return the value at x as a float, and keep the forward pass for `jac`."""
        x = self._vector(x)
        at = x.tobytes()
        if at != self._at:
            self._at = None
            self._value, self._slope = self._both(x)
            self._at = at
        return self._value

    def jac(self, x: Any) -> np.ndarray:
        """Return the gradient at x. After a call of `fun` at x, this is only a backward pass."""
        self.fun(x)
        if callable(self._slope):
            self._slope = self._slope()
        return np.array(self._slope, np.float64)

    def hess(self, x: Any) -> np.ndarray:
        """Return the Hessian at x, of shape (n, n)."""
        return np.asarray(self._call(hessian, self._vector(x)), np.float64)

    def sparse_hess(self, x: Any) -> Any:
        """Return the Hessian at x as a `scipy.sparse.csr_array`: see `nbgrad.sparse_hessian`."""
        return self._sparse(sparse_hessian, self._vector(x))

    def hessp(self, x: Any, v: Any) -> np.ndarray:
        """Return the product of the Hessian at x with v."""
        x, v = self._vector(x), self._vector(v)
        return np.asarray(self.transformed(hvp)(x, self._flat.data, v), np.float64)

    def value(self, x: Any) -> float:
        """Return the value at x without recording, for solvers that use no gradient."""
        return _number(self._plainly(x))

    def _both(self, x: Any) -> tuple[float, Any]:
        if self._compiled:
            return self._call(value_and_grad, x)
        # A copy, because SciPy reuses the array for the next point.
        run = Run("nbgrad.scipy", self._flat.call, (np.array(x), self._flat.data), (0,), {})
        out = run.result
        return _number(run.plain(out)), lambda: trees.released(
            run.pull([out], [ones_like(out)])[0], run.level
        )


class Residuals(_Derived):
    """A vector-valued function of flat vectors, with its Jacobian."""

    def fun(self, x: Any) -> np.ndarray:
        """Return the vector at x."""
        return _real(self._plainly(x))

    def jac(self, x: Any) -> np.ndarray:
        """Return the Jacobian at x, of shape (m, n)."""
        return np.asarray(self._call(jacobian, self._vector(x)), np.float64)

    def sparse_jac(self, x: Any) -> Any:
        """Return the Jacobian at x as a `scipy.sparse.csr_array`: see `nbgrad.sparse_jacobian`."""
        return self._sparse(sparse_jacobian, self._vector(x))

    def sparse_hess(self, x: Any, v: Any) -> Any:
        """Return the Hessian of the dot product of the vector with v as a sparse array."""
        return self._sparse(_sparse_weighted_hessian, self._vector(x), np.asarray(v, np.float64))

    def hess(self, x: Any, v: Any) -> np.ndarray:
        """Return the Hessian at x of the dot product of the vector with v, of shape (n, n)."""
        weights = np.asarray(v, np.float64)
        return np.asarray(self._call(_weighted_hessian, self._vector(x), weights), np.float64)


def _compiled(transform: Callable, flat: Flat) -> Callable:
    return compile(transform(flat.call))


_reused = lru_cache(maxsize=64)(_compiled)


def _itself(f: Callable) -> Callable:
    return f


def _weighted_hessian(f: Callable) -> Callable:
    return hessian(lambda x, v, data: np.dot(v, f(x, data)))


def _sparse_weighted_hessian(f: Callable) -> Callable:
    return sparse_hessian(lambda x, v, data: np.dot(v, f(x, data)))


def _real(value: Any) -> np.ndarray:
    return real_array(value, "nbgrad.scipy: a result").astype(np.float64, copy=False)


def _number(value: Any) -> float:
    """Convert the result of an objective to a float. Raises TypeError or DimensionMismatch."""
    if not isinstance(value, (Array, np.ndarray, np.generic, float, int)):
        raise ResultError(
            f"nbgrad.scipy: the function to minimise returned a {type(value).__name__}; return one "
            "number: its derivatives are computed automatically"
        )
    if math.prod(shape_of(value)) != 1:
        raise NotScalarError(
            "nbgrad.scipy: the function to minimise returned an array of shape "
            f"{shape_of(value)}; return one number, such as np.sum(...), or use least_squares for "
            "residuals"
        )
    if isinstance(value, Array):
        value = value.item()
    return float(_real(value).item())
