"""Static forms of the rows: each row in terms of the values of `ir.py`.

`forms` maps the name of a row to `form(graph, symbol, *args)`, where `args` are values. Elementwise
rows need no entry: their scalar body is their form. A row without a form is eager only.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import Primitive
from ..emission import body_of
from ..errors import TraceError
from ..rules.index import HOLE
from ..symbols import Symbol
from .ir import BOOL, INT, Axis, Graph, Value
from .program import Program

forms: dict[str, Callable[..., Value]] = {}


def has_form(row: Primitive) -> bool:
    """Whether the row has a static form."""
    return hasattr(row, "body") or row.name in forms


def form(*names: str) -> Callable[[Callable], Callable]:
    def register(function: Callable) -> Callable:
        forms.update(dict.fromkeys(names, function))
        return function

    return register


def lower(program: Program) -> tuple[Graph, list[Value]]:
    """The graph and its outputs. Raises TraceError for an eager-only row."""
    graph = Graph()
    known: dict[Symbol, Value] = {}
    for symbol in program.inputs:
        known[symbol] = graph.input(symbol.shape, symbol.dtype)
    for symbol, array in program.captured:
        known[symbol] = graph.capture(array)
    for symbol in program.equations:
        graph.line = symbol.line or graph.line
        known[symbol] = _lowered(graph, symbol, known)
    outputs = [
        known[out] if isinstance(out, Symbol) else graph.full(out, (), np.asarray(out).dtype)
        for out in program.outputs
    ]
    return graph, outputs


def _lowered(graph: Graph, symbol: Symbol, known: dict[Symbol, Value]) -> Value:
    row = symbol.primitive
    assert row is not None
    args = [known[a] if isinstance(a, Symbol) else _constant(graph, a, symbol) for a in symbol.args]
    made = forms.get(row.name)
    if made is not None:
        value = made(graph, symbol, *args)
    elif hasattr(row, "body"):
        value = _elementwise(graph, symbol, row, args)
    else:
        raise TraceError(
            f"{row.name} is eager only: it has no static form. Compute it outside of the compiled "
            f"function and pass the result as an argument{_at(symbol)}"
        )
    assert value.shape == symbol.shape, (row.name, value.shape, symbol.shape)
    return graph.cast(value, symbol.dtype)


def _at(symbol: Symbol) -> str:
    return f" ({symbol.line})" if symbol.line else ""


def _constant(graph: Graph, x: Any, symbol: Symbol) -> Value:
    if isinstance(x, (bool, np.bool_)):
        return graph.full(bool(x), (), BOOL)
    kind = np.float64 if isinstance(x, (float, np.floating)) else INT
    return graph.full(x.item() if isinstance(x, np.generic) else x, (), kind)


def _elementwise(graph: Graph, symbol: Symbol, row: Any, args: list[Value]) -> Value:
    params = symbol.params
    dtype = symbol.dtype
    if dtype == BOOL:  # a comparison: of what its arguments have in common
        weak = [a for a, given in zip(args, symbol.args, strict=True) if isinstance(given, Symbol)]
        common = np.result_type(*(a.dtype for a in weak)) if weak else np.float64
        if row.name.startswith("logical"):
            common = BOOL
        elif common.kind in "bui" and any(a.dtype.kind == "f" for a in args):
            common = np.dtype(np.float64)
    else:
        common = dtype
    if row.name == "exp" and isinstance(symbol.args[0], Symbol):
        source = symbol.args[0]
        if source.primitive is not None and source.primitive.name == "logsoftmax":
            # Its exponentials are known: exp(logsoftmax(x)) is softmax(x).
            exponentials = graph.notes.get(id(args[0]))
            if exponentials is not None:
                return exponentials
    conditions = getattr(row, "conditions", ())
    typed = [
        _truth(graph, a) if i in conditions or common == BOOL else graph.cast(a, common)
        for i, a in enumerate(args)
    ]
    return graph.map(body_of(row, params), typed, dtype, symbol.shape)


def _truth(graph: Graph, value: Value) -> Value:
    if value.dtype == BOOL:
        return value
    zero = graph.full(0, (), value.dtype)
    return graph.map("x != y", (value, zero), BOOL, value.shape)


# -- layout ---------------------------------------------------------------------------------------


@form("full")
def _full(graph, symbol):
    return graph.full(symbol.params["number"], symbol.shape, symbol.dtype)


@form("copy")
def _copy(graph, symbol, x):
    return x


@form("astype")
def _astype(graph, symbol, x):
    return graph.cast(x, symbol.dtype)


@form("reshape")
def _reshape(graph, symbol, x):
    return graph.reshape(x, symbol.shape)


@form("broadcast_to")
def _broadcast_to(graph, symbol, x):
    return graph.broadcast(x, symbol.shape)


@form("transpose")
def _transpose(graph, symbol, x):
    return graph.transpose(x, symbol.params["axes"])


@form("unbroadcast")
def _unbroadcast(graph, symbol, x):
    shape = symbol.shape
    lost = len(x.shape) - len(shape)
    gone = [i for i, n in enumerate(x.shape) if i < lost or (shape[i - lost] == 1 and n != 1)]
    return graph.reshape(graph.reduce("sum", x, gone), shape)


@form("concatenate")
def _concatenate(graph, symbol, *args):
    args = [graph.cast(a, symbol.dtype) for a in args]
    return graph.concat(args, symbol.params["axis"])


@form("stack")
def _stack(graph, symbol, *args):
    axis, shape = symbol.params["axis"], symbol.shape
    opened = (*shape[:axis], 1, *shape[axis + 1 :])
    parts = [graph.reshape(graph.cast(a, symbol.dtype), opened) for a in args]
    return graph.concat(parts, axis)


@form("flip")
def _flip(graph, symbol, x):
    gone = symbol.params["axes"]
    axes = [Axis(i, n - 1, -1) if i in gone else Axis(i, 0, 1) for i, n in enumerate(x.shape)]
    return graph.view(x, axes, x.shape)


def _cut(graph: Graph, x: Value, axis: int, start: int, stop: int) -> Value:
    axes = [Axis(i, start if i == axis else 0, 1) for i in range(len(x.shape))]
    shape = (*x.shape[:axis], stop - start, *x.shape[axis + 1 :])
    return graph.view(x, axes, shape)


@form("roll")
def _roll(graph, symbol, x):
    for axis, shift in zip(symbol.params["axes"], symbol.params["shifts"], strict=True):
        n = x.shape[axis]
        at = -shift % n if n else 0
        if at:
            parts = [_cut(graph, x, axis, at, n), _cut(graph, x, axis, 0, at)]
            x = graph.concat(parts, axis)
    return x


@form("diff")
def _diff(graph, symbol, x):
    axis = symbol.params["axis"]
    n = x.shape[axis]
    if n < 2:
        return graph.full(0.0, symbol.shape, symbol.dtype)
    right, left = _cut(graph, x, axis, 1, n), _cut(graph, x, axis, 0, n - 1)
    return graph.map("x - y", (right, left), symbol.dtype)


# -- indexing -------------------------------------------------------------------------------------


def template_of(index: Any, shape: tuple[int, ...]) -> tuple[list[Any], tuple, int, tuple]:
    """How an index reads an array of `shape`: for each of its axes an `Axis`, or an array of
    integers; the shape of the result; the place and the shape of the arrays' axes in it."""
    parts = list(index) if isinstance(index, tuple) else [index]
    flat: list[Any] = []
    for part in parts:
        if isinstance(part, np.ndarray) and part.dtype == bool:
            flat += list(np.nonzero(part))
        else:
            flat.append(part)
    used = sum(part is not None and part is not Ellipsis for part in flat)
    gaps = [i for i, part in enumerate(flat) if part is Ellipsis]
    rest = [slice(None)] * (len(shape) - used)
    at = gaps[0] if gaps else len(flat)
    flat[at : at + len(gaps)] = rest

    def is_array(part: Any) -> bool:
        return isinstance(part, (np.ndarray, Value))

    arrays = [i for i, part in enumerate(flat) if is_array(part)]
    if arrays:
        flat = [
            np.asarray(p) if isinstance(p, (int, np.integer)) and not isinstance(p, bool) else p
            for p in flat
        ]
        arrays = [i for i, part in enumerate(flat) if is_array(part)]
    together = bool(arrays) and arrays == list(range(arrays[0], arrays[-1] + 1))
    joint = np.broadcast_shapes(*(flat[i].shape for i in arrays)) if arrays else ()
    place = 0 if arrays and not together else None
    out: list[int] = [] if place is None else list(joint)
    template: list[Any] = []
    source = 0
    for part in flat:
        if part is None:
            out.append(1)
        elif is_array(part):
            if place is None:
                place = len(out)
                out += joint
            template.append(part)
            source += 1
        else:
            n = shape[source]
            if isinstance(part, slice):
                start, stop, step = part.indices(n)
                template.append(Axis(len(out), start, step))
                out.append(len(range(start, stop, step)))
            else:
                template.append(Axis(None, int(part) % n if n else 0, 0))
            source += 1
    place = len(out) if place is None else place
    for axis, part in enumerate(template):
        if isinstance(part, np.ndarray):
            template[axis] = _regular(part, place, joint, shape[axis])
    return template, tuple(out), place, tuple(joint)


