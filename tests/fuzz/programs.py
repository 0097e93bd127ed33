"""A program as data: inputs, and steps that refer to earlier values by number.

A step is a piece of ordinary Python with holes for its arguments. It gives a value, or it writes to
earlier values and to all that share their memory. What runs is the text that is printed: one
function `f`, in which `np` and `nbgrad` are the libraries, or what the oracle puts in their place.
"""

import inspect
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

import nbgrad

from .reference import Special

LAYOUTS = ("C", "F", "reversed", "strided", "transposed", "readonly", "broadcast")
"""How an input lies in memory."""

ROLES = ("argument", "captured", "leaf")
"""An input is an argument of the function, or closed over: plain, or tracked outside."""


class Input(NamedTuple):
    """Where a program starts: an array, or a number of Python."""

    value: Any
    layout: str = "C"
    role: str = "argument"

    @property
    def is_float(self) -> bool:
        return np.asarray(self.value).dtype.kind == "f"

    def make(self, value: Any = None) -> Any:
        """The array in its layout, with these numbers or its own: a new one at every call."""
        x = self.value if value is None else value
        if not isinstance(x, np.ndarray):
            return x
        return _laid(x, self.layout)

    @property
    def text(self) -> str:
        """An expression that makes it."""
        text = literal(self.value)
        if not isinstance(self.value, np.ndarray) or self.value.ndim == 0 or self.layout == "C":
            return text
        return {
            "F": f"np.asfortranarray({text})",
            "reversed": f"{text}[::-1].copy()[::-1]",
            "strided": f"np.repeat({text}, 2, axis=-1)[..., ::2]",
            "transposed": f"{text}.T.copy().T",
            "readonly": f"np.broadcast_to({text}, {self.value.shape})",
            "broadcast": f"np.broadcast_to({text}[:1], {self.value.shape})",
        }[self.layout]


def _laid(x: np.ndarray, layout: str) -> np.ndarray:
    x = np.array(x)
    if x.ndim == 0:
        return x
    match layout:
        case "F":
            return np.asfortranarray(x)
        case "reversed":
            return x[::-1].copy()[::-1]
        case "strided":
            return np.repeat(x, 2, axis=-1)[..., ::2]
        case "transposed":
            return x.T.copy().T
        case "readonly":
            return np.broadcast_to(x, x.shape)
        case "broadcast":
            return np.broadcast_to(x[:1], x.shape)
    return x


def literal(x: Any) -> str:
    """An array or number as an expression of NumPy that gives the same."""
    if isinstance(x, (bool, int, float)):
        return repr(x)
    if isinstance(x, np.generic):
        return f"np.{x.dtype.name}({x.item()!r})"
    kind: np.dtype = x.dtype
    dtype = "" if kind in (np.float64, np.int64) and x.size else f", np.{kind.name}"
    dtype = dtype.replace("np.bool", "bool") if kind.isnative else f", {kind.str!r}"
    if x.size == 0:
        return f"np.zeros({x.shape}{dtype})"
    return f"np.array({_short(x.tolist())}{dtype})"


def _short(x: Any) -> str:
    return f"[{', '.join(map(_short, x))}]" if isinstance(x, list) else repr(x)


class Step(NamedTuple):
    """One op: its name in the vocabulary, the values it takes by number, and its text.

    In the text `{0}`, `{1}` stand for the arguments and `{out}`, in steps of several lines, for
    what the step makes. A step that `writes` is a statement; it makes another name for what it
    writes to first.
    """

    op: str
    args: tuple[int, ...]
    text: str
    writes: tuple[int, ...] = ()  # the places among the arguments of what changes
    shares: tuple[int, ...] = ()  # those of what the value may share memory with

    def lines(self, name: Callable[[int], str], out: str) -> list[str]:
        given = [name(i) for i in self.args]
        if self.writes:
            alias = [f"{out} = {given[self.writes[0]]}"] if out else []
            return [*self.text.format(*given).split("\n"), *alias]
        if "{out}" in self.text:
            return self.text.format(*given, out=out).split("\n")
        return [f"{out} = {self.text.format(*given)}"]


