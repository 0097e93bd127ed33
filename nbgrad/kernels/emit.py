"""From steps to a loop: the one emitter.

A `Step` is one line of scalar code. `loop_source` puts a list of them into the loop nest that a
`Layout` asks for: an eager elementwise kernel runs one op, a static program runs many. Equal
requests give equal text, and so one compiled kernel.

The text of `x * y`, for arrays of one shape::

    def multiply(xs, ys, outs):
        for k in range(outs.size):
            x = xs[k]
            y = ys[k]
            v0 = x * y
            outs[k] = v0
"""

import re
from dataclasses import dataclass

from ..shapes import Pattern
from . import scalar

__all__ = ["Operand", "Step", "loop_source", "substitute"]

_INDEX = {"full": "k", "row": "j", "column": "i"}
_LITERAL = re.compile(r"(?<![\w.])(\d+\.?\d*(?:e[+-]?\d+)?|inf|nan)(?![\w.])")
_NAME = re.compile(r"[A-Za-z_]\w*")
# One accumulator over a whole long array would lose digits: this many at a time.
_CHUNK = 4096
# Functions that vectorise for arguments that are not far from 0.
_RANGED = re.compile(r"(?<![\w.])(sin|sinc|cos|tan)\((\w+)\)")


@dataclass(frozen=True)
class Step:
    """`target = body`, where `body` is scalar code over names."""

    target: str
    body: str


@dataclass(frozen=True)
class Operand:
    """An argument of a kernel. `name` is its element's; the array is called `<name>s`.

    A written operand whose pattern is not `full` receives the sum over what it lacks.
    """

    name: str
    pattern: Pattern


def substitute(body: str, names: dict[str, str]) -> str:
    """`body` with its names replaced, in parentheses where the replacement is not atomic."""
    return _NAME.sub(lambda match: names.get(match[0], match[0]), body)


def loop_source(
    name: str,
    steps: list[Step],
    reads: list[Operand],
    writes: dict[Operand, str],
) -> str:
    """Source of the module of one kernel: the function and the imports that it needs."""
    text = _function(name, steps, reads, writes)
    used = sorted(set(_NAME.findall(text)) & set(scalar.__all__))
    head = "import numpy as np\n"
    if used:
        head += "from nbgrad.kernels.pointers import wide\n"
        head += f"from nbgrad.kernels.scalar import {', '.join(used)}\n"
        text = text.replace(":\n", ":\n    wide()\n", 1)
    return f"{head}\n\n{text}"


def _function(
    name: str, steps: list[Step], reads: list[Operand], writes: dict[Operand, str]
) -> str:
    """Source of the kernel `name(reads..., writes..., rows, columns)`.

    Arrays are 1-D, contiguous and of one dtype (conditions are bool); numbers come as Python
    floats. `rows` and `columns` are arguments only where some operand is a row or a column.
    `writes` maps each written operand to the name of its value.
    """
    operands = [*reads, *writes]
    steps, constants = _typed(steps)
    if any(out.pattern != "full" for out in writes):
        constants["0.0"] = "zero"
    nested = any(operand.pattern in ("row", "column") for operand in operands)
    sizes = ["rows", "columns"] if nested else []

    def loop(steps: list[Step]) -> list[str]:
        return _nest(steps, reads, writes) if nested else _line(steps, reads, writes)

    body = loop(steps)
    near = _near(steps)
    if near != steps:
        # Arguments too large for the branch-free functions are rare: then all is done again.
        body = ["far = False", *loop(near), "if far:", *_indent(body)]
    arguments = [_argument(operand, operand in writes) for operand in operands]
    model = next(
        operand for operand in [*writes, *reads] if operand.pattern != "number" or operand in writes
    )
    cast = f"{model.name}s.dtype.type"
    head = [f"{label} = {cast}({text})" for text, label in constants.items()]
    head += [f"{read.name} = {cast}({read.name})" for read in reads if read.pattern == "number"]
    lines = [f"def {name}({', '.join(arguments + sizes)}):", *_indent(head + body)]
    return "\n".join(lines) + "\n"


def _typed(steps: list[Step]) -> tuple[list[Step], dict[str, str]]:
    """Literals become constants of the kernel's dtype: one bare one turns float32 to float64."""
    labels = {"0.0": "zero", "1.0": "one"}
    constants: dict[str, str] = {}

    def constant(match: re.Match) -> str:
        text = match[0] if match[0][0].isalpha() else repr(float(match[0]))
        label = constants.setdefault(text, labels.get(text, f"c{len(constants)}"))
        return label

    typed = [Step(step.target, _LITERAL.sub(constant, step.body)) for step in steps]
    return typed, {text if text[0].isdigit() else f"np.{text}": c for text, c in constants.items()}


def _near(steps: list[Step]) -> list[Step]:
    """The steps with branch-free forms of sin and its kin, noting in `far` where these are wrong.

    An argument that is no name keeps the function that looks for itself.
    """
    near = []
    for step in steps:
        for argument in dict.fromkeys(match[1] for match in _RANGED.findall(step.body)):
            near.append(Step("far", f"far | is_far({argument})"))
        near.append(Step(step.target, _RANGED.sub(r"near_\1(\2)", step.body)))
    return near


def _line(steps: list[Step], reads: list[Operand], writes: dict[Operand, str]) -> list[str]:
    """One loop over all elements; sums into numbers go chunk by chunk."""
    loads = [f"{read.name} = {read.name}s[k]" for read in reads if read.pattern == "full"]
    inner = loads + [f"{step.target} = {step.body}" for step in steps]
    inner += [f"{out.name}s[k] = {value}" for out, value in writes.items() if out.pattern == "full"]
    sums = {out.name: value for out, value in writes.items() if out.pattern == "number"}
    full = next(operand.name for operand in [*writes, *reads] if operand.pattern == "full")
    if not sums:
        return [f"for k in range({full}s.size):", *_indent(inner)]
    inner += [f"{out}_part = radd({out}_part, {value})" for out, value in sums.items()]
    return [
        *(f"{out}_total = zero" for out in sums),
        f"for start in range(0, {full}s.size, {_CHUNK}):  # chunks",
        *(f"    {out}_part = zero" for out in sums),
        f"    for i in range(start, min(start + {_CHUNK}, {full}s.size)):",
        *_indent(_indent(["k = offset(i)", *inner])),
        *(f"    {out}_total += {out}_part" for out in sums),
        *(f"{out}s[0] = {out}_total" for out in sums),
    ]


def _nest(steps: list[Step], reads: list[Operand], writes: dict[Operand, str]) -> list[str]:
    """Rows outside, columns inside; a sum over a row stays in a register."""
    inner = [
        f"{read.name} = {read.name}s[{_INDEX[read.pattern]}]"
        for read in reads
        if read.pattern in ("full", "row")
    ]
    if any(operand.pattern == "full" for operand in [*reads, *writes]):
        inner.insert(0, "k = offset(i * columns + j)")
    inner += [f"{step.target} = {step.body}" for step in steps]
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


def _argument(operand: Operand, written: bool) -> str:
    return operand.name if operand.pattern == "number" and not written else f"{operand.name}s"


def _indent(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]