def _regular(index: np.ndarray, place: int, joint: tuple, n: int) -> Any:
    """An array of equal steps along one axis as an `Axis`; other arrays with no negative index."""
    index = np.where(index < 0, index + n, index).astype(np.int64)
    if index.size == 1:
        return Axis(None, int(index.ravel()[0]), 0)
    long = [i for i, length in enumerate(index.shape) if length > 1]
    if len(long) == 1 and index.size < 1 << 20:
        line = index.ravel()
        steps = np.diff(line)
        if (steps == steps[0]).all():
            axis = place + len(joint) - index.ndim + long[0]
            return Axis(axis, int(line[0]), int(steps[0]))
    return index


def _template(graph: Graph, index: Any, given: Sequence[Value], shape: tuple, captured: Callable):
    """The template with values in place of arrays: `(axes, arrays, result shape, place)`."""
    rest = iter(given)

    def filled(part: Any) -> Any:
        if part is HOLE:
            value = next(rest)
            return value if value.shape else graph.reshape(value, (1,) * 0)
        return part

    index = tuple(filled(p) for p in index) if isinstance(index, tuple) else filled(index)
    template, out, place, joint = template_of(index, shape)
    axes: list[Any] = []
    arrays: list[Value] = []
    for part, n in zip(template, shape, strict=True):
        if isinstance(part, Axis):
            axes.append(part)
            continue
        value = captured(part) if isinstance(part, np.ndarray) else _positive(graph, part, n)
        arrays.append(graph.broadcast(value, joint))
        axes.append(len(arrays) - 1)
    return tuple(axes), arrays, out, place, joint


