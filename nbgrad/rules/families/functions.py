"""Public elementwise functions: decorators that register the row of a function."""

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, TypeVar

from ...core.array import apply, implements
from ...core.primitive import bind
from .samples import Interval, in_doubles
from .scalar import Elementwise

F = TypeVar("F", bound=Callable)


def elementwise_function(
    body: str,
    domains: Interval | Sequence[Interval],
    *partials: Callable[..., Any] | str,
    **facts: Any,
) -> Callable[[F], F]:
    """Decorator: register a row under the name of a function, and return the function that applies
    it.

    The decorated function gives its name, arguments, defaults and docstring; its own body is
    empty. `body`, `domains`, `partials` and the other facts are those of `Elementwise`.
    """
    domains = [domains] if isinstance(domains, Interval) else domains

    def register(function: F) -> F:
        name = function.__name__
        row = Elementwise(None, body, partials, domains=domains, name=name, **facts)
        code = _CALLS[len(domains)].__code__
        code = code.replace(co_varnames=function.__code__.co_varnames, co_name=name)
        # The row is a global name of the function, as of others: closures are searched for state.
        known = {"row": row, "apply": apply, "bind": bind, "__name__": function.__module__}
        made: Any = FunctionType(code, known, name, function.__defaults__)
        made.__doc__, made.__qualname__ = function.__doc__, name
        return made

    return register


def scipy_function(
    body: str,
    domains: Interval | Sequence[Interval],
    *partials: Callable[..., Any] | str,
    of: str = "",
    **facts: Any,
) -> Callable[[F], F]:
    """`elementwise_function` for the function of `scipy.special` of the same name, or named `of`:
    its calls on tracked arrays mean the function, and it is the reference of the tests."""

    def register(function: F) -> F:
        name = of or function.__name__
        known = {"reference": f"scipy.special.{name}"}
        if not isinstance(domains, Interval):
            known = {"reference": in_doubles(name), "spelling": f"`scipy.special.{name}`"}
        made = elementwise_function(body, domains, *partials, **known | facts)(function)
        implements(f"scipy.special.{name}")(made)
        return made

    return register


row: Any = None  # a global name of its own in each function that is made of these
_CALLS: dict[int, Any] = {
    1: lambda x: apply(row, x),
    2: lambda x, y: bind(row, x, y),
    3: lambda x, y, z: bind(row, x, y, z),
}
