"""The code that an entry from Python runs, as LLVM assembly: it loads the words that the entry has
checked, checks named sizes, and calls the core.

Arrays have the slots of `Signature.slots`, so the words themselves are passed to a core that takes
a table of addresses; numbers, scratch memory and lengths that are known at run time follow.
"""

import operator
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from ...capi.entry import Array, Number, Result, entry
from ...compiler.linked import Linked
from ...compiler.llvm_ops import BOOL, llvm_type
from ...compiler.llvm_writer import result_type
from ...compiler.machine import machine_code
from ...ir.formulas import evaluated
from ...ir.sizes import is_dynamic
from .signature import Signature, refused_condition, refused_length

_OPERATORS = {
    operator.add: "add", operator.mul: "mul", operator.floordiv: "sdiv", operator.eq: "icmp eq",
    operator.ne: "icmp ne", operator.lt: "icmp slt", operator.le: "icmp sle",
    operator.gt: "icmp sgt", operator.ge: "icmp sge",
}  # fmt: skip
_WIDE = {"f": "double", "i": "i64", "u": "i64", "b": "i64"}
_WIDENED = {"f": "fpext", "i": "sext", "u": "zext", "b": "zext"}
_DTYPES = {kind: np.dtype(wide) for kind, wide in zip("fiub", ("f8", "i8", "u8", "?"), strict=True)}


def core_types(signature: Signature) -> tuple[str, list[str]]:
    """The types of the core's result and of its parameters."""
    dtypes = [signature.outputs[i].dtype for i in signature.scalars()]
    result = result_type([*dtypes, *(BOOL for _ in signature.messages)])
    values = signature.inputs
    if signature.packed:
        parameters = ["ptr", *(llvm_type(v.dtype) for v in values if not v.shape)]
    else:
        parameters = ["ptr" if v.shape else llvm_type(v.dtype) for v in values]
        parameters += ["ptr"] * len(signature.memory.written)
    parameters += ["ptr"] * signature.large + ["i64"] * len(signature.places)
    return result, parameters


def machine_entry(signature: Signature, core: Linked, result: Result, keeps_gil: bool) -> Callable:
    """The entry for Python of a program with this core; it returns `result`."""
    run, name = Run(signature, core.name), signature.name
    address = machine_code(name, core.text + run.text, core.modules)["run"]
    messages = [error(text) for error, text in run.messages]
    return entry(name, address, run.parameters, run.slots, run.dtypes, result, messages, keeps_gil)


