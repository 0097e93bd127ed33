"""The text of a kernel: a nest of lines with its pointers named and its loops merged.

Pointers are named in order of use and start at the first element that is touched, so that the same
work at another place of a buffer is the same text, compiled once.
"""

import math
import re
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from .affine import Affine
from .nest import Block, Nest
from .pull import Line
from .values import Value

# Functions that vectorise for arguments that are not far from 0.
RANGED = re.compile(r"(?<![\w.])(sin|sinc|cos|tan)\((\w+)\)")
# One accumulator over a whole long row would lose digits: this many at a time.
CHUNK = 8192
_POINTER = re.compile(r"@\{(\d+)\}")
_VARIABLES = "ijklmnopq"


class Argument(NamedTuple):
    """A buffer that a kernel is given, and the element at which its pointer starts."""

    storage: Hashable
    start: int
    value: Value


class Text(NamedTuple):
    """The lines of a kernel without its name, and what it is called with."""

    lines: list[str]
    arguments: list[Argument]
    scalars: list[Value]
    results: list[Value]
    sources: list[str]


def text_of(nest: Nest, storage_of: Callable[[Value], Hashable]) -> Text:
    storages = [storage_of(access.value) for access in nest.accesses]
    starts: dict[Hashable, int] = {}
    values: dict[Hashable, Value] = {}
    for access, storage in zip(nest.accesses, storages, strict=True):
        starts[storage] = min(starts.get(storage, access.low), access.low)
        values.setdefault(storage, access.value)
    names = {storage: f"p{i}" for i, storage in enumerate(starts)}
    printer = _Printer(nest, storages, names, starts)
    body = printer.items(nest.items)
    near = [printer.near(line) for line in body]
    flat = [line for group in near for line in group]
    if flat != body:
        # Arguments too large for the branch-free functions are rare: then all is done again.
        body = ["far = False", *flat, "if far:", *("    " + line for line in body)]
    if nest.results:
        body = [*body, f"return {', '.join(f'total{i}' for i in range(len(nest.results)))}"]
    parameters = [*names.values(), *nest.scalars.values()]
    lines = [f"({', '.join(parameters)}):", *("    " + line for line in body or ["pass"])]
    arguments = [Argument(s, starts[s], values[s]) for s in starts]
    sources = sorted(printer.sources)
    return Text(lines, arguments, list(nest.scalars), nest.results, sources)


class _Printer:
    def __init__(self, nest: Nest, storages: list, names: dict, starts: dict):
        self.nest, self.storages, self.names, self.starts = nest, storages, names, starts
        self.sources: set[str] = set()
        self.inside = 0  # loops around the present block
        self.merged = _merged(nest)

    def items(self, items: list[Any]) -> list[str]:
        lines: list[str] = []
        for item in items:
            lines += self.block(item) if isinstance(item, Block) else [self.line(item)]
        return lines

    def line(self, line: Line) -> str:
        if line.source:
            self.sources.add(line.source)
        start = 0
        pointer = _POINTER.search(line.text)
        if pointer is not None:
            start = self.starts[self.storages[int(pointer[1])]]
        text = _POINTER.sub(lambda m: self.names[self.storages[int(m[1])]], line.text)
        for i, position in enumerate(line.positions):
            shown = self.position(position.shifted(-start) if pointer else position)
            text = text.replace(f"{{{i}}}", shown)
        return text

    def near(self, line: str) -> list[str]:
        """A line with branch-free forms of sin and its kin, noting in `far` where it is wrong."""
        found = list(dict.fromkeys(match[1] for match in RANGED.findall(line)))
        indent = line[: len(line) - len(line.lstrip())]
        notes = [f"{indent}far = far | is_far({argument})" for argument in found]
        return [*notes, RANGED.sub(r"near_\1(\2)", line)]

    def position(self, position: Affine) -> str:
        terms = []
        for name, step in position.terms:
            if name in self.merged and self.merged[name][0] != name:
                continue  # counted by the loop that it is merged into
            text = name if isinstance(name, str) else variable_name(name)
            terms.append(text if step == 1 else f"{text} * {step}")
        if position.const or not terms:
            terms.append(str(position.const))
        return " + ".join(terms).replace("+ -", "- ")

    def block(self, block: Block) -> list[str]:
        loops: list[tuple[int, int, int]] = []
        pre, post = [list(block.pre[0])], [list(block.post[0])]
        for i, (axis, start, stop) in enumerate(block.loops):
            into, size = self.merged.get(axis, (axis, stop))
            if into != axis:  # no loop of its own: what was inside of it moves out
                pre[-1] += block.pre[i + 1]
                post[-1] = [*block.post[i + 1], *post[-1]]
                continue
            loops.append((axis, start, size if axis in self.merged else stop))
            pre.append(list(block.pre[i + 1]))
            post.append(list(block.post[i + 1]))
        return self._nested(loops, pre, post, block.parts, 0)

    def _nested(self, loops, pre, post, parts, depth: int) -> list[str]:
        self.inside += depth
        lines = self.items(pre[depth])
        self.inside -= depth
        if depth < len(loops):
            axis, start, stop = loops[depth]
            inner = self._nested(loops, pre, post, parts, depth + 1)
            name = variable_name(axis)
            if depth == len(loops) - 1 and parts and stop - start > CHUNK:
                # One running sum over so many would lose digits.
                resets = [
                    line for line in lines if any(line.startswith(f"{p} =") for p, _ in parts)
                ]
                lines = [line for line in lines if line not in resets]
                ends = self.items(post[depth])
                lines += [
                    f"for start in range({start}, {stop}, {CHUNK}):",
                    *("    " + line for line in resets),
                    f"    for {name} in range(start, min(start + {CHUNK}, {stop})):",
                    *("        " + line for line in inner),
                    *("    " + line for line in ends),
                ]
                return lines
            # A short loop inside of another vectorises only if its length is not known.
            short = depth == len(loops) - 1 and self.inside + depth and 4 <= stop - start <= 512
            end = f"hidden({stop})" if short else str(stop)
            header = f"range({end})" if start == 0 else f"range({start}, {end})"
            lines += [f"for {name} in {header}:", *("    " + line for line in inner)]
        return lines + self.items(post[depth])


def variable_name(axis: int) -> str:
    return "each" if axis < 0 else _VARIABLES[axis] if axis < 9 else f"i{axis}"


def _merged(nest: Nest) -> dict[int, tuple[int, int]]:
    """For axes that become one loop: the axis that stands for them, and the length of that loop."""
    positions = [p for line in _lines(nest.items) for p in line.positions]
    axes = [a for a, n in enumerate(nest.domain) if n > 1]
    groups: list[list[int]] = []
    for axis in axes:
        if groups and _together(nest, groups[-1][-1], axis, positions):
            groups[-1].append(axis)
        else:
            groups.append([axis])
    merged = {}
    for group in groups:
        if len(group) > 1:
            size = math.prod(nest.domain[a] for a in group)
            merged |= {axis: (group[-1], size) for axis in group}
    return merged


def _together(nest: Nest, first: int, second: int, positions: list[Affine]) -> bool:
    if first in nest.breaks or second in nest.breaks or first < nest.split <= second:
        return False
    n = nest.domain[second]
    for position in positions:
        steps = dict(position.terms)
        if steps.get(first, 0) != steps.get(second, 0) * n:
            return False
    return True


def _lines(items: list[Any]):
    for item in items:
        if isinstance(item, Line):
            yield item
            continue
        for part in item.pre:
            yield from _lines(part)
        for part in item.post:
            yield from part
