"""`nbgrad.cond`: call one of two functions."""

import dataclasses
from collections.abc import Callable
from typing import Any

from ..core import memory
from ..core.array import Array
from ..core.conversions import has_samples
from ..core.primitive import shape_of
from ..core.symbols import is_recorded
from ..errors import ArgumentTypeError, DimensionMismatch, TraceError
from ..runtime.lines import user_line
from ..static.trace.choice_row import Side, Sides, choose, sides_of
from ..transforms import trees
from ..transforms.transformed import Result
from .carried import as_bool, constants, name_of, require_values


def cond(pred: Any, f: Callable[..., Result], g: Callable[..., Result], *args: Any) -> Result:
    """Return `f(*args) if pred else g(*args)`. Only the selected function runs.

    Arguments:
        pred: a bool, a number or an array without axes. It may depend on traced values.
        f: a function that returns numbers, arrays, or nested containers of them.
        g: a function whose results have the same structure, shapes and dtypes.
        args: the arguments of both: numbers, arrays, containers of them, or other values, which are
            passed unchanged. Both functions may write to the arrays.

    Inside `nbgrad.compile`, both functions are traced and the program has an `if` statement. If the
    condition is known while tracing, only the selected function is traced. Inside `nbgrad.vmap`,
    each sample selects its own function, and each function receives only its samples.

    Raises DimensionMismatch if the condition has axes. If both functions are traced, raises
    DimensionMismatch or TypeError if the shapes, or the structures or dtypes, of their results
    differ.

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
            f"cond: the condition has shape {shape_of(pred)}: it must be a single value; use "
            f"np.where to select elements, or nbgrad.vmap to select by samples{user_line()}",
            code="NB-STATE",
        )
    recorded = is_recorded(pred) or has_samples(pred)
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
    if not same or not trees.same_structure(one, other):
        raise ArgumentTypeError(
            f"cond: {_both(f, g)} return different structures, {trees.describe(one)} and "
            f"{trees.describe(other)}; return the same structure from both{user_line()}",
            code="NB-STATE",
        )
    if constants(one) != constants(other):
        raise ArgumentTypeError(
            f"cond: {_both(f, g)} return {constants(one)} and {constants(other)}: strings and "
            f"functions in the results must be the same{user_line()}",
            code="NB-STATE",
        )
    _require_alike(f, g, *sides.programs)
    written = _written(sides, arrays)
    if written:
        _require_apart(f, g, [leaves[k] for k in written], leaves)
    results = choose(sides, as_bool(pred), operands)
    count = len(results) - len(written)
    for k, new in zip(written, results[count:], strict=True):
        memory.write(leaves[k], ..., new, "{}[...] = ...")
    return rebuild_result(results[:count])


def _written(sides: Sides, arrays: list[int]) -> list[int]:
    """Return the arguments that one of the functions writes to, and drop the others from the
    results of the recorded programs."""
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
    """Raise TraceError if a written array is passed twice, or cannot be written to."""
    for x in written:
        if not isinstance(x, Array):
            raise TraceError(
                f"cond: {_both(f, g)}: one of them writes to a plain array, which a recorded "
                f"program cannot modify: pass np.asarray(x, like=y) with a traced y{user_line()}",
                code="NB-WRITE",
            )
        owners = [id(memory.base_of(y)[0]) for y in leaves if isinstance(y, Array)]
        if owners.count(id(memory.base_of(x)[0])) > 1:
            raise TraceError(
                f"cond: {_both(f, g)}: one of them writes to an array that is passed twice, or is "
                f"a view of another argument: pass it once{user_line()}",
                code="NB-WRITE",
            )


def _require_alike(f: Callable, g: Callable, one: Any, other: Any) -> None:
    """Raise DimensionMismatch or TypeError if the shapes or dtypes of the results differ."""
    for x, y in zip(one.outputs, other.outputs, strict=True):
        if x.shape != y.shape:
            raise DimensionMismatch(
                f"cond: {_both(f, g)} return shapes {x.shape} and {y.shape}; return the same shape "
                f"from both, for example with np.broadcast_to{user_line()}",
                code="NB-STATE",
            )
        if x.dtype != y.dtype:
            raise ArgumentTypeError(
                f"cond: {_both(f, g)} return {x.dtype} and {y.dtype} (shape {x.shape}); return the "
                f"same dtype from both: write 0.0 for 0, or use .astype{user_line()}",
                code="NB-STATE",
            )


def _both(f: Callable, g: Callable) -> str:
    names = [getattr(h, "__name__", type(h).__name__) for h in (f, g)]
    return " and ".join(f"the {place} function ({name})" for place, name in zip(
        ("first", "second"), names, strict=True
    ))  # fmt: skip
