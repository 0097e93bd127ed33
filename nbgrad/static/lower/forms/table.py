"""The table of static forms, which the modules beside this one fill.

`forms` maps the name of a row to `form(graph, symbol, *args)`, where `args` are values of
`values.py` and what is returned has the symbol's shape.
"""

from collections.abc import Callable

from ....symbols import Symbol
from ..values import Value

forms: dict[str, Callable[..., Value]] = {}


def form(*names: str) -> Callable[[Callable], Callable]:
    """Decorator: the static form of the rows of these names."""

    def register(function: Callable) -> Callable:
        forms.update(dict.fromkeys(names, function))
        return function

    return register


def place_of(symbol: Symbol) -> str:
    """The user's line, to end a message with."""
    return f" ({symbol.line})" if symbol.line else ""
