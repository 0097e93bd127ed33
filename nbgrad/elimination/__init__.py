"""Optimal Jacobian accumulation: in which order a Jacobian takes the fewest multiplications.

The chain rule may be multiplied out from the inputs (forward mode), from the outputs (reverse
mode), or from anywhere between. `costs` counts the multiplications, `jacobian` computes in the
order that is asked for, and `record` gives the graph to look at.

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
    """The linearised computational graph of `f` at x: each op that the result depends on through x
    is a vertex, with the number of elements that it has there.

    Arguments:
        f: gives one array for x.
        x: a float or an array of floats, of any shape.

    Where `f` only takes x apart, as by x[0], the parts are the inputs of the graph, as the
    literature has it; in the end they are put together for nothing. So it is with outputs.

    Raises TypeError where x holds no floats or `f` gives something else than one array.

    >>> g = nbgrad.elimination.record(lambda x: x[0] * x[1] * (x[1] + 1.0), np.array([2.0, 3.0]))
    >>> g
    <graph of 5 vertices, 2 of them intermediate, and 5 edges>
    """
    return recording.record(f, x).graph()


def costs(f: Callable, x: Any) -> dict[str, int]:
    """How many multiplications the Jacobian of `f` at x takes in forward and in reverse mode, and
    in the best order that is known, which takes no more than the better of the two.

    Arguments: as for `record`, and it raises the same. `order` says which orders are compared, and
    `Graph` what is counted: products of local Jacobians, not the computation of these.

    >>> w = np.ones((3, 40))
    >>> nbgrad.elimination.costs(lambda x: np.sin(w.T @ np.tanh(w @ np.sin(x))), np.ones(40))
    {'forward': 6640, 'reverse': 6640, 'optimal': 5160}
    """
    graph = record(f, x)
    return {name: graph.cost(order(graph, name)) for name in ("forward", "reverse", "optimal")}


def jacobian(f: Callable, x: Any, order: str | Sequence[int] = "optimal") -> Any:
    """The Jacobian of `f` at x, multiplied out in the order that is asked for.

    Arguments:
        f, x: as for `record`.
        order: a name that the function `order` knows, or the intermediate vertices of
            `record(f, x)` in any order.

    Returns an array of the shape of f(x) followed by the shape of x, of the dtype of x; a number
    where both have no axes. All orders give the same up to rounding. It can be differentiated
    again.

    Local Jacobians come from the pullbacks and pushforwards of the ops; of block diagonal ones only
    the blocks are kept. Zero times inf or nan is zero, as in reverse mode.

    Raises what `record` and `order` do, and ValueError for an order that does not name every
    intermediate vertex once.

    >>> nbgrad.elimination.jacobian(lambda x: x[0] * x[1] * (x[1] + 1.0), np.array([2.0, 3.0]))
    array([12., 14.])
    """
    with new_level() as level:  # what is tracked inside lies above it
        recorded = recording.record(f, x)
    graph = recorded.graph()
    if isinstance(order, str):
        order = orders.order(graph, order)
    graph.costs(order)  # raises where it is none
    shape = shape_of(recorded.out) + shape_of(recorded.x)
    if not recorded.entries or 0 in shape:
        return np.zeros(shape, recorded.x.dtype)[()]
    out = np.reshape(accumulate(recorded, order), shape).astype(recorded.x.dtype)
    out = below(out, level)
    return out[()] if is_a(out, np.ndarray) else out
