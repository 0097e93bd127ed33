"""A target of the kernel IR: C text for kernels and cores.

`docs/development/kernel_ir.md` describes targets.

It is here to show what a target takes, and that the IR holds nothing of another one. Not written:
pieces of long loops, tables of addresses, sizes that are known at run time, most device functions.
"""

import math
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from nbgrad.compiler.pointers import move
from nbgrad.ir.affine import Affine
from nbgrad.ir.core import Core, Device, Repeat, Scratch
from nbgrad.ir.reductions import MAXIMUM, MINIMUM, PRODUCT, SUM
from nbgrad.ir.scalar import NAMES, Apply, Arg, Expr, Number
from nbgrad.ir.statements import (
    Accumulate,
    Address,
    Assign,
    Call,
    Chunks,
    For,
    Gemm,
    If,
    Kernel,
    Load,
    Position,
    Store,
    Variable,
)

HEAD = """#include <math.h>
#include <stdint.h>
#include <string.h>

static inline double highest(double x, double y) { return x > y || x != x ? x : y; }
static inline double lowest(double x, double y) { return x < y || x != x ? x : y; }
static inline double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }
static inline double rsqrt(double x) { return pow(x, -0.5); }
static inline double sigmoid_slope(double x) { return sigmoid(x) * sigmoid(-x); }

static void gemm(const double *a, const double *b, double *c, long m, long n, long k,
                 int ta, int tb, long lda, long ldb) {
    for (long i = 0; i < m; i++)
        for (long j = 0; j < n; j++) {
            double total = 0.0;
            for (long t = 0; t < k; t++)
                total += a[ta ? t * lda + i : i * lda + t] * b[tb ? j * ldb + t : t * ldb + j];
            c[i * n + j] = total;
        }
}
"""
TYPES = {"f8": "double", "f4": "float", "i8": "int64_t", "u8": "uint64_t", "b1": "uint8_t"}
OPERATORS = {
    "add": "({} + {})", "subtract": "({} - {})", "multiply": "({} * {})", "divide": "({} / {})",
    "less": "({} < {})", "less_equal": "({} <= {})", "greater": "({} > {})",
    "greater_equal": "({} >= {})", "equal": "({} == {})", "not_equal": "({} != {})",
    "and": "({} & {})", "or": "({} | {})", "xor": "({} ^ {})", "negative": "(-{})",
    "select": "({} ? {} : {})", "strong": "({} == 0.0 ? 0.0 : {})", "fused": "fma({}, {}, {})",
    "abs": "fabs({})",
    "maximum": "highest({}, {})", "minimum": "lowest({}, {})",
}  # fmt: skip
JOINED = {SUM: "{} + {}", PRODUCT: "{} * {}", MAXIMUM: "highest({}, {})",
          MINIMUM: "lowest({}, {})"}  # fmt: skip


def expression(body: Expr, operands: dict[str, str]) -> str:
    """Scalar code."""
    if isinstance(body, Arg):
        return operands[body.name]
    if isinstance(body, Number):
        return literal(body.value)
    assert isinstance(body, Apply)
    args = [expression(x, operands) for x in body.args]
    name = body.function.name
    return OPERATORS.get(name, f"{name}({', '.join(['{}'] * len(args))})").format(*args)


def literal(number: Any) -> str:
    if isinstance(number, (bool, int)):
        return str(int(number))
    if math.isinf(number):
        return "INFINITY" if number > 0 else "(-INFINITY)"
    return "NAN" if math.isnan(number) else f"({number!r})"