class Run:
    """The code for a signature, in `text`: it calls the function `core`.

    `parameters`, `slots` and `dtypes` are those of the entry; `messages` are the exceptions that
    the code asks for.
    """

    def __init__(self, signature: Signature, core: str):
        self.signature, self._core = signature, core
        self.parameters: list[Array | Number] = []
        self.messages: list[tuple[type, str]] = []
        self.dtypes = [_DTYPES[signature.outputs[i].dtype.kind] for i in signature.scalars()]
        self._lines: list[str] = []
        self._names, self._free = count(), count(len(signature.slots))
        self._values: dict[str, str] = {}  # of arguments, results and sizes
        lengths = self._lay_out()
        self._check(lengths)
        self._call()
        self.slots = next(self._free)
        lines = ["define i32 @run(ptr %words, ptr %numbers) {", *self._lines, "}"]
        if signature.memory.copies:
            lines.append("declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)")
        self.text = "\n".join([*lines, ""])

    def _lay_out(self) -> dict[tuple[str, int], str]:
        """Give each argument its slot and load it; the lengths that are known at run time."""
        signature, found = self.signature, {}
        places = [*zip(signature.arguments(), signature.inputs, strict=True)]
        places += [(f"r{i}", signature.outputs[i]) for i in signature.arrays()]
        for name, value in places:
            if not value.shape:
                slot = next(self._free)
                self.parameters.append(Number(value.dtype, slot))
                self._values[name] = self._loaded(slot, llvm_type(value.dtype))
                continue
            lengths = [~next(self._free) if is_dynamic(n) else int(n) for n in value.shape]
            slot, is_result = signature.slots[name], name[0] == "r"
            self.parameters.append(Array(value.dtype, tuple(lengths), slot, is_result))
            self._values[name] = self._loaded(slot, "ptr")
            for axis, n in enumerate(lengths):
                if n < 0:
                    found[name, axis] = self._loaded(~n, "i64")
        if signature.large:
            slot = next(self._free)
            self.parameters.append(Array(np.dtype(np.uint8), (~next(self._free),), slot))
            self._values["w"] = self._loaded(slot, "ptr")
        for name, (i, axis) in signature.places.items():
            self._values[name] = found[f"a{i}", axis]
        return found

    def _check(self, lengths: dict[tuple[str, int], str]) -> None:
        """Check lengths against their formulas, and conditions on sizes."""
        signature = self.signature
        for (name, axis), found in lengths.items():
            values = signature.inputs if name[0] == "a" else signature.outputs
            n = values[int(name[1:])].shape[axis]
            expected = evaluated(n, self._values, self._computed)
            if expected != found:
                same = self._emit(f"icmp eq i64 {found}, {expected}")
                self._require(same, refused_length(signature, name, axis, n))
        for text, condition in signature.conditions.items():
            holds = condition.holds(self._values, self._computed)
            self._require(holds, refused_condition(signature, text))

    def _call(self) -> None:
        """Call the core, and write the results that are copies, and its numbers."""
        signature = self.signature
        result, kinds = core_types(signature)
        names = signature.arguments()
        if signature.packed:
            operands = ["%words", *(self._values[name] for name in names if name[0] == "x")]
        else:
            operands = [self._values[name] for name in names]
            operands += [self._values[f"r{i}"] for i in signature.memory.written]
        operands += [self._values["w"]] if signature.large else []
        operands += [self._values[name] for name in signature.places]
        given = ", ".join(map(" ".join, zip(kinds, operands, strict=True)))
        call = f"call {result} @{self._core}({given})"
        core = ""
        if result == "void":
            self._lines.append(f"  {call}")
        else:
            core = self._emit(call)
        total = len(self.dtypes) + len(signature.messages)
        values = [core] * total if total < 2 else [
            self._emit(f"extractvalue {result} {core}, {k}") for k in range(total)
        ]  # fmt: skip
        for value, message in zip(values[len(self.dtypes) :], signature.messages, strict=True):
            self._require(value, message)
        for i, source in signature.memory.copies.items():
            size = signature.outputs[i].size * signature.outputs[i].dtype.itemsize
            size = evaluated(size, self._values, self._computed)
            to, start = self._values[f"r{i}"], self._values[signature.name_of(source)]
            copy = f"@llvm.memmove.p0.p0.i64(ptr {to}, ptr {start}, i64 {size}, i1 false)"
            self._lines.append(f"  call void {copy}")
        for k, i in enumerate(signature.scalars()):
            dtype, value = signature.outputs[i].dtype, values[k]
            kind, wide = llvm_type(dtype), _WIDE[dtype.kind]
            if kind != wide:
                value = self._emit(f"{_WIDENED[dtype.kind]} {kind} {value} to {wide}")
            place = self._emit(f"getelementptr i64, ptr %numbers, i64 {k}")
            self._lines.append(f"  store {wide} {value}, ptr {place}")
        self._lines.append("  ret i32 0")

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
            return self._emit(f"icmp ne i8 {self._emit(f'load i8, ptr {place}')}, 0")
        return self._emit(f"load {kind}, ptr {place}")

    def _require(self, condition: str, message: tuple[type, str]) -> None:
        """Have an exception raised where a condition does not hold."""
        self.messages.append(message)
        n = len(self.messages)
        self._lines += [
            f"  br i1 {condition}, label %good{n}, label %bad{n}",
            f"bad{n}:",
            f"  ret i32 {n}",
            f"good{n}:",
        ]

    def _computed(self, function: Callable, left: Any, right: Any) -> str:
        """An operation on integers."""
        if function is operator.floordiv:  # no size below 1 divides where conditions hold
            is_positive = self._emit(f"icmp sgt i64 {right}, 0")
            right = self._emit(f"select i1 {is_positive}, i64 {right}, i64 1")
        return self._emit(f"{_OPERATORS[function]} i64 {left}, {right}")
