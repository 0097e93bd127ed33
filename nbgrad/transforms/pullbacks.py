"""`rrule` and `pullback`: the value of a call and its pullback, for one rule, or for a function and
its state."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.array import functions
from ..core.remade import Remade
from ..errors import NoFloatError, NoRuleError
from . import trees
from .custom import CustomRule
from .direct import callee
from .elementwise import UserElementwise
from .reverse import pullback_of
from .run import Run
from .state import kept
from .transformed import Result

# Modules whose functions have a rule each, besides NumPy and SciPy.
_HOMES = ("_operator", "nbgrad.rules")


class Pullback(Remade):
    """A pullback whose repr names its function."""

    function = property(lambda self: self.arguments[1])

    def __repr__(self) -> str:
        f = self.arguments[1]
        return f"∂({getattr(f, '__name__', type(f).__name__)})"


def rrule(
    f: Callable[..., Result], *args: Any, **options: Any
) -> tuple[Result, Callable[[Any], tuple[Any, ...]]]:
    """Return the value of `f(*args)` and the pullback of its derivative rule.

    Arguments:
        f: a function with a rule: one of NumPy that nbgrad differentiates, an operator of the
            module `operator`, a function of nbgrad such as `nbgrad.mse`, or one with a custom rule.
        args: as the function takes them.
        options: keyword arguments, constants of the call.

    Returns `(value, back)`. `back(ct)` returns `(None, *cotangents)`: first None for the function,
    which has no state, then a cotangent for each argument, None for integers and other static
    arguments.

    Raises:
        NoRuleError: the function has no rule of its own; `pullback` differentiates through any
            function.

    >>> value, back = nbgrad.rrule(np.cos, 0.6)
    >>> back(1.0)
    (None, np.float64(-0.5646424733950354))
    """
    trees.require_function("rrule", f)
    if not _has_rule(f):
        name = getattr(f, "__name__", type(f).__name__)
        raise NoRuleError(
            f"rrule: {name} has no rule of its own: use nbgrad.pullback({name}, ...), which "
            "differentiates through it, or give it one with nbgrad.custom_rule"
        )
    args, options = tuple(map(kept, args)), kept(options) if options else options
    run = Run("rrule", f, args, range(len(args)), options, demand=False)
    value, back = _differentiated(run)
    return value, Pullback(lambda ct: (None, *back(ct)), _again, rrule, f, args, options)


def pullback(
    f: Callable[..., Result], *args: Any, **options: Any
) -> tuple[Result, Callable[[Any], tuple[Any, ...]]]:
    """Return the value of `f(*args)` and its pullback, which includes the state of `f`.

    Arguments:
        f: a function, a closure, a bound method or a callable model object.
        args: numbers, float arrays, or nested containers of them, including functions and objects
            that hold arrays; anything else is static.
        options: keyword arguments, constants of the call.

    Returns `(value, back)`. `back(ct)` returns `(state, *cotangents)`. The state is None for a
    plain function; for a closure, a dict of the gradients of the captured variables; for a bound
    method, the state of its object; for a model object, an object of its class with the gradients
    as attributes, None for those that are not differentiable. Functions among the arguments have
    such states too. `f` is called with copies of functions and objects, so attributes that it sets
    are lost.

    Raises:
        TypeError: nothing can be differentiated, or an object holds floats and its class is neither
            plain nor registered.

    >>> def line(a, b):
    ...     return lambda x: a * x + b
    >>> value, back = nbgrad.pullback(line(2.0, 3.5), 4.0)
    >>> float(value), back(1.0)
    (11.5, ({'a': np.float64(4.0), 'b': np.float64(1.0)}, np.float64(2.0)))
    """
    trees.require_function("pullback", f)
    f, *inputs = map(kept, (f, *args))
    options = kept(options) if options else options
    whole = (f, *inputs)
    run = Run("pullback", _call, whole, range(len(whole)), options, demand=False)
    value, back = _differentiated(run)
    return value, Pullback(back, _again, pullback, f, tuple(inputs), options)


def _again(op: Callable, f: Callable, args: tuple, options: dict) -> Callable:
    return op(f, *args, **options)[1]


def _call(f: Callable, *args, **options) -> Any:
    return callee(f)(*args, **options)


def _differentiated(run: Run) -> tuple[Any, Callable[[Any], tuple]]:
    if not any(run.nodes):
        raise NoFloatError(
            f"{run.op}: no argument holds a float to differentiate with respect to; "
            f"{trees.no_floats([])}"
        )
    return pullback_of(run, run.result)


def _has_rule(f: Callable) -> bool:
    """Return whether f is one op: of NumPy or SciPy, of nbgrad, or with a custom rule."""
    if isinstance(f, np.ufunc) and f"scipy.special.{f.__name__}" in functions:
        return True
    if isinstance(f, (CustomRule, UserElementwise)) or (f.__hash__ is not None and f in functions):
        return True
    return (getattr(f, "__module__", None) or "").startswith(_HOMES)
