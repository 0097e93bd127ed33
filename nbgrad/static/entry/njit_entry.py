"""The entries of a program for `@njit` code.

Numba compiles a shell, which is text: it allocates arrays, and calls `linked` functions around the
core, which are written in the kernel IR.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ...compiler.kernel import Kernel, kernel_from_source
from ...compiler.straight import Straight
from ...ir.sizes import is_dynamic
from ..lower.values import Value
from . import bodies
from .bodies import values_of
from .signature import Signature, header

__all__ = ["Entry", "entry", "function", "into", "scratch_line"]


@dataclass
class Entry:
    """The function `name`: that of `shell`, which calls the `parts`, or the only part."""

    name: str
    parts: list[Straight]
    shell: str = ""

    def kernel(self) -> Kernel:
        """The compiled function."""
        text = header(self.shell) + self.shell if self.shell else ""
        return kernel_from_source(self.name, text, self.parts)


def entry(signature: Signature, name: str, core: Any = None) -> Entry:
    """`name(inputs)` gives new arrays and scalars in the order of the outputs."""
    arrays = signature.large or any(v.shape for v in (*signature.inputs, *signature.outputs))
    own = f"{signature.name}_run" if arrays else name
    run = Straight(own, values_of(signature), partial(bodies.entry, signature), core)
    if not arrays:
        return Entry(name, [run])
    numbers = [f"s{i}" for i in signature.scalars()]
    results = [f"r{i}" if v.shape else f"s{i}" for i, v in enumerate(signature.outputs)]
    called = f"{own}({', '.join(run.types)})"
    lines = [
        *_argument_lines(signature),
        *_new_arrays(signature, "r"),
        f"{', '.join(numbers)} = {called}" if numbers else called,
        f"return {', '.join(results)}",
    ]
    return Entry(name, [run], function(name, signature.arguments(), lines))


def into(signature: Signature, core: Any) -> Entry:
    """`name_into(inputs, arrays)` writes the results that are arrays and returns the scalars.

    If a result overlaps another array, new arrays are computed and then copied into it.
    """
    name, places = signature.name, [f"r{i}" for i in signature.arrays()]
    if not places:
        return entry(signature, f"{name}_into", core)
    others = {place: f"t{place[1:]}" for place in places}
    pairs = [x for pair in others.items() for x in pair]
    names = {"run": values_of(signature), "meets": [*signature.slots], "moved": pairs}
    code = {"run": bodies.into, "meets": bodies.meets, "moved": bodies.moved}
    parts = [
        Straight(f"{name}_{kind}", names[kind], partial(code[kind], signature), core)
        for kind in names
    ]
    lines = [
        *_argument_lines(signature),
        f"if not {name}_meets({', '.join(signature.slots)}):",
        f"    return {name}_run({', '.join(names['run'])})",
        *_new_arrays(signature, "t"),
        f"numbers = {name}_run({', '.join(others.get(x, x) for x in names['run'])})",
        f"{name}_moved({', '.join(pairs)})",
        "return numbers",
    ]
    shell = function(f"{name}_into", [*signature.arguments(), *places], lines)
    return Entry(f"{name}_into", parts, shell)


def function(name: str, arguments: Sequence[str], lines: Sequence[str]) -> str:
    """A function of a shell."""
    return "\n    ".join([f"def {name}({', '.join(arguments)}):", *lines]) + "\n"


def scratch_line(signature: Signature) -> list[str]:
    """The line that makes scratch where the core is handed it."""
    return [f"work = np.empty({_length(signature.memory.size)}, np.uint8)"] * signature.large


def _argument_lines(signature: Signature) -> list[str]:
    """Lines for the arguments, the sizes that they have, and scratch."""
    names = signature.arguments()
    arrays = [f"{name} = contiguous({name})" for name in names if name[0] == "a"]
    places = signature.places.items()
    sizes = [f"{name} = {names[i]}.shape[{axis}]" for name, (i, axis) in places]
    return [*arrays, *sizes, *scratch_line(signature)]


def _new_arrays(signature: Signature, letter: str) -> list[str]:
    return [f"{letter}{i} = {_new_array(signature.outputs[i])}" for i in signature.arrays()]


def _new_array(value: Value) -> str:
    lengths = f"{', '.join(map(_length, value.shape))}{',' * (len(value.shape) == 1)}"
    return f"np.empty(({lengths}), np.{value.dtype.name.replace('bool', 'bool_')})"


def _length(n: int) -> str:
    """A length, before it is known whether the sizes in its formula are those of the program."""
    return f"max({n}, 0)" if is_dynamic(n) and not str(n).isidentifier() else str(n)
