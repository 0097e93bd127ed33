"""Reading elementwise primitives by symbols, to emit their kernels.

The rule of a primitive is recorded once on scalar symbols. That gives single assignment, shared
subexpressions, and which arguments the pullback reads; `eager/loop_source.py` turns it into
loops.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..compiler.kernel import Kernel, kernel_from_source
from ..core.primitive import Aval, Primitive
from ..core.symbols import Builder, Symbol, is_full, topological
from ..ir.scalar import NAMES, Expr, arg, number, parse, substitute
from ..kernels.shapes import Pattern
from .loop_source import Assignment, KernelOperand, loop_source

# Shared subexpressions are written out: beyond this the text of one expression grows too long, or
# too deep for Python's parser.
_LARGEST, _DEEPEST = 5_000, 90
_SCALAR = Aval.of((), np.dtype(np.float64))


class Traced(NamedTuple):
    """A recorded pullback: its steps, the name of the cotangent of each needed argument, and the
    names that it reads besides `ct`, in the order in which the kernel takes them."""

    steps: list[Assignment]
    values: dict[int, str | float]
    reads: tuple[str, ...]


def body_of(primitive: Any, params: dict) -> Expr:
    """The scalar code of an elementwise primitive."""
    body: Any = primitive.body(**params) if callable(primitive.body) else primitive.body
    return parse(body) if isinstance(body, str) else body


def whole_body_of(primitive: Any, params: dict) -> Expr:
    """The scalar code of an elementwise primitive for integers."""
    body: Any = primitive.whole(**params) if callable(primitive.whole) else primitive.whole
    return parse(body) if isinstance(body, str) else body


def steps_of(
    outputs: Sequence, names: dict[Symbol, str]
) -> tuple[list[Assignment], list[str | float], set[str]]:
    """Scalar steps that compute `outputs`, the names (or numbers) of those, and the inputs that are
    read.

    `names` holds what is given: the walk from the outputs ends there.
    """
    steps: list[Assignment] = []
    labels = dict(names)
    used: set[str] = set()

    def label(value) -> str | float:
        if not isinstance(value, Symbol):
            return float(value)
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
        steps.append(Assignment(labels[symbol], body_of(symbol.primitive, symbol.params), operands))
    return steps, [label(output) for output in outputs], used


def recorded(f: Callable, arity: int) -> tuple[Any, list[Symbol]]:
    """What a function gives for so many symbols of numbers, and those."""
    builder = Builder(level=0)
    args = [builder.input(_SCALAR) for _ in range(arity)]
    return f(*args), args


def expression(f: Callable, arity: int) -> tuple[Expr, set[str], int]:
    """A function of so many numbers, recorded as one scalar expression over `NAMES`: the
    expression, the names that it reads, and of how many steps it is. Raises OverflowError where it
    is too long."""
    output, args = recorded(f, arity)
    steps, (result,), used = steps_of([output], dict(zip(args, NAMES, strict=False)))
    expressions: dict[str, Expr] = {name: arg(name) for name in NAMES[:arity]}

    def operand(x: str | float) -> Expr:
        return expressions[x] if isinstance(x, str) else number(x)

    for target, body, operands in steps:
        arguments = dict(zip(NAMES, map(operand, operands), strict=False))
        expressions[target] = whole = substitute(body, arguments)
        if whole.size > _LARGEST or whole.depth > _DEEPEST:
            raise OverflowError
    return operand(result), used, len(steps)


def pullback_of(primitive: Primitive, params: dict, need: tuple[bool, ...], same: bool) -> Traced:
    """The rule of an elementwise primitive, recorded; `same` says that both arguments are one."""
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


def forward_kernel(
    primitive: Any, params: dict, patterns: Sequence[Pattern], out: Pattern = "full"
) -> Kernel:
    """`kernel(args..., out)` for arguments that lie as `patterns` say; of numbers that give a
    number, a kernel that returns it."""
    if primitive.kernels and set(patterns) == {"full"}:
        return primitive.kernels[0]
    reads = [KernelOperand(name, pattern) for name, pattern in zip(NAMES, patterns, strict=False)]
    label = f"{primitive.name}_forward"
    steps = [Assignment("out", body_of(primitive, params), NAMES[: len(patterns)])]
    return kernel_from_source(
        label, loop_source(label, steps, reads, {KernelOperand("out", out): "out"})
    )


def pullback_kernel(
    primitive: Any,
    traced: Traced,
    patterns: Sequence[Pattern],
    positions: tuple[int, ...],
    out: Pattern = "full",
    uniform: bool = False,
) -> Kernel:
    """`kernel(ct, reads..., cotangents of positions...)`; of numbers alone, a kernel that returns
    those. Where ct is `uniform` it is a number."""
    if primitive.kernels and set(patterns) == {"full"}:
        return primitive.kernels[1]
    by_name: dict[str, Pattern] = {**dict(zip(NAMES, patterns, strict=False)), "out": out}
    reads = [
        KernelOperand("ct", "number" if uniform else out),
        *(KernelOperand(name, by_name[name]) for name in traced.reads),
    ]
    writes = {KernelOperand(f"{NAMES[i]}_bar", patterns[i]): traced.values[i] for i in positions}
    label = f"{primitive.name}_pullback"
    return kernel_from_source(label, loop_source(label, traced.steps, reads, writes))
