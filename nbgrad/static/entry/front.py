"""Generated Python functions that call a compiled program with nested arguments of one structure.

Flattening nested arguments and building nested results by general code takes longer than a small
program, so straight-line code for both is generated for each structure.
"""

from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...compiler.program import DISABLED
from ...ir.formulas import names_in
from ...runtime.kinds import is_a
from .flatten import PYTHONS, UNFIT, Writer, entry_argument

if TYPE_CHECKING:
    from .python_entry import PythonEntry

_NOTHING = object()
"""In the place of an argument that is not given."""


def caller(
    entry: "PythonEntry",
    args: tuple,
    static: Container[int],
    general: Callable,
    gives: bool,
    guarded: Callable[[Callable], Callable],
) -> Callable:
    """`call(*args)` for arguments of the structure of `args`, by the entry of a `PythonEntry`; it
    hands all others to `general(args, options)`. Arguments at the positions `static` are part of
    the program. What `gives` results has no argument `out` of its own: it takes arrays for them.
    The entry is `guarded`: it raises where the function reads other things than it did.

    Raises Unwritten where there is none for such arguments.
    """
    # Beside float32, a number of Python's has no dtype and one of NumPy's has.
    writer = Writer(entry.program.is_narrow or DISABLED)
    names = [f"_p{i}" for i in range(len(args))]
    operands = _taken(writer, entry, args, static, names)
    taken, writer.lines = writer.lines, []
    outputs = [entry.signature.outputs[i] for i in entry.signature.arrays()]
    used = set().union(*(names_in(n) for value in outputs for n in value.shape))
    if entry.signature.verified is None:
        _name_sizes(writer, entry, operands, used)
    for i, value in zip(entry.signature.arrays(), outputs, strict=True):
        shape: Any = value.shape
        shape = shape[0] if len(shape) == 1 else shape
        made = f"{writer.new(np.empty)}({shape}, {writer.new(value.dtype)})"
        writer.lines.append(f"_r{i} = {made}")
    called = writer.new(guarded(entry.call))
    _call(writer, entry, operands, called)
    attempt = ["if not _options:", *_inside([*taken, *writer.lines])]
    if gives and not entry.has_complex:
        writer.lines = []
        writer.places(entry.tree, "out", entry.signature)
        _call(writer, entry, operands, called)
        attempt += ['out = _options["out"]', "if len(_options) == 1:"]
        attempt += _inside([*taken, *writer.lines])
    writer.names |= {"_general": general, "_given": _given, "_nothing": _NOTHING, "_unfit": UNFIT}
    places = "".join(f"{name}=_nothing, " for name in names) + ("/, " if names else "")
    given = "".join(f"{name}, " for name in names)
    lines = [
        f"def call({places}*_more, **_options):",
        "    if not _more:",
        "        try:",
        *_inside(_inside(_inside(attempt))),
        "        except _unfit:",
        "            pass",
        f"    return _general(_given(({given}*_more)), _options)",
    ]
    return writer.function("\n".join([*lines, ""]))


def _inside(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _given(args: tuple) -> tuple:
    return tuple(x for x in args if x is not _NOTHING)


def _taken(
    writer: Writer,
    entry: "PythonEntry",
    args: tuple,
    static: Container[int],
    names: Sequence[str],
) -> list[str]:
    """Write lines that take the arguments apart; the names of what the entry is given of them."""
    signature = entry.signature
    for i, (name, arg) in enumerate(zip(names, args, strict=True)):
        if i in static:
            writer.same(arg, name)
        else:
            writer.take(arg, name, f"_p{i}")
    operands = writer.leaves
    if signature.verified is not None:
        _name_sizes(writer, entry, operands, signature.places)
        sizes = "".join(f"{name}, " for name in signature.places)
        writer.need(f"({sizes}) in {writer.new(signature.verified)}")
    for array in entry.captured:
        name = writer.new(array)
        known = is_a(array, np.ndarray) and array.shape and entry_argument(array) is array
        operands.append(name if known else f"{writer.new(entry_argument)}({name})")
    return operands


def _name_sizes(
    writer: Writer, entry: "PythonEntry", operands: Sequence[str], names: Container[str]
) -> None:
    """Write lines that take these sizes from the shapes of arrays."""
    for name, (i, axis) in entry.signature.places.items():
        if name in names:
            length = f"{operands[i]}.shape[{axis}]" if axis else f"len({operands[i]})"
            writer.lines.append(f"{name} = {length}")


def _call(writer: Writer, entry: "PythonEntry", operands: list[str], called: str) -> None:
    """Write the call of the entry and what is made of its results."""
    signature = entry.signature
    results = [f"_r{i}" for i in signature.arrays()]
    operands = [*operands, *results]
    scalars = ", ".join(f"_s{i}" for i in signature.scalars())
    call = f"{called}({', '.join(operands)})"
    if entry.complete is not None:
        writer.lines.append(f"return {call}")
        return
    writer.lines.append(f"{scalars} = {call}" if scalars else call)
    for i in signature.scalars():
        if entry.kinds[i] not in PYTHONS:  # the entry gives Python's
            writer.lines.append(f"_s{i} = {writer.new(entry.kinds[i].type)}(_s{i})")
    writer.lines.append(f"return {writer.built(entry.tree, signature)}")
