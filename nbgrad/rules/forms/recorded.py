"""Static forms of rows that are defined by other rows."""

from collections.abc import Callable


def recorded(definition: Callable, empty: float = 0.0) -> Callable:
    """The form of a row with a definition in NumPy, whose ops are recorded in its place. The result
    is filled with `empty` if an argument has no elements."""

    def form(graph, symbol, *args):
        args = [graph.cast(x, symbol.dtype) for x in args]
        return graph.recorded(symbol, definition, args, empty)

    return form
