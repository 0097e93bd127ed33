"""`laplace`: the covariance of parameters at an optimum, and errors of functions of these."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..compiler.forks import with_open_properties
from ..errors import ArgumentError, ArgumentTypeError, MatrixError
from ..runtime import markup
from ..runtime.kinds import is_a
from ..transforms import jacobian, trees
from ..transforms.flat import Unravel
from .found import Found
from .functions import Objective, Residuals

__all__ = ["Band", "Laplace", "laplace"]

_FARTHEST = 0.01
"""A point from which a Newton step lowers the function by more is no minimum: in units of the log
density, this is a seventh of a standard error."""


class Band(NamedTuple):
    """The value of a function of the parameters and its standard error, of equal structure.

    >>> found = nbgrad.scipy.minimize(lambda x: 0.5 * np.sum(x**2), np.ones(2))
    >>> value, error = nbgrad.laplace(found).band(lambda x: 3.0 * x[0])
    >>> round(float(error), 6)
    3.0
    """

    value: Any
    error: Any


@with_open_properties
class Laplace:
    """The result of `laplace`: a normal distribution of the parameters.

    `mean` are the parameters at the optimum. `covariance` is an array of shape (n, n) over the flat
    vector, in the order of `nbgrad.scipy.ravel`.
    """

    def __init__(self, mean: Any, vector: np.ndarray, covariance: np.ndarray, unravel: Unravel):
        self.mean, self.covariance = mean, covariance
        self._vector, self._unravel = vector, unravel

    @cached_property
    def errors(self) -> Any:
        """The standard errors of the parameters, nested as these."""
        return self._unravel(np.sqrt(np.diag(self.covariance)))

    @cached_property
    def correlation(self) -> np.ndarray:
        """The correlations of the parameters, of shape (n, n)."""
        width = np.sqrt(np.diag(self.covariance))
        return self.covariance / np.outer(width, width)

    def sample(self, n: int, seed: int = 0) -> Any:
        """Return n draws of the parameters, nested as these, with an axis of length n in front.

        >>> found = nbgrad.scipy.minimize(lambda p: 0.5 * p["a"] ** 2, {"a": 1.0})
        >>> nbgrad.laplace(found).sample(5)["a"].shape
        (5,)
        """
        normals = np.random.default_rng(seed).normal(size=(n, len(self._vector)))
        vectors = self._vector + normals @ np.linalg.cholesky(self.covariance).T
        return self._unravel.rows(vectors)

    def band(self, f: Callable, *args: Any) -> Band:
        """Return the value of `f(params, *args)` and its standard error, to first order.

        Arguments:
            f: a differentiable function that returns an array or a tree of arrays.
            args: further arguments of f.

        Returns `Band`: value and error are nested as the result of f. The error is the square root
        of the diagonal of J C J^T, with the Jacobian J of f and the covariance C (the delta
        method).

        >>> t = np.linspace(0.0, 1.0, 20)
        >>> line = lambda p, t: p["a"] + p["b"] * t
        >>> data = 1.0 + 2.0 * t + 0.1 * np.cos(40.0 * t)
        >>> found = nbgrad.scipy.least_squares(lambda p: line(p, t) - data, {"a": 0.0, "b": 0.0})
        >>> value, error = nbgrad.laplace(found).band(line, np.array([0.5, 5.0]))
        >>> bool(error[1] > 5.0 * error[0])
        True
        """
        trees.require_function("laplace.band", f)
        value = f(self.mean, *args)
        leaves, rebuild = trees.flatten(value)

        def floats(vector: Any) -> Any:
            found, _ = trees.flatten(f(self._unravel(vector), *args))
            return [leaf for leaf in found if trees.is_differentiable(leaf)]

        slopes = iter(jacobian(floats)(self._vector))
        errors = [
            self._error(next(slopes)) if trees.is_differentiable(leaf) else leaf for leaf in leaves
        ]
        return Band(value, rebuild(errors))

    def _error(self, slope: Any) -> Any:
        slope = np.asarray(slope, np.float64)
        variance = np.einsum("...i,ij,...j->...", slope, self.covariance, slope)
        return np.sqrt(np.maximum(variance, 0.0))[()]

    def _rows(self) -> list[tuple[str, str, str]]:
        leaves, errors = (trees.flatten(tree)[0] for tree in (self.mean, self.errors))
        paths = [path or "x" for path in trees.paths(self.mean)]
        shown = []
        for path, leaf, error in zip(paths, leaves, errors, strict=True):
            if trees.is_differentiable(leaf):
                with np.printoptions(precision=4, threshold=20):
                    shown.append((path, str(leaf), str(error)))
        return shown

    def __repr__(self) -> str:
        lines = [f"    {path}: {value} +- {error}" for path, value, error in self._rows()]
        return "\n".join([f"<Laplace of {len(self._vector)} numbers>", *lines])

    def _repr_html_(self) -> str:
        """The parameters and their standard errors in a table, for notebooks."""
        rows = self._rows()
        cells = [f"{value}\n+- {error}" for _, value, error in rows]
        return markup.framed(markup.table([path for path, *_ in rows], cells))


def laplace(found: Any, *, noise: float | None = None) -> Laplace:
    """Return the covariance and the standard errors of the parameters at an optimum.

    Arguments:
        found: the result of `nbgrad.scipy.minimize` for a negative log density, or that of
            `nbgrad.scipy.least_squares`.
        noise: for least squares, the standard deviation of the residuals, such as 1.0 where they
            are in units of it. None estimates it from m residuals and n parameters by
            s^2 = 2 cost / (m - n).

    The covariance is the inverse Hessian of the negative log density, computed exactly (Laplace's
    approximation), and s^2 (J^T J)^-1 with the Jacobian J of the residuals.

    Raises MatrixError if the Hessian or J^T J is singular, or the point is no minimum because the
    Hessian has a negative eigenvalue; the message names the parameters. Raises ValueError if the
    gradient is not zero, as at bounds, or no noise can be estimated; TypeError for results of
    other functions and for pickled ones.

    >>> data = np.array([1.1, 0.7, 1.3, 0.9])
    >>> density = lambda p: -np.sum(nbgrad.stats.norm.logpdf(data, p["mean"], np.exp(p["log_sd"])))
    >>> found = nbgrad.scipy.minimize(density, {"mean": 0.0, "log_sd": 0.0})
    >>> near = nbgrad.laplace(found)
    >>> round(float(near.errors["mean"]), 4), round(float(near.errors["log_sd"]), 4)
    (0.1118, 0.3536)
    """
    problem = found.problem if isinstance(found, Found) else None
    if problem is None:
        raise ArgumentTypeError(
            f"laplace: a {type(found).__name__} without its problem: pass the result of "
            "nbgrad.scipy.minimize or nbgrad.scipy.least_squares itself, no copy and none that was "
            "pickled"
        )
    parts, vector = problem[:2]
    names = parts.unravel.names
    if isinstance(parts, Residuals):
        covariance = _of_residuals(found, vector, problem[2], noise, names)
    elif noise is not None:
        raise ArgumentError("laplace: noise= is for least_squares: minimize a negative log density")
    else:
        covariance = _of_density(parts, vector, names)
    return Laplace(found.x, vector, covariance, parts.unravel)


def _of_density(parts: Objective, x: np.ndarray, names: list[str]) -> np.ndarray:
    curvature = parts.hess(x)
    covariance = _inverse(curvature, names, "the Hessian")
    slope = parts.jac(x)
    fall = 0.5 * float(slope @ covariance @ slope)
    if not fall < _FARTHEST:
        at = names[int(np.argmax(np.abs(slope) * np.sqrt(np.diag(covariance))))]
        raise ArgumentError(
            f"laplace: the point is no minimum: a Newton step lowers the function by {fall:.2g}, "
            f"and its gradient is largest for {at}. Go on minimizing, with a smaller tol=; leave "
            "out parameters that are at their bounds, and write constraints into the parameters"
        )
    return covariance


def _of_residuals(
    found: Any, x: np.ndarray, loss: Any, noise: float | None, names: list[str]
) -> np.ndarray:
    active = np.flatnonzero(found.get("active_mask", np.zeros(len(x))))
    if len(active):
        raise ArgumentError(
            f"laplace: {', '.join(names[i] for i in active)} at a bound, where there is no "
            "covariance: leave such parameters out, or widen the bounds"
        )
    slopes = found.jac.toarray() if hasattr(found.jac, "toarray") else np.asarray(found.jac)
    m, n = slopes.shape
    if noise is None:
        if loss != "linear":
            raise ArgumentError(
                f"laplace: the noise cannot be estimated with loss={loss!r}: pass noise="
            )
        if m <= n:
            raise ArgumentError(
                f"laplace: {m} residuals and {n} parameters leave no degree of freedom to "
                "estimate the noise: pass noise="
            )
        variance = 2.0 * float(found.cost) / (m - n)
    elif not (is_a(noise, (float, int, np.number)) and 0.0 < noise < np.inf):
        raise ArgumentError(f"laplace: noise={noise!r} must be a positive number")
    else:
        variance = float(noise) ** 2
    return variance * _inverse(slopes.T @ slopes, names, "J^T J")


def _inverse(matrix: np.ndarray, names: list[str], what: str) -> np.ndarray:
    """The inverse of a positive definite matrix. Raises MatrixError, which names parameters."""
    if not np.isfinite(matrix).all():
        raise MatrixError(f"laplace: {what} holds nan or inf at this point")
    matrix = 0.5 * (matrix + matrix.T)
    scale = np.sqrt(np.abs(np.diag(matrix)))
    scale[scale == 0.0] = 1.0
    # In units of the parameters' own errors, so that units of measurement do not matter.
    values, vectors = np.linalg.eigh(matrix / np.outer(scale, scale))
    least = 1e-13 * len(matrix)
    if values[0] < least:
        weights = np.abs(vectors[:, 0])
        some = [names[i] for i in np.argsort(-weights)[:3] if weights[i] > 0.1 * weights.max()]
        if values[0] < -1e-10:
            text = f"{what} has a negative eigenvalue: the point is a saddle or a maximum along"
            text += f" {', '.join(some)}. Start elsewhere, or minimize the negative log density"
        else:
            text = f"{what} is singular: the data do not determine {', '.join(some)}. Leave out "
            text += "parameters, or add a prior"
        raise MatrixError(f"laplace: {text}")
    return (vectors / values @ vectors.T) / np.outer(scale, scale)
