"""The loop of an elementwise op on arrays of any length: the kernels of the eager tier.

An `Assignment` is one line of scalar code. `loop_source` puts a list of them into the loop nest
that the patterns of the operands ask for. Equal requests give equal text, and so one compiled
kernel.

The text of `x * y`, for arrays of one shape::

    def multiply(xs, ys, outs):
        noalias()
        for k in range(outs.size):
            x = xs[k]
            y = ys[k]
            out = x * y
            outs[k] = out
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

from ..ir.functions import Constant
from ..ir.imports import names_used
from ..ir.reductions import CHUNK
from ..ir.scalar import NAMES, Expr, near_arguments, text_of
from ..kernels import scalar as functions
from ..kernels.shapes import Pattern

__all__ = ["Assignment", "KernelOperand", "loop_source"]

_INDEX = {"full": "k", "row": "j", "column": "i"}


class Assignment(NamedTuple):
    """`target = body`, where `operands` are what the arguments of the body stand for: names of
    earlier targets and of operands, or numbers."""

    target: str
    body: Expr
    operands: tuple[str | float, ...]


@dataclass(frozen=True)
class KernelOperand:
    """An argument of a kernel. `name` is its element's; the array is called `<name>s`.

    A written operand whose pattern is not `full` receives the sum over what it lacks.
    """

    name: str
    pattern: Pattern


def loop_source(
    name: str,
    steps: list[Assignment],
    reads: list[KernelOperand],
    writes: dict[KernelOperand, str | float],
) -> str:
    """Source of the module of one kernel: the function and the imports that it needs.

    Where all operands are numbers there is no loop, and the kernel returns what it would write.
    """
    single = all(operand.pattern == "number" for operand in (*reads, *writes))
    text = (_returning if single else _function)(name, steps, reads, writes)
    used = sorted(names_used(text) & set(functions.__all__))
    said = [] if single else ["noalias", "wide_vectors"] if used else ["noalias"]
    head = "import numpy as np\n"
    if said:
        head += f"from nbgrad.compiler.attributes import {', '.join(said)}\n"
    if used:
        head += f"from nbgrad.kernels.scalar import {', '.join(used)}\n"
    text = text.replace(":\n", ":\n" + "".join(f"    {word}()\n" for word in said), 1)
    return f"{head}\n\n{text}"


def _returning(
    name: str,
    steps: list[Assignment],
    reads: list[KernelOperand],
    writes: dict[KernelOperand, str | float],
) -> str:
    """Source of the kernel `name(reads...)` of Python floats, which returns its results."""
    constant = _Constants()
    plain, near = _lines(steps, constant, False), _lines(steps, constant, True)
    body = plain if near == plain else ["far = False", *near, "if far:", *_indent(plain)]
    results = [value if isinstance(value, str) else constant(value) for value in writes.values()]
    # Python's own floats raise where these give inf or nan.
    head = [f"{read.name} = np.float64({read.name})" for read in reads]
    body = [*head, *constant.lines("np.float64"), *body, f"return {', '.join(results)}"]
    arguments = ", ".join(read.name for read in reads)
    return "\n".join([f"def {name}({arguments}):", *_indent(body)]) + "\n"


_LABELS = {"0.0": "zero", "1.0": "one"}


class _Constants:
    """Names for the numbers of a kernel, in its own dtype: a bare literal turns float32 to
    float64."""

    def __init__(self):
        self.known: dict[str, str] = {}

    def __call__(self, value: Constant) -> str:
        if isinstance(value, bool):
            return str(value)
        value = float(value)
        if math.copysign(1.0, value) < 0:
            return f"(-{self(-value)})"
        text = repr(value) if math.isfinite(value) else f"np.{value!r}"
        return self.known.setdefault(text, _LABELS.get(text, f"c{len(self.known)}"))

    def lines(self, cast: str) -> list[str]:
        return [f"{label} = {cast}({text})" for text, label in self.known.items()]


def _function(
    name: str,
    steps: list[Assignment],
    reads: list[KernelOperand],
    writes: dict[KernelOperand, str | float],
) -> str:
    """Source of the kernel `name(reads..., writes..., rows, columns)`.

    Arrays are 1-D, contiguous and of one dtype (conditions are bool); numbers come as Python
    floats. `rows` and `columns` are arguments only where some operand is a row or a column.
    `writes` maps each written operand to the name of its value.
    """
    operands = [*reads, *writes]
    constant = _Constants()
    plain, near = _lines(steps, constant, False), _lines(steps, constant, True)
    values = {out: v if isinstance(v, str) else constant(v) for out, v in writes.items()}
    if any(out.pattern != "full" for out in writes):
        constant(0.0)
    nested = any(operand.pattern in ("row", "column") for operand in operands)
    sizes = ["rows", "columns"] if nested else []
    loop = _nest if nested else _line
    body = loop(plain, reads, values)
    if near != plain:
        # Arguments too large for the branch-free functions are rare: then all is done again.
        body = ["far = False", *loop(near, reads, values), "if far:", *_indent(body)]
    arguments = [_argument(operand, operand in writes) for operand in operands]
    model = next(
        operand for operand in [*writes, *reads] if operand.pattern != "number" or operand in writes
    )
    cast = f"{model.name}s.dtype.type"
    head = constant.lines(cast)
    head += [f"{read.name} = {cast}({read.name})" for read in reads if read.pattern == "number"]
    lines = [f"def {name}({', '.join(arguments + sizes)}):", *_indent(head + body)]
    return "\n".join(lines) + "\n"


def _lines(steps: list[Assignment], constant: _Constants, near: bool) -> list[str]:
    """The steps as text; `near` calls branch-free forms of sin and its kin, and notes in `far`
    where these are wrong."""
    lines = []
    for target, body, operands in steps:
        labels = [x if isinstance(x, str) else constant(x) for x in operands]
        names = dict(zip(NAMES, labels, strict=False))
        if near:
            lines += [f"far = far | is_far({names[x]})" for x in near_arguments(body)]
        lines.append(f"{target} = {text_of(body, names, constant, near)}")
    return lines


def _line(
    steps: list[str], reads: list[KernelOperand], writes: dict[KernelOperand, str]
) -> list[str]:
    """One loop over all elements; sums into numbers go chunk by chunk."""
    loads = [f"{read.name} = {read.name}s[k]" for read in reads if read.pattern == "full"]
    inner = loads + steps
    inner += [f"{out.name}s[k] = {value}" for out, value in writes.items() if out.pattern == "full"]
    sums = {out.name: value for out, value in writes.items() if out.pattern == "number"}
    full = next(operand.name for operand in [*writes, *reads] if operand.pattern == "full")
    if not sums:
        return [f"for k in range({full}s.size):", *_indent(inner)]
    inner += [f"{out}_part = radd({out}_part, {value})" for out, value in sums.items()]
    return [
        *(f"{out}_total = zero" for out in sums),
        f"for start in range(0, {full}s.size, {CHUNK}):  # chunks",
        *(f"    {out}_part = zero" for out in sums),
        f"    for i in range(start, min(start + {CHUNK}, {full}s.size)):",
        *_indent(_indent(["k = offset(i)", *inner])),
        *(f"    {out}_total += {out}_part" for out in sums),
        *(f"{out}s[0] = {out}_total" for out in sums),
    ]


def _nest(
    steps: list[str], reads: list[KernelOperand], writes: dict[KernelOperand, str]
) -> list[str]:
    """Rows outside, columns inside; a sum over a row stays in a register."""
    inner = [
        f"{read.name} = {read.name}s[{_INDEX[read.pattern]}]"
        for read in reads
        if read.pattern in ("full", "row")
    ]
    if any(operand.pattern == "full" for operand in [*reads, *writes]):
        inner.insert(0, "k = offset(i * columns + j)")
    inner += steps
    by_pattern = {
        pattern: {out.name: value for out, value in writes.items() if out.pattern == pattern}
        for pattern in ("full", "row", "column", "number")
    }
    inner += [f"{out}s[k] = {value}" for out, value in by_pattern["full"].items()]
    inner += [f"{out}s[j] += {value}" for out, value in by_pattern["row"].items()]
    in_register = by_pattern["column"] | by_pattern["number"]
    inner += [f"{out}_part = radd({out}_part, {value})" for out, value in in_register.items()]
    middle = [f"{read.name} = {read.name}s[i]" for read in reads if read.pattern == "column"]
    middle += [f"{out}_part = zero" for out in in_register]
    middle += ["for j in range(columns):", *_indent(inner)]
    middle += [f"{out}s[i] = {out}_part" for out in by_pattern["column"]]
    middle += [f"{out}_total += {out}_part" for out in by_pattern["number"]]
    zero = [f"{out}s[j] = zero" for out in by_pattern["row"]]
    return [
        *(["for j in range(columns):", *_indent(zero)] if zero else []),
        *(f"{out}_total = zero" for out in by_pattern["number"]),
        "for i in range(rows):",
        *_indent(middle),
        *(f"{out}s[0] = {out}_total" for out in by_pattern["number"]),
    ]


def _argument(operand: KernelOperand, written: bool) -> str:
    return operand.name if operand.pattern == "number" and not written else f"{operand.name}s"


def _indent(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]