def _positive(graph: Graph, value: Value, n: int) -> Value:
    """Positions that count from the end, counted from the start."""
    message = f"an index is out of bounds for an axis of length {n}"
    value = graph.within(graph.cast(value, INT), -n, n, message)
    zero, size = graph.full(0, (), INT), graph.full(n, (), INT)
    below = graph.map("x < y", (value, zero), BOOL)
    return graph.map("select(x, y, z)", (below, graph.map("x + y", (value, size), INT), value), INT)


def _array_of(graph: Graph, array: np.ndarray) -> Value:
    """A constant array of integers, handed over as one more input."""
    return graph.capture(array)


def gather(graph: Graph, symbol: Symbol, x: Value, *given: Value) -> Value:
    axes, arrays, out, place, joint = _template(
        graph, symbol.params["index"], given, x.shape, lambda a: _array_of(graph, a)
    )
    if not arrays:
        return graph.view(x, axes, out)
    return graph.new("take", out, x.dtype, (x, *arrays), (axes, place, len(joint)))


@form("index", "gather")
def _index(graph, symbol, x, *given):
    return gather(graph, symbol, graph.cast(x, symbol.dtype), *given)


@form("scatter", "scatter_at")
def _scatter(graph, symbol, ct, *given):
    shape = symbol.shape
    axes, arrays, out, place, joint = _template(
        graph, symbol.params["index"], given, shape, lambda a: _array_of(graph, a)
    )
    ct = graph.broadcast(ct, out)
    placed = None if arrays else _padded(graph, ct, axes, shape)
    if placed is not None:
        return placed
    if not ct.size:
        return graph.full(0.0, shape, ct.dtype)
    return graph.new("scatter", shape, ct.dtype, (ct, *arrays), (axes, place, len(joint)))


def _padded(graph: Graph, ct: Value, axes: Sequence[Axis], shape: tuple) -> Value | None:
    """Zeros with `ct` at slices of step 1 or -1; None for other steps and for diagonals."""
    region = _region(graph, ct, axes)
    return None if region is None else graph.pad(region[0], region[1], shape)


