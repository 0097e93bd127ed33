"""The signature of a program, and lines that the texts of all its entries share.

The core takes pointers, and scalars by value. Whatever calls it checks shapes, since the core's
sizes are literal, and keeps arrays alive: a pointer does not, and Numba frees an array after the
last line that names it.
"""

import builtins
import keyword
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

from ...compiler import pointers
from ...compiler.forks import with_open_properties
from ...compiler.program import DISABLED
from ...errors import ArgumentError, DimensionMismatch, coded
from ...ir.formulas import Condition, names_in
from ...ir.imports import names_used
from ...ir.sizes import is_dynamic, value_of
from ...kernels import scalar
from ...threads import helpers
from ..loops.memory import ArgumentBuffer, Memory, ResultBuffer, Storage
from ..loops.plan import STACK, is_large
from ..lower.values import Value

# Beyond so many arrays the core takes a table of their addresses: steps that are alike become loops
# over it, and array arguments cost Numba time where its code calls the program.
MANY = 24


def pointer_to(value: Value, place: str) -> str:
    """The pointer to what lies at an address."""
    return f"at_{value.dtype.str[1:]}({place})"


@dataclass
@with_open_properties
class Signature:
    """The inputs, outputs, memory and checks of a program, which all of its entries share.

    `inputs` end with the captured arrays; `messages` are what is raised where a check fails.
    """

    name: str
    inputs: list[Value]
    outputs: list[Value]
    memory: Memory
    messages: list[tuple[type, str]] = field(default_factory=list)
    conditions: dict[str, Condition] = field(default_factory=dict)  # of named sizes, by their text
    labels: tuple[str, ...] = ()  # of the first inputs, where sizes are named
    verified: set[tuple[int, ...]] | None = None  # sizes, where they are looked at first
    separate: list[tuple[int, int, str]] = field(default_factory=list)
    """Pairs of inputs that must not share memory, and what to tell if they do."""
    apart: bool = True  # not the step of a loop, whose core takes pointers

    @property
    def large(self) -> bool:
        """Whether the core is handed its scratch."""
        return is_large(self.memory.size, STACK if self.apart else 0)

    @property
    def packed(self) -> bool:
        """Whether there are so many arrays that the core takes a table of their addresses."""
        arrays = [value for value in [*self.inputs, *self.outputs] if value.shape]
        return self.apart and not DISABLED and len(arrays) > MANY

    def arguments(self) -> list[str]:
        return [f"{'a' if v.shape else 'x'}{i}" for i, v in enumerate(self.inputs)]

    @staticmethod
    def name_of(storage: Storage) -> str:
        """The name of the pointer to an input or a result in the core."""
        assert isinstance(storage, (ArgumentBuffer, ResultBuffer))
        return f"{'a' if isinstance(storage, ArgumentBuffer) else 'r'}{storage.position}"

    def base(self, storage: Storage) -> str:
        """The expression for the pointer to an input or a result in the core."""
        name = self.name_of(storage)
        if not self.packed:
            return name
        assert isinstance(storage, (ArgumentBuffer, ResultBuffer))
        values = self.inputs if isinstance(storage, ArgumentBuffer) else self.outputs
        return pointer_to(values[storage.position], f"t[{self.slots[name]}]")

    @cached_property
    def slots(self) -> dict[str, int]:
        """The positions of arrays in a table: inputs, then results."""
        names = [name for name in self.arguments() if name[0] == "a"]
        return {name: i for i, name in enumerate([*names, *(f"r{i}" for i in self.arrays())])}

    @cached_property
    def places(self) -> dict[str, tuple[int, int]]:
        """For each named size the input and the axis that have it."""
        found: dict[str, tuple[int, int]] = {}
        for i, value in enumerate(self.inputs):
            for axis, n in enumerate(value.shape):
                if is_dynamic(n):
                    found.setdefault(str(n), (i, axis))
        return found

    def number(self, n: int, given: Sequence[Any]) -> int:
        """A size, where it has a formula for these inputs."""
        if not is_dynamic(n):
            return n
        sizes = {name: given[i].shape[axis] for name, (i, axis) in self.places.items()}
        return value_of(n, sizes)

    def shape(self, value: Value, given: Sequence[Any]) -> tuple[int, ...]:
        """The shape of a value for these inputs."""
        if not any(map(is_dynamic, value.shape)):
            return value.shape
        return tuple(self.number(n, given) for n in value.shape)

    def value(self, name: str) -> Value:
        """The input or the output of this name."""
        return (self.outputs if name[0] == "r" else self.inputs)[int(name[1:])]

    def is_place(self, name: str, axis: int) -> bool:
        """Whether a named size is taken from the length of this array along an axis."""
        found = self.places.get(str(self.value(name).shape[axis]))
        return name[0] == "a" and found == (int(name[1:]), axis)

    def arrays(self) -> list[int]:
        """Positions of the outputs that are arrays."""
        return [i for i, value in enumerate(self.outputs) if value.shape != ()]

    def scalars(self) -> list[int]:
        return [i for i, value in enumerate(self.outputs) if value.shape == ()]


