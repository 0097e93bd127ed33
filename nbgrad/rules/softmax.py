"""softmax, logsoftmax and logsumexp."""

import math

import numpy as np

from ..core.primitive import Aval, bind, shape_of
from ..errors import DimensionMismatch
from ..kernels import logsoftmax as kernels
from ..kernels import shapes
from ..threads.pieces import rowwise
from .families import Custom, float_type, sample, scaled
from .forms.recorded import recorded
from .reduce import opened


def _last(x, *, axis) -> tuple[np.ndarray, int, int]:
    """`x` flattened with `axis` last, and the numbers of rows and columns."""
    x = np.moveaxis(np.asarray(x), axis, -1)
    return x.ravel(), int(np.prod(x.shape[:-1], dtype=np.intp)), x.shape[-1]


def _back(x: np.ndarray, axis: int) -> np.ndarray:
    """`x` with its last axis moved to `axis`; x itself if that is the last axis."""
    return x if axis in (-1, x.ndim - 1) else np.moveaxis(x, -1, axis)


def _rowwise(forward):
    """A kernel over rows as a function of an array and an axis."""

    def compute(x, *, axis):
        x = np.asarray(x)
        x = x if x.dtype in (np.float64, np.float32) else x.astype(np.float64)
        flat, rows, columns = _last(x, axis=axis)
        out = np.empty(np.moveaxis(x, axis, -1).shape, x.dtype)
        if out.size:
            rowwise(forward, rows, columns, flat, out.ravel())
        return _back(out, axis)

    return compute


def _rowwise_pullback(backward):
    def pull(ct, out, args, need, *, axis):
        moved = np.moveaxis(out, axis, -1)
        x_bar = np.empty(moved.shape, out.dtype)
        flat, rows, columns = _last(ct, axis=axis)
        rowwise(backward, rows, columns, flat, moved.ravel(), x_bar.ravel())
        return [_back(x_bar, axis)]

    return pull


def _same(x: Aval, *, axis) -> Aval:
    return Aval.of(x.shape, float_type(x))


def _axis_samples():
    return [
        sample((3,), axis=0),
        sample((2, 3), axis=1),
        sample((2, 3), axis=0),
        sample((1, 1), axis=1),
        sample((0, 3), axis=1),
    ]


# The kernels and the static forms compute these formulas.


def _shifted(x, axes):
    """x minus its largest elements over `axes`, and these; infinite ones are not subtracted."""
    largest = np.max(x, axis=axes, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, 0.0)
    return x - largest, largest


def _softmax(x, *, axis):
    exponentials = np.exp(_shifted(x, axis)[0])
    return exponentials * (1.0 / np.sum(exponentials, axis=axis, keepdims=True))


def log_shares(x, *, axis):
    """The definition of logsoftmax."""
    shifted, _ = _shifted(x, axis)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


def _logsumexp(x, *, axes):
    shifted, largest = _shifted(x, axes)
    out = np.log(np.sum(np.exp(shifted), axis=axes, keepdims=True)) + largest
    return np.reshape(out, shapes.reduced(shape_of(x), axes, False))


def _logsoftmax_rule(ct, out, args, need, *, axis):
    return [ct - np.exp(out) * np.sum(ct, axis=axis, keepdims=True)]


def _logsoftmax_push(tangents, out, args, *, axis):
    x_dot = tangents[0]
    return x_dot - np.sum(np.exp(out) * x_dot, axis=axis, keepdims=True)


logsoftmax_row = Custom(
    "logsoftmax", _rowwise(kernels.logsoftmax), _same, _logsoftmax_rule, _logsoftmax_push,
    fused=_rowwise_pullback(kernels.logsoftmax_pullback), samples=_axis_samples(), reads=(),
    along="axis", form=recorded(log_shares), reference="scipy.special.log_softmax",
)  # fmt: skip


def _softmax_rule(ct, out, args, need, *, axis):
    return [out * (ct - np.sum(ct * out, axis=axis, keepdims=True))]


