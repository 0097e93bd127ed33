"""`nbgrad.cond`: one of two functions, differentiable, in both tiers."""

import dataclasses
from collections.abc import Callable
from typing import Any

from ..core import memory
from ..core.array import Array
from ..core.primitive import shape_of
from ..core.symbols import is_recorded
from ..errors import DimensionMismatch, TraceError
from ..runtime.lines import user_line
from ..static.trace.choice_row import Side, Sides, choose, sides_of
from ..transforms import trees
from .carried import constants, is_chosen_by_samples, name_of, require_values


def cond(pred: Any, f: Callable, g: Callable, *args: Any) -> Any:
    """`f(*args) if pred else g(*args)`; only that function runs.

    Arguments:
        pred: True or False, a number or an array without axes, which may depend on traced values.
        f: gives numbers, arrays, or nested ones of them.
        g: gives what `f` gives, with the same structure, shapes and dtypes.
        args: what both are given: numbers, arrays, nested ones, and anything else as it is. Both
            may write to these arrays, as in Python.

    Inside of `nbgrad.compile` both functions are recorded, and an `if` of the compiled program runs
    one of them. A truth that Python knows already is no choice: the other function is not looked
    at. Inside of `nbgrad.vmap` each sample chooses; a function that some sample takes is given
    samples that take it alone, and its results for those.

    Raises DimensionMismatch for a truth with axes and, where both functions are recorded, for
    results of other shapes; TypeError for those of another structure or dtype.

    >>> root = lambda x: nbgrad.cond(x > 0.0, np.sqrt, np.negative, x)
    >>> nbgrad.compile(nbgrad.value_and_grad(root))(4.0)
    (2.0, 0.25)
    >>> nbgrad.vmap(nbgrad.grad(root))(np.array([4.0, 0.0, -1.0]))
    array([ 0.25, -1.  , -1.  ])
    """
    trees.require_function("cond", f)
    trees.require_function("cond", g)
    if shape_of(pred) != ():
        raise DimensionMismatch(
            f"cond: a truth of shape {shape_of(pred)}: it must be one; choose element by element "
            f"with np.where, or sample by sample inside of nbgrad.vmap{user_line()}"
        )
    recorded = is_recorded(pred) or is_chosen_by_samples(pred)
    if not recorded:
        return f(*args) if pred else g(*args)
    leaves, rebuild = trees.flatten_values(list(args))
    built: list[tuple] = []
    arrays = [
        k for k, x in enumerate(leaves)
        if shape_of(x) or (isinstance(x, Array) and memory.is_mutable(x))
    ]  # fmt: skip

    def side(function: Callable) -> Side:
        def record(recorder: Any, inputs: list) -> list:
            result = function(*rebuild(inputs))
            values, rebuild_result = trees.flatten_values(result)
            require_values("cond", f"the result of {name_of(function)}", values)
            built.append((result, rebuild_result))
            return [*values, *(inputs[k] for k in arrays)]

        return record

    sides, operands = sides_of((side(f), side(g)), name_of(f), leaves)
    (one, rebuild_result), (other, _) = built
    same = len(sides.programs[0].outputs) == len(sides.programs[1].outputs)
    if not same or trees.structure([one]) != trees.structure([other]):
        raise TypeError(
            f"cond: {_both(f, g)} give different structures, {trees.describe(one)} and "
            f"{trees.describe(other)}; return the same from both{user_line()}"
        )
    if constants(one) != constants(other):
        raise TypeError(
            f"cond: {_both(f, g)} give {constants(one)} and {constants(other)}, which are no "
            f"values: a choice must give the same words and functions{user_line()}"
        )
    _require_alike(f, g, *sides.programs)
    written = _written(sides, arrays)
    pred = pred if pred.dtype == bool else pred != 0
    if written:
        _require_apart(f, g, [leaves[k] for k in written], leaves)
    results = choose(sides, pred, operands)
    count = len(results) - len(written)
    for k, new in zip(written, results[count:], strict=True):
        memory.write(leaves[k], ..., new, "{}[...] = ...")
    return rebuild_result(results[:count])


def _written(sides: Sides, arrays: list[int]) -> list[int]:
    """The arguments that one of the functions writes to, whose new values stay among the results;
    the others are dropped from them."""
    count = len(sides.programs[0].outputs) - len(arrays)
    written = [
        i
        for i, k in enumerate(arrays)
        if any(program.outputs[count + i] is not program.inputs[k] for program in sides.programs)
    ]
    for side, program in enumerate(sides.programs):
        kept = (*program.outputs[:count], *(program.outputs[count + i] for i in written))
        sides.programs[side] = dataclasses.replace(program, outputs=kept)
    return [arrays[i] for i in written]


def _require_apart(f: Callable, g: Callable, written: list, leaves: list) -> None:
    """Raise where an array that is written to is given twice, or cannot be written to."""
    for x in written:
        if not isinstance(x, Array):
            raise TraceError(
                f"cond: {_both(f, g)}: one of them writes to a plain array, which stays as it is "
                f"in a recorded program: give np.asarray(x, like=y) with a traced y{user_line()}"
            )
        owners = [id(memory.base_of(y)[0]) for y in leaves if isinstance(y, Array)]
        if owners.count(id(memory.base_of(x)[0])) > 1:
            raise TraceError(
                f"cond: {_both(f, g)}: one of them writes to an array that is given twice, or is "
                f"a view of another argument: give it once{user_line()}"
            )


def _require_alike(f: Callable, g: Callable, one: Any, other: Any) -> None:
    """Raise where a result of one side has another shape or dtype on the other."""
    for x, y in zip(one.outputs, other.outputs, strict=True):
        if x.shape != y.shape:
            raise DimensionMismatch(
                f"cond: {_both(f, g)} give shapes {x.shape} and {y.shape}; return one shape from "
                f"both, such as by np.broadcast_to{user_line()}"
            )
        if x.dtype != y.dtype:
            raise TypeError(
                f"cond: {_both(f, g)} give {x.dtype} and {y.dtype} (shape {x.shape}); return one "
                f"dtype from both, such as 0.0 for 0, or by .astype{user_line()}"
            )


def _both(f: Callable, g: Callable) -> str:
    names = [getattr(h, "__name__", type(h).__name__) for h in (f, g)]
    return " and ".join(f"the {place} function ({name})" for place, name in zip(
        ("first", "second"), names, strict=True
    ))  # fmt: skip
