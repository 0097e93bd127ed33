"""From Python to a compiled program and back: a generated function for one structure of arguments.

Flattening nested arguments and building nested results costs more than small programs do, so both
are written out for the structure at hand. Whatever does not look like it raises; types and layouts
are Numba's to tell apart, shapes the entry's.
"""

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import Aval
from ..kernels.program import arena

# What a generated caller raises where arguments are not those that it was made for.
UNFIT = (TypeError, ValueError, KeyError, AttributeError)


class Unwritten(Exception):
    """A structure of registered classes, which only optree takes apart."""


def is_dynamic(leaf: Any) -> bool:
    """Numbers and arrays of numbers; strings, functions, bools and None are static."""
    if isinstance(leaf, (bool, np.bool_)):
        return False
    if isinstance(leaf, (float, int)):
        return True
    return isinstance(leaf, (np.ndarray, np.generic)) and leaf.dtype.kind in "fiub"


def aval_of(leaf: Any) -> Aval:
    """The shape and dtype of a leaf in a program; half and long floats become float64."""
    if isinstance(leaf, (np.ndarray, np.generic)):
        shape, dtype = leaf.shape, leaf.dtype
    else:
        shape, dtype = (), np.dtype(np.float64 if isinstance(leaf, float) else np.int64)
    if dtype.kind == "f":
        dtype = np.dtype(np.float32 if dtype.itemsize == 4 else np.float64)
    elif dtype.kind in "iu":
        dtype = np.dtype(np.int64)
    return Aval.of(shape, dtype)


def handed(leaf: Any) -> Any:
    """A leaf as the entry takes it: a number, or a contiguous array of a known dtype."""
    aval = aval_of(leaf)
    if aval.shape == ():
        return leaf.item() if isinstance(leaf, (np.ndarray, np.generic)) and (
            aval.dtype != np.float32) else aval.dtype.type(leaf) if (
            aval.dtype == np.float32) else leaf  # fmt: skip
    return np.ascontiguousarray(leaf, aval.dtype)


def caller(variant: Any, args: tuple, is_static: Callable[[Any], bool], outputs: Any) -> Callable:
    """`call(*args)` for arguments of the structure of `args`: the variant's entry with their leaves
    in order, captured arrays and scratch; `outputs` is the result with an int in place of each flat
    output, and None where the result has it."""
    if variant.packed:
        raise Unwritten
    writer = _Writer(is_static)
    names = [f"p{i}" for i in range(len(args))]
    for name, arg in zip(names, args, strict=True):
        writer.take(arg, name)
    given = writer.leaves
    for i, array in enumerate(variant.captured):
        writer.names[f"e{i}"] = array
        given.append(f"e{i}" if array.shape else f"e{i}.item()")
    if variant.frame.large:
        writer.names["arena"] = arena
        given.append(f"arena({variant.frame.memory.size})")
    count, built, kinds = _count(outputs), _built(outputs), variant.kinds
    if np.dtype(np.float32) in kinds:  # Numba gives floats
        writer.names["single"] = lambda x: x if isinstance(x, np.ndarray) else np.float32(x)
        singles = {f"r{i}" for i, kind in enumerate(kinds) if kind == np.float32}
        built = re.sub(r"\br\d+\b", lambda m: f"single({m[0]})" if m[0] in singles else m[0], built)
    lines = [*writer.lines]
    call = f"entry({', '.join(given)})"
    flat = "".join(f"r{i}, " for i in range(count))
    if built == "r0" or (built == f"({flat})" and count > 1):
        lines.append(f"return {call}")
    else:
        results = ", ".join(f"r{i}" for i in range(count))
        lines += [f"{results} = {call}", f"return {built}"]
    text = f"def call({', '.join(names)}):\n" + "".join(f"    {line}\n" for line in lines)
    scope: dict[str, Any] = {"entry": variant.entry, **writer.names}
    exec(compile(text, "<nbgrad caller>", "exec"), scope)
    return scope["call"]


class _Writer:
    """Lines that take arguments apart, and the expressions of their leaves."""

    def __init__(self, is_static: Callable[[Any], bool]):
        self.is_static = is_static
        self.lines: list[str] = []
        self.leaves: list[str] = []
        self.names: dict[str, Any] = {"mismatch": _mismatch}

    def _new(self, value: Any) -> str:
        name = f"k{len(self.names)}"
        self.names[name] = value
        return name

    def _need(self, condition: str) -> None:
        self.lines.append(f"if not ({condition}): mismatch()")

    def take(self, value: Any, name: str) -> None:
        kind = type(value)
        if kind in (tuple, list):
            self._need(f"type({name}) is {kind.__name__} and len({name}) == {len(value)}")
            parts = [f"{name}_{i}" for i in range(len(value))]
            if parts:
                self.lines.append(f"{', '.join(parts)}, = {name}")
            for part, item in zip(parts, value, strict=True):
                self.take(item, part)
        elif kind is dict:
            self._need(f"type({name}) is dict and len({name}) == {len(value)}")
            for i, key in enumerate(_ordered(value)):
                self.lines.append(f"{name}_{i} = {name}[{self._new(key)}]")
                self.take(value[key], f"{name}_{i}")
        elif self.is_static(value):
            self._need(f"type({name}) is {self._new(kind)} and {name} == {self._new(value)}")
        elif kind in (float, int):
            self._need(f"type({name}) is {kind.__name__}")
            self.leaves.append(name)
        elif isinstance(value, np.ndarray) and value.shape:
            self.leaves.append(name)
        elif isinstance(value, (np.ndarray, np.generic)):
            self._need(
                f"type({name}) is {self._new(kind)} and {name}.dtype is {self._new(value.dtype)}"
            )
            if isinstance(value, np.ndarray):
                self._need(f"{name}.shape == ()")
            number = name if value.dtype == np.float32 and kind is np.float32 else f"{name}.item()"
            if value.dtype == np.float32 and kind is not np.float32:
                number = f"{name}[()]"
            self.leaves.append(number)
        else:
            raise Unwritten


def _ordered(value: dict) -> list:
    """Keys in the order in which optree takes them."""
    try:
        return sorted(value)
    except TypeError:
        return sorted(value, key=lambda key: (type(key).__qualname__, repr(key)))


def _mismatch() -> None:
    raise ValueError


def _count(outputs: Any) -> int:
    if isinstance(outputs, (tuple, list)):
        return sum(map(_count, outputs))
    if isinstance(outputs, dict):
        return sum(map(_count, outputs.values()))
    return int(outputs is not None)


def _built(outputs: Any) -> str:
    kind = type(outputs)
    if kind is tuple:
        return f"({''.join(_built(item) + ', ' for item in outputs)})"
    if kind is list:
        return f"[{', '.join(map(_built, outputs))}]"
    if kind is dict and all(isinstance(key, (str, int)) for key in outputs):
        return "{" + ", ".join(f"{key!r}: {_built(item)}" for key, item in outputs.items()) + "}"
    if kind is int:
        return f"r{outputs}"
    if outputs is None:
        return "None"
    raise Unwritten