def _region(graph: Graph, ct: Value, axes: Sequence[Axis]) -> tuple[Value, list[int]] | None:
    """The block that slices select, in order of the source's axes, and where it starts."""
    outs = [axis.out for axis in axes if axis.out is not None]
    if len(set(outs)) != len(outs):
        return None
    starts, block = [], []
    back: list[Axis | None] = [None] * len(ct.shape)
    for axis, (out, start, step) in enumerate(axes):
        n = 1 if out is None else ct.shape[out]
        if out is not None:
            if n > 1 and abs(step) != 1:
                return None
            back[out] = Axis(axis, n - 1, -1) if step < 0 else Axis(axis, 0, 1)
        starts.append(start + step * (n - 1) if step < 0 else start)
        block.append(n)
    seen = [axis or Axis(None, 0, 0) for axis in back]
    return graph.view(ct, seen, tuple(block)), starts


@form("assign")
def _assign(graph, symbol, x, value):
    axes, arrays, out, _, _ = _template(
        graph, symbol.params["index"], (), x.shape, lambda a: _array_of(graph, a)
    )
    x, value = graph.cast(x, symbol.dtype), graph.cast(value, symbol.dtype)
    if 0 in out:
        return x
    while len(value.shape) > len(out):
        value = graph.reshape(value, value.shape[1:])
    region = None if arrays else _region(graph, graph.broadcast(value, out), axes)
    if region is None:
        raise TraceError(
            "assign: only slices of step 1 can be written to in a compiled function; add at other "
            f"positions with x.at[i].add(v){_at(symbol)}"
        )
    block, starts = region
    if block.shape == x.shape:
        return block
    return graph.new("inset", x.shape, x.dtype, (x, block), tuple(starts))


# -- reductions -----------------------------------------------------------------------------------


def _opened(graph: Graph, value: Value, shape: tuple, axes: Sequence[int]) -> Value:
    """A reduced value with its axes back, of length 1."""
    return graph.reshape(value, tuple(1 if i in axes else n for i, n in enumerate(shape)))


@form("sum", "mean", "max", "min", "prod")
def _reduce(graph, symbol, x):
    name, axes = symbol.primitive.name, symbol.params["axes"]
    x = graph.cast(x, symbol.dtype)
    total = graph.reduce("sum" if name == "mean" else name, x, axes)
    if name == "mean":
        count = math.prod(x.shape[i] for i in axes)
        share = graph.full(1.0 / count if count else math.nan, (), x.dtype)
        total = graph.map("x * y", (total, share), x.dtype)
    return graph.reshape(total, symbol.shape)


@form("norm")
def _norm(graph, symbol, x):
    square = graph.map("x * x", (graph.cast(x, symbol.dtype),), symbol.dtype)
    total = graph.reduce("sum", square, symbol.params["axes"])
    return graph.reshape(graph.map("sqrt(x)", (total,), symbol.dtype), symbol.shape)


@form("cumsum")
def _cumsum(graph, symbol, x):
    axis, n = symbol.params["axis"], len(x.shape)
    order = (*(i for i in range(n) if i != axis), axis)
    moved = graph.transpose(graph.cast(x, symbol.dtype), order)
    name = "cumsum_back" if symbol.params["reverse"] else "cumsum"
    rows = math.prod(moved.shape[:-1])
    sums = graph.new("call", moved.shape, moved.dtype, (moved,), (name, (rows, moved.shape[-1])))
    return graph.transpose(sums, tuple(sorted(range(n), key=order.__getitem__)))


# -- products -------------------------------------------------------------------------------------


@form("matmul")
def _matmul(graph, symbol, x, y):
    x, y = graph.cast(x, symbol.dtype), graph.cast(y, symbol.dtype)
    a = graph.reshape(x, (1, *x.shape)) if len(x.shape) == 1 else x
    b = graph.reshape(y, (*y.shape, 1)) if len(y.shape) == 1 else y
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if lead and math.prod(b.shape[:-2]) == 1:  # one matrix for all: one product
        rows = math.prod(a.shape[:-1])
        one = graph.matmul(graph.reshape(a, (rows, a.shape[-1])), graph.reshape(b, b.shape[-2:]))
        return graph.reshape(one, symbol.shape)
    if lead:
        a = graph.broadcast(a, (*lead, *a.shape[-2:]))
        b = graph.broadcast(b, (*lead, *b.shape[-2:]))
    return graph.reshape(graph.matmul(a, b), symbol.shape)


# -- softmax and its kin ---------------------------------------------------------------------------


