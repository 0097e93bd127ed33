"""Losses. Samples are rows; a 1-D array is one sample."""

import numpy as np

from ..core.array import Array, apply
from ..core.primitive import Aval, bind, shape_of
from ..core.symbols import lifted
from ..eager.losses import CrossEntropyPlan
from ..errors import ArgumentError, DimensionMismatch, require_unmasked
from ..kernels import logsoftmax as kernels
from . import batching
from .activation import relu
from .elementary import log
from .families import Custom, WithoutDerivative, float_type, sample, scaled
from .forms import labels as forms
from .forms.recorded import recorded
from .layout import given
from .softmax import log_shares, logsoftmax, logsumexp, softmax

__all__ = [
    "cross_entropy", "hinge_loss", "logit_cross_entropy", "logsoftmax", "logsumexp", "mse",
    "softmax",
]  # fmt: skip


def _alike(op: str, prediction, target) -> None:
    """Raise DimensionMismatch for different shapes: broadcasting is usually a mistake."""
    if shape_of(prediction) != shape_of(target):
        raise DimensionMismatch(
            f"{op}: the prediction has shape {shape_of(prediction)}, the target "
            f"{shape_of(target)}; reshape one of them"
        )


def mse(prediction, target):
    """Mean of (prediction - target)**2 over all elements: a scalar, with both gradients.

    Raises DimensionMismatch unless the shapes are equal.

    >>> float(nbgrad.mse(np.array([1.0, 2.0]), np.array([1.0, 4.0])))
    2.0
    """
    _alike("mse", prediction, target)
    return np.mean(np.square(prediction - target))


def hinge_loss(prediction, target):
    """Mean of max(0, 1 - target * prediction), for targets of -1 and 1: a scalar.

    The derivative at a margin of 1 is 0. Raises DimensionMismatch unless the shapes are
    equal.

    >>> float(nbgrad.hinge_loss(np.array([0.5, 3.0]), np.array([1.0, 1.0])))
    0.25
    """
    _alike("hinge_loss", prediction, target)
    return np.mean(relu(1.0 - target * prediction))


def cross_entropy(probabilities, targets, *, epsilon: float = 0.0):
    """Mean over samples of -sum(targets * log(probabilities + epsilon)): a scalar.

    `probabilities` has shape (samples, classes), or (classes,) for one sample. `targets` is one-hot
    or any weights of the same shape, which get a gradient too, or integer labels of shape
    (samples,). A probability of 0 with a target of 0 adds 0; an `epsilon` such as 1e-6 keeps the
    loss of others finite, and its derivatives below 1 / epsilon. For logits,
    `logit_cross_entropy` is stable where `cross_entropy(softmax(x), y)` is not. Raises
    DimensionMismatch for other shapes, ValueError for labels outside of the classes.

    >>> float(nbgrad.cross_entropy(np.array([[0.5, 0.5], [0.0, 1.0]]), np.array([0, 1])))
    0.34657359027997264
    """
    targets = _targets("cross_entropy", probabilities, targets)
    rows, columns = _matrix(probabilities)
    if epsilon:
        probabilities = probabilities + epsilon
    if targets.dtype.kind in "iu" and targets.shape != shape_of(probabilities):
        table = np.reshape(probabilities, (rows, columns))
        return -np.mean(apply(log, table[np.arange(rows), targets.ravel()]))
    return np.sum(scaled(targets, apply(log, probabilities))) * (-1.0 / rows)


def _targets(op: str, scores, targets):
    """The targets as an array: integer labels as np.intp, or weights of the same shape."""
    shape = shape_of(scores)
    if len(shape) not in (1, 2) or 0 in shape:
        raise DimensionMismatch(
            f"{op}: scores of shape {shape}; they are (samples, classes), or (classes,) for one "
            "sample, and not empty"
        )
    require_unmasked(targets, f"{op}: the targets")
    if not hasattr(targets, "dtype"):
        targets = np.asarray(targets)
    if targets.dtype.kind in "iu" and targets.shape == shape[:-1]:
        # Labels that a program closes over are read and checked at each call.
        targets = lifted([scores, targets])[1]
        if isinstance(targets, Array):
            return bind(labels_row, targets, classes=shape[-1], op=op)
        # A copy: the pullback reads them again.
        return _labels(targets, classes=shape[-1], op=op)
    if targets.shape != shape:
        raise DimensionMismatch(
            f"{op}: scores of shape {shape} and targets of shape {targets.shape}; targets are "
            f"one-hot of shape {shape}, or integer labels of shape {shape[:-1]}"
        )
    return targets


def _labels(labels, *, classes, op):
    """A copy of integer labels as np.intp. Raises ValueError for labels outside of the classes."""
    if labels.size and (labels.min() < 0 or labels.max() >= classes):
        raise ArgumentError(
            f"{op}: labels from {labels.min()} to {labels.max()}, but there are {classes} "
            "classes, numbered from 0"
        )
    return np.array(labels, np.intp)


