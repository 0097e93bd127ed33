"""The ways into a program's core, as text: for arrays, for given results, for tables of addresses,
and the C functions of integrators and solvers.

The core takes pointers, and scalars by value. Whatever calls it checks shapes, since the core's
sizes are literal, and keeps arrays alive: a pointer does not, and Numba frees an array after the
last line that names it.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..errors import TraceError
from ..kernels import pointers, random, scalar
from ..kernels.program import DISABLED
from .ir import Value
from .memory import Memory

# Scratch of up to so many bytes lies on the stack; beyond, whoever calls the core brings it.
STACK = 256 * 1024
# Array arguments cost Numba time by their square: beyond so many a program takes one table.
MANY = 24
_NAME = re.compile(r"[A-Za-z_]\w*")
_POINTER = {"float64": "at_f8", "float32": "at_f4", "int64": "at_i8", "bool": "at_b1"}


@dataclass
class Frame:
    """What the ways into one program have in common.

    `inputs` end with the captured arrays; `messages` are what is said where a check fails.
    """

    name: str
    inputs: list[Value]
    outputs: list[Value]
    memory: Memory
    messages: list[str] = field(default_factory=list)
    apart: bool = True  # not the step of a loop, whose core takes pointers

    @property
    def large(self) -> bool:
        """Whether the core is handed its scratch."""
        return self.memory.size > STACK

    @property
    def packed(self) -> bool:
        """Whether there are so many arrays that the core takes a table of their addresses."""
        arrays = sum(value.shape != () for value in [*self.inputs, *self.outputs])
        return self.apart and not DISABLED and arrays > MANY

    def arguments(self) -> list[str]:
        return [f"{'a' if v.shape else 'x'}{i}" for i, v in enumerate(self.inputs)]

    def base(self, kind: str, place: int) -> str:
        """What the core calls the pointer to an input or a result."""
        name = f"{'a' if kind == 'input' else 'r'}{place}"
        if not self.packed:
            return name
        value = self.inputs[place] if kind == "input" else self.outputs[place]
        return f"{_POINTER[value.dtype.name]}(t[{self.slots[name]}])"

    @cached_property
    def slots(self) -> dict[str, int]:
        """Where arrays stand in a table: inputs, then results."""
        names = [name for name in self.arguments() if name[0] == "a"]
        return {name: i for i, name in enumerate([*names, *(f"r{i}" for i in self.arrays())])}

    def arrays(self) -> list[int]:
        """Positions of the outputs that are arrays."""
        return [i for i, value in enumerate(self.outputs) if value.shape != ()]

    def scalars(self) -> list[int]:
        return [i for i, value in enumerate(self.outputs) if value.shape == ()]


def header(text: str) -> str:
    """The imports of a module's text."""
    used = set(_NAME.findall(text))
    lines = ["import numpy as np"]
    if used & {"float32", "int64", "float64"}:
        lines.append("from numpy import float32, float64, int64")
    if "device" in used:
        lines.append("from nbgrad.kernels._jit import device")
    for module, names in (
        ("pointers", pointers.__all__),
        ("random", random.__all__),
        ("running", ("cumsum", "cumsum_back")),
        ("scalar", scalar.__all__),
    ):
        known = sorted(used & set(names))
        if known:
            lines.append(f"from nbgrad.kernels.{module} import {', '.join(known)}")
    return "\n".join(lines) + "\n\n\n"


def module(text: str, core: str, home: str) -> str:
    """A module of its own for a way into the core that module `home` defines."""
    lines = header(text).rstrip("\n")
    return f"{lines}\nfrom {home} import {core}\n\n\n{text}"


