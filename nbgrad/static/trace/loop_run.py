"""A loop or a choice as an op on any values: the row, bound to what it is given, and its parts as
results."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.array import Array
from ...core.memory import copied
from ...core.primitive import Aval, Primitive, bind
from ...core.symbols import Symbol
from ...runtime.kinds import is_a
from .body import Joined
from .program import ArrayValue, Operand


class Programs(Primitive):
    """A row that runs recorded programs; `whole` is the same for results without derivatives."""

    whole: Primitive


def run(
    row: Programs, what: Joined, args: Sequence, outs: Sequence[int] | None = None
) -> list[ArrayValue]:
    """Results of a loop or a choice on any values, of those that users see where `outs` is None."""
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
            # Layout of bools gives floats.
            results[k] = part != 0 if avals[k].dtype.kind == "b" else part
    return [copied(results[k]) for k in outs]


def _bottom(x: Operand) -> Operand:
    """The symbol that a value stands on, or what is plain."""
    while isinstance(x, Array) and not isinstance(x, Symbol):
        x = x.below
    return x


def zeros(values: Sequence[Operand], aval: Aval, inside: bool = False) -> ArrayValue:
    """Zeros beside `values`: a symbol where one of them is, of the step that is recorded where they
    are to be made `inside` of it, and not before its loop."""
    symbols = [x for x in map(_bottom, values) if isinstance(x, Symbol)]
    if not symbols:
        return np.zeros(aval.shape, aval.dtype)
    beside = max(symbols, key=lambda x: x.level) if inside else symbols[0]
    return beside.builder.full(0.0, aval)


def zeros_of(values: Sequence[Operand], aval: Aval, arg: Operand) -> ArrayValue:
    """Zeros of the shape of an argument."""
    shape = aval.shape if is_a(arg, (float, int)) else arg.shape
    return zeros(values, Aval.of(shape, aval.dtype))


def zero_like(x: Operand) -> Operand:
    return x.full_like(0.0) if isinstance(x, Array) else np.zeros(np.shape(x))
