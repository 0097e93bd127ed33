"""The kernel IR as LLVM assembly.

A `FunctionWriter` writes one function, statement by statement. A `Module` holds the functions of a
program, and the names of those that it calls and does not define. A name that several statements
assign is a slot on the stack, which LLVM turns into registers.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ..ir.affine import ZERO, Affine
from ..ir.scalar import NAMES, Apply, Arg, Expr, Number, near_arguments
from ..ir.statements import (
    PIECE,
    Accumulate,
    Assign,
    Chunks,
    For,
    Gemm,
    If,
    Kernel,
    Load,
    Pieces,
    Position,
    Statement,
    Store,
    Variable,
)
from .cpu import Guarded, OpaqueLoop, OpaqueNumber, prepared
from .host import is_wide
from .llvm_ops import BOOL, INT, Value, applied, cast, constant, joined, llvm_type, truth
from .llvm_writer import Writer, ascii_name, result_type

__all__ = ["FunctionWriter", "Module", "Value", "ascii_name", "result_type"]

_CODES = {"double": "f8", "float": "f4", "i1": "b1", "ptr": "p"}


class Module:
    """The functions of a program, and the symbols of those that are defined elsewhere."""

    def __init__(self):
        self.functions: dict[str, str] = {}  # names by text
        self.results: dict[str, list[np.dtype]] = {}  # by name
        self.cores: dict[str, str] = {}  # names of functions by those of cores
        self._texts: dict[int, tuple[Kernel, str]] = {}  # by identity
        self._returned: dict[str, list[np.dtype]] = {}  # by text
        self.needs: dict[str, tuple[str, tuple[str, ...], str]] = {}
        self.devices: dict[str, Callable] = {}  # by name
        self.intrinsics: dict[str, str] = {}  # declarations by name
        self.attributes = ' "prefer-vector-width"="512"' if is_wide() else ""

    def name_of(self, kernel: Kernel, dtypes: Sequence[np.dtype] = ()) -> str:
        """The name of a kernel, which is written where it is new; of a part of one, `dtypes` are
        those of its numbers."""
        text = self.text_of(replace(kernel, dtypes=tuple(dtypes)) if dtypes else kernel)
        name = self.functions.setdefault(text, f"{kernel.label}{len(self.functions)}")
        self.results[name] = self._returned[text]
        return name

    def text_of(self, kernel: Kernel) -> str:
        """The text of a kernel, with @ in place of its name."""
        known = self._texts.get(id(kernel))
        if known is None:
            known = self._texts[id(kernel)] = kernel, self._written(kernel)
        return known[1]

    def _written(self, kernel: Kernel) -> str:
        writer = FunctionWriter(self)
        pointers = [writer.parameter(f"p{i}") for i in range(len(kernel.buffers))]
        parameters = [f"ptr noalias {pointer}" for pointer in pointers]
        numbers = list(zip(kernel.numbers, kernel.dtypes, strict=True))
        is_part = bool(numbers) and numbers[-1][0] == PIECE
        if is_part:
            numbers.pop()
        parameters += [writer.number(name, dtype) for name, dtype in numbers]
        sums: list[str] = []
        if is_part:
            sums = [writer.parameter(f"sums{i}") for i in range(len(kernel.results))]
            parameters += [f"ptr noalias {each}" for each in sums]
            parameters.append(writer.number(PIECE, INT))
        parameters += [writer.number(name, INT) for name in kernel.sizes]
        writer.pointers = dict(enumerate(pointers))
        writer.body(prepared(kernel.body))
        results = [writer.operand(name) for name in kernel.results]
        if is_part:
            for place, value in zip(sums, results, strict=True):
                writer.store(place, Affine(0, ((PIECE, 1),)), value, value.dtype)
            results = []
        writer.returned(results)
        dtypes = [x.dtype for x in results]
        text = writer.text(parameters, dtypes, f" noinline{self.attributes}")
        self._returned[text] = dtypes
        return text

    def symbol(self, function: str | Callable, types: Sequence[str], result: str) -> str:
        """The symbol of a function that is defined elsewhere: by its name, or a device function."""
        if isinstance(function, str):
            name = function
        else:
            name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
            self.devices[name] = function
        symbol = ".".join(["nbgrad", name, *(_CODES.get(t, t) for t in types)])
        self.needs[symbol] = name, tuple(types), result
        return symbol

    def texts(self) -> list[str]:
        """All functions so far."""
        return [text.replace("@(", f"@{name}(", 1) for text, name in self.functions.items()]


class FunctionWriter(Writer):
    """Writes the statements of one function."""

    # -- statements -----------------------------------------------------------------------------

    def body(self, statements: Iterable[Statement]) -> None:
        for statement in statements:
            self._written[type(statement)](self, statement)

    def _assign(self, let: Assign) -> None:
        operands = dict(zip(NAMES, map(self.operand, let.operands), strict=False))
        if self._near:
            for argument, test in near_arguments(let.body):
                name = let.operands[NAMES.index(argument)]
                if isinstance(name, str) and (name, test) not in self._checked:
                    self._checked.add((name, test))
                    far = self.call(test, [operands[argument]], BOOL).text
                    before = self.emit(f"load i1, ptr {self._far}")
                    self.add(f"store i1 {self.emit(f'or i1 {before}, {far}')}, ptr {self._far}")
        value = self.expression(let.body, operands, let.inner, let.dtype)
        self.define(let.target, cast(self, value, let.dtype))

    def expression(
        self, body: Expr, operands: dict[str, Value], inner: np.dtype, dtype: np.dtype
    ) -> Value:
        """The value of scalar code; constants in it are of the dtype `inner`."""
        if isinstance(body, Arg):
            return operands[body.name]
        if isinstance(body, Number):
            return self._constant(body.value, inner, dtype)
        assert isinstance(body, Apply)
        function = body.function
        args = [
            operands[x.name] if isinstance(x, Arg) else self.expression(x, operands, inner, dtype)
            for x in body.args
        ]
        near = self._near and function.near and isinstance(body.args[0], Arg)
        return applied(self, function.near if near else function.name, args)

    @staticmethod
    def _constant(number: Any, inner: np.dtype, dtype: np.dtype) -> Value:
        if isinstance(number, bool):
            return constant(number, BOOL)
        if inner.kind == "f":
            return constant(number, inner)
        if isinstance(number, int):
            return constant(number, dtype if dtype.kind == "u" else INT)
        return constant(number, np.dtype(np.float64))

    def _index(self, place: Position) -> None:
        self.define(place.target, self.position(place.at))

    def _variable(self, begin: Variable) -> None:
        value = self.operand(begin.start)
        dtype = begin.dtype or value.dtype
        self.slot(begin.target, dtype)
        self.fill(self._slots[begin.target], value)

    def _opaque_number(self, number: OpaqueNumber) -> None:
        self.define(number.target, self.opaque(self.operand(number.start)))

    def _accumulate(self, join: Accumulate) -> None:
        total, value = self.operand(join.target), self.operand(join.value)
        self.define(join.target, joined(self, join.kind, total, value, join.loose))

    def address(self, buffer: Any, at: Affine, dtype: np.dtype) -> str:
        """The address of an element of a buffer."""
        return self.place(self.pointer(buffer), at, dtype)

    def _load(self, load: Load) -> None:
        pointer = self.address(load.buffer, ZERO, load.dtype)
        self.define(load.target, self.load(pointer, load.at, load.dtype))

    def _store(self, store: Store) -> None:
        pointer = self.address(store.buffer, ZERO, store.dtype)
        value = self.operand(store.value)
        if store.kind is not None:
            before = self.load(pointer, store.at, store.dtype)
            value = joined(self, store.kind, before, value, store.loose)
        self.store(pointer, store.at, value, store.dtype)

    def _gemm(self, gemm: Gemm) -> None:
        places = [self.address(buffer, at, gemm.dtype) for buffer, at in gemm[:3]]
        m, n, k = gemm.sizes
        strides = [self._positive(each) for each in (*gemm.strides, n)]
        given = [*(("ptr", place) for place in places),
                 *(("i64", self.size(x).text) for x in (m, n, k)),
                 *(("i1", "true" if flag else "false") for flag in gemm.turned),
                 *(("i64", text) for text in strides),
                 ("i64", self.size(gemm.products).text)]  # fmt: skip
        kinds = [f"ptr {gemm.dtype.str[1:]}"] * 3
        self._outside("multiplied", given, [*kinds, *(each for each, _ in given[3:])])

    def _positive(self, n: Any) -> str:
        """A stride, which is at least 1."""
        value = self.size(n)
        if isinstance(n, int) and value.text.isdigit():
            return value.text
        positive = self.emit(f"icmp sgt i64 {value.text}, 1")
        return self.emit(f"select i1 {positive}, i64 {value.text}, i64 1")

    def _outside(
        self, function: str | Callable, given: Sequence[tuple[str, str]], kinds: Sequence[str]
    ) -> None:
        symbol = self.module.symbol(function, kinds, "void")
        self.add(f'call void @"{symbol}"({", ".join(f"{t} {x}" for t, x in given)})')

    def _for(self, loop: For) -> None:
        start, stop = self._bounds(loop)
        self.loop(loop.axis, start, stop, lambda: self.body(loop.body))

    def _opaque_loop(self, opaque: OpaqueLoop) -> None:
        start, stop = self._bounds(opaque.loop)
        stop = self.opaque(Value(stop, INT)).text
        self.loop(opaque.loop.axis, start, stop, lambda: self.body(opaque.loop.body))

    def _bounds(self, loop: For) -> tuple[str, str]:
        start, stop = self.size(loop.start).text, self.size(loop.stop).text
        if not loop.piece:
            return start, stop
        low = self.position(Affine(loop.start, ((PIECE, loop.piece),))).text
        return low, self._least(low, loop.piece, stop)

    def _least(self, low: str, count: int, stop: str) -> str:
        """The smaller one of `low + count` and `stop`."""
        high = self.emit(f"add i64 {low}, {count}")
        shorter = self.emit(f"icmp slt i64 {stop}, {high}")
        return self.emit(f"select i1 {shorter}, i64 {stop}, i64 {high}")

    def _if(self, choice: If) -> None:
        condition = truth(self, self.operand(choice.condition)).text
        then, after = self.label("then"), self.label("after")
        otherwise = self.label("else") if choice.otherwise else after
        self.branch_if(condition, then, otherwise)
        for label, body in ((then, choice.then), (otherwise, choice.otherwise)):
            if body or label == then:
                self.begin(label)
                self.body(body)
                self.branch(after)
        self.begin(after)

    def _chunks(self, chunks: Chunks) -> None:
        loop = chunks.loop
        low, high = self._bounds(loop)

        def chunk() -> None:
            start = self.values["start of chunk"].text
            self.body(chunks.before)
            end = self._least(start, chunks.size, high)
            self.loop(loop.axis, start, end, lambda: self.body(loop.body))
            self.body(chunks.after)

        self.loop("start of chunk", low, high, chunk, chunks.size)

    def _guarded(self, guarded: Guarded) -> None:
        """The statements with functions for arguments near 0; and once more with those for any
        argument where one was far, which is rare."""
        self._far = self.allocate("i1")
        self.add(f"store i1 false, ptr {self._far}")
        self._near, self._checked = True, set()
        self.body(guarded.body)
        self._near = False
        again, after = self.label("far"), self.label("near")
        self.branch_if(self.emit(f"load i1, ptr {self._far}"), again, after)
        self.begin(again)
        self.body(guarded.body)
        self.branch(after)
        self.begin(after)

    def _pieces(self, pieces: Pieces) -> None:
        part, count, module = pieces.part, pieces.count, self.module
        given = [("ptr", self.pointers[i]) for i in range(len(part.buffers))]
        numbers = list(map(self.operand, part.numbers[:-1]))
        given += [(llvm_type(x.dtype), x.text) for x in numbers]
        room = self.allocate("i8", 8 * count * len(part.results), 64) if part.results else ""
        sums = [
            self.emit(f"getelementptr i8, ptr {room}, i64 {8 * count * i}")
            for i in range(len(part.results))
        ]
        given += [("ptr", place) for place in sums]
        dtypes = [*(x.dtype for x in numbers), INT]
        self.spread(module.name_of(part, dtypes), given, count)

        def join() -> None:
            for place, each in zip(sums, pieces.joins, strict=True):
                taken = self.load(place, Affine(0, ((PIECE, 1),)), each.dtype)
                total = self.operand(each.target)
                self.define(each.target, joined(self, each.kind, total, taken, each.loose))

        if sums:
            self.loop(PIECE, "0", str(count), join)

    def spread(self, name: str, given: Sequence[tuple[str, str]], count: int) -> None:
        """Call a function with these arguments and the number of each piece, on several threads."""
        kind = f"{{{', '.join(each for each, _ in given)}}}"
        caller = FunctionWriter(self.module, "")
        whole = caller.emit(f"load {kind}, ptr %given")
        taken = [
            f"{each} {caller.emit(f'extractvalue {kind} {whole}, {i}')}"
            for i, (each, _) in enumerate(given)
        ]
        caller.add(f"call void @{name}({', '.join([*taken, 'i64 %piece'])})")
        caller.add("ret void")
        text = caller.text(["ptr %given", "i64 %piece"], [], "")
        caller_name = self.module.functions.setdefault(text, f"{name}_piece")
        block = self.allocate(kind)
        self.add(f"store {kind} {self.struct(kind, given)}, ptr {block}")
        operands = [("i64", str(count)), ("i64", self.emit(f"ptrtoint ptr @{caller_name} to i64")),
                    ("i64", self.emit(f"ptrtoint ptr {block} to i64"))]  # fmt: skip
        symbol = self.module.symbol("spread", ["i64", "i64 x 2"], "void")
        self.add(f'call void @"{symbol}"({", ".join(" ".join(x) for x in operands)})')

    _written: ClassVar[dict[type, Callable[[Any, Any], None]]] = {
        Assign: _assign, Position: _index, Variable: _variable, Accumulate: _accumulate,
        Load: _load, Store: _store, If: _if, For: _for, Chunks: _chunks, Pieces: _pieces,
        Gemm: _gemm, Guarded: _guarded, OpaqueLoop: _opaque_loop, OpaqueNumber: _opaque_number,
    }  # fmt: skip
