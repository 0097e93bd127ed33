"""From arrays to batches: parts, minibatches, one-hot labels, normalised features."""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np

from ..errors import DimensionMismatch
from ..kernels.shapes import whole
from .sets import Random

Last = Literal["drop", "keep"]
"""What becomes of the rows that are too few for another batch."""


def require_rows(op: str, arrays: tuple) -> int:
    """The number of rows of arrays. Raises DimensionMismatch where they differ, ValueError where
    there are none."""
    if not arrays:
        raise ValueError(f"{op}: no arrays; give one or more whose first axis counts samples")
    shapes = [np.shape(x) for x in arrays]
    if not all(shapes) or len({shape[0] for shape in shapes}) > 1:
        raise DimensionMismatch(
            f"{op}: arrays of shapes {', '.join(map(str, shapes))}: the first axis counts samples, "
            "and must be as long for all"
        )
    if not shapes[0][0]:
        raise ValueError(f"{op}: the data set is empty: arrays of shape {shapes[0]}")
    return shapes[0][0]


def split(
    rng: Random, share: float, *arrays: Any, by: Any = None
) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """The rows of arrays in two parts, `(kept, held)`, of which the second has this share of them.

    Rows are chosen at random, the same of all arrays, and stay in order. With `by`, labels of
    shape (samples,), each label has its share held out.

    >>> (x, y), (held_x, held_y) = nbgrad.data.split(0, 0.25, np.arange(8), np.arange(8) % 2)
    >>> len(x), len(held_x)
    (6, 2)
    """
    n = require_rows("split", arrays)
    if not 0 < share < 1:
        raise ValueError(f"split: a share of {share}; give one between 0 and 1")
    rng = np.random.default_rng(rng)
    kinds = np.zeros(n, int) if by is None else np.asarray(by)
    require_rows("split", (arrays[0], kinds))
    held = np.zeros(n, dtype=bool)
    for kind in np.unique(kinds):
        members = rng.permutation(np.flatnonzero(kinds == kind))
        held[members[: round(len(members) * share)]] = True
    if held.all() or not held.any():
        raise ValueError(f"split: a share of {share} of {n} rows leaves one part empty")
    every = [np.asarray(x) for x in arrays]
    return tuple(x[~held] for x in every), tuple(x[held] for x in every)


def minibatches(
    seed: int, size: int, *arrays: Any, epochs: int = 1, last: Last = "drop"
) -> Iterator[tuple[np.ndarray, ...]]:
    """Batches of `size` rows of the arrays, in an order that is random in every epoch.

    `last="drop"` leaves out the rows at the end of an epoch that are too few for another batch;
    "keep" gives them as a smaller one. There is one batch at least, of all rows where they are
    fewer than `size`. The same seed gives the same batches.

    >>> [x.tolist() for (x,) in nbgrad.data.minibatches(0, 2, np.arange(5), last="keep")]
    [[2, 4], [3, 0], [1]]
    """
    order = Order(seed, require_rows("minibatches", arrays), size, last)
    every = [np.asarray(x) for x in arrays]
    for step in range(epochs * order.batches):
        rows = order.rows(step)
        yield tuple(x[rows] for x in every)


class Order:
    """Which rows each batch has: known for any step, whatever was asked before."""

    def __init__(self, seed: int, n: int, size: int, last: Last):
        if whole(size, "the size of a batch") < 1:
            raise ValueError(f"batches of {size} rows: give one or more")
        if whole(seed, "the seed of batches") < 0:
            raise ValueError(f"the seed of batches is {seed}; give one from 0 on")
        if last not in ("drop", "keep"):
            raise ValueError(f'last is {last!r}; it is "drop" or "keep"')
        self.seed, self.n, self.size = seed, n, min(size, n)
        self.batches = n // self.size if last == "drop" else -(-n // self.size)
        self._epoch, self._permutation = -1, np.zeros(0, int)

    def rows(self, step: int) -> np.ndarray:
        """The rows of a batch, counted from 0 over all epochs."""
        epoch, batch = divmod(step, self.batches)
        if epoch != self._epoch:
            rng = np.random.default_rng([self.seed, epoch])
            self._epoch, self._permutation = epoch, rng.permutation(self.n)
        return self._permutation[batch * self.size : (batch + 1) * self.size]


def one_hot(labels: Any, classes: int | None = None, dtype: Any = np.float64) -> np.ndarray:
    """A row for each label with 1 at its place: (samples,) gives (samples, classes).

    Without `classes`, there are as many as the largest label tells. Raises ValueError for labels
    outside of the classes, TypeError for others than integers.

    >>> nbgrad.data.one_hot([1, 0])
    array([[0., 1.],
           [1., 0.]])
    """
    labels = np.asarray(labels)
    if labels.dtype.kind not in "iub":
        raise TypeError(f"one_hot: labels of {labels.dtype}; they are integers from 0 on")
    count = (int(labels.max()) + 1 if labels.size else 0) if classes is None else classes
    if labels.size and not (0 <= labels.min() and labels.max() < count):
        raise ValueError(
            f"one_hot: labels from {labels.min()} to {labels.max()} for {count} classes; they are "
            f"0 to {count - 1}"
        )
    return np.eye(count, dtype=dtype)[labels.astype(int)]


def one_cold(scores: Any) -> np.ndarray:
    """The place of the largest number of each row: the labels of one-hot rows, the classes that
    probabilities or logits speak for.

    >>> nbgrad.data.one_cold([[0.1, 0.9], [2.0, -1.0]])
    array([1, 0])
    """
    return np.argmax(np.asarray(scores), axis=-1)


class Scaling(NamedTuple):
    """A shift and a scale for each feature: `apply` subtracts and divides, `undo` goes back."""

    mean: np.ndarray
    deviation: np.ndarray

    def apply(self, x: Any) -> Any:
        return (x - self.mean) / self.deviation

    def undo(self, x: Any) -> Any:
        return x * self.deviation + self.mean


def normalise(x: Any) -> tuple[np.ndarray, Scaling]:
    """Features with mean 0 and standard deviation 1 over the samples, the first axis, and the
    scaling that made them so, for data that comes later. A constant feature becomes 0.

    >>> z, scaling = nbgrad.data.normalise(np.array([1.0, 3.0]))
    >>> z, scaling.apply(5.0), scaling.undo(z)
    (array([-1.,  1.]), np.float64(3.0), array([1., 3.]))
    """
    x = np.asarray(x)
    require_rows("normalise", (x,))
    deviation = x.std(axis=0)
    scaling = Scaling(x.mean(axis=0), np.where(deviation > 0, deviation, 1)[()])
    return scaling.apply(x), scaling