def entry(frame: Frame, arena: bool = False) -> str:
    """`name(inputs)` gives new arrays and scalars in the order of the outputs; with `arena`, large
    scratch is its last argument."""
    lines, given, alive = _taken(frame)
    for i in frame.memory.results:
        lines.append(f"r{i} = {_empty(frame.outputs[i])}")
        given.append(f"pointer(r{i})")
    alive += [f"r{i}" for i in frame.memory.results]
    lines += _scratch(frame, arena, given, alive)
    lines += _called(frame, given)
    results = [f"s{i}" if v.shape == () else f"r{i}" for i, v in enumerate(frame.outputs)]
    for i, source in frame.memory.copies.items():
        results[i] = f"{source}.copy()"
    lines += [*_kept(alive), f"return {', '.join(results)}"]
    arguments = [*frame.arguments(), *(["work"] if frame.large and arena else [])]
    return _function(frame.name, arguments, lines)


def into(frame: Frame, arena: bool = False) -> str:
    """`name_into(inputs, arrays)` writes the results that are arrays and returns the scalars.

    Where a result overlaps anything else, all are computed apart and moved.
    """
    lines, given, alive = _taken(frame)
    inputs = [i for i, value in enumerate(frame.inputs) if value.shape != ()]
    places = [f"a{i}" for i in inputs] + [f"r{i}" for i in frame.arrays()]
    values = [frame.inputs[i] for i in inputs] + [frame.outputs[i] for i in frame.arrays()]
    for i in frame.arrays():
        lines += _checked(frame, f"r{i}", frame.outputs[i], "a result")
    meets = []
    lines += [f"at_{name} = address({name})" for name in places]
    for j in range(len(inputs), len(places)):
        for i in range(j):
            p, q = places[i], places[j]
            meets.append(f"(at_{p} < at_{q} + {_bytes(values[j])}) "
                         f"& (at_{q} < at_{p} + {_bytes(values[i])})")  # fmt: skip
    if meets:
        lines.append(f"overlap = {meets[0]}")
        lines += [f"overlap |= {meet}" for meet in meets[1:]]
    for i in frame.arrays():
        lines += [f"t{i} = r{i}", "if overlap:", f"    t{i} = {_empty(frame.outputs[i])}"]
    given += [f"pointer(t{i})" for i in frame.memory.results]
    lines += _scratch(frame, arena, given, alive)
    lines += _called(frame, given)
    for i, source in frame.memory.copies.items():
        source = source.replace("r", "t")
        lines.append(f"move(pointer(t{i}), pointer({source}), {frame.outputs[i].size})")
    if frame.arrays():
        lines.append("if overlap:")
    for i in frame.arrays():
        lines.append(f"    move(pointer(r{i}), pointer(t{i}), {frame.outputs[i].size})")
    alive += [f"{letter}{i}" for i in frame.arrays() for letter in "rt"]
    lines += [*_kept(alive), _returned([f"s{i}" for i in frame.scalars()])]
    arguments = [*frame.arguments(), *(f"r{i}" for i in frame.arrays())]
    arguments += ["work"] if frame.large and arena else []
    return _function(f"{frame.name}_into", arguments, lines)


def packed(frame: Frame) -> str:
    """`name_packed(table, scalars)` with the addresses of all arrays, inputs before results, in an
    array of int64; large scratch is the last argument. It returns the scalars."""
    scalars = [name for name in frame.arguments() if name[0] == "x"]
    call = ["t", *scalars, *(["pointer(work)"] if frame.large else [])]
    lines = ["t = pointer(table)", *_core(frame, call)]
    for i, source in frame.memory.copies.items():
        kind, place = ("input" if source[0] == "a" else "result"), int(source[1:])
        to = frame.base("result", i)
        lines.append(f"move({to}, {frame.base(kind, place)}, {frame.outputs[i].size})")
    lines.append("keep(table)")
    lines += ["keep(work)"] if frame.large else []
    lines.append(_returned([f"s{i}" for i in frame.scalars()]))
    arguments = ["table", *scalars]
    return _function(
        f"{frame.name}_packed", [*arguments, *(["work"] if frame.large else [])], lines
    )


