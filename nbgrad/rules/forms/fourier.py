"""Static forms of Fourier transforms: calls of the kernels of `nbgrad/kernels/fourier.py`."""

import math
from typing import Any

from ...core.symbols import Symbol
from ...ir.affine import Axis
from ...ir.sizes import is_dynamic
from ...kernels.fourier import lengths, spectrum, split
from ...kernels.fourier_plans import planned_later
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
    if not math.prod(symbol.shape):
        return graph.full(0.0, symbol.shape, symbol.dtype)
    if is_dynamic(n):
        sizes = int(inverse), kind, rows, n, inner, weight
        return graph.call(symbol.shape, symbol.dtype, (re, im), planned_later, sizes)
    plan = plan_of(kind, n, inner, symbol.dtype)
    (re, re_at), (im, im_at) = _block(re), _block(im)
    args = re, im, graph.constant(plan.steps), graph.constant(plan.table)
    sizes = (re_at, im_at, size, int(inverse), kind, rows, n, inner, plan.chunk, weight)
    first, *rest = symbol.shape
    room = -(-plan.room // math.prod(rest))
    out = graph.call((first + room, *rest), symbol.dtype, args, spectrum, sizes)
    axes = [Axis(i, 0, 1) for i in range(len(symbol.shape))]
    return graph.view(out, axes, symbol.shape)


def _block(value: Any) -> tuple[Any, int]:
    """The buffer whose contiguous elements a value is, and the position of the first: one plane of
    a result is read where it is. The value and 0 for all others."""
    source = getattr(value, "source", None)
    if source is None or not source.buffered or not getattr(value, "axes", ()):
        return value, 0
    first, *rest = value.axes
    kept = [axis.out for axis in value.axes if axis.out is not None]
    whole = all(
        n == 1 or (axis.out is not None and (axis.start, axis.step) == (0, 1))
        for axis, n in zip(rest, source.shape[1:], strict=True)
    )
    wanted = [n for n in source.shape[1:] if n != 1]
    if first.out is not None:
        wanted.insert(0, value.shape[first.out])
    same = [n for n in value.shape if n != 1] == wanted and kept == sorted(kept)
    if whole and same and (first.out is None or first.step == 1):
        return source, first.start * math.prod(source.shape[1:])
    return value, 0


def dft(graph, symbol, re, im):
    n, inverse = re.shape[symbol.params["axis"]], symbol.params["inverse"]
    return _transformed(graph, symbol, DFT, re, im, n, inverse, 1)


def real_to_half(graph, symbol, x):
    n, weight = x.shape[symbol.params["axis"]], symbol.params["weight"]
    return _transformed(graph, symbol, REAL_TO_HALF, x, x, n, False, weight)


def half_to_real(graph, symbol, re, im):
    n, weight = symbol.params["n"], symbol.params["weight"]
    return _transformed(graph, symbol, HALF_TO_REAL, re, im, n, False, weight)
