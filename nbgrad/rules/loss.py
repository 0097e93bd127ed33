"""softmax and its kin, and losses. Samples are rows; a single 1-D sample works."""

from collections.abc import Sequence

import numpy as np

from .. import eager, shapes
from ..core import Aval, bind, shape_of
from ..errors import DimensionMismatch
from ..kernels import logsoftmax as kernels
from .families import FLOATS, Custom, float_type, sample


def _last(x, *, axis) -> tuple[np.ndarray, int, int]:
    """`x` with `axis` last, flat, with the numbers of rows and columns."""
    x = np.moveaxis(np.asarray(x), axis, -1)
    return x.ravel(), int(np.prod(x.shape[:-1], dtype=np.intp)), x.shape[-1]


def _rowwise(forward):
    """A kernel over rows as a function of an array and an axis."""

    def compute(x, *, axis):
        x = np.asarray(x)
        x = x if x.dtype in (np.float64, np.float32) else x.astype(np.float64)
        flat, rows, columns = _last(x, axis=axis)
        out = np.empty(np.moveaxis(x, axis, -1).shape, x.dtype)
        if out.size:
            forward(flat, out.ravel(), rows, columns)
        return np.moveaxis(out, -1, axis)

    return compute


def _rowwise_pullback(backward):
    def pull(ct, out, args, need, *, axis):
        moved = np.moveaxis(out, axis, -1)
        x_bar = np.empty(moved.shape, out.dtype)
        flat, rows, columns = _last(ct, axis=axis)
        backward(flat, moved.ravel(), x_bar.ravel(), rows, columns)
        return [np.moveaxis(x_bar, -1, axis)]

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


def _logsoftmax_rule(ct, out, args, need, *, axis):
    return [ct - np.exp(out) * np.sum(ct, axis=axis, keepdims=True)]


def _logsoftmax_push(tangents, out, args, *, axis):
    x_dot = tangents[0]
    return x_dot - np.sum(np.exp(out) * x_dot, axis=axis, keepdims=True)


logsoftmax_row = Custom(
    "logsoftmax", _rowwise(kernels.logsoftmax), _same, _logsoftmax_rule, _logsoftmax_push,
    fused=_rowwise_pullback(kernels.logsoftmax_pullback), samples=_axis_samples(), reads=(),
)  # fmt: skip


def _softmax_rule(ct, out, args, need, *, axis):
    return [out * (ct - np.sum(ct * out, axis=axis, keepdims=True))]


def _softmax_push(tangents, out, args, *, axis):
    return _softmax_rule(tangents[0], out, args, (True,), axis=axis)[0]


