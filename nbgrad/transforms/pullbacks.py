"""`rrule` and `pullback`: the value of a call with its pullback, for one rule or a whole function
with the state that it holds."""

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..array import functions
from ..errors import NoRuleError
from . import trees
from .custom import CustomRule
from .reverse import pullback_of
from .run import Run

# Where functions live that are one rule each, besides those of NumPy and SciPy.
_HOMES = ("_operator", "nbgrad.rules", "nbgrad.elementwise")


def rrule(f: Callable, *args) -> tuple[Any, Callable[[Any], tuple]]:
    """The value of `f(*args)` and the pullback of that one rule.

    Arguments:
        f: a function with a rule: one of NumPy that nbgrad differentiates, an operator of the
            module `operator`, a function of nbgrad such as `nbgrad.mse`, or one with a custom rule.
        args: as the function takes them.

    Returns `(value, back)`. `back(ct)` gives `(None, *cotangents)`: first the gradient of the
    function itself, which has no state, then a cotangent for each argument, None for integers and
    other static arguments.

    Raises NoRuleError for a function without a rule: `pullback` takes any function apart.

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
    value, back = _differentiated("rrule", f, args)
    return value, lambda ct: (None, *back(ct))


def pullback(f: Callable, *args) -> tuple[Any, Callable[[Any], tuple]]:
    """The value of `f(*args)` and its pullback, with the gradient of what `f` itself holds.

    Arguments:
        f: a function, a closure, a bound method or a model object that can be called.
        args: numbers, float arrays, or nested ones; anything else is static.

    Returns `(value, back)`. `back(ct)` gives `(state, *cotangents)`. The state is None for a plain
    function; for a closure, a dict of the floats and float arrays that it captures, by name; for a
    model object, an object of its class with the gradients in place of the fields, None for what is
    not differentiable.

    Raises TypeError where nothing can be differentiated.

    >>> def line(a, b):
    ...     return lambda x: a * x + b
    >>> value, back = nbgrad.pullback(line(2.0, 3.5), 4.0)
    >>> float(value), back(1.0)
    (11.5, ({'a': np.float64(4.0), 'b': np.float64(1.0)}, np.float64(2.0)))
    """
    trees.require_function("pullback", f)
    state, rebuild = state_of(f)
    if state is None:
        value, back = _differentiated("pullback", f, args)
        return value, lambda ct: (None, *back(ct))
    return _differentiated("pullback", lambda held, *given: rebuild(held)(*given), (state, *args))


def _differentiated(op: str, f: Callable, args: tuple) -> tuple[Any, Callable[[Any], tuple]]:
    run = Run(op, f, args, range(len(args)), {}, demand=False)
    if not any(node for nodes in run.leaves for node in nodes):
        raise TypeError(
            f"{op}: no argument holds a float to differentiate with respect to; all but floats are "
            "static, so write 2.0 for 2 or convert the array to float64"
        )
    return pullback_of(run, run.result)


def _has_rule(f: Callable) -> bool:
    """Whether f is a function of NumPy or SciPy that takes tracked arrays, or one of nbgrad's."""
    if isinstance(f, np.ufunc) and f"scipy.special.{f.__name__}" in functions:
        return True
    if isinstance(f, CustomRule) or (f.__hash__ is not None and f in functions):
        return True
    return (getattr(f, "__module__", None) or "").startswith(_HOMES)


def state_of(f: Any) -> tuple[Any, Callable[[Any], Callable]]:
    """What `f` holds that can be differentiated, and how to make the same function with another
    state; None where it holds nothing."""
    if isinstance(f, types.FunctionType):
        return _captured(f) or None, lambda new: _closed_over(f, new)
    if isinstance(f, types.MethodType):
        return _fields(f.__self__), lambda new: types.MethodType(f.__func__, new)
    return (None if _has_rule(f) else _fields(f)), lambda new: new


def _fields(model: Any) -> Any:
    """The object as a tree of its attributes, or None for one without any."""
    leaves, _ = trees.flatten(model)
    if len(leaves) == 1 and leaves[0] is model:
        if not getattr(model, "__dict__", None) or isinstance(model, (type, types.ModuleType)):
            return None
        trees.register(type(model))
    return model


def _captured(f: types.FunctionType) -> dict[str, Any]:
    """The differentiable values in the cells of a closure, by name."""
    found = {}
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
        try:
            value = cell.cell_contents
        except ValueError:  # not yet set: a function that names itself
            continue
        if value is not f and any(map(trees.is_differentiable, trees.flatten(value)[0])):
            found[name] = value
    return found


def _closed_over(f: types.FunctionType, values: dict[str, Any]) -> Callable:
    """`f` with other values in its cells."""
    cells = tuple(
        types.CellType(values[name]) if name in values else cell
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True)
    )
    new = types.FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, cells)
    new.__kwdefaults__ = f.__kwdefaults__
    return new
