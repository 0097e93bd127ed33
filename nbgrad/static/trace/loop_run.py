"""`run`, which applies the primitives `loop` and `cond` to values of any kind."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.array import Array
from ...core.memory import copied
from ...core.primitive import Aval, Primitive, bind
from ...core.symbols import Builder, Symbol
from ...runtime.kinds import is_a
from .body import Joined
from .program import ArrayValue, Operand


class Programs(Primitive):
    """Base class of `loop` and `cond`; `whole` is the primitive for results without derivatives."""

    has_plain_params = False  # they are programs of users' functions
    whole: Primitive


def run(
    row: Programs, what: Joined, args: Sequence, outs: Sequence[int] | None = None
) -> list[ArrayValue]:
    """Return the results `outs` of a loop or a choice, by default all that users see."""
    avals = what.avals
    outs = what.shown if outs is None else outs
    results: dict[int, Any] = {}
    floats = tuple(k for k in outs if avals[k].dtype.kind == "f")
    if floats:
        flat = bind(row, *args, body=what, outs=floats)
        results = dict(zip(floats, what.parts(flat, floats), strict=True))
    for k in outs:
        if k not in results:
            whole = bind(row.whole, *args, body=what, outs=(k,))
            part = np.reshape(whole, avals[k].shape)
            # Splitting a flat array of bools gives floats.
            results[k] = part != 0 if avals[k].dtype.kind == "b" else part
    return [copied(results[k]) for k in outs]


def _bottom(x: Operand) -> Operand:
    """Return the symbol below all levels of a value, or the plain value."""
    while isinstance(x, Array) and not isinstance(x, Symbol):
        x = x.below
    return x


def zeros(values: Sequence[Operand], aval: Aval, inside: bool = False) -> ArrayValue:
    """Return zeros: a symbol if one of `values` is. It belongs to the innermost body that is being
    recorded if `inside`, else to the program around."""
    builder = builder_of(values, inside)
    return np.zeros(aval.shape, aval.dtype) if builder is None else builder.full(0.0, aval)


def builder_of(values: Sequence[Operand], inside: bool = False) -> Builder | None:
    """Return the builder of the symbols below `values`, None if there are none: the one of the
    innermost body that is being recorded if `inside`, else that of the program around."""
    symbols = [x for x in map(_bottom, values) if isinstance(x, Symbol)]
    if not symbols:
        return None
    beside = max(symbols, key=lambda x: x.level) if inside else symbols[0]
    return beside.builder


def zeros_of(values: Sequence[Operand], aval: Aval, arg: Operand) -> ArrayValue:
    """Return zeros with the shape of an argument."""
    shape = aval.shape if is_a(arg, (float, int)) else arg.shape
    return zeros(values, Aval.of(shape, aval.dtype))


def zero_like(x: Operand) -> Operand:
    return x.full_like(0.0) if isinstance(x, Array) else np.zeros(np.shape(x))
