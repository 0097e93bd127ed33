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

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import shape_of
from .accumulate import accumulate
from .exact import Order, chain, exhaustive
from .graph import Graph
from .looks import draw, table
from .orders import NAMED, forward, local_search, markowitz, optimal, reverse
from .recording import record as _record
from .structure import Edge

__all__ = [
    "Edge",
    "Graph",
    "chain",
    "costs",
    "draw",
    "exhaustive",
    "forward",
    "jacobian",
    "local_search",
    "markowitz",
    "optimal",
    "record",
    "reverse",
    "table",
]


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
    return _record(f, x).graph()


def costs(f: Callable, x: Any) -> dict[str, int]:
    """How many multiplications the Jacobian of `f` at x takes in forward and in reverse mode, and
    in the best order that is known, which takes no more than the better of the two.

    Arguments: as for `record`, and it raises the same. `optimal` says which orders are compared,
    `Graph` what is counted: products of local Jacobians, not the computation of these.

    >>> nbgrad.elimination.costs(lambda x: np.sum(np.sin(x) * np.cos(x)), np.ones(8))
    {'forward': 16, 'reverse': 16, 'optimal': 16}
    """
    graph = _record(f, x).graph()
    return {name: graph.cost(NAMED[name](graph)) for name in ("forward", "reverse", "optimal")}


def jacobian(f: Callable, x: Any, order: str | Order = "optimal") -> Any:
    """The Jacobian of `f` at x, multiplied out in the order that is asked for.

    Arguments:
        f, x: as for `record`.
        order: "optimal", "forward", "reverse", "markowitz", or the intermediate vertices of
            `record(f, x)` in any order.

    Returns an array of the shape of f(x) followed by the shape of x. All orders give the same up to
    rounding. It can be differentiated again.

    Raises what `record` does, and ValueError for another order.

    >>> nbgrad.elimination.jacobian(lambda x: x[0] * x[1] * (x[1] + 1.0), np.array([2.0, 3.0]))
    array([12., 14.])
    """
    recording = _record(f, x)
    shape = shape_of(recording.out) + shape_of(recording.x)
    graph = recording.graph()
    if isinstance(order, str):
        if order not in NAMED:
            raise ValueError(
                f"elimination: there is no order {order!r}; name one of {', '.join(NAMED)}, or "
                "give the intermediate vertices"
            )
        order = NAMED[order](graph)
    else:
        graph.costs(order)
    if not recording.steps or 0 in shape:
        return np.zeros(shape, recording.x.dtype)
    return np.reshape(accumulate(recording, order), shape).astype(recording.x.dtype)
