"""Loops in pieces on several threads (`ir/spread.py`) as LLVM assembly.

A piece is a function of its own. Its parameters are the values and the pointers of the function
around that it reads, which are found while it is written.
"""

from typing import NamedTuple

import numpy as np

from ..ir.affine import Affine
from ..ir.reductions import SUM
from ..ir.spread import MOST_PIECES, Spread
from ..ir.statements import Address, Operand
from .front.functions import function_of
from .llvm import FunctionWriter
from .llvm_function import BodyWriter
from .llvm_inner import InnerWriter
from .llvm_ops import INT, Value, constant, joined, llvm_type, memory_type

__all__ = ["write_spread"]

_STATUS = np.dtype(np.int32)


class _Sum(NamedTuple):
    """A variable that pieces sum, and the array of their sums, in the function and in a piece."""

    name: str
    dtype: np.dtype
    place: str
    own: str


class _Shared(NamedTuple):
    """A buffer to which pieces add, the pointer to the elements that it stands for, their number,
    and the place of the address of the buffers of all pieces."""

    name: str
    goal: str
    dtype: np.dtype
    length: str
    place: str


class _Piece(InnerWriter):
    """Writes the function of a piece."""

    def __init__(self, outer: BodyWriter, spread: Spread):
        body = (*spread.before, spread.loop, *spread.after)
        super().__init__(outer, body, ())
        self.reserve(body)


def write_spread(writer: BodyWriter, spread: Spread) -> None:
    """Write the pieces as a function, and the statements that run them and add their sums."""
    loop, emit = spread.loop, writer.emit
    start, stop = (writer.size(x).text for x in (loop.start, loop.stop))
    count = writer.operand(spread.count).text
    rounds = emit(f"sub i64 {stop}, {start}")
    most = emit(f"sub i64 {emit(f'add i64 {rounds}, {count}')}, 1")
    size = emit(f"sdiv i64 {most}, {count}")
    many = emit(f"icmp sgt i64 {count}, 1")
    piece = _Piece(writer, spread)
    piece.values[spread.piece] = number = Value("%piece", INT)
    begin, end, length = (piece.take("i64", x) for x in (start, stop, size))
    shared = [_shared(writer, *each, count, many) for each in spread.shared]
    several = piece.take("i1", many)
    for each in shared:
        _own(piece, each, writer.emit(f"load ptr, ptr {each.place}"), several)
    sums: list[_Sum] = []
    for name in spread.sums:
        dtype = writer.operand(name).dtype
        place = writer.allocate(llvm_type(dtype), MOST_PIECES, 64)
        piece.start(name, dtype, constant(0, dtype).text)
        sums.append(_Sum(name, dtype, place, piece.take("ptr", place, " noalias")))
    piece.body(spread.before)
    first = piece.emit(f"mul i64 {number.text}, {length}")
    low = piece.emit(f"add i64 {begin}, {first}")
    high = piece.emit(f"add i64 {low}, {length}")
    shorter = piece.emit(f"icmp slt i64 {end}, {high}")
    high = piece.emit(f"select i1 {shorter}, i64 {end}, i64 {high}")
    if spread.from_end:
        both = piece.emit(f"add i64 {begin}, {end}")
        low, high = (piece.emit(f"sub i64 {both}, {x}") for x in (high, low))
    piece.loop(loop.axis, low, high, lambda: piece.body(loop.body))
    piece.body(spread.after)
    here = Affine(0, ((spread.piece, 1),))
    for each in sums:
        piece.store(each.own, here, piece.operand(each.name), each.dtype)
    piece.end()
    status = writer.allocate("i32", MOST_PIECES, 64) if piece.raises else ""
    _run(writer, piece, (count, many), status)
    for each in sums:

        def join(each: _Sum = each) -> None:
            found = writer.load(each.place, here, each.dtype)
            writer.define(each.name, joined(writer, SUM, writer.operand(each.name), found, False))

        writer.loop(spread.piece, "0", count, join)
    for each in shared:
        _add_up(writer, each, count, many)
    if status:
        _check(writer, count, status, spread.at_error)


def _run(writer: BodyWriter, piece: _Piece, pieces: tuple[str, str], status: str) -> None:
    """Write the function of a piece and run the pieces."""
    module = writer.functions
    results = [_STATUS] if piece.raises else []
    text = piece.text([*piece.parameters, "i64 %piece"], results, "")
    name = module.functions.setdefault(text, f'"nbgrad.piece.{len(module.functions)}"')
    given = [*piece.given, *([("ptr", status)] if status else [])]
    # The pool calls functions of an address and a number.
    caller = FunctionWriter(module, "")
    block = writer.allocate("i8", 8 * max(len(given), 1), 64)
    taken: list[tuple[str, str]] = []
    for i, (kind, text) in enumerate(given):
        place = writer.emit(f"getelementptr i8, ptr {block}, i64 {8 * i}")
        writer.add(f"store {kind} {text}, ptr {place}")
        place = caller.emit(f"getelementptr i8, ptr %given, i64 {8 * i}")
        taken.append((kind, caller.emit(f"load {kind}, ptr {place}")))
    found = caller.results_of(name, [*taken[: len(piece.given)], ("i64", "%piece")], results)
    if status:
        place = caller.emit(f"getelementptr i32, ptr {taken[-1][1]}, i64 %piece")
        caller.add(f"store i32 {found[0].text}, ptr {place}")
    caller.add("ret void")
    text = caller.text(["ptr %given", "i64 %piece"], [], " noinline")
    called = module.functions.setdefault(text, f'"{name[1:-1]}.called"')
    assert module.find is not None
    spread = module.name_without_status(function_of(module.find("spread"), [INT, (INT, INT)]))
    code, operands = (writer.emit(f"ptrtoint ptr {x} to i64") for x in (f"@{called}", block))
    count, many = pieces
    threads, alone, after = map(writer.label, ("threads", "alone", "after"))
    writer.branch_if(many, threads, alone)
    writer.begin(threads)
    writer.add(f"call void @{spread}(i64 {count}, i64 {code}, i64 {operands})")
    writer.branch(after)
    writer.begin(alone)
    writer.add(f"call void @{called}(ptr {block}, i64 0)")
    writer.branch(after)
    writer.begin(after)


