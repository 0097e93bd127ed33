"""Roots: the values that get a buffer or a scalar variable, and what is read behind a pointer."""

from collections.abc import Sequence
from math import prod

from .values import Value, below_of, cost_of, places_of

# Recomputing a value of up to this cost is cheaper than keeping it.
CHEAP = 8
# Of a loop nest: what costs more is more than one, since compile time grows with the square of a
# kernel's length, and kernels of one text are compiled once.
MOST = 160
INLINE = ("map", "view", "take", "pad", "concat", "inset")
OPS = ("reduce", "matmul", "scatter", "call", "item", "loop")


def roots_of(
    order: list[Value], outputs: Sequence[Value], apart: set[Value]
) -> tuple[set[Value], dict[Value, int]]:
    """The roots, and what it takes to compute an element of each value from them."""
    roots = {v for v in order if v.op in OPS and v.op != "loop"}
    pointed: set[Value] = set()
    for value in order:
        if value.op in INLINE and value.shape == ():
            roots.add(value)
        if value.op == "matmul":
            roots.update(_kept_operand(value, arg) for arg in value.args)
        elif value.op == "call":
            pointed.update(buffer_of(arg) for arg in value.args)
        elif value.op == "loop":
            pointed.update(window_of(arg)[0] for arg in value.args)
        elif value.op == "reshape":
            roots.add(buffer_of(value.args[0]))
        elif value.op == "scatter" and below_of(value) is not None:
            roots.add(buffer_of(value.args[-1]))  # copied as a whole
            if places_of(value) or not value.data[3]:
                # Written in order, so that the last of equal positions wins.
                roots.add(buffer_of(value.args[0]))
        elif value.op == "take":
            roots.add(buffer_of(_behind_views(value.args[0])))
    roots |= pointed | apart
    readers: dict[Value, int] = {}
    for value in reversed(order):
        for arg in dict.fromkeys(value.args):
            count = readers.get(value, 0) if value.op in ("view", "reshape") else 1
            readers[arg] = readers.get(arg, 0) + count
    costs: dict[Value, int] = {}
    for value in order:
        own = cost_of(value.data) if value.op == "map" else 1
        cost = own + sum(0 if arg in roots else costs[arg] for arg in value.args)
        if value.op in ("map", "take") and cost >= CHEAP and readers.get(value, 0) > 1:
            roots.add(value)
        if cost > MOST and value.op in INLINE:
            roots.add(value)
        if value.op == "map":
            roots.update(arg for arg in value.args if _repeated(arg, value, costs))
        costs[value] = cost if value.op not in ("input", "full", "iota") else 0
    roots.update(v for v in outputs if v.shape != ())
    # An array of one number needs a buffer only for those who are given a pointer.
    pointed.update(outputs)
    constants = {v for v in pointed if v.op == "full" and v.shape != ()}
    return {v for v in roots if v.op not in ("input", "full")} | constants, costs


def _repeated(arg: Value, value: Value, costs: dict[Value, int]) -> bool:
    """Whether reading `arg` would compute it anew for each of many rows."""
    return (
        arg.op == "map"
        and arg.shape != ()
        and arg.shape[-1] == value.shape[-1] > 1
        and arg.size * 8 <= value.size
        and costs[arg] >= CHEAP // 2
    )


def buffer_of(value: Value) -> Value:
    """What must have a buffer for `value` to be read as one."""
    while value.op == "reshape":
        value = value.args[0]
    return value


def window_of(value: Value) -> tuple[Value, int]:
    """What must have a buffer for `value` to be read behind one pointer, and where it begins."""
    if value.op == "view" and value.shape != ():
        (source,) = value.args
        step, start, strides = source.size, 0, dict.fromkeys(range(len(value.shape)), 0)
        for (out, first, along), n in zip(value.data, source.shape, strict=True):
            step //= max(n, 1)
            start += first * step
            if out is not None:
                strides[out] += along * step
        step = value.size
        for axis, n in enumerate(value.shape):
            step //= max(n, 1)
            if n != 1 and strides[axis] != step:
                return value, 0
        while source.op == "reshape":
            source = source.args[0]
        return source, start
    return buffer_of(value), 0


def _behind_views(value: Value) -> Value:
    while value.op == "view":
        value = value.args[0]
    return value


def _kept_operand(product: Value, value: Value) -> Value:
    """What must have a buffer so that BLAS can read `value`: itself, or the source of a view."""
    found = strides_of(value) if value.op == "view" else None
    if found is None:
        return buffer_of(value)
    # BLAS reads a small second matrix faster as it is than transposed.
    k, n = value.shape[-2:]
    turned = value is product.args[1] and found[1][-1] != 1 and n > 1
    if turned and k * n <= 4096 and product.shape[-2] >= 32:
        return value
    return buffer_of(value.args[0])


def strides_of(value: Value) -> tuple[int, list[int]] | None:
    """Where a view of a buffer starts, and its strides; None where BLAS cannot follow them."""
    (source,) = value.args
    steps = [prod(source.shape[axis + 1 :]) for axis in range(len(source.shape))]
    start, strides = 0, [0] * len(value.shape)
    for (out, first, step), unit in zip(value.data, steps, strict=True):
        start += first * unit
        if out is not None:
            strides[out] += step * unit
    rows, columns = value.shape[-2:]
    if rows == 1:
        strides[-2] = max(strides[-1] * columns, columns)
    if columns == 1:
        strides[-1] = 1 if strides[-2] != 1 else rows
    m, n = strides[-2:]
    if (n == 1 and m >= columns) or (m == 1 and n >= rows):
        return start, strides
    return None
