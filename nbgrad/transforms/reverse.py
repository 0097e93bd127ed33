"""Reverse mode as functions of functions: `gradient`, `grad`, `value_and_grad`."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from .. import graph
from ..array import Array
from ..core import new_level, shape_of
from ..errors import DimensionMismatch
from ..graph import Leaf
from ..leaves import leaf_of
from ..tracked import TrackedArray
from . import trees


def gradient(f: Callable, *args) -> tuple:
    """The gradient of a scalar function with respect to each of its arguments, always a tuple.

    Arguments:
        f: gives one number, as an array of one element, for the arguments.
        args: numbers, float arrays, or nested dicts, lists and tuples of them. Integers inside
            are passed on as they are and get None; an argument that holds nothing else is an error.

    Raises TypeError where `f` gives no tracked number or an argument has nothing to
    differentiate, DimensionMismatch where its result has more than one element.

    >>> nbgrad.gradient(lambda x, y: x * y + np.sin(x), 2.0, 3.0)
    (np.float64(2.5838531634528574), np.float64(2.0))
    """
    trees.require_function("gradient", f)
    _, gradients = _value_and_gradients(f, args, tuple(range(len(args))), {})
    return gradients


def grad(f: Callable, argnums: int | tuple[int, ...] = 0) -> Callable:
    """The function that gives the gradient of `f` with respect to its argument `argnums`.

    It takes what `f` takes. With a tuple of `argnums` it gives a tuple. It can be differentiated
    again: `grad(grad(f))`.

    >>> float(nbgrad.grad(nbgrad.grad(np.tanh))(0.5)).__round__(6)
    -0.726862
    """
    both = value_and_grad(f, argnums)

    @wraps(f, assigned=("__module__", "__name__", "__doc__"), updated=())
    def gradient_of(*args, **options):
        return both(*args, **options)[1]

    return gradient_of


def value_and_grad(f: Callable, argnums: int | tuple[int, ...] = 0) -> Callable:
    """The function that gives the value of `f` and its gradient with respect to `argnums`.

    The gradient has the structure of the argument: an array, or nested dicts, lists and tuples.

    >>> value, slope = nbgrad.value_and_grad(lambda p: np.sum(p["w"] ** 2))({"w": np.ones(2)})
    >>> float(value), slope
    (2.0, {'w': array([2., 2.])})
    """
    trees.require_function("gradient", f)
    positions = argnums if isinstance(argnums, tuple) else (argnums,)
    if not all(isinstance(position, int) for position in positions):
        raise TypeError(
            f"gradient: argnums is {argnums!r}; give the position of an argument, or a tuple of "
            "positions"
        )

    @wraps(f, assigned=("__module__", "__name__", "__doc__"), updated=())
    def value_and_gradient_of(*args, **options):
        for position in positions:
            if not -len(args) <= position < len(args):
                raise ValueError(
                    f"gradient: argnums {argnums} with {len(args)} positional arguments: give the "
                    "argument to differentiate by position"
                )
        wanted = tuple(position % len(args) for position in positions)
        value, gradients = _value_and_gradients(f, args, wanted, options)
        return value, gradients[0] if isinstance(argnums, int) else gradients

    return value_and_gradient_of


def _value_and_gradients(f: Callable, args: tuple, positions: tuple[int, ...], options: dict):
    flat = [trees.flatten(args[position]) for position in positions]
    with new_level(trees.level_above(leaf for leaves, _ in flat for leaf in leaves)) as level:
        given, rebuilders, wanted = list(args), [], []
        for position, (leaves, rebuild) in zip(positions, flat, strict=True):
            tracked = [
                leaf_of(leaf, level) if trees.is_differentiable(leaf) else leaf for leaf in leaves
            ]
            if not any(isinstance(leaf, TrackedArray) for leaf in tracked):
                raise TypeError(
                    f"gradient: argument {position} holds no float to differentiate with respect "
                    f"to ({type(args[position]).__name__}); all but floats are static, so write "
                    "2.0 for 2 or convert the array to float64"
                )
            given[position] = rebuild(tracked)
            rebuilders.append(rebuild)
            wanted.append(
                [leaf.node if isinstance(leaf, TrackedArray) else None for leaf in tracked]
            )
        out = f(*given, **options)
        value, found = _pull(out, level, {node for nodes in wanted for node in nodes})
        gradients = tuple(
            rebuild([None if node is None else _gradient_of(node, found) for node in nodes])
            for rebuild, nodes in zip(rebuilders, wanted, strict=True)
        )
    return value, gradients


def _pull(out: Any, level: int, wanted: set) -> tuple[Any, dict]:
    """The plain value of `out`, and the cotangents of the leaves below it."""
    if not isinstance(out, TrackedArray) or out.level != level:
        if isinstance(out, (Array, float, int, np.ndarray, np.generic)):
            _require_scalar(out)
            return out, {}  # the result does not depend on what is differentiated
        raise TypeError(
            f"gradient: the function gave {type(out).__name__}, not an array; return one number, "
            "such as np.sum(...)"
        )
    if out.size != 1:
        _require_scalar(out)
    nodes = graph.history(out.node)
    # A leaf that was tracked elsewhere: the gradient may be differentiated with respect to it.
    parents = (parent for node in nodes for parent in node.parents if parent is not None)
    foreign = any(parent.step is None and parent not in wanted for parent in parents)
    below = out.node.value
    seed = below.full_like(1.0) if isinstance(below, Array) else np.ones(out.shape, out.dtype)
    found = graph.sweep(out.node, seed, nodes, tracked=foreign)
    return _scalar(out if foreign else below), found


def _gradient_of(node: Leaf, found: dict) -> Any:
    ct = found.get(node)
    if ct is None:
        return _scalar(np.zeros(shape_of(node.value), node.value.dtype))
    if isinstance(ct, np.ndarray) and (ct.base is not None or _is_shared(ct, node, found)):
        ct = np.array(ct)
    return _scalar(ct)


def _is_shared(ct: np.ndarray, node: Leaf, found: dict) -> bool:
    return any(other is ct and leaf is not node for leaf, other in found.items())


def _require_scalar(out: Any) -> None:
    if (out.size if hasattr(out, "size") else np.size(out)) != 1:
        raise DimensionMismatch(
            f"gradient: the function gave an array of shape {shape_of(out)}; a gradient needs one "
            "number, so sum it, or use jvp for a direction"
        )


def _scalar(value: Any) -> Any:
    """A NumPy scalar for a plain array without axes."""
    return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value
