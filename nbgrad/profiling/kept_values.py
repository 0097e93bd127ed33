"""The memory that a graph holds for its backward pass, by the ops that made the values."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..values import backward
from ..values.graph import Node
from .tally import Cell, Tally, cell_of_node

__all__ = ["Held", "look", "watchers"]

Held = dict[Cell, int]
"""Bytes by op and line."""
watchers: list[Callable[[int, Held], None]] = []
"""The open profiles: each is told the bytes of a graph, in all and by op."""


def look(passes: int, root: Any, tally: Tally, since: int) -> None:
    """Tell the open profiles what a graph holds, at the passes 1, 2, 4, 8 and so on of a line: a
    walk takes time, and most graphs of a line are alike."""
    roots = [root] if isinstance(root, Node) else list(root)
    if passes & (passes + 1) or any(x.level for x in roots):
        return
    held: Held = {}
    for node, size in _sizes(backward.history(*roots, since=since)):
        maker = cell_of_node(tally, node)
        held[maker] = held.get(maker, 0) + size
    total = sum(held.values())
    for tell in watchers:
        tell(total, held)


def _sizes(nodes: list[Node]) -> Iterator[tuple[Node, int]]:
    """Nodes, and the bytes of a value of theirs that the graph holds: each memory once, and none of
    leaves, which are there anyway."""
    seen: set[int] = set()
    for node in nodes:
        pairs = [(node, node.value), *zip(node.parents, node.saved or (), strict=False)]
        for maker, value in pairs:
            if maker is None or maker.plan is None or type(value) is not np.ndarray:
                continue
            while type(value.base) is np.ndarray:
                value = value.base
            if id(value) not in seen:
                seen.add(id(value))
                yield maker, value.nbytes
        record = getattr(node.plan, "params", {}).get("record")
        if record is not None:
            yield node, record.size