labels_row = WithoutDerivative(
    "labels", lambda labels, **params: _labels(labels, **params), lambda labels, **params: labels,
    samples=[sample(np.array([2, 0]), classes=3, op="cross_entropy")],
    batch=batching.along(), form=forms.labels,
    notes="labels as they are, checked to be classes",
)  # fmt: skip
labels_row.checks = True


def _matrix(x) -> tuple[int, int]:
    """Rows and columns of logits; a single 1-D sample is one row."""
    shape = shape_of(x)
    return (1, shape[0]) if len(shape) == 1 else (shape[0], shape[1])


def _definition(x, y):
    return np.sum(y * log_shares(x, axis=-1)) * (-1.0 / _matrix(x)[0])


def _labels_definition(x, mask):
    return np.sum(np.where(mask, log_shares(x, axis=-1), 0.0)) * (-1.0 / _matrix(x)[0])


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


def _cross_entropy_batch(primitive, size, args, batched):
    x, y = batching.spread(size, args, batched)
    rows = shape_of(x)[1] if len(shape_of(x)) == 3 else 1
    return np.sum(y * logsoftmax(x), axis=tuple(range(1, len(shape_of(x))))) * (-1.0 / rows)


def _labels_batch(primitive, size, args, batched):
    x, labels = batching.spread(size, args, batched)
    return _cross_entropy_batch(primitive, size, (x, _one_hot(x, labels)), (True, True))


def _cross_entropy_push(tangents, out, args):
    x_bar, y_bar = _cross_entropy_rule(1.0, out, args, [t is not None for t in tangents])
    terms = [
        np.sum(bar * dot)
        for bar, dot in zip((x_bar, y_bar), tangents, strict=True)
        if dot is not None
    ]
    return sum(terms[1:], terms[0])


def _cross_entropy_reference(x, y):
    from scipy.special import log_softmax  # imported by tests only

    return -np.sum(y * log_softmax(x, axis=-1)) / x.dtype.type(_matrix(x)[0])


cross_entropy_row = Custom(
    "logit_cross_entropy", _cross_entropy_compute,
    lambda x, y: Aval.of((), float_type(x, y)),
    _cross_entropy_rule, _cross_entropy_push,
    samples=[sample((3,), (3,)), sample((2, 3), (2, 3)), sample((1, 1), (1, 1))],
    batch=_cross_entropy_batch, form=recorded(_definition), reference=_cross_entropy_reference,
)  # fmt: skip
cross_entropy_row.plan_class = CrossEntropyPlan


def _labels_compute(x, labels):
    x = np.asarray(x).astype(float_type(x.dtype), copy=False)
    out = np.empty((), x.dtype)
    scratch = np.empty(x.size, x.dtype)
    labels = np.asarray(labels, np.intp)
    kernels.label_cross_entropy(x.ravel(), labels.ravel(), scratch, out.ravel(), *_matrix(x))
    return out


def _one_hot_compute(labels, *, shape, dtype):
    hot = np.zeros((*np.shape(labels), shape[-1]), dtype)
    np.put_along_axis(hot, np.asarray(labels)[..., None], 1.0, -1)
    return hot


one_hot_row = WithoutDerivative(
    "one_hot", _one_hot_compute, lambda labels, *, shape, dtype: Aval.of(shape, np.dtype(dtype)),
    samples=[sample(np.array([2, 0]), shape=(2, 3), dtype="float64")],
    batch=batching.prefixed, form=forms.one_hot,
    notes="rows of zeros with a one at the label",
)  # fmt: skip


def _one_hot(x, labels):
    return bind(one_hot_row, labels, shape=shape_of(x), dtype=x.dtype.name)


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
    samples=[sample((3,), np.array(2)), sample((2, 3), np.array([2, 0]))], batch=_labels_batch,
    form=forms.label_cross_entropy(_labels_definition),
    reference=lambda x, labels: _cross_entropy_reference(
        x, np.eye(x.shape[-1], dtype=x.dtype)[labels]
    ),
)  # fmt: skip


def logit_cross_entropy(logits, targets):
    """Mean over samples of -sum(targets * logsoftmax(logits)).

    `logits` has shape (samples, classes), or (classes,) for one sample. `targets` is one-hot or
    any weights of the same shape, which get a gradient too, or integer labels of shape (samples,).
    Raises DimensionMismatch for other shapes, ValueError for labels outside of the classes.

    >>> float(nbgrad.logit_cross_entropy(np.zeros((4, 2)), np.array([0, 1, 1, 0])))
    0.6931471805599453
    """
    logits = given(logits)
    if logits.dtype.kind in "iub":  # in the float dtype of logsoftmax
        logits = logits.astype(float_type(logits.dtype))
    targets = _targets("logit_cross_entropy", logits, targets)
    if targets.dtype.kind in "iu" and targets.shape != shape_of(logits):
        return bind(label_cross_entropy_row, logits, targets)
    return bind(cross_entropy_row, logits, targets)
