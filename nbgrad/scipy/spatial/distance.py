"""`scipy.spatial.distance` with metrics that accept tracked vectors, weights and matrices.

They give SciPy's values, work in all modes and in compiled programs. Calls with plain arrays, and
all other functions, are SciPy's own. Metrics of bools and of equality, such as "hamming", have no
derivative. A derivative that does not exist, such as that of a distance 0, is 0.

>>> from nbgrad.scipy.spatial.distance import cdist
>>> points, origin = np.array([[3.0, 4.0], [0.0, 2.0]]), np.zeros((1, 2))
>>> nbgrad.grad(lambda x: cdist(x, origin).sum())(points)
array([[0.6, 0.8],
       [0. , 1. ]])
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.spatial.distance as _plain

from ...core.fillable import highest
from ...core.primitive import shape_of
from ...errors import ArgumentError, DimensionMismatch, NoRuleError, OutError, require_unmasked
from ...rules.layout import given
from ...rules.select import take
from ...transforms.batching import vmap
from .metrics import ALIASES, METRICS, WITHOUT, called

if TYPE_CHECKING:
    from scipy.spatial.distance import *  # noqa: F403  # pyright: ignore[reportWildcardImportFromLibrary, reportAssignmentType]

    def __getattr__(name: str) -> Any: ...


_scipy: Any = _plain
__all__ = ["cdist", "pdist", "squareform"]
_rest = [name for name in _scipy.__all__ if name not in __all__]
__all__ += _rest  # pyright: ignore[reportUnsupportedDunderAll]
globals().update({name: getattr(_scipy, name) for name in _rest})


def _vectors(op: str, x: Any, ndim: int) -> Any:
    x = given(x)
    require_unmasked(x, op)
    if len(shape_of(x)) != ndim:
        raise DimensionMismatch(
            f"{op}: an array of shape {shape_of(x)}; it must have {ndim} "
            f"{'axis' if ndim == 1 else 'axes, one vector a row'}"
        )
    return x if x.dtype == np.float64 else x.astype(np.float64)


def _name(op: str, metric: str) -> str:
    name = metric.lower()
    name = ALIASES.get(name, name)
    if name in WITHOUT:
        raise NoRuleError(
            f"{op}: metric {metric!r} compares for equality and has no derivative: pass x.data"
        )
    if name not in METRICS:
        raise ArgumentError(f"{op}: unknown distance metric: {metric}")
    return name


def _no_out(op: str, out: Any) -> None:
    if out is not None:
        raise OutError(f"{op}: out=... cannot be written to with tracked arrays; use the result")


def _completed(op: str, name: str, options: dict, rows: Any) -> dict:
    """The options with SciPy's defaults, which depend on all vectors."""
    options = {key: x for key, x in options.items() if x is not None}
    for key in ("w", "V", "VI"):
        if key in options:
            options[key] = _vectors(f"{op}: {key}", options[key], 2 if key == "VI" else 1)
    if name == "seuclidean" and "V" not in options:
        options["V"] = np.var(rows, axis=0, ddof=1)
    if name == "mahalanobis" and "VI" not in options:
        m, n = shape_of(rows)
        if m <= n:
            raise DimensionMismatch(
                f"{op}: the number of observations ({m}) is too small; the covariance matrix is "
                f"singular. For observations with {n} dimensions, at least {n + 1} are required"
            )
        options["VI"] = np.linalg.inv(np.reshape(np.cov(np.transpose(rows)), (n, n)))
    return options


def cdist(
    XA: Any, XB: Any, metric: str | Callable = "euclidean", *, out: Any = None, **kwargs: Any
) -> Any:
    """Return the distances (mA, mB) between the rows of two arrays.

    Arguments:
        XA, XB: arrays (mA, n) and (mB, n).
        metric: "euclidean", "sqeuclidean", "cityblock", "chebyshev", "minkowski", "canberra",
            "braycurtis", "cosine", "correlation", "jensenshannon", "mahalanobis", "seuclidean", or
            a function of two vectors that accepts tracked ones.
        out: must be None for tracked arrays.
        kwargs: arguments of the metric: weights `w` (n,), `p`, variances `V` (n,), the inverse of
            the covariance `VI` (n, n), or those of the function.

    Rows, `w`, `V` and `VI` are differentiable, also in compiled programs. Where vectors are equal
    the derivative of a metric that has none is 0; ties of "chebyshev" share it.

    Raises ValueError for another metric and for shapes that do not fit, NoRuleError for metrics of
    bools and of equality.

    >>> a, b = np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[0.0, 1.0]])
    >>> nbgrad.jvp(lambda b: cdist(a, b, "sqeuclidean"), (b,), (b,))[1]
    array([[ 2.],
           [-6.]])
    """
    if highest(XA, XB, *kwargs.values()) is None and not callable(metric):
        return _scipy.cdist(XA, XB, metric, out=out, **kwargs)
    _no_out("cdist", out)
    a, b = _vectors("cdist", XA, 2), _vectors("cdist", XB, 2)
    if shape_of(a)[1] != shape_of(b)[1]:
        raise DimensionMismatch(
            f"cdist: XA of shape {shape_of(a)} and XB of shape {shape_of(b)} must have the same "
            "number of columns"
        )
    if callable(metric):
        of_row = vmap(lambda u, v: metric(u, v, **kwargs), in_axes=(None, 0))
        return vmap(of_row, in_axes=(0, None))(a, b)
    name = _name("cdist", metric)
    options = _completed("cdist", name, kwargs, _both(name, a, b))
    return called("cdist", name, a[:, None], b[None], options)