@dataclass(frozen=True)
class Program:
    """Inputs, then steps: value number i is an input, or what step i - len(inputs) makes."""

    inputs: tuple[Input, ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]
    refused: bool = False  # NumPy raises IndexError: everything must
    seed: int = field(default=0, compare=False)

    @cached_property
    def arguments(self) -> tuple[int, ...]:
        return tuple(i for i, x in enumerate(self.inputs) if x.role == "argument")

    @cached_property
    def floats(self) -> tuple[int, ...]:
        """The places among the arguments of what has a derivative."""
        return tuple(k for k, i in enumerate(self.arguments) if self.inputs[i].is_float)

    def make(self) -> list[Any]:
        """The arguments, made anew."""
        return [self.inputs[i].make() for i in self.arguments]

    def name(self, i: int) -> str:
        if i >= len(self.inputs):
            return f"v{i}"
        return f"x{i}" if self.inputs[i].role == "argument" else f"c{i}"

    @cached_property
    def source(self) -> str:
        """The function alone; what it closes over are globals."""
        return self._text(shaken=False)

    def _text(self, shaken: bool) -> str:
        lines = [f"def f({', '.join(map(self.name, self.arguments))}):"]
        used = {*self.outputs, *(a for step in self.steps for a in step.args)}
        for i, step in enumerate(self.steps, len(self.inputs)):
            out = self.name(i) if i in used or shaken or not step.writes else ""
            lines += ["    " + line for line in step.lines(self.name, out)]
            if shaken and not (step.writes or step.shares):  # these are rounded where they began
                given = "".join(f", {self.name(i)}" for i in step.args)
                lines.append(f"    {out} = shake({step.op!r}, {out}{given})")
        results = ", ".join(map(self.name, self.outputs))
        return "\n".join([*lines, f"    return {results}"]) + "\n"

    def __str__(self) -> str:
        """A regression, ready to be pasted: everything that the program needs."""
        closed = [
            f"{self.name(i)} = {f'nbgrad.track({x.text})' if x.role == 'leaf' else x.text}"
            for i, x in enumerate(self.inputs)
            if x.role != "argument"
        ]
        given = ", ".join(self.inputs[i].text for i in self.arguments)
        lines = [*closed, "", *self.source.splitlines(), "", f"return f, ({given},)"]
        body = "".join(f"    {line}\n" if line else "\n" for line in lines)
        return f"@regression\ndef name_me(nbgrad):\n{body.lstrip(chr(10))}"

    def function(
        self,
        library: Any = None,
        captured: Sequence[Any] | None = None,
        shake: Callable | None = None,
    ) -> Callable:
        """The function, with `library` in the place of nbgrad. Arrays that it closes over are made
        anew, tracked ones only for nbgrad itself. What each step makes goes through
        `shake(op, value, *arguments of the step)`."""
        scope: dict[str, Any] = {"np": np, "special": Special(), "nbgrad": library or nbgrad}
        scope["shake"] = shake
        for i, x in enumerate(self.inputs):
            if x.role != "argument":
                value = x.make() if captured is None else captured[i]
                scope[f"c{i}"] = nbgrad.track(value) if x.role == "leaf" and not library else value
        exec(_code(self._text(shaken=True) if shake else self.source), scope)
        return scope["f"]

    def at(self, args: Sequence[Any]) -> "Program":
        """The program at other arguments."""
        rest = iter(args)
        return self.with_inputs(
            [
                x._replace(value=next(rest), layout="C") if x.role == "argument" else x
                for x in self.inputs
            ]
        )

    @property
    def length(self) -> int:
        return len(self.steps)

    def ops(self) -> set[str]:
        return {step.op for step in self.steps}

    def pruned(self) -> "Program":
        """Without what its outputs do not need: neither as a value, nor for what it writes."""
        count, memory = len(self.inputs), self._memory()
        kept = set(self.outputs)
        read = {memory[i] for i in kept}
        for i in reversed(range(count, count + len(self.steps))):
            step = self.steps[i - count]
            if i in kept or any(memory[step.args[k]] in read for k in step.writes):
                kept |= {i, *step.args}
                read |= {memory[a] for a in step.args}
        return self._with(kept, {i: i for i in kept})

    def without_write(self, i: int) -> "Program":
        """Without the statement of step i."""
        step, last = self.steps[i], i + len(self.inputs)
        kept = {k for k in range(len(self.inputs) + len(self.steps)) if k != last}
        return self._with(kept, {k: k for k in kept} | {last: step.args[step.writes[0]]}).pruned()

    def _with(self, kept: set[int], place: dict[int, int]) -> "Program":
        """The values that are kept, where `place[i]` stands for value i."""
        number = {old: new for new, old in enumerate(sorted(kept))}
        count = len(self.inputs)
        steps = tuple(
            step._replace(args=tuple(number[place[a]] for a in step.args))
            for i, step in enumerate(self.steps)
            if i + count in kept
        )
        inputs = tuple(x for i, x in enumerate(self.inputs) if i in kept)
        outputs = tuple(number[place[i]] for i in self.outputs)
        return replace(self, inputs=inputs, steps=steps, outputs=outputs)

    def _memory(self) -> list[int]:
        """For each value the number of one that it may share memory with, the same for all of
        these."""
        memory = list(range(len(self.inputs)))
        for i, step in enumerate(self.steps, len(self.inputs)):
            near = [memory[step.args[k]] for k in (*step.shares, *step.writes[:1])]
            memory.append(near[0] if near else i)
            memory = [memory[-1] if m in near else m for m in memory]
        return memory

    def with_inputs(self, inputs: Sequence[Input]) -> "Program":
        return replace(self, inputs=tuple(inputs))


class Pasted:
    """A function that was pasted, and its arguments, in the place of a program."""

    refused, seed = False, 0
    steps: tuple[Step, ...] = ()

    def __init__(self, make: Callable[[Any], tuple[Callable, tuple]], args: Any = None):
        self._make = make
        self._args = args
        self.source = inspect.getsource(make)
        given = make(nbgrad)[1] if args is None else args
        self.inputs = tuple(Input(x) for x in given)
        self.length = self.source.count("=")
        self.arguments = tuple(range(len(self.inputs)))
        self.floats = tuple(i for i, x in enumerate(self.inputs) if x.is_float)

    def make(self) -> list[Any]:
        return list(self._make(nbgrad)[1] if self._args is None else self._args)

    def function(self, library: Any = None, captured: Any = None) -> Callable:
        return self._make(library or nbgrad)[0]

    def __str__(self) -> str:
        return self.source

    def at(self, args: Sequence[Any]) -> "Pasted":
        return Pasted(self._make, args)

    def ops(self) -> set[str]:
        return set()


@lru_cache(64)
def _code(source: str) -> types.CodeType:
    return compile(source, "<program>", "exec")
