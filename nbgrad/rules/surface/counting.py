"""Counts and weighted sums in bins, with derivatives in the weights."""

import numpy as np

from ...core.array import Array, implements
from ...core.functions import items_of
from ...core.primitive import bind, shape_of
from ...core.symbols import noted
from ...errors import ArgumentError, DimensionMismatch, NoRuleError
from ...runtime.kinds import is_a
from ..index import scatter
from ..layout import array, given
from ..order import searchsorted
from ..select import on_values, plain

_histogram, _bincount = map(on_values, (np.histogram, np.bincount))


def _joined(weights):
    """Weights; a list that contains tracked numbers becomes a tracked array."""
    return array(weights) if any(isinstance(x, Array) for x in items_of(weights)) else weights


@implements(np.bincount)
def bincount(x, /, weights=None, minlength=0):
    """The number of occurrences of each integer in `x`, or the sum of their weights."""
    weights = _joined(weights)
    if not isinstance(weights, Array):
        return _bincount(x, weights, minlength)
    places = noted(np.asarray(plain(x)))
    if places.ndim != 1 or shape_of(weights) != places.shape:
        raise DimensionMismatch(
            f"bincount: numbers of shape {places.shape} and weights of shape {shape_of(weights)}; "
            "both have one axis, of one length"
        )
    if places.size and (places.dtype.kind not in "iu" or places.min() < 0):
        raise ArgumentError(
            "bincount: 'list' argument must be of whole numbers that are not negative"
        )
    length = max(int(places.max(initial=-1)) + 1, minlength)
    floats = weights.astype(np.float64)
    return bind(scatter, floats, shape=(length,), index=places.astype(np.intp))


@implements(np.histogram)
def histogram(a, bins=10, range=None, density=None, weights=None):
    """The number of elements in each bin, or the sum of their weights, and the plain edges. Weights
    have a derivative, `a` has none."""
    weights = _joined(weights)
    if not isinstance(weights, Array):
        return _histogram(a, bins, range, density, weights)
    a = np.asarray(plain(a))
    if a.shape != shape_of(weights):
        raise DimensionMismatch(
            f"histogram: the shapes {a.shape} of elements and {shape_of(weights)} of weights differ"
        )
    edges = np.histogram_bin_edges(a, bins, range)
    a, weights = a.ravel(), np.reshape(weights, -1)
    at = np.searchsorted(edges, a, "right") - 1
    at = np.where(a == edges[-1], len(edges) - 2, at)
    inside = np.flatnonzero((at >= 0) & (at < len(edges) - 1))
    sums = bincount(at[inside], np.take(weights, inside), len(edges) - 1)
    if density:
        return sums / np.diff(edges) / np.sum(sums), edges
    return sums.astype(weights.dtype), edges


def _plain_weights(function):
    def binned(*args, weights=None, **options):
        if isinstance(_joined(weights), Array):
            raise NoRuleError(
                f"{function.__name__}: weights have a derivative in np.histogram and np.bincount"
            )
        return values(*args, weights=weights, **options)

    values = on_values(function)
    binned.__doc__ = f"np.{function.__name__} of the plain numbers."
    return binned


implements(np.histogram2d)(_plain_weights(np.histogram2d))
implements(np.histogramdd)(_plain_weights(np.histogramdd))


@implements(np.digitize)
def digitize(x, bins, right: bool = False):
    """The indices of the bins of the elements: plain integers."""
    bins, x = given(bins), given(x)
    edges = bins
    if isinstance(bins, Array):
        edges = plain(bins)
    if not is_a(edges, np.ndarray):
        return on_values(np.digitize)(x, bins, right)
    if edges.ndim != 1:
        raise ArgumentError(f"digitize: bins of shape {edges.shape}; they have one axis")
    steps = np.diff(noted(edges))  # these determine the side
    side = "left" if right else "right"
    if np.all(steps >= 0):
        return searchsorted(edges, x, side)
    if np.all(steps <= 0):
        return len(edges) - searchsorted(edges[::-1], x, "left" if side == "right" else "right")
    raise ArgumentError("bins must be monotonically increasing or decreasing")
