"""Patterns of single ops: on which elements of their arguments the elements of results depend.

A rule is `rule(op)`, where `op` has the recorded call and the patterns of its arguments. The
patterns of other ops follow from what their rows state: the axes along which they work, or the
blocks of their Jacobians. The result of any other op depends on all elements. Rules read values
of constants only.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from ..core.primitive import Primitive, shape_of
from ..core.symbols import Symbol
from ..rules.index import filled, index_row
from . import labels
from .labels import Pattern, Shape


class Op:
    """A recorded call. `patterns` has the pattern of each argument, None for a constant;
    `value(i)` is the value of argument i if it is known before the program runs, else None."""

    def __init__(self, symbol: Symbol, patterns: Sequence[Pattern | None], value: Callable):
        assert symbol.primitive is not None
        self.symbol, self.primitive, self.params = symbol, symbol.primitive, symbol.params
        # Empty arguments are constants.
        self.patterns = [None if x is None or not x.shape[0] else x for x in patterns]
        self.value = value
        self.out: Shape = symbol.shape
        self.size: int = symbol.size
        self.shapes: list[Shape] = [shape_of(x) for x in symbol.args]

    @property
    def moving(self) -> list[tuple[int, Pattern]]:
        """The arguments that depend on the input, with their patterns."""
        return [(i, x) for i, x in enumerate(self.patterns) if x is not None]


Rule = Callable[[Op], Pattern | None]
_RULES: dict[str, Rule] = {}


def _rule(*names: str) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        _RULES.update(dict.fromkeys(names, function))
        return function

    return register


def pattern_of(op: Op) -> Pattern | None:
    """Return the pattern of the result of a call, None if it does not depend on the input."""
    row = op.primitive
    if not row.differentiable or op.symbol.dtype.kind != "f" or not (op.moving and op.size):
        return None
    if Primitive.registry.get(row.name) is row and row.name in _RULES:
        return _RULES[row.name](op)
    if hasattr(row, "partials") or row.name == "where":
        return _elementwise(op)
    if isinstance(along := getattr(row, "along", None), str) and len(op.shapes) == 1:
        axes = op.params[along] if along else ()
        return _along(op, axes if isinstance(axes, tuple) else (axes,))
    return labels.united([_in_blocks(op, i, x) for i, x in op.moving])


def _elementwise(op: Op) -> Pattern | None:
    """Each element depends on those at its place, to which the arguments are broadcast; not where a
    constant factor is 0, or a constant condition takes another argument."""
    parts = []
    for i, x in op.moving:
        if op.primitive.name != "where" and _is_constant(op, i):
            continue
        rows = np.broadcast_to(labels.numbers(op.shapes[i]), op.out)
        used = _used(op, i)
        parts.append(labels.taken(x, rows if used is None else np.where(used, rows, -1)))
    return labels.united(parts)


def _is_constant(op: Op, i: int) -> bool:
    """Whether the partial is 0, as that of np.floor is."""
    row: Any = op.primitive
    return row.partials[i] is None or row.constant(i, **op.params) == 0


def _used(op: Op, i: int) -> np.ndarray | None:
    """Where the result depends on argument i; None if that is not known, or everywhere."""
    if op.primitive.name == "where" and i and (condition := op.value(0)) is not None:
        return np.asarray(condition) == (i == 1)
    if op.primitive.name in ("multiply", "scale") and op.patterns[1 - i] is None:
        factor = op.value(1 - i)
        if factor is not None:
            return np.asarray(factor) != 0
    return None


def _along(op: Op, axes: tuple[int, ...]) -> Pattern:
    """Each element depends on all elements of its line along the axes."""
    ((_, pattern),), (shape,) = op.moving, op.shapes
    kept = tuple(1 if i in axes else n for i, n in enumerate(shape))
    lines = labels.numbers(kept)
    whole = labels.joined(pattern, np.broadcast_to(lines, shape), lines.size)
    of_out = np.broadcast_to(lines, op.out) if len(op.out) == len(shape) else lines
    return labels.taken(whole, of_out)


def _in_blocks(op: Op, i: int, pattern: Pattern) -> Pattern:
    """The diagonal blocks that the row states; one block is a dense Jacobian."""
    blocks = max(op.primitive.blocks(op.shapes, i, op.out, **op.params), 1)
    size = pattern.shape[0]
    if blocks == 1 or size % blocks or op.size % blocks:
        return labels.all_of(pattern, op.size)
    whole = labels.joined(pattern, np.repeat(np.arange(blocks), size // blocks), blocks)
    return labels.taken(whole, np.repeat(np.arange(blocks), op.size // blocks))


@_rule("stop_gradient")
def _none(op: Op) -> None:
    return None


@_rule("astype")
def _same(op: Op) -> Pattern:
    return op.moving[0][1]


@_rule(
    "reshape", "transpose", "flip", "roll", "index", "broadcast_to", "concatenate", "stack", "hcat",
    "runs", "assign",
)  # fmt: skip
def _moved(op: Op) -> Pattern:
    """Elements are moved: the op is applied to their numbers, which begin with 1."""
    return _of_numbered(op, lambda arrays: op.primitive.evaluate(*arrays, **op.params))


def _of_numbered(op: Op, move: Callable[[list], Any]) -> Pattern:
    arrays, parts, at = [], [], 1
    for shape, pattern in zip(op.shapes, op.patterns, strict=True):
        if pattern is None:
            arrays.append(np.zeros(shape))
            continue
        arrays.append(np.asarray(labels.numbers(shape) + float(at)))
        parts.append(pattern)
        at += pattern.shape[0]
    found = np.asarray(move(arrays)).astype(np.intp) - 1
    every = _below(parts)
    return labels.taken(every, found)


def _below(parts: Sequence[Pattern]) -> Pattern:
    return parts[0] if len(parts) == 1 else scipy.sparse.vstack(parts, format="csr")


def _positions(op: Op, first: int) -> list | None:
    """The values of the arguments from `first` on, None if one is not known."""
    values = [op.value(i) for i in range(first, len(op.shapes))]
    return None if any(x is None for x in values) else values


@_rule("gather")
def _gathered(op: Op) -> Pattern:
    positions = _positions(op, 1)
    if positions is None:
        return labels.all_of(op.moving[0][1], op.size)
    index = filled(op.params["index"], positions)
    return labels.taken(op.moving[0][1], labels.numbers(op.shapes[0])[index])


@_rule("scatter", "scatter_at")
def _scattered(op: Op) -> Pattern:
    """Elements are added at the places of an index."""
    ((_, pattern),), index = op.moving, op.params["index"]
    if op.primitive.name == "scatter_at":
        positions = _positions(op, 1)
        if positions is None:
            return labels.all_of(pattern, op.size)
        index = filled(index, positions)
    places = index_row.evaluate(labels.numbers(op.params["shape"]).astype(float), index=index)
    places = np.broadcast_to(np.asarray(places).astype(np.intp), op.shapes[0])
    return labels.joined(pattern, places, op.size)


@_rule("assign_at")
def _assigned(op: Op) -> Pattern | None:
    positions = _positions(op, 2)
    x, value = op.patterns[:2]
    if positions is None:
        spread = None if value is None else labels.all_of(value, op.size)
        return labels.united([x, spread])
    index = filled(op.params["index"], positions)

    def written(arrays: list) -> Any:
        arrays[0][index] = arrays[1]
        return arrays[0]

    return _of_numbered(op, written)


@_rule("unbroadcast")
def _unbroadcast(op: Op) -> Pattern:
    ((_, pattern),), (shape,) = op.moving, op.shapes
    return labels.joined(pattern, np.broadcast_to(labels.numbers(op.out), shape), op.size)


@_rule("diff")
def _differences(op: Op) -> Pattern:
    """Element i of the result depends on the elements i, i + 1, ... i + n."""
    ((_, pattern),), (shape,) = op.moving, op.shapes
    axis = op.params["axis"]
    length = op.out[axis]
    rows = np.moveaxis(labels.numbers(shape), axis, 0)
    parts = []
    for first in range(shape[axis] - length + 1):
        part = np.moveaxis(rows[first : first + length], 0, axis)
        parts.append(labels.taken(pattern, part))
    union = labels.united(parts)
    assert union is not None
    return union


@_rule("cumsum")
def _running(op: Op) -> Pattern:
    """An element depends on those before it along an axis, or on those behind it."""
    ((_, pattern),), (shape,) = op.moving, op.shapes
    axis = op.params["axis"]
    i, j = np.tril_indices(shape[axis])
    i, j = (j, i) if op.params["reverse"] else (i, j)
    rows = np.moveaxis(labels.numbers(shape), axis, 0).reshape(shape[axis], -1)
    labels.require_room(i.size * rows.shape[1])
    local = labels.matrix(rows[i].ravel(), rows[j].ravel(), (op.size, op.size))
    return local @ pattern


@_rule("convolve", "overlap")
def _convolved(op: Op) -> Pattern | None:
    """Element i + j of the convolution depends on elements i and j of the vectors."""
    (n,), (m,) = op.shapes
    i, j = np.divmod(np.arange(n * m), m)
    k = i + j - (m - 1 if op.primitive.name == "overlap" else 0)
    inside = (0 <= k) & (k < op.size)
    parts = []
    for place, pattern in op.moving:
        by = (i, j)[place][inside]
        parts.append(labels.matrix(k[inside], by, (op.size, pattern.shape[0])) @ pattern)
    return labels.united(parts)


@_rule("matmul")
def _product(op: Op) -> Pattern | None:
    """An element depends on a row and a column. Zeros of a constant matrix are left out."""
    (x, y), parts = op.shapes, []
    for i, pattern in op.moving:
        other = op.value(1 - i)
        if other is not None and len(x) <= 2 and len(y) <= 2:
            parts.append(_by_constant(i, np.asarray(other) != 0, op.shapes[i]) @ pattern)
            continue
        stacks = op.out[: max(max(len(x), len(y)) - 2, 0)]
        if i == 0:  # rows
            lines = labels.numbers(x[:-1])
            of_out = np.broadcast_to(lines, (*stacks, *x[-2:-1]))
            of_out = of_out[..., None] if len(y) > 1 else of_out
            whole = labels.joined(pattern, np.broadcast_to(lines[..., None], x), lines.size)
        else:
            lines = labels.numbers((*y[:-2], *y[-1:]) if len(y) > 1 else ())
            of_out = np.broadcast_to(lines, (*stacks, *y[-1:])) if len(y) > 1 else lines
            of_out = of_out[..., None, :] if len(x) > 1 and len(y) > 1 else of_out
            opened = lines[..., None, :] if len(y) > 1 else lines
            whole = labels.joined(pattern, np.broadcast_to(opened, y), lines.size)
        parts.append(labels.taken(whole, np.broadcast_to(of_out, op.out)))
    return labels.united(parts)


def _by_constant(i: int, other: np.ndarray, shape: Shape) -> Pattern:
    """The local pattern of a product whose other factor is a constant with these nonzeros."""
    if i == 0:
        columns = scipy.sparse.csr_array(np.atleast_2d(other.T))
        rows = scipy.sparse.eye_array(shape[0] if len(shape) > 1 else 1, dtype=bool)
        return scipy.sparse.csr_array(scipy.sparse.kron(rows, columns)).astype(bool)
    rows = scipy.sparse.csr_array(np.atleast_2d(other))
    columns = scipy.sparse.eye_array(shape[1] if len(shape) > 1 else 1, dtype=bool)
    return scipy.sparse.csr_array(scipy.sparse.kron(rows, columns)).astype(bool)


@_rule("vecdot")
def _dots(op: Op) -> Pattern | None:
    """Sums of products over all axes but the first ones."""
    kept = op.params["kept"]
    lines = labels.numbers(op.out)
    parts = []
    for i, pattern in op.moving:
        shape = op.shapes[i]
        opened = lines.reshape(*op.out, *(1,) * (len(shape) - kept))
        parts.append(labels.joined(pattern, np.broadcast_to(opened, shape), lines.size))
    return labels.united(parts)


@_rule("csr_product", "csr_transposed", "csr_pairs")
def _sparse_product(op: Op) -> Pattern | None:
    """Products with sparse matrices, whose positions are constants."""
    positions = _positions(op, 2)
    if positions is None:
        return labels.united([labels.all_of(x, op.size) for _, x in op.moving])
    columns, indptr = (np.asarray(x, np.intp) for x in positions)
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    width = op.shapes[1][1] if len(op.shapes[1]) > 1 else 1
    every = np.arange(len(rows))
    # For each element of the matrix, its number and those of rows of the dense arrays.
    of_x, of_y, of_out = {
        "csr_product": (every, columns, rows),
        "csr_transposed": (every, rows, columns),
        "csr_pairs": (rows, columns, every),
    }[op.primitive.name]
    parts = []
    for i, pattern in op.moving:
        source, target = (
            _opened((of_x, of_y)[i], op.shapes[i], width),
            _opened(of_out, op.out, width),
        )
        local = labels.matrix(target.ravel(), source.ravel(), (op.size, pattern.shape[0]))
        parts.append(local @ pattern)
    return labels.united(parts)


def _opened(rows: np.ndarray, shape: Shape, width: int) -> np.ndarray:
    """The numbers of elements of these rows, one for each column of the dense factor."""
    if len(shape) == 1:
        return np.broadcast_to(rows[:, None], (len(rows), width))
    return rows[:, None] * width + np.arange(width)
