"""Static forms of Fourier transforms: calls of the kernels of `nbgrad/kernels/fourier.py`."""

import math
from typing import Any

from ...core.symbols import Symbol
from ...ir.affine import Axis
from ...kernels.fourier import lengths, spectrum, split
from ...kernels.twiddles import DFT, HALF_TO_REAL, REAL_TO_HALF, plan_of

__all__ = ["dft", "half_to_real", "real_to_half"]


def _transformed(
    graph: Any, symbol: Symbol, kind: int, re: Any, im: Any, n: int, inverse: bool, weight: int
) -> Any:
    """The call, whose result has scratch space behind it."""
    axis = symbol.params["axis"]
    re, im = (graph.cast(x, symbol.dtype) for x in (re, im))
    rows, inner = split(re.shape, axis)
    size = rows * lengths(kind, n)[1] * inner
    count = size if kind == HALF_TO_REAL else 2 * size
    if not math.prod(symbol.shape):
        return graph.full(0.0, symbol.shape, symbol.dtype)
    plan = plan_of(kind, n, inner, symbol.dtype)
    args = re, im, graph.constant(plan.steps), graph.constant(plan.table)
    sizes = (size, int(inverse), kind, rows, n, inner, plan.chunk, weight)
    out = graph.call((count + plan.room,), symbol.dtype, args, spectrum, sizes)
    return graph.reshape(graph.view(out, [Axis(0, 0, 1)], (count,)), symbol.shape)


def dft(graph, symbol, re, im):
    n, inverse = re.shape[symbol.params["axis"]], symbol.params["inverse"]
    return _transformed(graph, symbol, DFT, re, im, n, inverse, 1)


def real_to_half(graph, symbol, x):
    n, weight = x.shape[symbol.params["axis"]], symbol.params["weight"]
    return _transformed(graph, symbol, REAL_TO_HALF, x, x, n, False, weight)


def half_to_real(graph, symbol, re, im):
    n, weight = symbol.params["n"], symbol.params["weight"]
    return _transformed(graph, symbol, HALF_TO_REAL, re, im, n, False, weight)
