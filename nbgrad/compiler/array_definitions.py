"""Functions of arrays that Numba does not have, in code that Numba compiles.

Our front end writes two functions for the types of a call: that of the lengths of the results, and
the one that fills them. Numba compiles a function that makes the arrays and calls both.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import count
from typing import Any

import numba
import numpy as np
from numba.core import types

from ..ir.statements import Function
from .definitions import Made, bound, linked_function
from .front.argument_types import ArrayResult, ArrayType, Constant, kind_of_any
from .front.calls import call
from .front.emit import FunctionBuilder
from .front.functions import Entry, array_results, written
from .front.values import INT, Complex, Pair, Planes, Value

__all__ = ["of_arrays"]


def _joined(real, imag, dtype):
    """The complex array of its parts."""
    out = np.empty(real.shape, dtype)
    parts, x, y = out.ravel(), real.ravel(), imag.ravel()
    for i in range(parts.size):
        parts[i] = complex(x[i], y[i])
    return out


_compiled = cache(numba.njit)


def of_arrays(
    lengths_of: Callable, finished: Callable[[Function], Function], find: Callable[[str], Any],
    function: Callable, operands: Sequence[Any], named: Mapping[str, Any],
) -> Callable:  # fmt: skip
    """The Python function that Numba compiles for a call with these types. Raises Unsupported for a
    call that our front end does not take.

    `lengths_of` gives the function of the lengths, for a function and its array results; `finished`
    the one that is compiled; `find` the functions of ours that it calls, by name.
    """
    given = [*operands, *named.values()]
    names = [*(f"x{i}" for i in range(len(operands))), *named]
    kinds = [_contiguous(kind_of_any(x)) for x in given]

    def write(emit: FunctionBuilder, *values: Value) -> Value:
        return call(emit, function, *bound(values, [*named]))

    entry = written(function.__name__, names, kinds, write)
    results = array_results(entry.result)
    lengths = lengths_of(entry.function, results)
    lengths = replace(lengths, parameters=(*lengths.parameters, ("count", INT)))

    def linked_as(names: Sequence[str], code: Function, result: Any) -> Any:
        return linked_function(Made(function.__name__, names, Entry(code, result or None, find)))

    lines, leaves = [], []
    for name, kind, ours in zip(names, given, kinds, strict=True):
        for text in _parts(name, kind, ours):
            leaves.append(f"part{len(leaves)}")
            lines.append(f"{leaves[-1]} = {text}")
    room = sum(each.kind.ndim for each in results)
    lines += [f"lengths = np.empty({room}, np.int64)", f"shapes({', '.join(leaves)}, lengths)"]
    arrays, first = [f"result{i}" for i in range(len(results))], 0
    for name, each in zip(arrays, results, strict=True):
        shape = "".join(f"lengths[{first + i}], " for i in range(each.kind.ndim))
        dtype = each.kind.dtype.name.replace("bool", "bool_")
        lines.append(f"{name} = np.empty(({shape}), np.{dtype})")
        first += each.kind.ndim
    lines.append(f"numbers = fill({', '.join([*leaves, *arrays])})")
    lines.append(f"return {_tree(entry.result, iter(arrays), count())}")
    scope = {
        "np": np,
        "joined": _compiled(_joined),
        "shapes": linked_as([*leaves, "lengths"], lengths, None),
        "fill": linked_as([*leaves, *arrays], finished(entry.function), entry.function.results),
    }
    exec(f"def call({', '.join(names)}):\n    " + "\n    ".join(lines), scope)
    return scope["call"]


def _contiguous(kind: Any) -> Any:
    """The type of an argument, whose arrays are copied where they are not contiguous."""
    if isinstance(kind, ArrayType):
        return replace(kind, contiguous=True)
    if isinstance(kind, Pair):
        return type(kind)(map(_contiguous, kind))
    return tuple(map(_contiguous, kind)) if isinstance(kind, tuple) else kind


def _parts(text: str, kind: Any, ours: Any) -> Iterator[str]:
    """The arrays and numbers of an argument."""
    match ours:
        case Constant():
            return
        case Planes():
            yield f"np.ascontiguousarray({text}.real)"
            yield f"np.ascontiguousarray({text}.imag)"
        case Complex():
            yield f"{text}.real"
            yield f"{text}.imag"
        case tuple():
            for i, (inner, part) in enumerate(zip(kind.types, ours, strict=True)):
                yield from _parts(f"{text}[{i}]", inner, part)
        case ArrayType() if isinstance(kind, types.Array) and kind.layout != "C":
            yield f"np.ascontiguousarray({text})"
        case _:
            yield text


def _tree(result: Any, arrays: Iterator[str], numbers: Iterator[int]) -> str:
    """The result as text."""
    match result:
        case Planes():
            dtype = "complex64" if result[0].kind.dtype == np.float32 else "complex128"
            return f"joined({next(arrays)}, {next(arrays)}, np.{dtype})"
        case Complex():
            return f"complex(numbers[{next(numbers)}], numbers[{next(numbers)}])"
        case tuple():
            return f"({''.join(_tree(x, arrays, numbers) + ', ' for x in result)})"
        case ArrayResult():
            return next(arrays)
    return "None" if result is None else f"numbers[{next(numbers)}]"