def addressed(frame: Frame, captured: Sequence[int]) -> str:
    """`name_addressed(given, results)`: two tables of addresses, scalars among them; `captured` are
    addresses that stay. Where a check fails, results become nan."""
    lines, given = [], []
    count = len(frame.inputs) - len(captured)
    for i, value in enumerate(frame.inputs):
        place = f"given[{i}]" if i < count else str(captured[i - count])
        found = f"{_POINTER[value.dtype.name]}({place})"
        given.append(found if value.shape else f"{found}[0]")
    for i, value in enumerate(frame.outputs):
        lines.append(f"r{i} = {_POINTER[value.dtype.name]}(results[{i}])")
    given += [f"r{i}" for i in frame.memory.results]
    alive: list[str] = []
    lines += _scratch(frame, False, given, alive)
    lines += _called(frame, given, raises=False)
    lines += _moved(frame, given)
    lines += [f"r{i}[0] = s{i}" for i in frame.scalars()]
    lines += [*_kept(alive), *_spoiled(frame)]
    return _function(f"{frame.name}_addressed", ["given", "results"], lines)


def quad(frame: Frame, captured: Sequence[int]) -> str:
    """`double name_quad(int n, double* x, void* data)`: the inputs stand in `x` one after another;
    nan where n is not their number."""
    _real(frame, "quad")
    if len(frame.outputs) != 1 or frame.outputs[0].shape != ():
        raise TraceError(f'{frame.name}: cfunc("quad") is for functions that return one number')
    given, total = _laid_out(frame, captured, "x", 0)
    lines = [f"if n != {total}:", "    return np.nan"]
    alive: list[str] = []
    lines += [*_scratch(frame, False, given, alive), *_called(frame, given, raises=False)]
    lines += _kept(alive)
    if frame.messages:
        failed = " or ".join(f"not ok{i}" for i in range(len(frame.messages)))
        lines += [f"if {failed}:", "    return np.nan"]
    return _function(f"{frame.name}_quad", ["n", "x", "data"], [*lines, "return float64(s0)"])


def ode(frame: Frame, captured: Sequence[int]) -> str:
    """`void name_ode(double t, double* u, double* du, double* p)`: the program takes t and u, and
    what stands in `p` one after another; it returns du."""
    _real(frame, "ode")
    first = frame.inputs[: len(frame.inputs) - len(captured)]
    fits = len(first) >= 2 and first[0].shape == () and len(frame.outputs) == 1
    if not fits or first[1].shape != frame.outputs[0].shape:
        raise TraceError(
            f'{frame.name}: cfunc("ode") is for f(t, u) or f(t, u, parameters), t a number, that '
            "returns an array of the shape of u"
        )
    state = "u[0]" if first[1].shape == () else "u"
    rest, _ = _laid_out(frame, captured, "p", 2)
    given, alive = ["t", state, *rest, *(["du"] if frame.memory.results else [])], []
    lines = [*_scratch(frame, False, given, alive), *_called(frame, given, raises=False)]
    if not frame.memory.results:
        lines.append("du[0] = s0" if state != "u" else f"move(du, u, {first[1].size})")
    if frame.messages:
        failed = " or ".join(f"not ok{i}" for i in range(len(frame.messages)))
        lines += [f"if {failed}:", f"    spoil(du, {first[1].size})"]
    return _function(f"{frame.name}_ode", ["t", "u", "du", "p"], [*lines, *_kept(alive)])


def _taken(frame: Frame) -> tuple[list[str], list[str], list[str]]:
    """Lines that check the inputs, what the core is given for them, and what must stay alive."""
    lines, given, alive = [], [], []
    for name, value in zip(frame.arguments(), frame.inputs, strict=True):
        if value.shape == ():
            given.append(name)
            continue
        lines += [*_checked(frame, name, value, "an argument"), f"{name} = contiguous({name})"]
        given.append(f"pointer({name})")
        alive.append(name)
    return lines, given, alive


def _checked(frame: Frame, name: str, value: Value, what: str) -> list[str]:
    return [
        f"if {name}.shape != {value.shape}:",
        f"    raise ValueError('{frame.name} was compiled for {what} of shape {value.shape}')",
    ]


