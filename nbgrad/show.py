"""Looking at a graph: `print_tree`."""

from typing import Any

import numpy as np

from . import graph
from .graph import Node
from .tracked import TrackedArray


def print_tree(x: TrackedArray) -> str:
    """Print what was computed from `x`, with values and gradients, and return the text.

    Children stand in order of creation. The root is shown in full, the rest to two digits; `None`
    stands where there is no gradient.

    >>> x, y = nbgrad.track(2.0, "x"), nbgrad.track(3.0, "y")
    >>> a = x * y
    >>> text = nbgrad.print_tree(x)
    x data: 2.0 grad: None
    └─ * data: 6.0 grad: None
    """
    if not isinstance(x, TrackedArray):
        raise TypeError(f"print_tree: a {type(x).__name__} is not tracked; use nbgrad.track")
    lines = [_line(x.node, str)]
    stack = [(child, "", last) for child, last in _children(x.node)]
    while stack:
        node, indent, last = stack.pop()
        lines.append(f"{indent}{'└─' if last else '├─'} {_line(node, _short)}")
        below = indent + ("   " if last else "│  ")
        stack.extend((child, below, is_last) for child, is_last in _children(node))
    text = "\n".join(lines)
    print(text)
    return text


_SIGNS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "matmul": "@"}


def _children(node: Node) -> list[tuple[Node, bool]]:
    """Children with whether they come last, reversed for a stack."""
    children = graph.live_children(node)
    return [(child, i == len(children) - 1) for i, child in enumerate(children)][::-1]


def _line(node: Node, show) -> str:
    array = graph.handle(node)
    name = _SIGNS.get(node.name, node.name)
    return f"{name} data: {_text(array.data, show)} grad: {_text(array.grad, show)}".strip()


def _text(value: Any, show) -> str:
    if value is None:
        return "None"
    if isinstance(value, TrackedArray):
        return _text(value.data, show)
    return show(value) if np.ndim(value) else show(float(value))


def _short(value: Any) -> str:
    """Two digits after the point, without trailing zeros beyond the first."""
    if isinstance(value, np.ndarray):
        return np.array2string(value, precision=2, threshold=8, edgeitems=2).replace("\n", "")
    text = f"{value:.2f}"
    return text[:-1] if text.endswith("0") and "e" not in text else text
