"""Forward mode of a compiled function: one program for the value and its tangent."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.array import Array
from ...core.primitive import new_level
from ...core.symbols import Symbol
from ...transforms import trees
from ...transforms.forward import dual_argument, primal_of
from ...transforms.transformed import transformed
from ...values.dual import Dual
from ...values.tracked import below
from .derived import require_below

if TYPE_CHECKING:
    from .calls import Nesting


def pushed(f: Callable, moving: tuple[int, ...]) -> Callable:
    """Return a function of tangents and leaves. It returns the value of `f` and the tangents of its
    leaves, None for constants."""

    @transformed(pushed, f, moving)
    def push(*args: Any) -> tuple[Any, list]:
        leaves = list(args[len(moving) :])
        with new_level(None, "compile", f, derives=True) as level:
            for i, tangent in zip(moving, args, strict=False):
                leaves[i] = dual_argument("the compiled function", leaves[i], tangent, level)
            outputs, rebuild = trees.flatten(f(*leaves))
            results = [below(x, level) for x in outputs]
            moves = [isinstance(x, Dual) and x.level == level for x in results]
            values = rebuild([primal_of(x, level) for x in results])
            pairs = zip(results, moves, strict=True)
            return values, [trees.released(x.tangent, level) if has else None for x, has in pairs]

    return push


def dual(nesting: "Nesting", leaves: list, moving: tuple[int, ...], level: Any) -> Any:
    duals: list[Any] = [leaves[i]._snapshot() for i in moving]
    for i, x in zip(moving, duals, strict=True):
        leaves[i] = x.primal
    tangents = [x.tangent for x in duals]
    plain = not nesting.has_names and not any(isinstance(x, Array) for x in leaves)
    if plain and any(isinstance(x, Symbol) for x in tangents):
        from .linear import linear

        return linear(nesting, leaves, moving, tangents, level)
    push = nesting.derived(pushed, moving, before=[nesting.specs[i] for i in moving])
    value, dots = push(*tangents, *leaves)
    outputs, rebuild = trees.flatten(value)
    require_below([*outputs, *dots], level)
    return rebuild([
        x if dot is None else Dual(_array(x), _array(dot), level)
        for x, dot in zip(outputs, dots, strict=True)
    ])  # fmt: skip


def _array(x: Any) -> Any:
    return x if isinstance(x, Array) else np.asarray(x)
