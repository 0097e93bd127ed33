"""The code that an entry from Python runs: it loads the words that the entry has checked, checks
named sizes, and calls the core.

Arrays have the slots of `Signature.slots`, so the words themselves are passed to a core that takes
a table of addresses; numbers, scratch memory and lengths that are known at run time follow.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np

from ...compiler.argument_checks import addresses, require
from ...compiler.entry import Array, Number, Parameter, Result, entry
from ...compiler.front.emit import FunctionBuilder
from ...compiler.front.values import Place
from ...compiler.kernel_call import run_function, stored
from ...compiler.linked import Linked
from ...compiler.llvm_function import FunctionModule, assembly
from ...compiler.machine import machine_code
from ...compiler.program import arena
from ...compiler.straight import Record, Statements
from ...ir.sizes import is_dynamic
from ...runtime.layout import IS_KNOWN
from . import bodies
from .flatten import Writer
from .signature import Signature


def machine_entry(
    signature: Signature, core: Linked, result: Result, brief: int, in_python: bool
) -> Callable:
    """The entry for Python of a program with this core; it returns `result`. It is the C function
    or its definition `in_python`. Scratch whose size has a formula lies on the stack where it
    fits."""
    name, (address, parameters, slots, record) = signature.name, _code(signature, core)
    dtypes = [stored(signature.outputs[i].dtype) for i in signature.scalars()]
    messages = [error(text) for error, text in record.errors]
    whole = entry(
        name, address, parameters, slots, dtypes, result, messages, brief, in_python=in_python
    )
    given = with_scratch(signature, whole)
    if in_python or not is_dynamic(signature.memory.size) or not IS_KNOWN:
        return given
    *others, work = parameters
    assert isinstance(work, Array)
    return entry(
        name, address, others, slots, dtypes, result, messages, brief,
        constants={work.slot: 0}, definition=given, defers_errors=True,
    )  # fmt: skip


def code_and_words(
    signature: Signature, core: Linked, values: Sequence[Any]
) -> tuple[int, np.ndarray]:
    """The address of `i32 run(words, numbers)`, and the words for values of a program without named
    sizes: its inputs, arrays for its results and, if it is large, scratch. The arrays must stay
    alive. The code returns 0 unless a check of the program fails."""
    address, parameters, slots, _ = _code(signature, core)
    words = np.zeros(max(slots, 1), np.int64)
    for x, value in zip(parameters, values, strict=True):
        if isinstance(x, Number):
            words.view(x.dtype)[x.slot * 8 // x.dtype.itemsize] = value
            continue
        assert isinstance(x, Array)
        words[x.slot] = value.ctypes.data
        for n, length in zip(x.lengths, value.shape, strict=True):
            if n < 0:
                words[~n] = length
    return address, words


def _code(signature: Signature, core: Linked) -> tuple[int, list[Parameter], int, "_Record"]:
    """The address of the code, its parameters, the number of their slots, and its checks."""
    free, record = count(len(signature.slots)), _Record()
    parameters = list(_parameters(signature, free))
    bodies.python(signature, record, *bodies.values_of(signature))
    content = f"{core}\n{parameters}\n{record}"

    def write() -> tuple[str, Callable, None]:
        return text_of(signature, core, parameters), core.modules, None

    address = machine_code(signature.name, content, write)[0]["run"]
    return address, parameters, next(free), record


def with_scratch(signature: Signature, call: Callable) -> Callable:
    """What calls an entry, or its definition, with scratch of this thread if it takes any."""
    if not signature.large:
        return call
    writer, (*given, work) = Writer(exact=True), bodies.values_of(signature)
    sizes = [f"{n} = {given[i]}.shape[{axis}]" for n, (i, axis) in signature.places.items()]
    size, block = signature.memory.size, writer.new(arena)
    lines = [*sizes, f"{work} = {block}.block"]
    lines.append(f"if len({work}) < {size}: {work} = {block}.grown({size})")
    lines.append(f"return {writer.new(call)}({', '.join([*given, work])})")
    return writer.function("\n    ".join([f"def call({', '.join(given)}):", *lines]))


def _parameters(signature: Signature, free: Iterator[int]) -> Iterator[Parameter]:
    """The parameters of the entry, in slots that are free."""
    for name in bodies.values_of(signature):
        if name == "work":
            yield Array(np.dtype(np.uint8), (~next(free),), next(free))
            continue
        value = signature.value(name)
        if not value.shape:
            yield Number(value.dtype, next(free))
            continue
        lengths = tuple(~next(free) if is_dynamic(n) else int(n) for n in value.shape)
        yield Array(value.dtype, lengths, signature.slots[name], name[0] == "r")


def text_of(
    signature: Signature, core: Linked, parameters: Sequence[Parameter] | None = None
) -> str:
    """LLVM assembly of the code, with the core."""
    if parameters is None:
        parameters = list(_parameters(signature, count(len(signature.slots))))

    def write(emit: FunctionBuilder, words: Place, *values: Any) -> Sequence[Any]:
        return bodies.python(signature, _Statements(emit, core, words), *values)

    module = FunctionModule()
    function = run_function(parameters, write, module)
    module.name_of_function(function)
    # Functions that the core declares are declared, and so is the core.
    for name in [x for x, line in module.intrinsics.items() if line in core.text]:
        del module.intrinsics[name]
    del module.intrinsics[core.symbol]
    return core.text + assembly(function, "run", module).replace(core.symbol, core.name)


class _Record(Record):
    """Has exceptions by their number in `errors`: the code does not depend on their text, which
    names lines of files."""

    def __init__(self):
        super().__init__()
        self.errors: dict[tuple[type, str], int] = {}

    def __call__(self, function: Any, *operands: Any) -> str:
        if function is require:
            condition, *told = operands
            operands = condition, self.errors.setdefault(tuple(told), len(self.errors))
        return super().__call__(function, *operands)


class _Statements(Statements):
    """The same for a core that takes the words themselves as a table: addresses of arrays stand at
    their beginning."""

    def __init__(self, emit: FunctionBuilder, core: Linked, words: Place):
        super().__init__(emit, core)
        self._words = words

    def __call__(self, function: Any, *operands: Any) -> Any:
        return self._words if function is addresses else super().__call__(function, *operands)
