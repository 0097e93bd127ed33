"""Whether the values of a lowered program fit together: for tests of what makes them."""

from collections.abc import Sequence

from nbgrad.errors import TraceError
from nbgrad.static.lower.buffered import Choice, Scan
from nbgrad.static.lower.values import Value, topological


def check_values(outputs: Sequence[Value]) -> None:
    """Raise TraceError for a value whose shape or dtype is not what its kind makes of its
    arguments, also in the steps of loops and the sides of choices.

    >>> from checkers.lowered import check_values
    >>> from nbgrad.static.lower.graph import Graph
    >>> from nbgrad.ir.reductions import SUM
    >>> graph = Graph()
    >>> check_values([graph.reduce(SUM, graph.input((2, 3), float), (0,))])
    """
    for value in topological(outputs):
        try:
            fits = value.fits()
        except ValueError:  # shapes that do not broadcast
            fits = False
        if not fits:
            arguments = ", ".join(map(repr, value.args))
            raise TraceError(f"{value} of ({arguments}): they do not fit together")
        inner = [value.step] if isinstance(value, Scan) else []
        for one in value.sides if isinstance(value, Choice) else inner:
            check_values([*one.outputs, *(ok for ok, _ in one.graph.checks)])