def _both(name: str, a: Any, b: Any) -> Any:
    return np.concatenate([a, b], axis=0) if name in ("mahalanobis", "seuclidean") else None


def pdist(X: Any, metric: str | Callable = "euclidean", *, out: Any = None, **kwargs: Any) -> Any:
    """Return the distances between all pairs of rows of an array (m, n), a vector of m (m - 1) / 2.

    The arguments, derivatives and errors are those of `cdist`; `squareform` makes a matrix of it.

    >>> x = np.array([[0.0], [1.0], [3.0]])
    >>> nbgrad.grad(lambda x: pdist(x).sum())(x).ravel()
    array([-2.,  0.,  2.])
    """
    if highest(X, *kwargs.values()) is None and not callable(metric):
        return _scipy.pdist(X, metric, out=out, **kwargs)
    _no_out("pdist", out)
    x = _vectors("pdist", X, 2)
    i, j = np.triu_indices(shape_of(x)[0], 1)
    u, v = take(x, i, axis=0), take(x, j, axis=0)
    if callable(metric):
        return vmap(lambda u, v: metric(u, v, **kwargs))(u, v)
    name = _name("pdist", metric)
    return called("pdist", name, u, v, _completed("pdist", name, kwargs, x))


def squareform(X: Any, force: str = "no", checks: bool = True) -> Any:
    """Convert a vector of distances, as `pdist` returns it, to a symmetric matrix, or back.

    Arguments:
        X: a vector of m (m - 1) / 2 elements, or a matrix (m, m).
        force: "tomatrix" or "tovector" refuses the other direction.
        checks: whether a plain matrix must be symmetric, with zeros on the diagonal.

    Raises ValueError for other shapes. Of a tracked matrix the elements above the diagonal are
    read.

    >>> nbgrad.grad(lambda d: squareform(d)[2, 0])(np.array([1.0, 2.0, 3.0]))
    array([0., 1., 0.])
    """
    if highest(X) is None:
        return _scipy.squareform(X, force, checks)
    x = given(X)
    shape = shape_of(x)
    if len(shape) == 1 and force.lower() != "tovector":
        m = round((1 + (1 + 8 * shape[0]) ** 0.5) / 2)
        if m * (m - 1) // 2 != shape[0]:
            raise ArgumentError(
                f"squareform: {shape[0]} distances are not those of all pairs of some points"
            )
        places = np.zeros((m, m), np.intp)
        places[np.triu_indices(m, 1)] = np.arange(1, shape[0] + 1)
        return take(np.concatenate([np.zeros(1, x.dtype), x]), places + places.T)
    if len(shape) == 2 and shape[0] == shape[1] and force.lower() != "tomatrix":
        return x[np.triu_indices(shape[0], 1)]
    raise ArgumentError(
        f"squareform: an array of shape {shape} with force={force!r}; pass a vector of distances "
        "or a square matrix"
    )


def _pair(name: str) -> Callable:
    """A metric of two vectors, under SciPy's name."""
    plain, own = getattr(_plain, name), METRICS[name]
    names = own.__code__.co_varnames[2 : own.__code__.co_argcount]

    def metric(u: Any, v: Any, *args: Any, **options: Any) -> Any:
        if highest(u, v, *args, *options.values()) is None:
            return plain(u, v, *args, **options)
        options |= dict(zip(names, args, strict=False))
        axis = options.pop("axis", 0) if name == "jensenshannon" else None
        if axis is None:
            u, v = _vectors(name, u, 1), _vectors(name, v, 1)
        else:
            u, v = (np.moveaxis(given(x), axis, -1) for x in (u, v))
        if shape_of(u) != shape_of(v):
            raise DimensionMismatch(f"{name}: vectors of shapes {shape_of(u)} and {shape_of(v)}")
        return called(name, name, u, v, _completed(name, name, options, None))

    metric.__name__ = metric.__qualname__ = name
    metric.__doc__ = (
        f"`scipy.spatial.distance.{name}` of two vectors, differentiable in both and in its array "
        "arguments."
    )
    return metric


globals().update({name: _pair(name) for name in METRICS if hasattr(_plain, name)})
