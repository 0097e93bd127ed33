"""Steps that write to an array of the program: statements, and functions that are given it."""

import textwrap
from collections.abc import Callable

import numpy as np

from ..draft import is_float
from ..oracle import Unusable
from . import sweeps
from .draft import MemoryDraft
from .forms import FORMS, Form, Target

__all__ = ["WRITES", "escaped", "indented", "statements", "sweeps"]

Op = Callable[[MemoryDraft], int]
WRITES: dict[str, Op] = {}
INNER = {name: form for name, form in FORMS.items() if name != "sort"}
"""Forms that functions may have, where equal numbers are not told."""


def target_of(d: MemoryDraft, i: int, args: list[int], name: str = "{0}") -> Target:
    """Value i as a target; values of the program that are read become arguments of the step."""

    def given(shape: tuple[int, ...]) -> str:
        j = d.shaped(shape)
        if j not in args:
            args.append(j)
        return f"{{{args.index(j)}}}"

    return Target(d, name, np.shape(d.values[i]), given)


def escaped(text: str) -> str:
    """Text whose braces are no holes, but for those of arguments."""
    text = text.replace("{", "{{").replace("}", "}}")
    for k in range(9):
        text = text.replace(f"{{{{{k}}}}}", f"{{{k}}}")
    return text


def _write(form: Form, name: str) -> Op:
    def op(d: MemoryDraft) -> int:
        i = d.memory()
        args = [i]
        if name == "sort" and np.unique(d.values[i]).size < np.size(d.values[i]):
            raise Unusable("equal numbers, whose order is open")
        text = form(target_of(d, i, args))
        return d.write(name, args, escaped(text))

    return op


for _name, _form in FORMS.items():
    WRITES[_name] = _write(_form, _name)


def write(f: Op) -> Op:
    WRITES[f.__name__.strip("_")] = f
    return f


@write
def number(d: MemoryDraft) -> int:
    """A number is no memory: a name that is written to goes on to another one."""
    i = d.find(lambda x: isinstance(x, np.floating))
    if i is None:
        raise Unusable("no number")
    return d.write("number", [i], f"{{0}} {d.one(['+=', '*=', '-='])} {d.constant()}")


def statements(t: Target, count: int, forms: dict[str, Form] | None = None) -> str:
    """Several statements on one array, some on views of it that have names."""
    known = INNER if forms is None else forms
    lines, names, tries = [], 0, 0
    while len(lines) < count and tries < 20:
        tries += 1
        place = t
        more = []
        if t.shape and t.d.chance(0.35):
            part, shape = t.place(repeats=False)
            if shape and 0 not in shape:
                names += 1
                place = t._replace(name=f"w{names}", shape=shape)
                more = [f"w{names} = {t.name}[{part}]"]
        try:
            text = known[t.d.one(list(known))](place)
        except Unusable:
            continue
        lines += [*more, text]
    if not lines:
        raise Unusable("no statement")
    return "\n".join(lines)


def indented(text: str) -> str:
    return textwrap.indent(text, "    ")


@write
def function(d: MemoryDraft) -> int:
    """A function that is given the array, and what it reads."""
    i = d.memory()
    args = [i]
    t = target_of(d, i, args)
    body = statements(t, d.number(1, 3))
    names = ["a", "b", "c", "d", "e", "g", "h"]
    if len(args) > len(names):
        raise Unusable("too much")
    for k in range(len(args)):
        body = body.replace(f"{{{k}}}", names[k])
    given = ", ".join(names[: len(args)])
    passed = ", ".join(f"{{{k}}}" for k in range(len(args)))
    text = f"def change({given}):\n{indented(body)}\n"
    if d.chance(0.25):
        text += f"def outer(*arrays):\n    change(*arrays)\nouter({passed})"
    elif d.chance(0.2):
        text += f"list(map(change, {', '.join(f'[{{{k}}}]' for k in range(len(args)))}))"
    else:
        text += f"change({passed})"
    return d.write("function", args, escaped(text))


@write
def closure(d: MemoryDraft) -> int:
    """A function that writes to what it closes over."""
    i = d.memory()
    args = [i]
    t = target_of(d, i, args)
    place, shape = t.place()
    text = f"def change():\n    {t.name}[{place}] = {t.value(shape)}\nchange()"
    return d.write("closure", args, escaped(text))


@write
def two(d: MemoryDraft) -> int:
    """A function that writes to two arrays, which may be one."""
    i = d.memory()
    shape = np.shape(d.values[i])
    j = d.memory(lambda x: np.shape(x) == shape and is_float(x))
    body = d.one([
        "a += b\n    b *= 0.5", "a[...], b[...] = b * 1.0, a * 1.0",
        "a[...] = b\n    b -= a * 0.25",
        "a *= b\n    b += a\n    a -= b", "np.copyto(a, b)\n    b[...] = np.sin(a)",
        "a[...], b[...] = b, a",
    ])  # fmt: skip
    return d.write("two", [i, j], f"def change(a, b):\n    {body}\nchange({{0}}, {{1}})", (0, 1))
