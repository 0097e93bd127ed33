"""One function as LLVM assembly, instruction by instruction."""

import operator
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..ir.affine import Affine
from ..ir.formulas import Quotient
from ..ir.sizes import is_dynamic
from ..ir.statements import Operand
from .llvm_ops import BOOL, INT, Value, cast, constant, llvm_type, memory_type

if TYPE_CHECKING:
    from .llvm import Module

__all__ = ["MOST_ACCESSES", "MOST_LINES", "Writer", "ascii_name", "result_type"]

MOST_ACCESSES = 512
"""LLVM compares all pairs of loads and stores of a loop, to vectorize it, but not those of a loop
with more."""

MOST_LINES = 2000
"""A longer block is cut, as LLVM takes time quadratic in the length of a block to order it."""

# Of assembly without instructions, which LLVM does not look into. It has no effect on the
# optimization of the code around it, but a loop with it is not vectorized.
_EMPTY = "nounwind willreturn memory(inaccessiblemem: readwrite)"


def ascii_name(name: str) -> str:
    """A name as symbols have it."""
    return "".join(c if c.isascii() else f"_{ord(c)}_" for c in name)


def result_type(dtypes: Sequence[np.dtype]) -> str:
    """The type of what a function returns: a struct of several numbers."""
    kinds = [llvm_type(dtype) for dtype in dtypes]
    return kinds[0] if len(kinds) == 1 else f"{{{', '.join(kinds)}}}" if kinds else "void"


