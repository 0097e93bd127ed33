"""The text of kernels for Numba, statement by statement.

Kernels take pointers `p0`, `p1`, ... and numbers.
"""

from collections.abc import Callable, Hashable, Iterable

import numpy as np

from .affine import Affine
from .reductions import MAXIMUM, MINIMUM, PRODUCT, SUM, Reduction
from .scalar import NAMES, parse, plain_literal, text_of, typed_literal
from .sizes import is_dynamic
from .statements import (
    PIECE,
    Accumulate,
    Assign,
    Chunks,
    For,
    Function,
    Gemm,
    Kernel,
    Load,
    Operand,
    Pieces,
    Pointer,
    Position,
    Return,
    Statement,
    Store,
    Variable,
)
from .walk import walk

_ZERO = Affine(0, ())
_VARIABLES = "ijkl"
_SAME = parse("x")
_LOOSE = {SUM: "radd({}, {})", PRODUCT: "{} * {}", MAXIMUM: "highest({}, {})",
          MINIMUM: "lowest({}, {})"}  # fmt: skip


def kernel_text(kernel: Kernel, name_of: Callable[[Kernel], str] | None = None) -> str:
    """The function of a kernel, without its name. Where `name_of` gives no names to parts of it,
    their text stands in place of them."""
    body: list[str] = []
    for statement in kernel.body:
        if isinstance(statement, Pieces):
            name = name_of(statement.part) if name_of else kernel_text(statement.part)
            body += _pieces(statement, name)
        else:
            body += _body([statement])
    numbers = list(kernel.numbers)
    if PIECE in numbers:  # its results go where they are joined
        numbers[-1:] = [*_sums(kernel), PIECE]
        each = zip(_sums(kernel), kernel.results, strict=True)
        body += [f"{sums}[{PIECE}] = {result}" for sums, result in each]
    elif kernel.results:
        body.append(f"return {', '.join(kernel.results)}")
    return _whole([*_pointers(kernel), *numbers, *kernel.sizes], body or ["pass"])


def python_text(function: Function) -> str:
    """A function of arrays, without its name: each stands for its pointer and its length."""
    lengths = {
        f"{name}_n0": name for name, kind in function.parameters if isinstance(kind, Pointer)
    }
    names = [name for name, _ in function.parameters if name not in lengths]
    ends = {each.stop for each in walk(function.body) if isinstance(each, For)}
    head = [f"{length} = {array}.size" for length, array in lengths.items() if length in ends]
    return _whole(names, [*head, *_body(function.body)])


def _whole(parameters: Iterable[str], body: Iterable[str]) -> str:
    return "\n".join([f"({', '.join(parameters)}):", *indented(body)]) + "\n"


def _pointers(kernel: Kernel) -> list[str]:
    return [f"p{i}" for i in range(len(kernel.buffers))]


def _sums(part: Kernel) -> list[str]:
    """The names of the arrays for the results of pieces."""
    return [f"sums{i}" for i in range(len(part.results))]


def _body(body: Iterable[Statement]) -> list[str]:
    lines: list[str] = []
    for statement in body:
        if isinstance(statement, For):
            lines += _loop(statement)
        elif isinstance(statement, Chunks):
            lines += _chunks(statement)
        elif isinstance(statement, Load):
            lines.append(load_text(statement, buffer_text(statement.buffer)))
        elif isinstance(statement, Store):
            lines.append(store_text(statement, buffer_text(statement.buffer)))
        elif isinstance(statement, Return):
            lines.append(f"return {', '.join(map(operand_text, statement.values))}")
        elif isinstance(statement, Gemm):
            lines.append(gemm_text(statement, _shifted))
        else:
            lines.append(line_text(statement))
    return lines


def buffer_text(buffer: Hashable) -> str:
    """The name of a buffer: kernels have numbers for those."""
    return buffer if isinstance(buffer, str) else f"p{buffer}"


def _loop(loop: For) -> list[str]:
    head, start, stop = _bounds(loop)
    steps = f"range({stop})" if start == "0" else f"range({start}, {stop})"
    return [*head, f"for {variable(loop.axis)} in {steps}:", *indented(_body(loop.body))]


def _bounds(loop: For) -> tuple[list[str], str, str]:
    """Where a loop begins and ends, and lines that compute it."""
    if not loop.piece:
        return [], str(loop.start), str(loop.stop)
    low = position_text(Affine(loop.start, ((PIECE, loop.piece),)))
    return [f"low = {low}", f"high = min(low + {loop.piece}, {loop.stop})"], "low", "high"


def _pieces(pieces: Pieces, name: str) -> list[str]:
    part, arrays, count = pieces.part, _sums(pieces.part), pieces.count
    lines = [f"sums = scratch({8 * count * len(arrays)})"] if arrays else []
    for i, (array, join) in enumerate(zip(arrays, pieces.joins, strict=True)):
        lines.append(f"{array} = {join.dtype.str[1:]}(sums, {8 * count * i})")
    operands = [*_pointers(part), *(x for x in part.numbers if x != PIECE), *arrays]
    lines.append(f"spread({count}, handed({name}, packed({', '.join(operands)})))")
    if arrays:
        lines.append(f"for {PIECE} in range({count}):")
    for array, join in zip(arrays, pieces.joins, strict=True):
        taken = f"{array}[{PIECE}]" + (" != 0" if join.dtype.kind == "b" else "")
        joined = _joined(join.kind, join.target, taken, join.dtype, join.loose)
        lines.append(f"    {join.target} = {joined}")
    return lines


