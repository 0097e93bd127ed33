"""Metrics along the last axis of arrays that broadcast."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.primitive import shape_of
from ...errors import ArgumentError, ArgumentTypeError, DimensionMismatch
from ...special import rel_entr


def root(x: Any) -> Any:
    """The square root, with the derivative 0 at 0."""
    some = x > 0
    return np.where(some, np.sqrt(np.where(some, x, 1.0)), 0.0 * x)


def _sum(x: Any, w: Any = None) -> Any:
    return np.sum(x if w is None else w * x, axis=-1)


def _euclidean(u: Any, v: Any, w: Any = None) -> Any:
    return np.linalg.norm(u - v, axis=-1) if w is None else root(_sqeuclidean(u, v, w))


def _sqeuclidean(u: Any, v: Any, w: Any = None) -> Any:
    d = u - v
    return _sum(d * d, w)


def _cityblock(u: Any, v: Any, w: Any = None) -> Any:
    return _sum(np.abs(u - v), w)


def _chebyshev(u: Any, v: Any, w: Any = None) -> Any:
    d = np.abs(u - v)
    return np.max(d if w is None else np.where(w > 0, d, 0.0), axis=-1)


def _minkowski(u: Any, v: Any, p: float = 2.0, w: Any = None) -> Any:
    if not p > 0:
        raise ArgumentError(f"minkowski: p must be greater than 0, not {p}")
    if p == 1:
        return _cityblock(u, v, w)
    if p == 2:
        return _euclidean(u, v, w)
    if math.isinf(p):
        return _chebyshev(u, v, w)
    d = np.abs(u - v)
    total = _sum(np.where(d == 0, 0.0, np.where(d == 0, 1.0, d) ** p), w)
    some = total > 0
    return np.where(some, np.where(some, total, 1.0) ** (1.0 / p), 0.0 * total)


def _canberra(u: Any, v: Any, w: Any = None) -> Any:
    total = np.abs(u) + np.abs(v)
    none = total == 0
    return _sum(np.where(none, 0.0, np.abs(u - v) / np.where(none, 1.0, total)), w)


def _braycurtis(u: Any, v: Any, w: Any = None) -> Any:
    return _sum(np.abs(u - v), w) / _sum(np.abs(u + v), w)


def _cosine(u: Any, v: Any, w: Any = None) -> Any:
    return 1.0 - _sum(u * v, w) / np.sqrt(_sum(u * u, w) * _sum(v * v, w))


def _correlation(u: Any, v: Any, w: Any = None) -> Any:
    share = 1.0 / shape_of(u)[-1] if w is None else w / np.sum(w)
    u, v = (x - np.sum(share * x, axis=-1, keepdims=True) for x in (u, v))
    return _cosine(u, v, w)


def _jensenshannon(u: Any, v: Any, base: float | None = None) -> Any:
    u, v = (x / np.sum(x, axis=-1, keepdims=True) for x in (u, v))
    middle = 0.5 * (u + v)
    total = _sum(rel_entr(u, middle)) + _sum(rel_entr(v, middle))
    return root(total / (2.0 if base is None else 2.0 * math.log(base)))


def _mahalanobis(u: Any, v: Any, VI: Any) -> Any:
    d = u - v
    n = shape_of(d)[-1]
    if shape_of(VI) != (n, n):
        raise DimensionMismatch(
            f"mahalanobis: VI of shape {shape_of(VI)} for vectors of {n} elements; it must have "
            f"the shape {(n, n)}"
        )
    return root(_sum(np.matmul(d, VI) * d))


def _seuclidean(u: Any, v: Any, V: Any) -> Any:
    n = shape_of(u)[-1]
    if shape_of(V) != (n,):
        raise DimensionMismatch(
            f"seuclidean: variances V of shape {shape_of(V)} for vectors of {n} elements; the "
            f"shape must be {(n,)}"
        )
    d = u - v
    return root(_sum(d * d / V))


METRICS: dict[str, Callable] = {
    "braycurtis": _braycurtis, "canberra": _canberra, "chebyshev": _chebyshev,
    "cityblock": _cityblock, "correlation": _correlation, "cosine": _cosine,
    "euclidean": _euclidean, "jensenshannon": _jensenshannon, "mahalanobis": _mahalanobis,
    "minkowski": _minkowski, "seuclidean": _seuclidean, "sqeuclidean": _sqeuclidean,
}  # fmt: skip
WITHOUT = (
    "dice", "hamming", "jaccard", "kulczynski1", "matching", "rogerstanimoto", "russellrao",
    "sokalmichener", "sokalsneath", "yule",
)  # fmt: skip
"""Metrics of bools and of equality, which have no derivative."""
ALIASES = {
    alias: name
    for name, aliases in {
        "chebyshev": "chebychev cheby cheb ch", "cityblock": "cblock cb c", "correlation": "co",
        "cosine": "cos", "euclidean": "euclid eu e", "jensenshannon": "js",
        "mahalanobis": "mahal mah", "minkowski": "mi m pnorm", "seuclidean": "se s",
        "sqeuclidean": "sqe sqeuclid", "hamming": "matching hamm ha h", "jaccard": "jacc ja j",
    }.items()
    for alias in aliases.split()
}  # fmt: skip


def called(op: str, name: str, u: Any, v: Any, options: dict) -> Any:
    """The metric of these vectors. Raises ArgumentTypeError for options that it does not have."""
    metric = METRICS[name]
    code = metric.__code__
    known = code.co_varnames[2 : code.co_argcount]
    unknown = [option for option in options if option not in known]
    if unknown:
        raise ArgumentTypeError(
            f"{op}: metric {name!r} has no argument {unknown[0]!r}; it takes {known or 'none'}"
        )
    return metric(u, v, **{key: x for key, x in options.items() if x is not None})