class Writer:
    """Writes the text of one function. `flags` are those of floating-point instructions; `pointers`
    are the buffers that statements name."""

    def __init__(self, module: "Module", flags: str = "contract "):
        self.module, self.flags = module, flags
        self.pointers: dict[Hashable, str] = {}
        self.values: dict[Hashable, Value] = {}
        self._slots: dict[str, tuple[str, np.dtype]] = {}
        self._entry: list[str] = []
        self._lines: list[str] = []
        self._block = "entry"
        self._count = 0
        self._accesses = 0  # loads and stores of elements
        self._start = 0  # the line where the block begins
        self._near = False
        self._checked: set[tuple[str, str]] = set()
        self._loops: list[tuple[str, str]] = []  # where their next rounds begin, and what follows

    # -- the function ---------------------------------------------------------------------------

    def text(self, parameters: Iterable[str], results: Sequence[np.dtype], attributes: str) -> str:
        """The whole function, with @ in place of its name."""
        head = f"define internal {result_type(results)} @({', '.join(parameters)}){attributes} {{"
        return "\n".join([head, "entry:", *self._entry, *self._lines, "}"])

    def parameter(self, name: str) -> str:
        return f"%{name}.in"

    def number(self, name: str, dtype: np.dtype) -> str:
        """Declare a parameter that is a number."""
        self.values[name] = Value(self.parameter(name), dtype)
        return f"{llvm_type(dtype)} {self.parameter(name)}"

    def returned(self, values: Sequence[Value]) -> None:
        """End the function with these results."""
        if len(values) < 2:
            text = f"{llvm_type(values[0].dtype)} {values[0].text}" if values else "void"
            self.add(f"ret {text}")
            return
        kind = result_type([x.dtype for x in values])
        self.add(f"ret {kind} {self.struct(kind, [(llvm_type(x.dtype), x.text) for x in values])}")

    def struct(self, kind: str, members: Sequence[tuple[str, str]]) -> str:
        """A struct of values."""
        whole = "undef"
        for i, (each, text) in enumerate(members):
            whole = self.emit(f"insertvalue {kind} {whole}, {each} {text}, {i}")
        return whole

    # -- instructions ---------------------------------------------------------------------------

    def add(self, instruction: str) -> None:
        self._lines.append(f"  {instruction}")

    def emit(self, instruction: str) -> str:
        """Add an instruction; its result."""
        self._count += 1
        name = f"%.{self._count}"
        self._lines.append(f"  {name} = {instruction}")
        return name

    def fresh(self) -> str:
        self._count += 1
        return f"%.{self._count}"

    def pointer(self, buffer: Hashable) -> str:
        """The pointer to the first element of a buffer."""
        return self.pointers[buffer]

    def allocate(self, kind: str, count: int = 1, align: int = 0) -> str:
        """Room on the stack of the function."""
        name = self.fresh()
        many = f", i64 {count}" if count != 1 else ""
        self._entry.append(f"  {name} = alloca {kind}{many}{f', align {align}' if align else ''}")
        return name

    def call(self, name: str, operands: Sequence[Value], result: np.dtype) -> Value:
        """Call a function of numbers that is defined elsewhere."""
        kinds, kind = [llvm_type(x.dtype) for x in operands], llvm_type(result)
        symbol = self.module.symbol(name, kinds, kind)
        return Value(self._called(f'@"{symbol}"', operands, kind), result)

    def intrinsic(self, name: str, operands: Sequence[Value]) -> Value:
        """Call a function that LLVM knows, of floats of one dtype."""
        dtype = operands[0].dtype
        kind, symbol = llvm_type(dtype), f"llvm.{name}.f{8 * dtype.itemsize}"
        kinds = ", ".join([kind] * len(operands))
        self.module.intrinsics[symbol] = f"declare {kind} @{symbol}({kinds})"
        return Value(self._called(f"@{symbol}", operands, kind), dtype)

    def _called(self, function: str, operands: Sequence[Value], kind: str) -> str:
        flags = self.flags if kind in ("double", "float") else ""
        given = ", ".join(f"{llvm_type(x.dtype)} {x.text}" for x in operands)
        return self.emit(f"call {flags}{kind} {function}({given})")

    def results_of(
        self, name: str, given: Iterable[tuple[str, str]], dtypes: Sequence[np.dtype]
    ) -> list[Value]:
        """Call a function of the module, which returns numbers of these dtypes."""
        kind = result_type(dtypes)
        flags = self.flags if kind in ("double", "float") else ""
        call = f"call {flags}{kind} @{name}({', '.join(f'{t} {x}' for t, x in given)})"
        if not dtypes:
            self.add(call)
            return []
        whole = self.emit(call)
        if len(dtypes) == 1:
            return [Value(whole, dtypes[0])]
        parts = (self.emit(f"extractvalue {kind} {whole}, {i}") for i in range(len(dtypes)))
        return list(map(Value, parts, dtypes))

    def opaque(self, x: Value) -> Value:
        """A value that LLVM does not see through."""
        kind, word = llvm_type(x.dtype), f"i{8 * x.dtype.itemsize}"
        text = x.text
        if x.dtype.kind == "f":
            text = self.emit(f"bitcast {kind} {text} to {word}")
        text = self.emit(f'call {word} asm "", "=r,0"({word} {text})')
        if x.dtype.kind == "f":
            text = self.emit(f"bitcast {word} {text} to {kind}")
        return Value(text, x.dtype)

    # -- blocks ---------------------------------------------------------------------------------

    def label(self, hint: str) -> str:
        self._count += 1
        return f"{hint}{self._count}"

    def begin(self, label: str) -> None:
        """Go on in a new block."""
        self._lines.append(f"{label}:")
        self._block, self._start = label, len(self._lines)

    def branch(self, label: str) -> None:
        self.add(f"br label %{label}")

    def branch_if(self, condition: str, then: str, otherwise: str) -> None:
        self.add(f"br i1 {condition}, label %{then}, label %{otherwise}")

    def cut(self) -> None:
        """Begin a new block if this one is long. LLVM does not know that the branch between them is
        never taken, so it does not join them."""
        if len(self._lines) - self._start > MOST_LINES:
            aside, after = map(self.label, ("aside", "after"))
            zero = self.emit(f'call i64 asm sideeffect "", "=r,0"(i64 0) {_EMPTY}')
            self.branch_if(self.emit(f"icmp ne i64 {zero}, 0"), aside, after)
            self.begin(aside)
            self.add(f'call void asm sideeffect "", ""() {_EMPTY}')
            self.branch(after)
            self.begin(after)

    def loop(
        self, name: Hashable, start: str, stop: str, body: Callable[[], None], step: int = 1
    ) -> None:
        """A loop over integers from `start` on, up to or down to `stop`."""
        head, inside, again, after = map(self.label, ("for", "do", "next", "done"))
        before = self._block
        at, following = self.fresh(), self.fresh()
        self.branch(head)
        self.begin(head)
        self.add(f"{at} = phi i64 [{start}, %{before}], [{following}, %{again}]")
        relation = "slt" if step > 0 else "sgt"
        self.branch_if(self.emit(f"icmp {relation} i64 {at}, {stop}"), inside, after)
        self.begin(inside)
        outside = self.values.get(name)
        self.values[name] = Value(at, INT)
        self._loops.append((again, after))
        first, accesses = len(self._lines), self._accesses
        body()
        if self._accesses - accesses > MOST_ACCESSES:
            self._lines.insert(first, f'  call void asm sideeffect "", ""() {_EMPTY}')
        self._loops.pop()
        if outside is not None:
            self.values[name] = outside
        self.branch(again)
        self.begin(again)
        self.add(f"{following} = add nsw i64 {at}, {step}")
        self.branch(head)
        self.begin(after)

    # -- operands -------------------------------------------------------------------------------

    def operand(self, operand: Operand) -> Value:
        """The value of a name or of a literal."""
        if not isinstance(operand, str):
            number = operand.number
            if type(number) not in (int, float) and is_dynamic(number):
                return cast(self, self.size(number), operand.dtype)
            return constant(number, operand.dtype)
        slot = self.slot_of(operand)
        if slot is None:
            return self.values[operand]
        place, dtype = slot
        return Value(self.emit(f"load {llvm_type(dtype)}, ptr {place}"), dtype)

    def define(self, name: str, value: Value) -> None:
        """Give a name its value."""
        slot = self.slot_of(name)
        if slot is None:
            self.values[name] = value
        else:
            self.fill(slot, value)

    def slot_of(self, name: str) -> tuple[str, np.dtype] | None:
        """The place of a name that is kept in memory, and its dtype."""
        return self._slots.get(name)

    def fill(self, slot: tuple[str, np.dtype], value: Value) -> None:
        place, dtype = slot
        self.add(f"store {llvm_type(dtype)} {cast(self, value, dtype).text}, ptr {place}")

    def slot(self, name: str, dtype: np.dtype) -> None:
        """Keep a name in memory: several statements assign it."""
        if name not in self._slots:
            self._slots[name] = self.allocate(llvm_type(dtype)), dtype

    def size(self, n: Any) -> Value:
        """An integer that may be known at run time, by its formula."""
        if type(n) is int or not is_dynamic(n):
            return Value(str(operator.index(n)), INT)
        return self._polynomial(n.terms)

    def _polynomial(self, terms: Any) -> Value:
        total = ""
        for product, c in terms.items():
            text = str(c)
            for factor in product:
                value = self._factor(factor)
                text = value if text == "1" else self.emit(f"mul i64 {text}, {value}")
            total = self.emit(f"add i64 {total}, {text}") if total else text
        return Value(total or "0", INT)

    def _factor(self, factor: Any) -> str:
        """A named size, or a quotient of two."""
        if isinstance(factor, Quotient):  # of sizes that are not negative
            one, other = self.size(factor.dividend), self.size(factor.divisor)
            return self.emit(f"sdiv i64 {one.text}, {other.text}")
        return self.operand(factor).text

    def position(self, at: Affine) -> Value:
        """A position in a buffer."""
        total = ""
        for name, step in at.terms:
            value = self.operand(name) if isinstance(name, str) else self.values[name]
            text = cast(self, value, INT).text
            if type(step) is not int or step != 1:
                text = self.emit(f"mul i64 {text}, {self.size(step).text}")
            total = self.emit(f"add i64 {total}, {text}") if total else text
        if type(at.const) is not int or at.const or not total:
            text = self.size(at.const).text
            total = self.emit(f"add i64 {total}, {text}") if total else text
        return Value(total, INT)

    def place(self, pointer: str, at: Affine, dtype: np.dtype) -> str:
        """The address of an element."""
        if at.is_zero:
            return pointer
        where = self.position(at).text
        return self.emit(f"getelementptr {memory_type(dtype)}, ptr {pointer}, i64 {where}")

    def load(self, pointer: str, at: Affine, dtype: np.dtype) -> Value:
        self._accesses += 1
        text = self.emit(f"load {memory_type(dtype)}, ptr {self.place(pointer, at, dtype)}")
        return (
            Value(self.emit(f"icmp ne i8 {text}, 0"), BOOL) if dtype == BOOL else Value(text, dtype)
        )

    def store(self, pointer: str, at: Affine, value: Value, dtype: np.dtype) -> None:
        self._accesses += 1
        text = cast(self, value, dtype).text
        if dtype == BOOL:
            text = self.emit(f"zext i1 {text} to i8")
        self.add(f"store {memory_type(dtype)} {text}, ptr {self.place(pointer, at, dtype)}")
