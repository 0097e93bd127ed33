"""Functions of the kernel IR as LLVM assembly: branches, calls, pointers, exceptions.

A function that may raise returns a status before its results: 0, or the number of an exception
among `errors` of its module.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from ..ir.spread import Spread
from ..ir.statements import (
    Address,
    Allocate,
    Break,
    Call,
    Continue,
    Function,
    New,
    Operand,
    Pointer,
    PointTo,
    Raise,
    Return,
    Statement,
    While,
)
from ..ir.walk import walk
from .cpu import guarded
from .front.functions import function_of
from .llvm import FunctionWriter, Module, ascii_name, result_type
from .llvm_heap import Heap
from .llvm_instructions import instruction
from .llvm_ops import Value, llvm_type, memory_type

__all__ = ["STATUS", "BodyWriter", "FunctionModule", "assembly", "write_function"]

STATUS = np.dtype(np.int32)


class FunctionModule(Module):
    """A module with functions of the IR, each written where it is first called; `find` gives those
    that scalar code calls by name."""

    def __init__(self, find: Callable[[str], Any] | None = None):
        super().__init__()
        self.find = find
        self.written: dict[int, tuple[Function, str]] = {}  # by identity
        self.linked: set[str] = set()  # symbols of code that has to be linked
        self.errors: list[tuple[str, str]] = []  # classes and messages
        self._raising: dict[int, bool] = {}

    def name_of_function(self, function: Function) -> str:
        """The name of a function, which is written where it is new."""
        known = self.written.get(id(function))
        if known is None:
            text = write_function(self, function)
            name = f"nbgrad.{ascii_name(function.name)}"
            taken = set(self.functions.values())
            name = name if f'"{name}"' not in taken else f"{name}.{len(taken)}"
            known = function, self.functions.setdefault(text, f'"{name}"')
            self.written[id(function)] = known
        return known[1]

    def name_without_status(self, function: Function) -> str:
        """The name of a function with the results of another, whose exceptions are ignored."""
        name = self.name_of_function(function)
        if not self.may_raise(function):
            return name
        kinds = ["ptr" if isinstance(kind, Pointer) else llvm_type(kind)
                 for _, kind in function.parameters]  # fmt: skip
        writer = FunctionWriter(self)
        parameters = [(kind, f"%a{i}") for i, kind in enumerate(kinds)]
        writer.returned(writer.results_of(name, parameters, self.results_of(function))[1:])
        text = writer.text(map(" ".join, parameters), function.results, " alwaysinline")
        return self.functions.setdefault(text, f'{name[:-1]}.quiet"')

    def error(self, kind: str, message: str) -> int:
        """The status of an exception."""
        if (kind, message) not in self.errors:
            self.errors.append((kind, message))
        return self.errors.index((kind, message)) + 1

    def may_raise(self, function: Function) -> bool:
        """Whether a function, or one that it calls, has a `Raise` or may lack memory."""
        if id(function) not in self._raising:
            self._raising[id(function)] = self.raises(function.body)
        return self._raising[id(function)]

    def raises(self, body: Sequence[Statement]) -> bool:
        """The same of statements."""
        for each in walk(body):
            if isinstance(each, (Raise, New)) or (isinstance(each, Spread) and each.shared):
                return True
            if isinstance(each, Call) and isinstance(each.function, Function):
                if self.may_raise(each.function):
                    return True
        return False

    def results_of(self, function: Function) -> list[np.dtype]:
        """The dtypes of what a function returns, with its status."""
        return [STATUS] * self.may_raise(function) + list(function.results)


def assembly(function: Function, symbol: str, module: FunctionModule | None = None) -> str:
    """The assembly of a function under a symbol, with the functions that it calls, which an empty
    module gets."""
    module = module or FunctionModule()
    name = module.name_of_function(function)
    text = "\n".join([*module.intrinsics.values(), *module.texts(), ""])
    kind = result_type(module.results_of(function))
    return text.replace(f"define internal {kind} @{name}(", f"define {kind} @{symbol}(")


def write_function(module: FunctionModule, function: Function) -> str:
    """The text of a function, with @ in place of its name."""
    exact = "" if "exact" in function.attributes else "contract "
    writer = BodyWriter(module, exact, module.may_raise(function), function.results)
    noalias = " noalias" if "noalias" in function.attributes else ""
    parameters: list[str] = []
    for name, kind in function.parameters:
        if isinstance(kind, Pointer):
            writer.pointers[name] = writer.parameter(f"a{len(parameters)}")
            if noalias:
                writer.apart.add(name)
            parameters.append(f"ptr{noalias} {writer.pointers[name]}")
        else:
            own = writer.parameter(f"a{len(parameters)}")
            writer.values[name] = Value(own, kind)
            parameters.append(f"{llvm_type(kind)} {own}")
    writer.reserve(function.body)
    if "repeatable" in function.attributes:
        writer.body(guarded(function.body))
    else:
        writer.whole_body(function)
    writer.end()
    return writer.text(parameters, module.results_of(function), _attributes(module, function))


_ATTRIBUTES = {"inline": "alwaysinline", "noinline": "noinline", "small": "minsize optsize"}


def _attributes(module: Module, function: Function) -> str:
    known = [text for name, text in _ATTRIBUTES.items() if name in function.attributes]
    if "inline" in function.attributes and "noinline" in function.attributes:
        known.remove("alwaysinline")
    text = "".join(f" {each}" for each in known)
    return text + module.attributes if "wide" in function.attributes else text


class BodyWriter(FunctionWriter):
    """Writes the body of a function of the IR, which `raises` or not."""

    def __init__(
        self, module: FunctionModule, flags: str, raises: bool, results: Sequence[np.dtype]
    ):
        super().__init__(module, flags)
        self.functions, self.raises = module, raises
        self.apart: set[Any] = set()  # buffers that no other pointer leads to
        self._results = [STATUS] * raises + list(results)
        self._is_ended = False
        self._left: tuple[str, str] | None = None  # block that frees buffers, place of the status
        self.heap = Heap(self)
        self.parts: Any = None  # of a function with many loops

    def reserve(self, body: Sequence[Statement]) -> None:
        """Reserve room for the addresses of all buffers on the heap."""
        self.heap.reserve(each.target for each in walk(body) if isinstance(each, New))

    def pointer(self, buffer: Any) -> str:
        return self.heap.pointer(buffer) if buffer in self.heap else super().pointer(buffer)

    def size(self, n: Any) -> Value:
        return self.operand(n) if isinstance(n, str) else super().size(n)

    def body(self, statements: Any) -> None:
        for statement in statements:
            if self.parts is not None and self.parts.write(self, statement):
                continue
            self.cut()
            self._written[type(statement)](self, statement)
            if isinstance(statement, (Break, Continue, Raise, Return)):
                self._is_ended = True
                return

    def whole_body(self, function: Function) -> None:
        """Write the body of a function; one with many loops in parts."""
        from .llvm_parts import Parts  # which writes bodies

        if Parts.are_needed(function.body):
            is_wide = "wide" in function.attributes
            self.parts = Parts(function.body, self.module.attributes if is_wide else "")
        self.body(function.body)

    def branch(self, label: str) -> None:
        """Nothing follows a statement that leaves its block."""
        if self._is_ended:
            self._is_ended = False
        else:
            super().branch(label)

    def end(self) -> None:
        """The end of the body."""
        if not self._is_ended:
            if self._results[1:] or (self._results and not self.raises):
                self.add("unreachable")
            else:
                self.finish([])
        if self._left is not None:
            self._is_ended = False
            self.begin(self._left[0])
            self.heap.free()
            self._return_status(self.emit(f"load i32, ptr {self._left[1]}"))

    def finish(self, values: list[Value]) -> None:
        """Return values."""
        if not values:
            self._leave("0")
            return
        self.heap.free()
        self.returned([*[Value("0", STATUS)] * self.raises, *values])

    def _return(self, end: Return) -> None:
        self.finish([self.operand(value) for value in end.values])

    def _raise(self, end: Raise) -> None:
        self._leave(str(self.functions.error(end.error, end.message)))

    def leave(self, error: str, message: str) -> None:
        """End the block with an exception, from code that no statement stands for."""
        self._leave(str(self.functions.error(error, message)))

    def leave_if(self, status: str, before: Callable[[], None] = lambda: None) -> None:
        """Return a status unless it is 0, and run statements `before`."""
        failed, after = self.label("failed"), self.label("fine")
        self.branch_if(self.emit(f"icmp ne i32 {status}, 0"), failed, after)
        self.begin(failed)
        before()
        self._leave(status)
        self.begin(after)

    def is_apart(self, buffer: Any) -> bool:
        """Whether no other pointer leads to the elements of a buffer."""
        return buffer in self.heap or buffer in self.apart

    def _spread(self, spread: Spread) -> None:
        from .llvm_spread import write_spread  # which writes bodies

        write_spread(self, spread)

    def _leave(self, status: str) -> None:
        """Return a status, and no values; one block frees the buffers for all that do."""
        if not self.heap:
            self._return_status(status)
            return
        if self._left is None:
            self._left = self.label("left"), self.allocate("i32")
        self.add(f"store i32 {status}, ptr {self._left[1]}")
        self.add(f"br label %{self._left[0]}")

    def _return_status(self, status: str) -> None:
        if not self._results:
            self.add("ret void")
            return
        if len(self._results) == 1:
            self.add(f"ret i32 {status}")
            return
        kind = result_type(self._results)
        self.add(f"ret {kind} {self.emit(f'insertvalue {kind} undef, i32 {status}, 0')}")

    def _while(self, loop: While) -> None:
        head, after = self.label("while"), self.label("done")
        self.branch(head)
        self.begin(head)
        self._loops.append((head, after))
        self.body(loop.body)
        self._loops.pop()
        self.branch(head)
        self.begin(after)

    def _break(self, leave: Break) -> None:
        self.add(f"br label %{self._loops[-1][1]}")

    def _continue(self, leave: Continue) -> None:
        self.add(f"br label %{self._loops[-1][0]}")

    def _allocate(self, room: Allocate) -> None:
        self.pointers[room.target] = self.allocate(memory_type(room.dtype), room.count, 64)

    def _new(self, new: New) -> None:
        self.heap.make(new)

    def _point_to(self, point: PointTo) -> None:
        if isinstance(point.address, Address):
            self.pointers[point.target] = self._pointer(point.address)
        else:
            text = self.operand(point.address).text
            self.pointers[point.target] = self.emit(f"inttoptr i64 {text} to ptr")

    def _pointer(self, address: Address) -> str:
        return self.place(self.pointer(address.buffer), address.at, address.dtype)

    def _argument(self, argument: Address | Operand | Function) -> Value | str:
        if isinstance(argument, Function):
            return f"@{self.functions.name_without_status(argument)}"
        if isinstance(argument, Address):
            return self._pointer(argument)
        return self.operand(argument)

    def call(self, name: str, operands: Sequence[Value], result: np.dtype) -> Value:
        if self.functions.find is None:
            return super().call(name, operands, result)
        made = function_of(self.functions.find(name), [x.dtype for x in operands])
        function = self.functions.name_without_status(made)
        return Value(self._called(f"@{function}", operands, llvm_type(result)), result)

    def _call(self, call: Call) -> None:
        given = list(map(self._argument, call.arguments))
        function = call.function
        if isinstance(function, str):
            kinds = [x.dtype for x in call.arguments if isinstance(x, Address)]
            found = instruction(self, function, given, kinds, call.dtypes)
            for name, value in zip(call.results, found, strict=True):
                self.define(name, value)
            return
        name = self.functions.name_of_function(function)
        dtypes = self.functions.results_of(function)
        texts = [("ptr", x) if isinstance(x, str) else (llvm_type(x.dtype), x.text) for x in given]
        found = self.results_of(name, texts, dtypes)
        if self.functions.may_raise(function):
            status, *found = found
            self.leave_if(status.text)
        for name, value in zip(call.results, found, strict=True):
            self.define(name, value)

    _written: ClassVar[dict[type, Callable[[Any, Any], None]]] = {
        **FunctionWriter._written, While: _while, Break: _break, Continue: _continue,
        Allocate: _allocate, New: _new, PointTo: _point_to, Call: _call, Return: _return,
        Raise: _raise, Spread: _spread,
    }  # fmt: skip
