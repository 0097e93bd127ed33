"""Forward mode: `jvp`."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar, overload

import numpy as np

from ..core.array import Array
from ..core.levels import Level
from ..core.memory import Argument, make_mutable
from ..core.primitive import new_level, shape_of
from ..errors import ArgumentTypeError, DimensionMismatch, GraphError
from ..values.dual import Dual
from ..values.operands import float_array
from ..values.tracked import below
from . import constant, trees
from .direct import callee, look
from .run import array_leaves, fitted, with_aux
from .transformed import Result

_Aux = TypeVar("_Aux")


@overload
def jvp(
    f: Callable[..., tuple[Result, _Aux]],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: Literal[True],
) -> tuple[Result, Result, _Aux]: ...
@overload
def jvp(
    f: Callable[..., Result],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: Literal[False] = False,
) -> tuple[Result, Result]: ...
def jvp(f: Callable, primals: Sequence, tangents: Sequence, has_aux: bool = False) -> tuple:
    """Return the value of `f(*primals)` and its derivative in the direction of `tangents`.

    Arguments:
        f: returns an array, or nested dicts, lists, tuples and dataclasses of arrays.
        primals: a sequence of numbers, float arrays, or nested containers of them.
        tangents: for each primal, a direction with its structure, shapes and dtypes; None for
            leaves that are no floats.
        has_aux: `f` returns `(value, aux)`, and jvp `(value, tangent, aux)`.

    Returns the value and the tangent J @ tangents, with the structure and shapes of the value. The
    jvp of a gradient is a Hessian-vector product. `pushforward` is another name of `jvp`.

    Raises:
        DimensionMismatch: the number of tangents or a shape is wrong.
        TypeError: the structure or dtype of a tangent is wrong.

    >>> value, tangent = nbgrad.jvp(np.sin, (0.0,), (2.0,))
    >>> float(value), float(tangent)
    (0.0, 2.0)
    """
    trees.require_function("jvp", f)
    if not (isinstance(primals, (tuple, list)) and isinstance(tangents, (tuple, list))):
        raise ArgumentTypeError(
            "jvp: primals and tangents are tuples, one entry for each argument, as in "
            "jvp(f, (x,), (v,))"
        )
    if len(primals) != len(tangents):
        raise DimensionMismatch(
            f"jvp: {len(primals)} primals and {len(tangents)} tangents; pass one for each"
        )
    look(f, tuple(primals), {})
    flat, directions = [], []
    for primal, tangent in zip(primals, tangents, strict=True):
        leaves, rebuild = trees.flatten(primal)
        direction = fitted("jvp", "tangent", tangent, leaves, primal)
        flat.append((leaves, rebuild))
        directions.append(direction)
    scope = new_level(None, "jvp", f, derives=True)
    with scope as level:
        duals = []
        for (leaves, rebuild), direction in zip(flat, directions, strict=True):
            moved = [
                x if t is None else dual_argument("jvp", x, t, level)
                for x, t in zip(leaves, direction, strict=True)
            ]
            duals.append(rebuild(moved))
        result = callee(f)(*duals)
        result, aux = with_aux("jvp", result) if has_aux else (result, None)
        outputs, rebuild = array_leaves("jvp", result)
        value = rebuild([primal_of(x, level) for x in outputs])
        tangent = rebuild([tangent_of(x, level) for x in outputs])
        if not any([_moves(x, level) for x in outputs]):
            constant.warn("jvp", f, scope, result)
        if not has_aux:
            return value, tangent
        rest, rebuild_rest = trees.flatten(aux)
        return value, tangent, rebuild_rest([primal_of(x, level) for x in rest])


pushforward = jvp


def dual_argument(op: str, x: Any, tangent: Any, level: Level) -> Dual:
    """Make a dual argument. It belongs to the caller: writes to it raise."""
    dual = Dual(float_array(x, op=op), tangent, level)
    if dual.shape or type(x) is np.ndarray:
        dual.origin = Argument(op, GraphError)
        make_mutable(dual)
    return dual


def primal_of(x: Any, level: int) -> Any:
    """Return x without its tangent at `level` and without graphs of this level or above."""
    x = below(x, level)
    return trees.released(x.primal if isinstance(x, Dual) and x.level == level else x, level)


def _moves(x: Any, level: int) -> bool:
    x = below(x, level)
    return isinstance(x, Dual) and x.level == level


def tangent_of(x: Any, level: int) -> Any:
    """Return the tangent of x at `level`: zeros if it has none, None for None."""
    x = below(x, level)
    if isinstance(x, Dual) and x.level == level:
        return trees.released(x.tangent, level)
    if x is None:
        return None
    if isinstance(x, Array):
        return x.full_like(0.0)
    dtype = getattr(x, "dtype", np.dtype(np.float64))
    return trees.scalar(np.zeros(shape_of(x), dtype if dtype.kind == "f" else np.float64))