def _shifted(graph: Graph, x: Value, axes: Sequence[int]):
    """`x - max`, its exponentials, their sums with the axes back, and the max."""
    dtype = x.dtype
    largest = graph.reduce("max", x, axes)
    finite = graph.map("abs(x) < inf", (largest,), BOOL)
    largest = graph.map("select(x, y, z)", (finite, largest, graph.full(0.0, (), dtype)), dtype)
    largest = _opened(graph, largest, x.shape, axes)
    shifted = graph.map("x - y", (x, largest), dtype, x.shape)
    exponentials = graph.map("exp(x)", (shifted,), dtype)
    sums = _opened(graph, graph.reduce("sum", exponentials, axes), x.shape, axes)
    return shifted, exponentials, sums, largest


@form("softmax")
def softmax(graph, symbol, x):
    x = graph.cast(x, symbol.dtype)
    if not x.size:
        return x
    _, exponentials, sums, _ = _shifted(graph, x, (symbol.params["axis"],))
    return _share(graph, exponentials, sums)


def _share(graph: Graph, exponentials: Value, sums: Value) -> Value:
    dtype = sums.dtype
    inverse = graph.map("1.0 / x", (sums,), dtype)
    return graph.map("x * y", (exponentials, inverse), dtype, exponentials.shape)


@form("logsoftmax")
def _logsoftmax(graph, symbol, x):
    x = graph.cast(x, symbol.dtype)
    return x if not x.size else _log_shares(graph, x, symbol.params["axis"])


def _log_shares(graph: Graph, x: Value, axis: int) -> Value:
    shifted, exponentials, sums, _ = _shifted(graph, x, (axis,))
    logs = graph.map("log(x)", (sums,), x.dtype)
    out = graph.map("x - y", (shifted, logs), x.dtype, x.shape)
    graph.notes[id(out)] = _share(graph, exponentials, sums)
    return out


@form("logsumexp")
def _logsumexp(graph, symbol, x):
    x, axes = graph.cast(x, symbol.dtype), symbol.params["axes"]
    if not math.prod(x.shape[i] for i in axes):
        return graph.full(-math.inf, symbol.shape, symbol.dtype)
    _, _, sums, largest = _shifted(graph, x, axes)
    logs = graph.map("log(x)", (sums,), x.dtype)
    return graph.reshape(graph.map("x + y", (logs, largest), x.dtype), symbol.shape)


@form("logit_cross_entropy")
def _cross_entropy(graph, symbol, x, y):
    x, y = graph.cast(x, symbol.dtype), graph.cast(y, symbol.dtype)
    logs = _log_shares(graph, x, len(x.shape) - 1)
    product = graph.map("x * y", (y, logs), x.dtype)
    return _mean_loss(graph, product, x)


def _mean_loss(graph: Graph, product: Value, x: Value) -> Value:
    rows = 1 if len(x.shape) == 1 else x.shape[0]
    total = graph.reduce("sum", product, range(len(product.shape)))
    return graph.map("x * y", (total, graph.full(-1.0 / rows, (), x.dtype)), x.dtype)


@form("label_cross_entropy")
def _label_cross_entropy(graph, symbol, x, labels):
    x = graph.cast(x, symbol.dtype)
    classes = x.shape[-1]
    message = f"logit_cross_entropy: a label is not one of the {classes} classes"
    labels = graph.within(graph.cast(labels, INT), 0, classes, message)
    logs = _log_shares(graph, x, len(x.shape) - 1)
    mask = one_hot(graph, labels, x.shape)
    product = graph.map("select(x, y, z)", (mask, logs, graph.full(0.0, (), x.dtype)), x.dtype)
    return _mean_loss(graph, product, x)


def one_hot(graph: Graph, labels: Value, shape: tuple) -> Value:
    """Where the position along the last axis is the label of the row."""
    places = graph.new("iota", shape, INT, (), len(shape) - 1)
    column = graph.reshape(graph.cast(labels, INT), (*shape[:-1], 1))
    return graph.map("x == y", (places, column), BOOL, shape)


@form("one_hot")
def _one_hot(graph, symbol, labels):
    mask = one_hot(graph, labels, symbol.shape)
    one, zero = (graph.full(number, (), symbol.dtype) for number in (1.0, 0.0))
    return graph.map("select(x, y, z)", (mask, one, zero), symbol.dtype)


@form("evalpoly")
def _evalpoly(graph, symbol, x, c):
    dtype = symbol.dtype
    x, c = graph.cast(x, dtype), graph.cast(c, dtype)
    terms = [graph.view(c, (Axis(None, k, 0),), ()) for k in range(c.shape[0])]
    out = graph.broadcast(terms[-1], x.shape)
    for term in terms[-2::-1]:
        out = graph.map("x * y + z", (out, x, term), dtype, x.shape)
    return out