class CFunction:
    """Writes one function. `names` are the C names of buffers."""

    def __init__(self, names: dict[Hashable, str], kernels: dict[str, str]):
        self.names, self.kernels = names, kernels
        self.lines: list[str] = []
        self.declared: dict[str, str] = {}  # C types by name

    def declare(self, name: str, dtype: np.dtype) -> None:
        self.declared.setdefault(name, TYPES[dtype.str[1:]])

    def operand(self, operand: Any) -> str:
        return operand if isinstance(operand, str) else literal(operand.number)

    def position(self, at: Affine) -> str:
        terms = [f"{name if isinstance(name, str) else f'i{name + 1}'} * {step}"
                 for name, step in at.terms]  # fmt: skip
        return " + ".join([*terms, str(at.const)])

    def pointer(self, buffer: Hashable, at: Affine, dtype: np.dtype) -> str:
        """The address of an element."""
        name = self.names.get(buffer)
        if isinstance(buffer, Scratch):
            name = f"((({TYPES[dtype.str[1:]]} *)(w + {buffer.offset})))"
        return f"({name} + {self.position(at)})"

    def body(self, statements: Iterable[Any]) -> None:
        for statement in statements:
            self.write(statement)

    def loop(self, head: str, body: Iterable[Any]) -> None:
        self.lines.append(f"{head} {{")
        self.body(body)
        self.lines.append("}")

    def write(self, s: Any) -> None:
        match s:
            case Assign():
                operands = dict(zip(NAMES, map(self.operand, s.operands), strict=False))
                self.declare(s.target, s.dtype)
                self.lines.append(f"{s.target} = {expression(s.body, operands)};")
            case Position():
                self.declare(s.target, np.dtype(np.int64))
                self.lines.append(f"{s.target} = {self.position(s.at)};")
            case Variable():
                if not isinstance(s.start, str):
                    self.declare(s.target, s.start.dtype)
                self.lines.append(f"{s.target} = {self.operand(s.start)};")
            case Accumulate():
                joined = JOINED[s.kind].format(s.target, self.operand(s.value))
                self.lines.append(f"{s.target} = {joined};")
            case Load():
                self.declare(s.target, s.dtype)
                self.lines.append(f"{s.target} = *{self.pointer(s.buffer, s.at, s.dtype)};")
            case Store():
                place = f"*{self.pointer(s.buffer, s.at, s.dtype)}"
                value = self.operand(s.value)
                value = JOINED[s.kind].format(place, value) if s.kind else value
                self.lines.append(f"{place} = {value};")
            case For():
                i = f"i{s.axis + 1}"
                self.loop(f"for (int64_t {i} = {s.start}; {i} < {s.stop}; {i}++)", s.body)
            case Chunks(loop=loop):
                self.lines.append(
                    f"for (int64_t start = {loop.start}; start < {loop.stop}; start += {s.size}) {{"
                )
                self.body(s.before)
                i, end = f"i{loop.axis + 1}", f"start + {s.size}"
                stop = f"({end} < {loop.stop} ? {end} : {loop.stop})"
                self.loop(f"for (int64_t {i} = start; {i} < {stop}; {i}++)", loop.body)
                self.body(s.after)
                self.lines.append("}")
            case Gemm():
                places = [self.pointer(buffer, at, s.dtype) for buffer, at in s[:3]]
                numbers = [*s.sizes, *map(int, s.turned), *s.strides]
                self.lines.append(f"gemm({', '.join([*places, *map(str, numbers)])});")
            case If():
                self.loop(f"if ({self.operand(s.condition)})", [x.statement for x in s.then])
                self.loop("else", [x.statement for x in s.otherwise])
            case Call(function=Kernel()):
                pointers = [self.pointer(p.buffer, p.at, p.dtype) for p in s.pointers]
                results = [f"&{name}" for name in s.results]
                for name in s.results:
                    self.declared.setdefault(name, "double")
                numbers = map(self.operand, s.numbers)
                name = kernel_name(s.function, self.kernels)
                self.lines.append(f"{name}({', '.join([*pointers, *numbers, *results])});")
            case Call(function=Device(function=function)) if function is move:
                to, source = (self.pointer(p.buffer, p.at, p.dtype) for p in s.pointers)
                count = self.operand(s.arguments[-1])
                self.lines.append(f"memcpy({to}, {source}, {count} * sizeof *{to});")
            case _:
                assert not isinstance(s, (Repeat, Address))
                raise NotImplementedError(type(s).__name__)

    def text(self, name: str, parameters: Iterable[str]) -> str:
        given = {each.split()[-1].lstrip("*") for each in parameters}
        names = [f"{kind} {each};" for each, kind in self.declared.items() if each not in given]
        return "\n".join(
            [f"static void {name}({', '.join(parameters)}) {{", *names, *self.lines, "}"]
        )


def kernel_name(kernel: Kernel, kernels: dict[str, str]) -> str:
    """The name of a kernel, which is written where it is new: names by text."""
    writer = CFunction({i: f"p{i}" for i in range(len(kernel.buffers))}, kernels)
    parameters = [f"{TYPES[d.str[1:]]} *restrict p{i}" for i, d in enumerate(kernel.buffers)]
    numbers = zip(kernel.numbers, kernel.dtypes, strict=True)
    parameters += [f"{TYPES[dtype.str[1:]]} {name}" for name, dtype in numbers]
    parameters += [f"double *out_{name}" for name in kernel.results]
    writer.body(kernel.body)
    writer.lines += [f"*out_{name} = {name};" for name in kernel.results]
    text = writer.text("NAME", parameters)
    return kernels.setdefault(text, f"{kernel.label}{len(kernels)}")


def program(core: Core, dtypes: dict[Hashable, np.dtype]) -> str:
    """The C text of a core: `void run(void **buffers, double *results)`, where buffers and numbers
    are in the order of its parameters; `dtypes` are those of buffers."""
    kernels: dict[str, str] = {}
    names = {p: f"b{i}" for i, p in enumerate(core.parameters)}
    writer = CFunction(names, kernels)
    head = [f"static _Alignas(64) char w[{max(core.scratch, 1)}];"]
    for i, each in enumerate(core.parameters):
        kind = "double" if isinstance(each, str) else TYPES[dtypes[each].str[1:]]
        star, name = ("", each) if isinstance(each, str) else ("*", f"b{i}")
        head.append(f"{kind} {star}{name} = {'*' if not star else ''}({kind} *)buffers[{i}];")
    writer.body(step.statement for step in core.steps)
    results = [f"results[{i}] = {writer.operand(x)};" for i, x in enumerate(core.results)]
    names_ = [f"{kind} {each};" for each, kind in writer.declared.items()]
    main = ["void run(void **buffers, double *results) {", *head, *names_, *writer.lines,
            *results, "}"]  # fmt: skip
    texts = [text.replace(" NAME(", f" {name}(", 1) for text, name in kernels.items()]
    return "\n\n".join([HEAD, *texts, "\n".join(main), ""])