def _shared(
    writer: BodyWriter, name: str, address: Address, length: Operand, count: str, many: str
) -> _Shared:
    """Allocate a buffer for each piece; one piece alone has the buffer itself."""
    place, elements = writer.allocate("ptr"), writer.operand(length).text
    dtype, goal = address.dtype, writer.address(address.buffer, address.at, address.dtype)
    writer.add(f"store ptr {goal}, ptr {place}")
    make, made, failed, after = map(writer.label, ("make", "made", "failed", "after"))
    writer.branch_if(many, make, after)
    writer.begin(make)
    total = writer.emit(f"mul i64 {writer.emit(f'mul i64 {elements}, {count}')}, {dtype.itemsize}")
    writer.module.intrinsics["realloc"] = "declare ptr @realloc(ptr, i64)"
    found = writer.emit(f"call ptr @realloc(ptr null, i64 {total})")
    writer.branch_if(writer.emit(f"icmp eq ptr {found}, null"), failed, made)
    writer.begin(failed)
    writer.leave("MemoryError", "no memory for the shadows of several threads")
    writer.begin(made)
    writer.add(f"store ptr {found}, ptr {place}")
    writer.branch(after)
    writer.begin(after)
    return _Shared(name, goal, dtype, elements, place)


def _own(piece: _Piece, shared: _Shared, whole: str, several: str) -> None:
    """Point to the buffer of a piece, which holds zeros if there are several."""
    start, count = piece.take("ptr", whole, " noalias"), piece.take("i64", shared.length)
    at = piece.emit(f"mul i64 %piece, {count}")
    kind = memory_type(shared.dtype)
    piece.pointers[shared.name] = own = piece.emit(f"getelementptr {kind}, ptr {start}, i64 {at}")
    clear, after = piece.label("clear"), piece.label("after")
    piece.branch_if(several, clear, after)
    piece.begin(clear)
    piece.module.intrinsics["llvm.memset"] = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
    size = piece.emit(f"mul i64 {count}, {shared.dtype.itemsize}")
    piece.add(f"call void @llvm.memset.p0.i64(ptr {own}, i8 0, i64 {size}, i1 false)")
    piece.branch(after)
    piece.begin(after)


def _add_up(writer: BodyWriter, shared: _Shared, count: str, many: str) -> None:
    """Add the buffers of several pieces to the buffer, and free them."""
    add_up, after = writer.label("add_up"), writer.label("after")
    writer.branch_if(many, add_up, after)
    writer.begin(add_up)
    whole, goal = writer.emit(f"load ptr, ptr {shared.place}"), shared.goal
    kind = memory_type(shared.dtype)

    def rows() -> None:
        at = writer.emit(f"mul i64 {writer.values['piece of'].text}, {shared.length}")
        row = writer.emit(f"getelementptr {kind}, ptr {whole}, i64 {at}")

        def element() -> None:
            i = Affine(0, (("element of", 1),))
            before, more = (writer.load(x, i, shared.dtype) for x in (goal, row))
            writer.store(goal, i, joined(writer, SUM, before, more, False), shared.dtype)

        writer.loop("element of", "0", shared.length, element)

    writer.loop("piece of", "0", count, rows)
    writer.module.intrinsics["free"] = "declare void @free(ptr)"
    writer.add(f"call void @free(ptr {whole})")
    writer.branch(after)
    writer.begin(after)


def _check(writer: BodyWriter, count: str, status: str, at_error: tuple) -> None:
    """Raise what the first piece has raised that did."""
    first = writer.allocate("i32")
    writer.add(f"store i32 0, ptr {first}")

    def look() -> None:
        place = writer.emit(
            f"getelementptr i32, ptr {status}, i64 {writer.values['piece of'].text}"
        )
        before, found = (writer.emit(f"load i32, ptr {x}") for x in (first, place))
        is_none = writer.emit(f"icmp eq i32 {before}, 0")
        earliest = writer.emit(f"select i1 {is_none}, i32 {found}, i32 {before}")
        writer.add(f"store i32 {earliest}, ptr {first}")

    writer.loop("piece of", "0", count, look)
    found = writer.emit(f"load i32, ptr {first}")
    writer.leave_if(found, lambda: writer.body(at_error))
