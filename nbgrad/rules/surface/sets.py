"""Set functions: `np.unique`, and unions, differences and intersections of arrays.

NumPy finds the values; each of them is taken from its first position in the arguments, which gets
the whole cotangent.
"""

import numpy as np

from ...core.array import functions, implements
from ..layout import given
from ..select import on_values, take


def _first(x, **options):
    """The first positions of the unique values, in the order in which NumPy gives the values."""
    values, first = np.unique(x, return_index=True, **options)
    plain = options["axis"] is None and not options.get("sorted", True)
    return _as_in(np.unique(x, **options), values, first) if plain else first


def _first_of_api(x):
    """`_first` for the function of the array API, which sorts or not."""
    return _as_in(np.unique_values(x), *np.unique(x, return_index=True, equal_nan=False))


def _as_in(wanted, values, first):
    """Positions of ascending values as those of the same values in another order."""
    positions = np.empty_like(first)
    positions[np.argsort(wanted, kind="stable")] = first
    return positions


def _different(x, y, assume_unique):
    """The positions of the elements of x that are not in y."""
    positions = np.arange(x.size) if assume_unique else np.unique(x, return_index=True)[1]
    return positions[np.isin(x[positions], y, invert=True)]


def _in_one(x, y, assume_unique):
    """The positions, in the concatenation of x and y, of elements that are in only one of them."""
    positions = np.concatenate(
        [_different(x, (), assume_unique), _different(y, (), assume_unique) + x.size]
    )
    _, first, counts = np.unique(
        np.concatenate([x, y])[positions], return_index=True, return_counts=True
    )
    return positions[first[counts == 1]]


def _common(x, y, which, assume_unique):
    """The positions in x, or in y, of the common elements."""
    return np.intersect1d(x, y, assume_unique, return_indices=True)[1 + which]


def _told(x, *, place, **options):
    """One of the integer arrays that np.unique returns besides the values."""
    asked = ("return_index", "return_inverse", "return_counts")
    return np.unique(x, **{asked[place]: True}, **options)[1]


def _named(function, name: str):
    """`on_values` of a function, under the name in errors."""
    function.__name__ = name
    return on_values(function)


_first_of, _told_of = _named(_first, "unique"), _named(_told, "unique")
_first_of_api_of = _named(_first_of_api, "unique_values")
_different_of, _in_one_of = _named(_different, "setdiff1d"), _named(_in_one, "setxor1d")
_common_of = _named(_common, "intersect1d")


def _flat(x):
    return np.reshape(given(x), -1)


@implements(np.unique)
def unique(
    ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *,
    equal_nan=True, **options,
):  # fmt: skip
    """The sorted unique elements, or slices along `axis`: the first of equal ones has the whole
    derivative. The positions and counts are plain integers."""
    ar = given(ar)
    options = {"axis": axis, "equal_nan": equal_nan, **options}
    values = take(ar if axis is not None else _flat(ar), _first_of(ar, **options), axis or 0)
    asked = (return_index, return_inverse, return_counts)
    more = [_told_of(ar, place=i, **options) for i in range(3) if asked[i]]
    return (values, *more) if more else values


def _of_array_api(function, names: str):
    """The unique elements under the names of the array API; nan is not equal to nan."""
    asked = {f"return_{name}": True for name in names.split()}
    kind = type(function(np.zeros(1)))

    def sets(x):
        found = unique(x, equal_nan=False, **asked)
        return kind(*found) if asked else found

    sets.__doc__ = _of_array_api.__doc__
    return sets


functions |= {
    np.unique_all: _of_array_api(np.unique_all, "index inverse counts"),
    np.unique_counts: _of_array_api(np.unique_counts, "counts"),
    np.unique_inverse: _of_array_api(np.unique_inverse, "inverse"),
}


@implements(np.unique_values)
def unique_values(x):
    """The unique elements in NumPy's order; nan is not equal to nan."""
    x = _flat(x)
    return take(x, _first_of_api_of(x), 0)


@implements(np.union1d)
def union1d(ar1, ar2):
    """The sorted unique elements of both arrays; of equal ones, the first has the derivative."""
    return unique(_joined(_flat(ar1), _flat(ar2)))


def _joined(x, y):
    return np.concatenate([x, y])


@implements(np.setdiff1d)
def setdiff1d(ar1, ar2, assume_unique=False):
    """The unique elements of `ar1` that are not in `ar2`."""
    ar1, ar2 = _flat(ar1), _flat(ar2)
    return take(ar1, _different_of(ar1, ar2, assume_unique), 0)


@implements(np.setxor1d)
def setxor1d(ar1, ar2, assume_unique=False):
    """The sorted unique elements that are in only one of the arrays."""
    ar1, ar2 = _flat(ar1), _flat(ar2)
    return take(_joined(ar1, ar2), _in_one_of(ar1, ar2, assume_unique), 0)


@implements(np.intersect1d)
def intersect1d(ar1, ar2, assume_unique=False, return_indices=False):
    """The sorted unique elements that are in both arrays: those of `ar1` have the derivative."""
    ar1, ar2 = _flat(ar1), _flat(ar2)
    first = _common_of(ar1, ar2, 0, assume_unique)
    values = take(ar1, first, 0).astype(np.result_type(ar1, ar2))
    return (values, first, _common_of(ar1, ar2, 1, assume_unique)) if return_indices else values
