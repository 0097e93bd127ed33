"""Splits, minibatches, one-hot labels and normalisation."""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np

from ..errors import ArgumentError, ArgumentTypeError, EmptyError, SampleMismatch
from ..kernels.shapes import whole
from .sets import Random

Last = Literal["drop", "keep"]
"""Whether to drop or keep a last batch of fewer rows."""


def require_rows(op: str, arrays: tuple) -> int:
    """Return the number of rows. Raises DimensionMismatch if it differs, ValueError if it is 0."""
    if not arrays:
        raise EmptyError(f"{op}: pass at least one array whose first axis counts samples")
    shapes = [np.shape(x) for x in arrays]
    if not all(shapes) or len({shape[0] for shape in shapes}) > 1:
        raise SampleMismatch(
            f"{op}: arrays of shapes {', '.join(map(str, shapes))}: the first axis counts samples "
            "and must have the same length for all"
        )
    if not shapes[0][0]:
        raise EmptyError(f"{op}: the data set is empty: arrays of shape {shapes[0]}")
    return shapes[0][0]


def split(
    rng: Random, share: float, *arrays: Any, by: Any = None
) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """Split the rows of arrays in two parts, `(kept, held)`. `share` is the fraction of `held`.

    Rows are selected at random, the same for all arrays, and stay in order. With `by`, labels of
    shape (samples,), the fraction is the same for each label.

    >>> (x, y), (held_x, held_y) = nbgrad.data.split(0, 0.25, np.arange(8), np.arange(8) % 2)
    >>> len(x), len(held_x)
    (6, 2)
    """
    n = require_rows("split", arrays)
    if not 0 < share < 1:
        raise ArgumentError(f"split: share is {share}; it must be between 0 and 1")
    rng = np.random.default_rng(rng)
    kinds = np.zeros(n, int) if by is None else np.asarray(by)
    require_rows("split", (arrays[0], kinds))
    held = np.zeros(n, dtype=bool)
    for kind in np.unique(kinds):
        members = rng.permutation(np.flatnonzero(kinds == kind))
        held[members[: round(len(members) * share)]] = True
    if held.all() or not held.any():
        raise ArgumentError(f"split: a share of {share} of {n} rows leaves one part empty")
    every = [np.asarray(x) for x in arrays]
    return tuple(x[~held] for x in every), tuple(x[held] for x in every)


def minibatches(
    seed: int, size: int, *arrays: Any, epochs: int = 1, last: Last = "drop"
) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield batches of `size` rows, in another random order in each epoch.

    `last="drop"` drops the rows left over at the end of an epoch; "keep" yields them as a smaller
    batch. If there are fewer than `size` rows, all of them are one batch. The same seed gives the
    same batches.

    >>> [x.tolist() for (x,) in nbgrad.data.minibatches(0, 2, np.arange(5), last="keep")]
    [[2, 4], [3, 0], [1]]
    """
    order = Order(seed, require_rows("minibatches", arrays), size, last)
    every = [np.asarray(x) for x in arrays]
    for step in range(epochs * order.batches):
        rows = order.rows(step)
        yield tuple(x[rows] for x in every)


class Order:
    """The rows of each batch, which depend only on the seed and the step."""

    def __init__(self, seed: int, n: int, size: int, last: Last):
        if whole(size, "the size of a batch") < 1:
            raise ArgumentError(f"batches of {size} rows: there must be at least one")
        if whole(seed, "the seed of batches") < 0:
            raise ArgumentError(f"the seed of batches is {seed}; it must not be negative")
        if last not in ("drop", "keep"):
            raise ArgumentError(f'last is {last!r}; it must be "drop" or "keep"')
        self.seed, self.n, self.size = seed, n, min(size, n)
        self.batches = n // self.size if last == "drop" else -(-n // self.size)
        self._epoch, self._permutation = -1, np.zeros(0, int)

    def rows(self, step: int) -> np.ndarray:
        """Return the rows of a batch; `step` counts batches of all epochs, from 0."""
        epoch, batch = divmod(step, self.batches)
        if epoch != self._epoch:
            rng = np.random.default_rng([self.seed, epoch])
            self._epoch, self._permutation = epoch, rng.permutation(self.n)
        return self._permutation[batch * self.size : (batch + 1) * self.size]


def one_hot(labels: Any, classes: int | None = None, dtype: Any = np.float64) -> np.ndarray:
    """Return one-hot rows: labels of shape (samples,) give (samples, classes).

    By default, `classes` is the largest label plus one. Raises ValueError for labels out of range,
    TypeError for labels that are not integers.

    >>> nbgrad.data.one_hot([1, 0])
    array([[0., 1.],
           [1., 0.]])
    """
    labels = np.asarray(labels)
    if labels.dtype.kind not in "iub":
        raise ArgumentTypeError(
            f"one_hot: labels of dtype {labels.dtype}; they must be integers", code="NB-INTEGER"
        )
    count = (int(labels.max()) + 1 if labels.size else 0) if classes is None else classes
    if labels.size and not (0 <= labels.min() and labels.max() < count):
        raise ArgumentError(
            f"one_hot: labels from {labels.min()} to {labels.max()} for {count} classes; they must "
            f"be 0 to {count - 1}"
        )
    return np.eye(count, dtype=dtype)[labels.astype(int)]


def one_cold(scores: Any) -> np.ndarray:
    """Return the index of the maximum of each row: the class of one-hot rows or of scores.

    >>> nbgrad.data.one_cold([[0.1, 0.9], [2.0, -1.0]])
    array([1, 0])
    """
    return np.argmax(np.asarray(scores), axis=-1)


class Scaling(NamedTuple):
    """The mean and standard deviation of each feature, to `apply` or `undo` a normalisation."""

    mean: np.ndarray
    deviation: np.ndarray

    def apply(self, x: Any) -> Any:
        return (x - self.mean) / self.deviation

    def undo(self, x: Any) -> Any:
        return x * self.deviation + self.mean


def normalise(x: Any) -> tuple[np.ndarray, Scaling]:
    """Return features with mean 0 and standard deviation 1 over the first axis, and the `Scaling`.

    Apply the scaling to new data. A constant feature becomes 0.

    >>> z, scaling = nbgrad.data.normalise(np.array([1.0, 3.0]))
    >>> z, scaling.apply(5.0), scaling.undo(z)
    (array([-1.,  1.]), np.float64(3.0), array([1., 3.]))
    """
    x = np.asarray(x)
    require_rows("normalise", (x,))
    deviation = x.std(axis=0)
    scaling = Scaling(x.mean(axis=0), np.where(deviation > 0, deviation, 1)[()])
    return scaling.apply(x), scaling
