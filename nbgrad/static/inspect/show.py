"""Inspection: `print_tree` and `draw` show graphs of tracked arrays, `show` compiled functions."""

from collections.abc import Callable, Iterator
from reprlib import Repr

import numpy as np

from ...errors import ArgumentTypeError
from ...runtime.kinds import is_a
from ...values import graph
from ...values.base import titled
from ...values.drawing import HEAD, Drawing, quoted
from ...values.graph import Node
from ...values.operands import aval_of
from ...values.tracked import TrackedArray
from ...values.writing import Overwritten
from ..entry.flatten import Leaf
from ..function import StaticFunction
from ..variant import Variant
from .page import Page
from .report import in_bytes


def print_tree(x: TrackedArray) -> str:
    """Print the arrays computed from `x`, with values and gradients, and return the text.

    Children are in the order of creation. The root is shown in full, the others with two digits.
    `None` means no gradient.

    >>> x, y = nbgrad.track(2.0, "x"), nbgrad.track(3.0, "y")
    >>> a = x * y
    >>> text = nbgrad.print_tree(x)
    x data: 2.0 grad: None
    └─ * data: 6.0 grad: None
    """
    if not isinstance(x, TrackedArray):
        raise ArgumentTypeError(
            f"print_tree: a {type(x).__name__} is not tracked; use nbgrad.track"
        )
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


def _children(node: Node) -> list[tuple[Node, bool]]:
    """Return the children in reverse order, each with a flag for the last one."""
    children = graph.live_children(node)
    return [(child, i == len(children) - 1) for i, child in enumerate(children)][::-1]


def _line(node: Node, show) -> str:
    array = graph.handle(node)
    gone = type(node.value) is Overwritten
    data = "overwritten" if gone else _text(array.data, show)
    return f"{titled(node)} data: {data} grad: {_text(array.grad, show)}".strip()


def _text(value: Leaf | TrackedArray | None, show: Callable) -> str:
    if value is None:
        return "None"
    if isinstance(value, TrackedArray):
        return _text(value.data, show)
    return show(value) if np.ndim(value) else show(float(value))


def _short(value: np.ndarray | float) -> str:
    """Format with two digits after the point, without a second trailing zero."""
    if is_a(value, np.ndarray):
        return np.array2string(value, precision=2, threshold=8, edgeitems=2).replace("\n", "")
    text = f"{value:.2f}"
    return text[:-1] if text.endswith("0") and "e" not in text else text


# -- show -----------------------------------------------------------------------------------------


def show(fn: object) -> Page:
    """Return a page about a compiled function: the recorded program, the plan with operations and
    buffers, and the generated code, with your line beside each step.

    `fn` is a compiled function that has been called, or one of its variants. A notebook displays
    the page; `print` shows it as text, and `.save(path)` writes it as HTML.

    Raises:
        TraceError: the function does not have exactly one variant.
        TypeError: `fn` is not compiled.

    >>> f = nbgrad.compile(lambda x: np.sum(x * x))
    >>> value = f(np.ones(3))
    >>> nbgrad.show(f).plan.summary
    'compiled: 1 step, 7 flops, 24 B read, 0 B written, 0 B of scratch'
    """
    if isinstance(fn, StaticFunction):
        fn = fn.only_variant("show")
    if not isinstance(fn, Variant):
        raise ArgumentTypeError(f"show: a {type(fn).__name__} is not compiled; use nbgrad.compile")
    return Page(fn.program, fn.plan, fn.source)


# -- draw -----------------------------------------------------------------------------------------


def draw(z: object) -> Drawing:
    """Return the graph of the tracked array `z` in the DOT language of Graphviz.

    Each array is a box with its op, shape, dtype and size; leaves have their names. Plain numbers
    and arrays are operands without a box. After a backward pass that freed the graph, only `z`
    itself is shown.

    A notebook displays the picture. Elsewhere, `draw(z).svg()` returns the picture and
    `str(draw(z))` the text.

    >>> x = nbgrad.track(np.ones((2, 3)), "x")
    >>> print(nbgrad.draw(np.tanh(x)))
    digraph {
      rankdir=TB
      node [shape=box style="rounded,filled" fillcolor=white fontname=Helvetica fontsize=11]
      edge [color=gray30 arrowsize=0.7]
      n0 [label="x\\nfloat64 (2, 3)\\n48 B" fillcolor="#dbe9f6"]
      n1 [label="tanh\\nfloat64 (2, 3)\\n48 B" penwidth=2]
      n0 -> n1
    }
    """
    if not isinstance(z, TrackedArray):
        raise ArgumentTypeError(f"draw: a {type(z).__name__} is not tracked; use nbgrad.track")
    number: dict[Node, str] = {}
    lines = []
    for node in _computed_from(z.node):
        number[node] = f"n{len(number)}"
        look = ""
        if node.plan is None:
            look = ' fillcolor="#dbe9f6"'
        elif node is z.node:
            look = " penwidth=2"
        lines.append(f"  {number[node]} [label={quoted(*_facts(node))}{look}]")
        for i, parent in enumerate(node.parents):
            if parent is not None:
                lines.append(f"  {number[parent]} -> {number[node]}")
                continue
            plain = f"{number[node]}_{i}"
            label = quoted(*_plain_facts((node.saved or ())[i]))
            lines.append(f"  {plain} [label={label} shape=plaintext style=solid fontcolor=gray40]")
            lines.append(f"  {plain} -> {number[node]} [color=gray60]")
    return Drawing("\n".join([HEAD, *lines, "}"]))


class _Brief(Repr):
    """A short `repr`, with slices in Python's syntax."""

    def repr_slice(self, x: slice, level: int) -> str:
        start, stop, step = (
            "" if part is None else str(part) for part in (x.start, x.stop, x.step)
        )
        return f"{start}:{stop}" + (f":{step}" if step else "")


_brief = _Brief()


def _computed_from(root: Node) -> Iterator[Node]:
    """Return the nodes that `root` was computed from, in topological order."""
    done: set[Node] = set()
    stack = [(root, False)]
    while stack:
        node, parents_done = stack.pop()
        if node in done:
            continue
        if parents_done:
            done.add(node)
            yield node
        else:
            stack.append((node, True))
            parents = [parent for parent in node.parents if parent is not None]
            stack.extend((parent, False) for parent in reversed(parents))


def _facts(node: Node) -> list[str]:
    """Return the lines of text in the box of a node."""
    if node.plan is None:
        title = node.name or "leaf"
    else:
        params = node.plan.params.items()
        told = ", ".join(f"{key}={_brief.repr(v)}" for key, v in params if v is not False)
        title = titled(node) + (f"({told})" if told else "")
        if node.saved is None:
            title += " (freed)"
    aval = aval_of(node.value)
    return [title, f"{aval.dtype} {aval.shape}", in_bytes(aval.size * aval.dtype.itemsize)]


def _plain_facts(value: np.ndarray | np.generic) -> list[str]:
    if np.ndim(value) == 0:
        return [_brief.repr(np.asarray(value).item())]
    return [f"{value.dtype} {value.shape}"]