def _softmax_push(tangents, out, args, *, axis):
    return _softmax_rule(tangents[0], out, args, (True,), axis=axis)[0]


softmax_row = Custom(
    "softmax", _rowwise(kernels.softmax), _same, _softmax_rule, _softmax_push,
    fused=_rowwise_pullback(kernels.softmax_pullback), samples=_axis_samples(), reads=(),
    along="axis", form=recorded(_softmax), reference="scipy.special.softmax",
)  # fmt: skip


def _axis(op: str, x, axis: int) -> int:
    shape = shape_of(x)
    if not shape:
        raise DimensionMismatch(f"{op}: a scalar has no axis to normalise over")
    return shapes.axes_of(axis, len(shape), op)[0]


def logsoftmax(x, axis: int = -1):
    """x - logsumexp(x) along `axis`; stable for any finite x. Shape and dtype of x.

    >>> nbgrad.logsoftmax(np.array([0.0, 0.0])).round(4)
    array([-0.6931, -0.6931])
    """
    return bind(logsoftmax_row, x, axis=_axis("logsoftmax", x, axis))


def softmax(x, axis: int = -1):
    """exp(x) / sum(exp(x)) along `axis`; stable for any finite x. Shape and dtype of x.

    >>> nbgrad.softmax(np.array([2.0, -1.0, 0.5])).round(4)
    array([0.7856, 0.0391, 0.1753])
    """
    return bind(softmax_row, x, axis=_axis("softmax", x, axis))


def logsumexp(x, axis=None, keepdims: bool = False):
    """log(sum(exp(x))) over `axis`: an int, a tuple of ints, or None for all.

    The maximum is subtracted first; its derivative cancels.

    >>> float(nbgrad.logsumexp(np.array([1000.0, 1000.0]))).__round__(6)
    1000.693147
    """
    shape = shape_of(x)
    axes = shapes.axes_of(axis, len(shape), "logsumexp")
    out = bind(logsumexp_row, x, axes=axes)
    return np.reshape(out, shapes.reduced(shape, axes, bool(keepdims)))


def _logsumexp_compute(x, *, axes):
    x = np.asarray(x)
    kept = tuple(i for i in range(x.ndim) if i not in axes)
    columns = math.prod(x.shape[i] for i in axes)
    flat = np.transpose(x, kept + axes).reshape(*(x.shape[i] for i in kept), columns)
    flat = flat if flat.dtype in (np.float64, np.float32) else flat.astype(np.float64)
    if not flat.shape[-1]:
        return np.full(flat.shape[:-1], -np.inf, flat.dtype)
    out = np.empty(flat.shape[:-1], flat.dtype)
    rowwise(kernels.logsumexp, out.size, flat.shape[-1], flat.ravel(), out.ravel())
    return out


def _shares(out, x, axes):
    return np.exp(x - opened(out, shape_of(x), axes))


def _logsumexp_reference(x, *, axes):
    from scipy.special import logsumexp  # imported by tests only

    return logsumexp(x, axis=axes) if axes else x


logsumexp_row = Custom(
    "logsumexp", _logsumexp_compute,
    lambda x, *, axes: Aval.of(shapes.reduced(x.shape, axes, False), float_type(x)),
    lambda ct, out, args, need, *, axes: [
        scaled(opened(ct, shape_of(args[0]), axes), _shares(out, args[0], axes))
    ],
    lambda tangents, out, args, *, axes: np.sum(
        scaled(tangents[0], _shares(out, args[0], axes)), axis=axes
    ),
    samples=[
        sample((3,), axes=(0,)), sample((2, 3), axes=(1,)), sample((2, 3), axes=(0, 1)),
        sample((2, 3, 2), axes=(0, 2)), sample((), axes=()),
    ],
    along="axes", form=recorded(_logsumexp, -math.inf), reference=_logsumexp_reference,
)  # fmt: skip
