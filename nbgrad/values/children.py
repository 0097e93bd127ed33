"""`x.children`: the arrays computed from x, with their pullbacks."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ..errors import ArgumentTypeError, coded
from ..runtime.kinds import is_a
from . import graph
from .gradients import contributions_to
from .graph import Node
from .operands import cotangent


class Children(Mapping):
    """A mapping from each live array computed from x to its pullback, in order of creation.

    `x.children[z](ct)` is the contribution of z to the gradient of x, for a cotangent of z. Keys
    are compared by identity.
    """

    def __init__(self, node: Node):
        self._node = node

    def __getitem__(self, child: Any) -> Callable[[Any], Any]:
        if child not in self:
            raise KeyError(
                coded(
                    "that array was not computed from this one; list(x.children) were", "NB-GRAPH"
                )
            )

        def pullback(ct):
            seed = cotangent(ct, child.aval, child.name, child.level)
            contributions = contributions_to(self._node, child.node, seed)
            parts = [part for part in contributions if part is not None]
            total = sum(parts[1:], parts[0])
            return total[()] if is_a(total, np.ndarray) and total.ndim == 0 else total

        return pullback

    def __iter__(self) -> Iterator[Any]:
        return map(graph.handle, graph.live_children(self._node))

    def __len__(self) -> int:
        return len(graph.live_children(self._node))

    def __contains__(self, child: Any) -> bool:
        return getattr(child, "node", None) in graph.live_children(self._node)

    def __copy__(self) -> "Children":
        return Children(self._node)

    def __deepcopy__(self, memo: dict) -> Any:
        return self.__reduce__()

    def __reduce__(self) -> Any:
        raise ArgumentTypeError(
            "x.children shows a graph that is alive: it is neither copied deeply nor pickled. Copy "
            "x, which gives a leaf with its value, or keep the numbers of the pullbacks",
            code="NB-PICKLE",
        )

    def __repr__(self) -> str:
        return f"{{{', '.join(f'{child!r}: pullback' for child in self)}}}"
