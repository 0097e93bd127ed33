"""Rows without a derivative: comparisons and tests, which return plain bools."""

import numpy as np

from ..core.array import Array, implements
from ..core.methods import require_masks
from ..core.primitive import Aval, bind
from ..errors import OutError
from . import patterns
from .dtypes import common_type
from .families import Nondifferentiable, nondifferentiable, sample

_ones = [sample((3,)), sample((2, 3)), sample(())]
_pairs = [sample((3,), (3,)), sample((2, 1), (1, 3)), sample((), ())]

less = nondifferentiable(np.less, "x < y", samples=_pairs)
less_equal = nondifferentiable(np.less_equal, "x <= y", samples=_pairs)
greater = nondifferentiable(np.greater, "x > y", samples=_pairs)
greater_equal = nondifferentiable(np.greater_equal, "x >= y", samples=_pairs)
equal = nondifferentiable(np.equal, "x == y", samples=_pairs)
not_equal = nondifferentiable(np.not_equal, "x != y", samples=_pairs)

isnan = nondifferentiable(np.isnan, "x != x", samples=_ones)
isfinite = nondifferentiable(np.isfinite, "abs(x) < inf", samples=_ones, whole="x == x")
isinf = nondifferentiable(np.isinf, "abs(x) == inf", samples=_ones, whole="x != x")
signbit = nondifferentiable(np.signbit, "np.signbit(x)", samples=_ones)

logical_not = nondifferentiable(np.logical_not, "x == 0.0", samples=_ones)
logical_and = nondifferentiable(np.logical_and, "(x != 0.0) & (y != 0.0)", samples=_pairs)
logical_or = nondifferentiable(np.logical_or, "(x != 0.0) | (y != 0.0)", samples=_pairs)
logical_xor = nondifferentiable(np.logical_xor, "(x != 0.0) ^ (y != 0.0)", samples=_pairs)


def _of_masks(bitwise: np.ufunc, logical: np.ufunc) -> None:
    @implements(bitwise)
    def of_masks(*masks):
        require_masks(f"np.{bitwise.__name__}", *masks)
        return logical(*masks)

    of_masks.__doc__ = f"`np.{logical.__name__}` of masks, arrays of bools."


for _bitwise, _logical in (
    (np.bitwise_and, np.logical_and), (np.bitwise_or, np.logical_or),
    (np.bitwise_xor, np.logical_xor), (np.invert, np.logical_not),
):  # fmt: skip
    _of_masks(_bitwise, _logical)


class _Stopped(Nondifferentiable):
    """The identity, without a derivative."""

    def evaluate(self, *args, **params):
        return np.array(args[0])

    def infer(self, *avals, **params) -> Aval:
        return avals[0]

    def loop_types(self, *kinds, **params):
        return (common_type(*kinds),) * 2


stop_row = _Stopped(
    None, "x", name="stop_gradient", samples=_ones, reference=np.array,
    pattern=patterns.nothing,
    notes="the value as it is, constant for every derivative",
)  # fmt: skip


@implements("stopped")
def stopped(x):
    """x as a constant."""
    return bind(stop_row, x) if isinstance(x, Array) else x


# -- any, all and count_nonzero -------------------------------------------------------------------


def _truth(a, where, neutral: bool):
    """The mask of nonzero elements, with `neutral` where the mask `where` is false."""
    a = a if hasattr(a, "dtype") else np.asarray(a)
    truth = a if a.dtype == bool else np.not_equal(a, 0)
    return truth if where is True else np.where(where, truth, neutral)


@implements(np.count_nonzero)
def count_nonzero(a, axis=None, *, keepdims: bool = False):
    """The number of nonzero elements."""
    truth = _truth(a, True, False)
    if isinstance(truth, Array):
        return np.sum(truth, axis=axis, keepdims=keepdims)
    return np.count_nonzero(truth, axis, keepdims=keepdims)


def _no_out(op: str, out) -> None:
    if out is not None:
        raise OutError(f"{op}: out=... cannot be written to: use what it returns")


@implements(np.any)
def any(a, axis=None, out=None, keepdims: bool = False, *, where=True):
    """Whether any element over `axis` is nonzero."""
    _no_out("any", out)
    truth = _truth(a, where, False)
    if isinstance(truth, Array):
        return count_nonzero(truth, axis, keepdims=keepdims) > 0
    return np.any(truth, axis, keepdims=keepdims)


@implements(np.all)
def all(a, axis=None, out=None, keepdims: bool = False, *, where=True):
    """Whether all elements over `axis` are nonzero."""
    _no_out("all", out)
    truth = _truth(a, where, True)
    if isinstance(truth, Array):
        return count_nonzero(np.logical_not(truth), axis, keepdims=keepdims) == 0
    return np.all(truth, axis, keepdims=keepdims)
