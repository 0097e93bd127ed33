"""Defects of trees, indices, numbers and partials, each put back for a block."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from unittest import mock

import numpy as np

from nbgrad.core.primitive import Primitive
from nbgrad.eager import emission


def objects_are_leaves() -> AbstractContextManager:
    """A plain object counts as a constant: None is its gradient."""
    return mock.patch("nbgrad.transforms.trees.opened", lambda leaves, *_: leaves)


def closures_are_leaves() -> AbstractContextManager:
    """What closures capture among the arguments counts as a constant."""
    return mock.patch("nbgrad.transforms.state._part", lambda *_: None)


def labels_are_not_checked() -> AbstractContextManager:
    """A label of -1 in a batch counts from the end."""
    return mock.patch("nbgrad.rules.loss._labels", lambda labels, **_: labels)


def numbers_widen() -> AbstractContextManager:
    """A number of Python's that is assigned counts as float64."""
    assigned = Primitive.registry["assign"].evaluate
    wide = lambda x, value, *, index: assigned(x, np.asarray(value), index=index)  # noqa: E731
    return mock.patch.object(Primitive.registry["assign"], "evaluate", wide)


@contextmanager
def tails_are_lost() -> Iterator[None]:
    """The slope of sigmoid as out * (1 - out), which is 0 from 37 on."""
    row = Primitive.registry["sigmoid"]
    partials = [lambda x, out: out * (1.0 - out)]
    emission._pullback_of.cache_clear()
    try:
        with mock.patch.multiple(row, partials=partials, plans={}):
            yield
    finally:
        emission._pullback_of.cache_clear()


DEFECTS: dict[str, Callable[[], AbstractContextManager]] = {
    "objects-are-leaves": objects_are_leaves,
    "closures-are-leaves": closures_are_leaves,
    "labels-are-not-checked": labels_are_not_checked,
    "numbers-widen": numbers_widen,
    "tails-are-lost": tails_are_lost,
}
