"""The buffers behind values: which value must have one for another to be read by a pointer."""

from collections.abc import Container
from math import prod

from ..lower.buffered import Matmul
from ..lower.values import Reshape, Value, View


def buffer_of(value: Value) -> Value:
    """The value that must have a buffer for `value` to lie in one."""
    while isinstance(value, Reshape):
        value = value.source
    return value


def behind_views(value: Value) -> Value:
    while isinstance(value, View):
        value = value.source
    return value


def window_of(value: Value) -> tuple[Value, int]:
    """The value that must have a buffer for `value` to be read behind one pointer, and the position
    at which it begins."""
    value = buffer_of(value)
    # A number lies in no buffer, so a view of one is not read through its source.
    if isinstance(value, View) and value.shape != () and buffer_of(value.source).shape != ():
        start, strides = _followed(value)
        step = value.size
        for axis, n in enumerate(value.shape):
            step //= max(n, 1)
            if n != 1 and strides[axis] != step:
                return value, 0
        return buffer_of(value.source), start
    return value, 0


def place_of(value: Value, materialized: Container[Value]) -> tuple[Value, int]:
    """The buffer behind a pointer to `value`, and the position at which it begins: its own, where
    it or what it is a reshape of has one, else that of what it is a part of."""
    for own in (value, buffer_of(value)):
        if own in materialized:
            return own, 0
    return window_of(value)


def _followed(view: View) -> tuple[int, list[int]]:
    """The offset of a view of a buffer, and its strides."""
    shape = view.source.shape
    start, strides = 0, [0] * len(view.shape)
    for axis, (out, first, step) in enumerate(view.axes):
        unit = prod(shape[axis + 1 :])
        start += first * unit
        if out is not None:
            strides[out] += step * unit
    return start, strides


def strides_for_blas(view: View) -> tuple[int, list[int]] | None:
    """The offset of a view of a buffer, and its strides; None if BLAS does not support them, or if
    the source is a number, which has no buffer."""
    if view.source.shape == ():
        return None
    start, strides = _followed(view)
    rows, columns = view.shape[-2:]
    if rows == 1:
        strides[-2] = max(strides[-1] * columns, columns)
    if columns == 1:
        strides[-1] = 1 if strides[-2] != 1 else rows
    m, n = strides[-2:]
    if (n == 1 and m >= columns) or (m == 1 and n >= rows):
        return start, strides
    return None


# BLAS reads a small second matrix faster as it is than transposed: of up to so many elements, for
# at least so many rows of the first (copying it first gains 25 to 30 % there, and loses beyond).
_SMALL_MATRIX, _MANY_ROWS = 4096, 32


def operand_of(product: Matmul, value: Value) -> Value:
    """The value that must have a buffer for BLAS to read `value`: it, or the source of a view."""
    layout = strides_for_blas(value) if isinstance(value, View) else None
    if not isinstance(value, View) or layout is None:
        return buffer_of(value)
    k, n = value.shape[-2:]
    turned = value is product.args[1] and layout[1][-1] != 1 and n > 1
    if turned and k * n <= _SMALL_MATRIX and product.shape[-2] >= _MANY_ROWS:
        return value
    return buffer_of(value.source)
