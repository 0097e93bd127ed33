"""Distributions of vectors."""

import math
from typing import Any

import numpy as np

from ..core.array import Array
from ..core.primitive import shape_of
from ..errors import DimensionMismatch, MatrixError
from ..rules.linalg.cholesky import cholesky
from ..rules.linalg.triangular import solve_triangular
from ..rules.nondiff import stopped
from ..runtime.kinds import is_a
from ..special import gammaln, xlogy
from .densities import operand, plain, whole

__all__ = ["Dirichlet", "Multinomial", "MultivariateNormal"]


class MultivariateNormal:
    """The normal distribution of vectors."""

    def logpdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
        """-(x - mean).T @ inv(cov) @ (x - mean) / 2 - log(det(2 pi cov)) / 2.

        Arguments:
            x: vectors (..., d); numbers (...) of one dimension, as in SciPy.
            mean: a vector (d,); zeros where it is None.
            cov: a positive definite matrix (d, d), whose symmetric part is used; a vector (d,) is
                its diagonal, and a number a multiple of the identity matrix.
            allow_singular: for a plain cov only; a tracked one must be positive definite, since
                there is no derivative at a singular one.

        Returns the numbers (...), without axes of length 1 as in SciPy. The gradient in a matrix
        is symmetric.

        Raises DimensionMismatch for shapes that do not fit, np.linalg.LinAlgError for a matrix that
        is not positive definite.

        >>> float(nbgrad.stats.multivariate_normal.logpdf(np.zeros(2), np.zeros(2), np.eye(2)))
        -1.8378770664093453
        """
        x, cov = operand(x), operand(cov)
        mean = mean if mean is None else operand(mean)
        d = _dimension(mean, cov)
        x = _points(x, d)
        centred = x if mean is None else x - np.reshape(mean, (d,))
        if allow_singular and not isinstance(cov, Array):
            return _on_subspace(centred, cov, d)
        if is_a(cov, (int, float)):
            cov = np.asarray(cov, centred.dtype)
        if len(shape_of(cov)) < 2:
            variances = np.broadcast_to(np.reshape(cov, -1), (d,))
            if np.any(stopped(variances) <= 0) is np.True_:
                raise MatrixError("multivariate_normal: cov is not positive definite")
            scaled, logarithms = centred / np.sqrt(variances), 0.5 * np.log(variances)
        else:
            lower = cholesky(np.reshape(cov, (d, d)))
            flat = np.reshape(centred, (-1, d))
            scaled = np.transpose(solve_triangular(lower, np.transpose(flat), lower=True))
            scaled = np.reshape(scaled, shape_of(centred))
            logarithms = np.log(np.diagonal(lower))
        log_det = np.sum(logarithms) + 0.5 * d * math.log(2 * math.pi)
        out = -0.5 * np.sum(np.square(scaled), axis=-1) - log_det
        return plain(np.reshape(out, tuple(n for n in shape_of(out) if n != 1)))

    def pdf(self, *args: Any, **options: Any) -> Any:
        """The density: exp of `logpdf`, of its arguments."""
        return np.exp(self.logpdf(*args, **options))

    def entropy(self, mean: Any = None, cov: Any = 1) -> Any:
        """log(det(2 pi e cov)) / 2, of mean and cov as in `logpdf`.

        >>> float(nbgrad.stats.multivariate_normal.entropy(None, 1.0))
        1.4189385332046727
        """
        mean, cov = mean if mean is None else operand(mean), operand(cov)
        middle = np.zeros(_dimension(mean, cov))
        return 0.5 * middle.size - self.logpdf(middle, middle, cov)


def _on_subspace(centred: Any, cov: Any, d: int) -> Any:
    """The log density for a plain cov that may be singular: on its range, and -inf outside of
    it."""
    values, vectors = np.linalg.eigh(np.eye(d) * cov if np.ndim(cov) < 2 else np.asarray(cov))
    usual = 1e3 if values.dtype == np.float32 else 1e6  # as in SciPy
    least = usual * np.finfo(values.dtype).eps * np.max(np.abs(values))
    if np.min(values) < -least:
        raise MatrixError("multivariate_normal: cov is not positive semidefinite")
    spans = values > least
    scaled = centred @ (vectors[:, spans] / np.sqrt(values[spans]))
    log_det = 0.5 * np.sum(np.log(values[spans])) + 0.5 * np.sum(spans) * math.log(2 * math.pi)
    out = -0.5 * np.sum(np.square(scaled), axis=-1) - log_det
    beside = np.sum(np.square(centred @ vectors[:, ~spans]), axis=-1)
    out = np.where(np.less(beside, (1e3 * least) ** 2), out, -np.inf)
    return plain(np.reshape(out, tuple(n for n in shape_of(out) if n != 1)))


def _dimension(mean: Any, cov: Any) -> int:
    """The dimension of mean and covariance. Raises DimensionMismatch if they differ."""
    shape = shape_of(cov)
    d = math.prod(shape_of(mean)) if mean is not None else shape[0] if len(shape) > 1 else 1
    wrong = len(shape) > 2 or (d != 1 and shape not in ((), (d,), (d, d)))
    if wrong or (d == 1 and math.prod(shape) != 1) or (d != 1 and len(shape_of(mean)) > 1):
        raise DimensionMismatch(
            f"multivariate_normal: a mean of the shape {shape_of(mean) if mean is not None else ()}"
            f" and cov of the shape {shape} do not fit: give (d,) and (d, d), (d,) or a number"
        )
    return d


