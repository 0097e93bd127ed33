"""Optimal Jacobian accumulation: elimination orders with few multiplications.

The factors of the chain rule can be multiplied from the inputs (forward mode), from the outputs
(reverse mode), or in any other order. `costs` counts the multiplications, `jacobian` computes the
Jacobian in a given order, and `record` returns the computational graph.

>>> rng = np.random.default_rng(0)
>>> a, b, c = (rng.normal(size=shape) for shape in ((5, 50), (100, 5), (10, 100)))
>>> def f(x): return c @ (b @ (a @ x))
>>> nbgrad.elimination.costs(f, np.ones(50))
{'forward': 75000, 'reverse': 7500, 'optimal': 7500}
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.primitive import new_level, shape_of
from ..runtime.kinds import is_a
from ..values.tracked import below
from . import orders, recording
from .accumulate import accumulate
from .graph import Graph
from .looks import draw, table
from .orders import order
from .structure import Edge

__all__ = ["Edge", "Graph", "costs", "draw", "jacobian", "order", "record", "table"]


def record(f: Callable, x: Any) -> Graph:
    """Return the linearised computational graph of `f` at x.

    The vertices are the operations between x and the result, with their numbers of elements.

    Arguments:
        f: a function that returns one array.
        x: a float or an array of floats, of any shape.

    If `f` uses only parts of x, such as x[0], these parts are the inputs of the graph, as in the
    literature; joining them takes no multiplications. The same holds for outputs.

    Raises TypeError if x holds no floats or `f` does not return one array.

    >>> g = nbgrad.elimination.record(lambda x: x[0] * x[1] * (x[1] + 1.0), np.array([2.0, 3.0]))
    >>> g
    <graph of 5 vertices, 2 of them intermediate, and 5 edges>
    """
    return recording.record(f, x).graph()


def costs(f: Callable, x: Any) -> dict[str, int]:
    """Count the multiplications of the Jacobian of `f` at x in forward, reverse and optimal mode.

    Optimal mode uses the best known order, which is never worse than the other two; see `order`.
    Only products of local Jacobians are counted, not their computation; see `Graph`. Arguments and
    errors are those of `record`.

    >>> w = np.ones((3, 40))
    >>> nbgrad.elimination.costs(lambda x: np.sin(w.T @ np.tanh(w @ np.sin(x))), np.ones(40))
    {'forward': 6640, 'reverse': 6640, 'optimal': 5160}
    """
    graph = record(f, x)
    return {name: graph.cost(order(graph, name)) for name in ("forward", "reverse", "optimal")}


def jacobian(f: Callable, x: Any, order: str | Sequence[int] = "optimal") -> Any:
    """Return the Jacobian of `f` at x, computed in a given elimination order.

    Arguments:
        f, x: as for `record`.
        order: a name accepted by the function `order`, or a permutation of the intermediate
            vertices of `record(f, x)`.

    Returns an array with the shape of f(x) followed by the shape of x, and the dtype of x; a number
    if both have no axes. All orders give the same result up to rounding. The function can be
    differentiated again.

    Local Jacobians are computed by pullbacks and pushforwards; only the blocks of block diagonal
    ones are stored. Zero times inf or nan is zero, as in reverse mode.

    Raises the errors of `record` and `order`, and ValueError for an order that does not contain
    each intermediate vertex once.

    >>> nbgrad.elimination.jacobian(lambda x: x[0] * x[1] * (x[1] + 1.0), np.array([2.0, 3.0]))
    array([12., 14.])
    """
    with new_level() as level:  # values tracked inside have a higher level
        recorded = recording.record(f, x)
    graph = recorded.graph()
    if isinstance(order, str):
        order = orders.order(graph, order)
    graph.costs(order)  # checks the order
    shape = shape_of(recorded.out) + shape_of(recorded.x)
    if not recorded.entries or 0 in shape:
        return np.zeros(shape, recorded.x.dtype)[()]
    out = np.reshape(accumulate(recorded, order), shape).astype(recorded.x.dtype)
    out = below(out, level)
    return out[()] if is_a(out, np.ndarray) else out
