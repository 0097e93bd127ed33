"""Functions that return plain values: comparisons, text, shapes and dtypes."""

import numpy as np

from ...core.array import Array, functions, implements
from ...core.memory import share
from ...core.primitive import shape_of
from ...errors import TraceError
from ..select import on_values

UNTRACKED = (
    np.argwhere, np.nonzero, np.flatnonzero, np.array_equal, np.array_equiv, np.array_repr,
    np.array_str, np.array2string, np.spacing, np.isin, np.iscomplex, np.isreal, np.isneginf,
    np.isposinf, np.lexsort,
    np.format_float_positional, np.format_float_scientific,
)  # fmt: skip
"""Functions whose values are piecewise constant or not numbers: called with the plain values."""
functions |= {function: on_values(function) for function in UNTRACKED}


_isclose, _allclose = on_values(np.isclose), on_values(np.allclose)


@implements(np.isclose)
def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether elements are equal within a tolerance: plain bools."""
    try:
        return _isclose(a, b, rtol, atol, equal_nan)
    except TraceError:  # traced values
        near = np.less_equal(np.abs(a - b), atol + rtol * np.abs(b))
        close = np.logical_or(np.logical_and(near, np.isfinite(b)), np.equal(a, b))
        both = np.logical_and(np.isnan(a), np.isnan(b)) if equal_nan else False
        return np.logical_or(close, both)


@implements(np.allclose)
def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether all elements are equal within a tolerance: a plain bool."""
    try:
        return _allclose(a, b, rtol, atol, equal_nan)
    except TraceError:
        return np.all(isclose(a, b, rtol, atol, equal_nan))


@implements(np.shape)
def shape(a):
    """The lengths of the axes."""
    return a.shape if isinstance(a, Array) else shape_of(a)


@implements(np.ndim)
def ndim(a):
    """The number of axes."""
    return len(shape_of(a))


@implements(np.size)
def size(a, axis=None):
    """The number of elements, or the length of an axis."""
    return a.size if axis is None else np.size(np.broadcast_to(0, a.shape), axis)


@implements(np.iscomplexobj)
def iscomplexobj(x):
    """False: the numbers are real."""
    return False


def _kind(x):
    return x.dtype if isinstance(x, Array) else x


@implements(np.result_type)
def result_type(*arrays_and_dtypes):
    """The dtype to which NumPy promotes arrays and dtypes."""
    return np.result_type(*map(_kind, arrays_and_dtypes))


@implements(np.common_type)
def common_type(*arrays):
    """The common float dtype of arrays."""
    kinds = [x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype for x in arrays]
    return np.common_type(*(np.empty(0, kind) for kind in kinds))


@implements(np.isrealobj)
def isrealobj(x):
    """True: the numbers are real."""
    return True


def _sharing(asked):
    def shares(a, b, max_work=None):
        return isinstance(a, Array) and isinstance(b, Array) and share(a, b, asked)

    shares.__doc__ = "Whether a write to one array may be seen in the other."
    return shares


functions |= {asked: _sharing(asked) for asked in (np.may_share_memory, np.shares_memory)}


@implements(np.einsum_path)
def einsum_path(*operands, optimize="greedy", einsum_call=False):
    """The order of products, from the shapes of the operands alone."""
    plain = [np.broadcast_to(0.0, shape_of(x)) if isinstance(x, Array) else x for x in operands]
    return np.einsum_path(*plain, optimize=optimize)