def _scratch(frame: Frame, arena: bool, given: list[str], alive: list[str]) -> list[str]:
    if not frame.large:
        return []
    given.append("pointer(work)")
    alive.append("work")
    return [] if arena else [f"work = np.empty({frame.memory.size}, np.uint8)"]


def _called(frame: Frame, given: Sequence[str], raises: bool = True) -> list[str]:
    """Lines that call the core with pointers and scalars, through a table where it takes one."""
    if not frame.packed:
        return _core(frame, given, raises)
    names = [*frame.arguments(), *(f"r{i}" for i in frame.memory.results)]
    lines, scalars = [f"table = np.empty({len(frame.slots)}, np.int64)"], ["pointer(table)"]
    for name, found in zip(names, given, strict=False):
        if name[0] == "x":
            scalars.append(found)
        else:
            lines.append(f"table[{frame.slots[name]}] = address({found})")
    scalars += given[len(names) :]
    return [*lines, *_core(frame, scalars, raises), "keep(table)"]


def _core(frame: Frame, given: Sequence[str], raises: bool = True) -> list[str]:
    names = [f"s{i}" for i in frame.scalars()]
    checks = [f"ok{i}" for i in range(len(frame.messages))]
    call = f"{frame.name}_core({', '.join(given)})"
    lines = [f"{', '.join([*names, *checks])}, = {call}" if names or checks else call]
    if raises:
        for name, message in zip(checks, frame.messages, strict=True):
            lines += [f"if not {name}:", f"    raise IndexError({message!r})"]
    return lines


def _moved(frame: Frame, given: Sequence[str] = ()) -> list[str]:
    """Results that are copies of an input or of another result."""
    lines = []
    for i, source in frame.memory.copies.items():
        place = given[int(source[1:])] if given and source[0] == "a" else source
        lines.append(f"move(r{i}, {place}, {frame.outputs[i].size})")
    return lines


def _spoiled(frame: Frame) -> list[str]:
    floats = [i for i, v in enumerate(frame.outputs) if v.dtype.kind == "f"]
    if not frame.messages or not floats:
        return []
    failed = " or ".join(f"not ok{i}" for i in range(len(frame.messages)))
    return [f"if {failed}:", *(f"    spoil(r{i}, {frame.outputs[i].size})" for i in floats)]


def _laid_out(frame: Frame, captured: Sequence[int], base: str, first: int) -> tuple[list, int]:
    """What the core is given where inputs from `first` on stand one after another."""
    given, at, count = [], 0, len(frame.inputs) - len(captured)
    for value in frame.inputs[first:count]:
        given.append(f"shift({base}, {at})" if value.shape else f"{base}[{at}]")
        at += value.size
    for value, place in zip(frame.inputs[count:], captured, strict=True):
        found = f"{_POINTER[value.dtype.name]}({place})"
        given.append(found if value.shape else f"{found}[0]")
    return given, at


def _real(frame: Frame, what: str) -> None:
    for value in [*frame.inputs, *frame.outputs]:
        if value.dtype != np.float64:
            raise TraceError(
                f'{frame.name}: cfunc("{what}") takes and gives float64; there is a value of '
                f"{value.dtype}: pass floats, or use .address"
            )


def _kept(names: Sequence[str]) -> list[str]:
    return [f"keep({name})" for name in names]


def _empty(value: Value) -> str:
    return f"np.empty({value.shape}, np.{value.dtype.name.replace('bool', 'bool_')})"


def _bytes(value: Value) -> int:
    return math.prod(value.shape) * value.dtype.itemsize


def _returned(names: Sequence[str]) -> str:
    return f"return {', '.join(names)}" if names else "return None"


def _function(name: str, arguments: Sequence[str], lines: Sequence[str]) -> str:
    return "\n".join([f"def {name}({', '.join(arguments)}):", *("    " + x for x in lines)]) + "\n"