def _chunks(chunks: Chunks) -> list[str]:
    loop = chunks.loop
    head, start, stop = _bounds(loop)
    end = f"min(start + {chunks.size}, {stop})"
    return [
        *head,
        f"for start in range({start}, {stop}, {chunks.size}):",
        *indented(_body(chunks.before)),
        f"    for {variable(loop.axis)} in range(start, {end}):",
        *indented(indented(_body(loop.body))),
        *indented(_body(chunks.after)),
    ]


def line_text(statement: Statement) -> str:
    if isinstance(statement, Assign):
        return _let(statement)
    if isinstance(statement, Position):
        return f"{statement.target} = {position_text(statement.at)}"
    if isinstance(statement, Variable):
        return f"{statement.target} = {operand_text(statement.start)}"
    assert isinstance(statement, Accumulate), statement
    joined = _joined(statement.kind, statement.target, statement.value, statement.dtype,
                     statement.loose)  # fmt: skip
    return f"{statement.target} = {joined}"


def _let(let: Assign) -> str:
    names = dict(zip(NAMES, map(operand_text, let.operands), strict=False))
    if let.body is _SAME:
        return f"{let.target} = {_cast(names['x'], let.dtype)}"
    text = text_of(let.body, names, typed_literal(let.inner))
    if let.dtype == np.uint64:  # with a signed one, Numba's integers become floats
        text = f"uint64({text})"
    return f"{let.target} = {text}"


def _cast(name: str, dtype: np.dtype) -> str:
    return f"{name} != 0" if dtype.kind == "b" else f"{dtype.name}({name})"


def _joined(kind: Reduction, target: str, value: Operand, dtype: np.dtype, loose: bool) -> str:
    if kind is SUM and not loose:
        return f"{target} + {operand_text(value)}"
    return _LOOSE[kind].format(target, operand_text(value))


def load_text(load: Load, pointer: str) -> str:
    truth = " != 0" if load.dtype.kind == "b" else ""
    return f"{load.target} = {pointer}[{position_text(load.at)}]{truth}"


def store_text(store: Store, pointer: str) -> str:
    place = f"{pointer}[{position_text(store.at)}]"
    if store.kind is None:
        return f"{place} = {operand_text(store.value)}"
    return f"{place} = {_joined(store.kind, place, store.value, store.dtype, store.loose)}"


def gemm_text(gemm: Gemm, pointer: Callable) -> str:
    (m, n, k), (ta, tb), (lda, ldb) = gemm.sizes, gemm.turned, gemm.strides
    places = ", ".join(pointer(place) for place in (gemm.a, gemm.b, gemm.c))
    rows = ", ".join(f"max({ld}, 1)" if is_dynamic(ld) else str(ld) for ld in (lda, ldb, n))
    return f"gemm_at({places}, {m}, {n}, {k}, {ta}, {tb}, {rows}, {gemm.products})"


def _shifted(place: tuple[Hashable, Affine]) -> str:
    buffer, at = place
    return f"shift(p{buffer}, {position_text(at)})" if not at.is_zero else f"p{buffer}"


def call_text(name: str, operands: list[str], results: tuple[str, ...] = ()) -> str:
    call = f"{name}({', '.join(operands)})"
    return f"{', '.join(results)} = {call}" if results else call


def operand_text(operand: Operand) -> str:
    """The name of an operand, or its literal."""
    if isinstance(operand, str):
        return operand
    number, dtype = operand.number, operand.dtype
    if is_dynamic(number):
        return str(number)
    if dtype.kind == "b":
        return "True" if number else "False"
    if dtype.kind in "iu":
        text = plain_literal(int(number))
        return f"uint64({text})" if dtype == np.uint64 else text
    return typed_literal(dtype)(number)


def position_text(position: Affine) -> str:
    """A position in a buffer."""
    terms = []
    for name, step in position.terms:
        text = variable(name)
        terms.append(text if step == 1 else f"{text} * {step}")
    if position.const or not terms:
        terms.append(str(position.const))
    return " + ".join(terms).replace("+ -", "- ")


def variable(axis: int | str) -> str:
    """The name of a loop variable."""
    if isinstance(axis, str):
        return axis
    return "each" if axis < 0 else _VARIABLES[axis] if axis < len(_VARIABLES) else f"i{axis}"


def indented(lines: Iterable[str]) -> list[str]:
    return ["    " + line for line in lines]


__all__ = [
    "buffer_text", "call_text", "gemm_text", "indented", "kernel_text", "line_text", "load_text",
    "operand_text", "position_text", "python_text", "store_text", "variable",
]  # fmt: skip