def _points(x: Any, d: int) -> Any:
    """The vectors along the last axis."""
    shape = shape_of(x)
    if not shape or (len(shape) == 1 and d == 1):
        x = np.reshape(x, (-1, 1))
    if shape_of(x)[-1] != d:
        raise DimensionMismatch(
            f"multivariate_normal: x of the shape {shape} has no vectors of {d} components along "
            "its last axis"
        )
    return x


def _close(total: Any, dtype: Any) -> Any:
    """Whether sums are 1 up to rounding."""
    return np.less_equal(np.abs(1.0 - total), max(1e-9, 10 * float(np.finfo(dtype).eps)))


class Multinomial:
    """The multinomial distribution: the counts of several outcomes in `n` draws."""

    def logpmf(self, x: Any, n: Any, p: Any) -> Any:
        """The sum of x log(p) - log(x!) along the last axis, and log(n!).

        Arguments:
            x: counts (..., k), whose sum is n.
            n: the numbers (...) of draws.
            p: probabilities (..., k), whose sum is 1. The last one is computed as 1 minus the
                others, as in SciPy, so that its derivative is in them.

        Returns the numbers (...): -inf if x are not counts with sum n, nan for invalid n or p. It
        has a derivative in p only.

        >>> float(nbgrad.stats.multinomial.logpmf([1, 1], 2, [0.5, 0.5]))
        -0.6931471805599453
        """
        x, n, p = stopped(operand(x)), stopped(operand(n)), operand(p)
        if not shape_of(x) or not shape_of(p) or shape_of(x)[-1] != shape_of(p)[-1]:
            raise DimensionMismatch(
                f"multinomial: x and p of the shapes {shape_of(x)} and {shape_of(p)} do not fit: "
                "their last axis holds the outcomes"
            )
        rest = 1.0 - np.sum(p[..., :-1], axis=-1, keepdims=True)
        # The given value, if it is equal up to rounding, with the derivative of the rest.
        last = stopped(p[..., -1:])
        near = _close(stopped(np.sum(p, axis=-1, keepdims=True)), p.dtype)
        rest = rest + np.where(near, last - stopped(rest), 0.0)
        p = np.concatenate([p[..., :-1], rest], axis=-1)
        counts = np.logical_and(whole(x), np.greater_equal(x, 0))
        possible = np.logical_and(np.all(counts, axis=-1), np.equal(np.sum(x, axis=-1), n))
        share = np.logical_and(np.greater_equal(p, 0), np.less_equal(p, 1))
        valid = np.logical_and(np.all(share, axis=-1), np.greater_equal(n, 0))
        x = np.where(counts, x, 0.0)
        with np.errstate(all="ignore"):
            out = gammaln(n + 1.0) + np.sum(xlogy(x, p) - gammaln(x + 1.0), axis=-1)
        return plain(np.where(valid, np.where(possible, out, -np.inf), np.nan))


class Dirichlet:
    """The Dirichlet distribution on vectors of positive numbers with the sum 1."""

    def logpdf(self, x: Any, alpha: Any) -> Any:
        """The sum of (alpha - 1) log(x) - log(gamma(alpha)) over the components, and
        log(gamma(sum(alpha))).

        Arguments:
            x: components (k,) or (k, n), along the first axis as in SciPy; or the first k - 1 of
                them, from which the last one follows.
            alpha: the vector (k,) of positive numbers.

        Returns the numbers () or (n,): -inf where x are no positive numbers with the sum 1, nan
        where a number of alpha is not positive; SciPy raises ValueError there. The derivative in
        all k components is that of the formula.

        >>> float(nbgrad.stats.dirichlet.logpdf([0.5, 0.5], [1.0, 1.0]))
        0.0
        """
        x, alpha = operand(x), operand(alpha)
        k = shape_of(alpha)[0] if len(shape_of(alpha)) == 1 else 0
        if not k or len(shape_of(x)) not in (1, 2) or shape_of(x)[0] not in (k, k - 1):
            raise DimensionMismatch(
                f"dirichlet: x and alpha of the shapes {shape_of(x)} and {shape_of(alpha)} do not "
                "fit: alpha is (k,), and x has k or k - 1 rows"
            )
        total = np.sum(x, axis=0)
        if shape_of(x)[0] < k:
            x = np.concatenate([x, np.expand_dims(1.0 - total, 0)])
            total = np.ones(shape_of(total), x.dtype)
        inside = np.logical_and(np.all(np.greater_equal(x, 0), axis=0), _close(total, x.dtype))
        inside = np.logical_or(inside, np.isnan(np.sum(x, axis=0)))
        powers = alpha - 1.0 if len(shape_of(x)) == 1 else np.expand_dims(alpha - 1.0, 1)
        x = np.where(inside, x, 0.5)
        with np.errstate(all="ignore"):
            norm = gammaln(np.sum(alpha)) - np.sum(gammaln(alpha))
            out = norm + np.sum(xlogy(powers, x), axis=0)
        valid = np.all(np.greater(alpha, 0))
        return plain(np.where(valid, np.where(inside, out, -np.inf), np.nan))

    def pdf(self, *args: Any, **options: Any) -> Any:
        """The density: exp of `logpdf`, of its arguments."""
        return np.exp(self.logpdf(*args, **options))
