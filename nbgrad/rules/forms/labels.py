"""Static forms of labels of classes and of their cross entropy."""

from collections.abc import Callable
from typing import Any

from ...errors import ArgumentError
from ..dtypes import BOOL, INT


def label_cross_entropy(definition: Callable) -> Callable:
    """The form of the cross entropy of labels: `definition` with a mask of the labels."""

    def form(graph, symbol, x, labels):
        mask = _mask(graph, labels, x.shape)
        return graph.recorded(symbol, definition, (graph.cast(x, symbol.dtype), mask), 0.0)

    return form


def labels(graph, symbol, labels):
    classes = symbol.params["classes"]
    message = f"{symbol.params['op']}: a label is not one of the {classes} classes, numbered from 0"
    return graph.within(graph.cast(labels, INT), 0, classes, message, ArgumentError)


def _mask(graph: Any, labels: Any, shape: tuple) -> Any:
    """The mask of positions along the last axis that are the label of the row."""
    places = graph.iota(shape, len(shape) - 1)
    column = graph.reshape(graph.cast(labels, INT), (*shape[:-1], 1))
    return graph.map("x == y", (places, column), BOOL, shape)


def one_hot(graph, symbol, labels):
    mask = _mask(graph, labels, symbol.shape)
    one, zero = (graph.full(number, (), symbol.dtype) for number in (1.0, 0.0))
    return graph.map("select(x, y, z)", (mask, one, zero), symbol.dtype)
