"""The code that an entry from Python runs, as LLVM assembly: it loads the words that the entry has
checked, checks named sizes, and calls the core.

Arrays have the slots of `Signature.slots`, so the words themselves are passed to a core that takes
a table of addresses; numbers, scratch memory and lengths that are known at run time follow.
"""

import operator
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np

from ...compiler import pointers
from ...compiler.argument_checks import addresses, extent, require
from ...compiler.entry import Array, Number, Result, entry
from ...compiler.linked import Linked
from ...compiler.llvm_ops import BOOL, llvm_type
from ...compiler.llvm_writer import result_type
from ...compiler.machine import machine_code
from ...ir.sizes import is_dynamic
from . import bodies
from .signature import Signature

_OPERATORS = {
    operator.add: "add", operator.mul: "mul", operator.floordiv: "sdiv", operator.eq: "icmp eq",
    operator.ne: "icmp ne", operator.lt: "icmp slt", operator.le: "icmp sle",
    operator.gt: "icmp sgt", operator.ge: "icmp sge",
}  # fmt: skip
_WIDE = {"f": "double", "i": "i64", "u": "i64", "b": "i64"}
_WIDENED = {"f": "fpext", "i": "sext", "u": "zext", "b": "zext"}
_DTYPES = {kind: np.dtype(wide) for kind, wide in zip("fiub", ("f8", "i8", "u8", "?"), strict=True)}


def machine_entry(signature: Signature, core: Linked, result: Result, keeps_gil: bool) -> Callable:
    """The entry for Python of a program with this core; it returns `result`."""
    run, name = Run(signature, core.name), signature.name
    address = machine_code(name, core.text + run.text, core.modules)["run"]
    messages = [error(text) for error, text in run.messages]
    return entry(name, address, run.parameters, run.slots, run.dtypes, result, messages, keeps_gil)


class Run:
    """The code for a signature, in `text`: it calls the function `core`. As `do` of a body of an
    entry it writes LLVM assembly.

    `parameters`, `slots` and `dtypes` are those of the entry; `messages` are the exceptions that
    the code asks for.
    """

    def __init__(self, signature: Signature, core: str):
        self._signature, self._core = signature, core
        self.parameters: list[Array | Number] = []
        self.messages: list[tuple[type, str]] = []
        self.dtypes = [_DTYPES[signature.outputs[i].dtype.kind] for i in signature.scalars()]
        self._lines: list[str] = []
        self._names, self._free = count(), count(len(signature.slots))
        self._lengths: dict[tuple[str, int], str] = {}  # of pointers, along axes
        self._kinds = {"%words": "ptr"}  # the types of operands
        self._sizes: dict[str, int] = {}  # of the elements of pointers
        self._store(bodies.python(signature, self, *self._lay_out()))
        self.slots = next(self._free)
        lines = ["define i32 @run(ptr %words, ptr %numbers) {", *self._lines, "}"]
        if signature.memory.copies:
            lines.append("declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)")
        self.text = "\n".join([*lines, ""])

    def _lay_out(self) -> Iterator[str]:
        """Give each argument its slot, and load it with the lengths that are known at run time."""
        for name in bodies.values_of(self._signature):
            if name == "work":
                shape, dtype, slot = (~next(self._free),), np.dtype(np.uint8), next(self._free)
                self.parameters.append(Array(dtype, shape, slot))
                yield self._loaded(slot, "ptr")
                continue
            value = self._signature.value(name)
            if not value.shape:
                slot = next(self._free)
                self.parameters.append(Number(value.dtype, slot))
                yield self._loaded(slot, llvm_type(value.dtype))
                continue
            lengths = [~next(self._free) if is_dynamic(n) else int(n) for n in value.shape]
            slot, is_result = self._signature.slots[name], name[0] == "r"
            self.parameters.append(Array(value.dtype, tuple(lengths), slot, is_result))
            pointer = self._loaded(slot, "ptr")
            self._sizes[pointer] = value.dtype.itemsize
            for axis, n in enumerate(lengths):
                if n < 0:
                    self._lengths[pointer, axis] = self._loaded(~n, "i64")
            yield pointer

    def _store(self, numbers: Sequence[str]) -> None:
        """End with the numbers of the result in their places."""
        for k, (i, value) in enumerate(zip(self._signature.scalars(), numbers, strict=True)):
            dtype = self._signature.outputs[i].dtype
            kind, wide = llvm_type(dtype), _WIDE[dtype.kind]
            if kind != wide:
                value = self._emit(f"{_WIDENED[dtype.kind]} {kind} {value} to {wide}")
            place = self._emit(f"getelementptr i64, ptr %numbers, i64 {k}")
            self._lines.append(f"  store {wide} {value}, ptr {place}")
        self._lines.append("  ret i32 0")

    # -- what bodies do -------------------------------------------------------------------------

    def __call__(self, function: Any, *operands: Any) -> Any:
        if function is require:
            return self._require(*operands)
        if function is extent:
            return self._lengths[operands]
        if function is pointers.pointer:
            return operands[0]
        if function is addresses:  # those of arrays stand at its beginning
            return "%words"
        if function is pointers.move:
            return self._move(*operands)
        left, right = operands
        if function is operator.floordiv:  # no size below 1 divides where conditions hold
            is_positive = self._emit(f"icmp sgt i64 {right}, 0")
            right = self._emit(f"select i1 {is_positive}, i64 {right}, i64 1")
        return self._emit(f"{_OPERATORS[function]} i64 {left}, {right}")

    def core(self, count: int, *operands: str) -> list[str]:
        """Call the core."""
        dtypes = [self._signature.outputs[i].dtype for i in self._signature.scalars()]
        result = result_type([*dtypes, *(BOOL for _ in self._signature.messages)])
        given = ", ".join(f"{self._kinds[x]} {x}" for x in operands)
        call = f"call {result} @{self._core}({given})"
        if not count:
            self._lines.append(f"  {call}")
            return []
        whole = self._emit(call)
        if count == 1:
            return [whole]
        return [self._emit(f"extractvalue {result} {whole}, {k}") for k in range(count)]

    def _require(self, condition: str, error: type, message: str) -> None:
        """Have an exception raised where a condition does not hold."""
        self.messages.append((error, message))
        n = len(self.messages)
        self._lines += [
            f"  br i1 {condition}, label %good{n}, label %bad{n}",
            f"bad{n}:",
            f"  ret i32 {n}",
            f"good{n}:",
        ]

    def _move(self, to: str, source: str, count: Any) -> None:
        size = self._emit(f"mul i64 {count}, {self._sizes[to]}")
        copy = f"@llvm.memmove.p0.p0.i64(ptr {to}, ptr {source}, i64 {size}, i1 false)"
        self._lines.append(f"  call void {copy}")

    # -- instructions ---------------------------------------------------------------------------

    def _emit(self, instruction: str) -> str:
        """Add an instruction; its result."""
        name = f"%v{next(self._names)}"
        self._lines.append(f"  {name} = {instruction}")
        return name

    def _loaded(self, slot: int, kind: str) -> str:
        """The word in a slot, as a value of this type."""
        place = self._emit(f"getelementptr i64, ptr %words, i64 {slot}")
        if kind == "i1":
            found = self._emit(f"icmp ne i8 {self._emit(f'load i8, ptr {place}')}, 0")
        else:
            found = self._emit(f"load {kind}, ptr {place}")
        self._kinds[found] = kind
        return found