_IMPORTS = {
    "numpy": (
        "float32", "float64", "int16", "int32", "int64", "int8", "uint16", "uint32", "uint64",
        "uint8",
    ),
    "nbgrad.kernels.blas": ("gemm_at",),
    "nbgrad.compiler.kernel": ("device", "exact"),
    "nbgrad.compiler.pointers": tuple(pointers.__all__),
    "nbgrad.kernels.scalar": tuple(scalar.__all__),
    "nbgrad.threads.helpers": tuple(helpers.__all__),
    "nbgrad.compiler.argument_checks": ("contiguous",),
}  # fmt: skip
_TAKEN = {"np", *dir(builtins), *chain.from_iterable(_IMPORTS.values())}
_KERNEL = re.compile(r"(loop|copy|part|product)\d+")
# Other names that the text of a program uses.
_LOCAL = {
    "call", "each", "far", "i", "j", "k", "l", "max", "min", "mismatch", "out", "product", "range",
    "start", "step", "t", "table", "total", "w", "work", "x", "y",
}  # fmt: skip


def program_name(name: str) -> str:
    """A name for a program of the user's function `name` that nothing else in its text has."""
    name = re.sub(r"\W", "_", name)
    if not name.isidentifier() or name == "_lambda_":
        return "compiled"
    clashes = name in _TAKEN or keyword.iskeyword(name) or _KERNEL.fullmatch(name)
    return f"{name}_" if clashes else name


def size_names(names: Iterable[str]) -> dict[str, str]:
    """For the names of sizes names that nothing else in a program's text has."""
    spelled: dict[str, str] = {}
    for name in names:
        text = name
        while (
            text in _TAKEN | _LOCAL
            or keyword.iskeyword(text)
            or re.fullmatch(r"[a-z]+\d+\w*", text)
            or text in spelled.values()
            or (text != name and text in names)
        ):
            text = f"{text}_" if not text[-1].isdigit() else f"{text}_n".capitalize()
        spelled[name] = text
    return spelled


def header(text: str, devices: Mapping[str, Callable] = {}) -> str:
    """The imports of a module's text, which calls device functions by these names."""
    used = names_used(text)
    lines = ["import numpy as np"]
    for module, names in _IMPORTS.items():
        known = sorted(used & set(names))
        if known:
            lines.append(f"from {module} import {', '.join(known)}")
    others: dict[str, list[str]] = {}
    for name, function in sorted(devices.items()):
        home, own = function.__module__, function.__name__
        if name not in _IMPORTS.get(home, ()):
            others.setdefault(home, []).append(own if name == own else f"{own} as {name}")
    lines += [f"from {module} import {', '.join(names)}" for module, names in others.items()]
    return "\n".join(lines) + "\n\n\n"


def refused_length(signature: Signature, place: str, axis: int, n: int) -> tuple[type, str]:
    """The exception for a length of an input or a result that is not `n`."""
    where = ", ".join(
        f"{name} is the length of axis {at_axis} of {_told(f'a{i}', signature)}"
        for name, (i, at_axis) in signature.places.items()
        if name in names_in(n)
    )
    message = (
        f"{signature.name}: axis {axis} of {_told(place, signature)} must have {n} elements, "
        f"where {where}"
    )
    return DimensionMismatch, coded(message, "NB-SIZES")


def refused_condition(signature: Signature, condition: str) -> tuple[type, str]:
    """The exception for sizes that do not meet a condition."""
    line = signature.conditions[condition].line
    message = f"{signature.name} was compiled for {condition}{f' ({line})' if line else ''}"
    return ArgumentError, coded(message, "NB-SIZES")


def _told(place: str, signature: Signature) -> str:
    """An input or a result for messages."""
    number = int(place[1:])
    if place[0] == "a" and number < len(signature.labels):
        return signature.labels[number]
    return f"{'argument' if place[0] == 'a' else 'result'} {number}"
