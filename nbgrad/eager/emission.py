"""Emission of the kernels of elementwise primitives.

The pullback rule of a primitive is recorded once on scalar symbols. The recording is in single
assignment, shares subexpressions, and shows which arguments the pullback reads; `kernels/loops.py`
puts it into loops.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..core.primitive import Aval, Primitive
from ..core.symbols import Builder, Symbol, is_full, topological
from ..ir.scalar import NAMES, Apply, Arg, Expr, arg, number, parse, substitute
from ..ir.statements import Assign, Literal, Operand
from ..kernels.loops import DOUBLE, KernelOperand, Loops
from ..kernels.shapes import Pattern

# Shared subexpressions are written out: beyond this the text of one expression grows too long, or
# too deep for Python's parser.
_LARGEST, _DEEPEST = 5_000, 90
_SCALAR = Aval.of((), DOUBLE)


class Traced(NamedTuple):
    """A recorded pullback: its steps, the name of the cotangent of each needed argument, and the
    names that it reads besides `ct`, in the order in which the kernel takes them."""

    steps: list[Assign]
    values: dict[int, Operand]
    reads: tuple[str, ...]


def body_of(primitive: Any, params: dict, whole: bool = False) -> Expr:
    """The scalar code of an elementwise primitive; with `whole`, that for integers."""
    body: Any = primitive.whole if whole else primitive.body
    body = body(**params) if callable(body) else body
    return parse(body) if isinstance(body, str) else body


@lru_cache(maxsize=1024)
def rounds_alike(primitive: Any) -> bool:
    """Whether the function of a primitive is NumPy's, and gives the same bits as its kernel: one
    exact operation."""
    if not isinstance(primitive.function, np.ufunc) or callable(primitive.body):
        return False
    body = body_of(primitive, {})
    return (
        isinstance(body, Apply)
        and body.function.exact
        and all(isinstance(x, Arg) for x in body.args)
    )


def steps_of(
    outputs: Sequence, names: dict[Symbol, str]
) -> tuple[list[Assign], list[Operand], set[str]]:
    """Scalar steps that compute `outputs`, the names (or numbers) of the outputs, and the names of
    the inputs that are read.

    `names` has the inputs, at which the walk from the outputs ends.
    """
    steps: list[Assign] = []
    labels = dict(names)
    used: set[str] = set()

    def label(value) -> Operand:
        if not isinstance(value, Symbol):
            return Literal(float(value), DOUBLE)
        if value in names:
            used.add(names[value])
        elif is_full(value):
            return label(value.params["number"])
        return labels[value]

    for symbol in topological(outputs, names):
        if symbol in names or is_full(symbol):
            continue
        operands = tuple(map(label, symbol.args))
        labels[symbol] = f"v{len(steps)}"
        body = body_of(symbol.primitive, symbol.params)
        steps.append(Assign(labels[symbol], body, operands, symbol.aval.dtype, DOUBLE))
    return steps, [label(output) for output in outputs], used


def recorded(f: Callable, arity: int) -> tuple[Any, list[Symbol]]:
    """Call `f` on `arity` scalar symbols. Returns its result and the symbols."""
    builder = Builder(level=0)
    args = [builder.input(_SCALAR) for _ in range(arity)]
    return f(*args), args


def expression(f: Callable, arity: int) -> tuple[Expr, set[str], int]:
    """Record a function of `arity` numbers as one scalar expression over `NAMES`. Returns the
    expression, the names that it reads and the number of its steps. Raises OverflowError if it is
    too long."""
    output, args = recorded(f, arity)
    steps, (result,), used = steps_of([output], dict(zip(args, NAMES, strict=False)))
    expressions: dict[str, Expr] = {name: arg(name) for name in NAMES[:arity]}

    def operand(x: Operand) -> Expr:
        return expressions[x] if isinstance(x, str) else number(x.number)

    for step in steps:
        arguments = dict(zip(NAMES, map(operand, step.operands), strict=False))
        expressions[step.target] = whole = substitute(step.body, arguments)
        if whole.size > _LARGEST or whole.depth > _DEEPEST:
            raise OverflowError
    return operand(result), used, len(steps)


def pullback_of(primitive: Primitive, params: dict, need: tuple[bool, ...], same: bool) -> Traced:
    """The recorded pullback of an elementwise primitive; with `same`, both arguments are one
    array."""
    return _pullback_of(primitive, tuple(params.items()), need, same)


@lru_cache(maxsize=4096)
def _pullback_of(primitive: Primitive, params: tuple, need: tuple[bool, ...], same: bool) -> Traced:
    builder = Builder(level=0)
    args: list[Any] = [builder.input(_SCALAR) for _ in need]
    if same:
        args = args[:1] * len(need)
    out, ct = builder.input(_SCALAR), builder.input(_SCALAR)
    names = {ct: "ct", out: "out"} | dict(zip(args, NAMES, strict=False))
    if same:
        names[args[0]] = "x"
    cotangents = primitive.pullback(ct, out, args, need, **dict(params))
    if same:
        cotangents = [sum(cotangents[1:], cotangents[0])]
    outputs = {i: value for i, value in enumerate(cotangents) if value is not None}
    steps, labels, used = steps_of(list(outputs.values()), names)
    reads = tuple(name for name in (*NAMES, "out") if name in used)
    return Traced(steps, dict(zip(outputs, labels, strict=True)), reads)


def forward_loops(
    primitive: Any, params: dict, patterns: Sequence[Pattern], out: Pattern = "full"
) -> Loops:
    """The kernel of `(args..., out)` for arguments with these patterns; if all are numbers, a
    kernel that returns its result."""
    names = NAMES[: len(patterns)]
    steps = (Assign("out", body_of(primitive, params), names, DOUBLE, DOUBLE),)
    reads, writes = tuple(map(KernelOperand, names, patterns)), (KernelOperand("out", out),)
    return Loops(f"{primitive.name}_forward", steps, reads, writes, ("out",))


def pullback_loops(
    primitive: Any, traced: Traced, patterns: Sequence[Pattern], positions: tuple[int, ...],
    out: Pattern = "full", uniform: bool = False,
) -> Loops:  # fmt: skip
    """The kernel of `(ct, reads..., cotangents of positions...)`; if all are numbers, a kernel that
    returns the cotangents. With `uniform`, ct is a number."""
    by_name: dict[str, Pattern] = {**dict(zip(NAMES, patterns, strict=False)), "out": out}
    reads = [KernelOperand(name, by_name[name]) for name in traced.reads]
    reads.insert(0, KernelOperand("ct", "number" if uniform else out))
    writes = tuple(KernelOperand(f"{NAMES[i]}_bar", patterns[i]) for i in positions)
    values = tuple(traced.values[i] for i in positions)
    label = f"{primitive.name}_pullback"
    return Loops(label, tuple(traced.steps), tuple(reads), writes, values)
