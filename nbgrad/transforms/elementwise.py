"""`custom_elementwise`: a user's scalar function as a primitive like the built-in ones."""

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any, overload

from ..core.array import Array
from ..core.primitive import Primitive, bind
from ..core.remade import Remade
from ..eager.emission import expression
from ..errors import ArgumentError, ArgumentTypeError
from ..ir.functions import called
from ..ir.scalar import Expr, arguments, parse
from ..rules.families import Elementwise, reals
from ..values.operands import operand

# A user's function has at most so many arguments.
NAMES = ("x", "y", "z")


@overload
def custom_elementwise(
    body: str | Callable[..., Any],
    *,
    partials: Sequence[Callable[..., Any] | None],
    name: str = "",
) -> Callable[..., Any]: ...
@overload
def custom_elementwise(
    *, partials: Sequence[Callable[..., Any] | None], name: str = ""
) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...
def custom_elementwise(
    body: str | Callable | None = None, *, partials: Sequence[Callable | None], name: str = ""
) -> Any:
    """Define an elementwise op by a scalar expression and its partial derivatives.

    Arguments:
        body: a scalar expression over x, then y, then z, such as `"x / (1.0 + exp(-x))"`, or a
            Python function of up to three arguments made of NumPy functions and operators, which is
            recorded once. Without `body`, a decorator is returned.
        partials: for each argument, `partial(*args, out)`, the derivative with respect to it, made
            of NumPy functions, or None.
        name: the name in errors and graphs, by default that of the function.

    The returned function behaves like a built-in op: it broadcasts, its loops are compiled, and it
    works in forward and reverse mode, to any order, batched and in compiled functions. Check the
    partials with `nbgrad.check_grads`.

    Raises:
        ValueError: the body has other names, or the number of partials is wrong.

    >>> @nbgrad.custom_elementwise(partials=[lambda x, out: 1.0 / (1.0 + np.exp(-x))])
    ... def softplus(x):
    ...     return np.log1p(np.exp(x))
    >>> nbgrad.grad(softplus)(0.0)
    np.float64(0.5)
    """
    if body is None:
        return lambda code: custom_elementwise(code, partials=partials, name=name)
    partials = list(partials)
    name = name or getattr(body, "__name__", "elementwise")
    if not 1 <= len(partials) <= len(NAMES) or not all(p is None or callable(p) for p in partials):
        raise ArgumentError(
            f"{name}: {len(partials)} partials; pass a function, or None, for each of one to "
            f"{len(NAMES)} arguments",
            code="NB-CUSTOM",
        )
    if isinstance(body, str):
        expr = _checked(name, body, len(partials))
    else:
        expr = _recorded(name, getattr(body, "py_func", body), len(partials))
    primitive = _UserElementwise(name, expr, partials)

    def computes(*args):
        if len(args) != primitive.arity:
            raise ArgumentTypeError(
                f"{name}: {len(args)} arguments; it takes {primitive.arity}", code="NB-CUSTOM"
            )
        return bind(
            primitive, *(x if isinstance(x, Array) else operand(x, primitive) for x in args)
        )

    function: Any = UserElementwise(computes, _again, body, partials, name)
    function.__name__ = name
    function.__doc__ = getattr(body, "__doc__", None) if callable(body) else f"`{expr}`"
    function.__module__ = getattr(body, "__module__", __name__)
    return function


class UserElementwise(Remade):
    """An op returned by `custom_elementwise`."""


def _again(body: str | Callable, partials: list, name: str) -> Any:
    return custom_elementwise(body, partials=partials, name=name)


class _UserElementwise(Elementwise):
    """An elementwise primitive outside of the registry."""

    registered = False

    def __init__(self, name: str, body: Expr, partials: list):
        # Kernels carry the name; the built-in ones are known by theirs.
        label = re.sub(r"\W", "_", name)
        label = label if label.isidentifier() and label not in Primitive.registry else f"my_{label}"
        super().__init__(None, body, partials, domains=[reals] * len(partials), name=label)


def _checked(name: str, body: str, arity: int) -> Expr:
    """Parse the body. Raises ValueError for unknown names."""
    try:
        expr = parse(body)
    except ValueError as wrong:
        raise ArgumentError(f"{name}: {wrong}", code="NB-CUSTOM") from None
    unknown = sorted(arguments(expr) - set(NAMES[:arity]))
    if unknown:
        raise ArgumentError(
            f"{name}: the body {body!r} uses {', '.join(unknown)}; it may use "
            f"{', '.join(NAMES[:arity])}, numbers, operators and {', '.join(called())}",
            code="NB-CUSTOM",
        )
    return expr


def _recorded(name: str, f: Callable, arity: int) -> Expr:
    """Record the body of a Python function on symbols."""
    count = len(inspect.signature(f).parameters)
    if count != arity:
        raise ArgumentError(
            f"{name}: {arity} partials for a function of {count} arguments", code="NB-CUSTOM"
        )
    try:
        return expression(f, arity)[0]
    except OverflowError:
        raise ArgumentError(
            f"{name}: the function is too long to be one expression: use nbgrad.custom_rule, or "
            "nbgrad.njit, which needs no rule",
            code="NB-CUSTOM",
        ) from None