softmax_row = Custom(
    "softmax", _rowwise(kernels.softmax), _same, _softmax_rule, _softmax_push,
    fused=_rowwise_pullback(kernels.softmax_pullback), samples=_axis_samples(), reads=(),
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

    The largest element is taken out first, and has no derivative of its own: it cancels.

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
    flat = np.transpose(x, kept + axes).reshape(*(x.shape[i] for i in kept), -1)
    flat = flat if flat.dtype in (np.float64, np.float32) else flat.astype(np.float64)
    if not flat.shape[-1]:
        return np.full(flat.shape[:-1], -np.inf, flat.dtype)
    out = np.empty(flat.shape[:-1], flat.dtype)
    kernels.logsumexp(flat.ravel(), out.ravel(), out.size, flat.shape[-1])
    return out


def _opened(value, x, axes):
    return np.reshape(value, shapes.reduced(shape_of(x), axes, True))


def _shares(out, x, axes):
    return np.exp(x - _opened(out, x, axes))


logsumexp_row = Custom(
    "logsumexp", _logsumexp_compute,
    lambda x, *, axes: Aval.of(shapes.reduced(x.shape, axes, False), float_type(x)),
    lambda ct, out, args, need, *, axes: [
        _opened(ct, args[0], axes) * _shares(out, args[0], axes)
    ],
    lambda tangents, out, args, *, axes: np.sum(
        tangents[0] * _shares(out, args[0], axes), axis=axes
    ),
    samples=[
        sample((3,), axes=(0,)), sample((2, 3), axes=(1,)), sample((2, 3), axes=(0, 1)),
        sample((2, 3, 2), axes=(0, 2)), sample((), axes=()),
    ],
)  # fmt: skip


# -- losses ---------------------------------------------------------------------------------------


def mse(prediction, target):
    """Mean of (prediction - target)**2 over all elements: a scalar, with both gradients.

    Raises DimensionMismatch unless the shapes are equal: broadcasting a target is mostly a slip.
    """
    if shape_of(prediction) != shape_of(target):
        raise DimensionMismatch(
            f"mse: the prediction has shape {shape_of(prediction)}, the target "
            f"{shape_of(target)}; reshape one of them"
        )
    return np.mean(np.square(prediction - target))


def _matrix(x) -> tuple[int, int]:
    """Rows and columns of logits; a single 1-D sample is one row."""
    shape = shape_of(x)
    return (1, shape[0]) if len(shape) == 1 else (shape[0], shape[1])


def _cross_entropy_compute(x, y):
    dtype = float_type(x.dtype, y.dtype)
    x, y = np.asarray(x, dtype), np.asarray(y, dtype)
    out = np.empty((), dtype)
    kernels.cross_entropy(x.ravel(), y.ravel(), np.empty(x.size, dtype), out.ravel(), *_matrix(x))
    return out


def _cross_entropy_rule(ct, out, args, need):
    x, y = args
    share = ct / _matrix(x)[0]
    x_bar = (softmax(x) * np.sum(y, axis=-1, keepdims=True) - y) * share if need[0] else None
    y_bar = -logsoftmax(x) * share if need[1] else None
    return [x_bar, y_bar]


class CrossEntropyPlan(eager.Call):
    """Cross entropy with its sizes looked up once; weights without a gradient take one kernel."""

    __slots__ = ("dtype", "matrix")

    def __init__(self, row, kinds, params):
        super().__init__(row, kinds, params)
        x, y = map(eager.abstract, self.kinds)
        self.matrix, self.dtype = _matrix(x), x.dtype
        if x.dtype == y.dtype and x.dtype in FLOATS:
            self.aval = Aval.of((), x.dtype)

    def forward(self, x, y):  # pyright: ignore[reportIncompatibleMethodOverride]
        if self.aval is None:
            return super().forward(x, y)
        out, scratch = np.empty((), self.dtype), np.empty(x.size, self.dtype)
        kernels.cross_entropy(x.ravel(), y.ravel(), scratch, out.ravel(), *self.matrix)
        return out

    def pull(self, ct, out, args, need) -> Sequence:
        if self.aval is None or need != (True, False):
            return super().pull(ct, out, args, need)
        x, y = args
        x_bar = np.empty(x.shape, self.dtype)
        kernels.cross_entropy_pullback(ct.item(), x.ravel(), y.ravel(), x_bar.ravel(), *self.matrix)
        return x_bar, None


def _cross_entropy_push(tangents, out, args):
    x_bar, y_bar = _cross_entropy_rule(1.0, out, args, [t is not None for t in tangents])
    terms = [
        np.sum(bar * dot)
        for bar, dot in zip((x_bar, y_bar), tangents, strict=True)
        if dot is not None
    ]
    return sum(terms[1:], terms[0])


cross_entropy_row = Custom(
    "logit_cross_entropy", _cross_entropy_compute,
    lambda x, y: Aval.of((), float_type(x, y)),
    _cross_entropy_rule, _cross_entropy_push,
    samples=[sample((3,), (3,)), sample((2, 3), (2, 3)), sample((1, 1), (1, 1))],
)  # fmt: skip
cross_entropy_row.plan_class = CrossEntropyPlan


def _labels_compute(x, labels):
    x = np.asarray(x)
    out = np.empty((), x.dtype)
    scratch = np.empty(x.size, x.dtype)
    kernels.label_cross_entropy(x.ravel(), labels.ravel(), scratch, out.ravel(), *_matrix(x))
    return out


def _one_hot(x, labels):
    rows, columns = _matrix(x)
    hot = np.zeros((rows, columns), x.dtype)
    hot[np.arange(rows), labels.ravel()] = 1.0
    return hot.reshape(shape_of(x))


def _labels_rule(ct, out, args, need):
    x, labels = args
    return [(softmax(x) - _one_hot(x, labels)) * (ct / _matrix(x)[0]), None]


def _labels_fused(ct, out, args, need):
    x, labels = args
    x_bar = np.empty(x.shape, x.dtype)
    kernels.label_cross_entropy_pullback(
        ct.item(), x.ravel(), labels.ravel(), x_bar.ravel(), *_matrix(x)
    )
    return [x_bar, None]


def _labels_push(tangents, out, args):
    return np.sum(_labels_rule(1.0, out, args, (True, False))[0] * tangents[0])


label_cross_entropy_row = Custom(
    "label_cross_entropy", _labels_compute, lambda x, labels: Aval.of((), float_type(x)),
    _labels_rule, _labels_push, fused=_labels_fused,
    samples=[sample((3,), np.array(2)), sample((2, 3), np.array([2, 0]))],
)  # fmt: skip


def logit_cross_entropy(logits, targets):
    """Mean over samples of -sum(targets * logsoftmax(logits)).

    `logits` has shape (samples, classes), or (classes,) for one sample. `targets` is one-hot or
    any weights of the same shape, which get a gradient too, or integer labels of shape (samples,).
    Raises DimensionMismatch for other shapes, ValueError for labels outside of the classes.

    >>> float(nbgrad.logit_cross_entropy(np.zeros((4, 2)), np.array([0, 1, 1, 0])))
    0.6931471805599453
    """
    shape = shape_of(logits)
    if len(shape) not in (1, 2) or 0 in shape:
        raise DimensionMismatch(
            f"logit_cross_entropy: logits of shape {shape}; they are (samples, classes), or "
            "(classes,) for one sample, and not empty"
        )
    if not hasattr(targets, "dtype"):
        targets = np.asarray(targets)
    if targets.dtype.kind in "iu" and targets.shape == shape[:-1]:
        if targets.min() < 0 or targets.max() >= shape[-1]:
            raise ValueError(
                f"logit_cross_entropy: labels from {targets.min()} to {targets.max()}, but there "
                f"are {shape[-1]} classes, numbered from 0"
            )
        return bind(label_cross_entropy_row, logits, np.asarray(targets, np.intp))
    if targets.shape != shape:
        raise DimensionMismatch(
            f"logit_cross_entropy: logits of shape {shape} and targets of shape {targets.shape}; "
            f"targets are one-hot of shape {shape}, or integer labels of shape {shape[:-1]}"
        )
    return bind(cross_entropy_row, logits, targets)
