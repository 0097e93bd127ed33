"""A failing program made small: steps and outputs go, inputs become plain, as long as it fails."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from .memory.sound import is_sound
from .oracle import values
from .programs import Input, Program


def shrunk(program: Program, fails: Callable[[Program], bool], seconds: float = 20.0) -> Program:
    """The smallest program found in that time for which `fails` still holds."""
    end = time.monotonic() + seconds
    smaller = True
    while smaller and time.monotonic() < end:
        smaller = False
        for candidate in candidates(program):
            if time.monotonic() > end:
                break
            if str(candidate) != str(program) and _runs(candidate) and fails(candidate):
                program, smaller = candidate, True
                break
    return program


def _runs(program: Program) -> bool:
    """Whether NumPy does with it what it should."""
    if not program.arguments or not program.steps:
        return False
    try:
        values(program)
    except IndexError:
        return program.refused
    except Exception:
        return False
    return not program.refused and is_sound(program)


def candidates(program: Program) -> Iterator[Program]:
    """Programs that are a little smaller, the boldest first."""
    for outputs in _fewer_outputs(program):
        yield replace(program, outputs=outputs).pruned()
    for i in reversed(range(len(program.steps))):
        if program.steps[i].writes:
            yield program.without_write(i)
        for other in dict.fromkeys([*program.steps[i].args, *range(len(program.inputs))]):
            yield _without(program, i, other)
    for i, x in enumerate(program.inputs):
        for simple in _simpler(x):
            inputs = [simple if k == i else y for k, y in enumerate(program.inputs)]
            yield program.with_inputs(inputs)
    for i, x in enumerate(program.inputs):
        for k, y in enumerate(program.inputs[:i]):
            if x.role == y.role and np.shape(x.value) == np.shape(y.value):
                yield _copy_lines(program, i, k).pruned()


def _fewer_outputs(program: Program) -> Iterator[tuple[int, ...]]:
    if len(program.outputs) > 1:
        yield from ((i,) for i in program.outputs)
        for i in program.outputs:
            yield tuple(k for k in program.outputs if k != i)
    elif not program.refused:
        yield from ((i,) for i in range(len(program.inputs), max(program.outputs)))


def _without(program: Program, i: int, other: int) -> Program:
    """Value `other` in the place of what step i makes."""
    return _copy_lines(program, i + len(program.inputs), other).pruned()


def _copy_lines(program: Program, old: int, new: int) -> Program:
    def place(k: int) -> int:
        return new if k == old else k

    steps = tuple(s._replace(args=tuple(map(place, s.args))) for s in program.steps)
    return replace(program, steps=steps, outputs=tuple(map(place, program.outputs)))


def _simpler(x: Input) -> Iterator[Input]:
    if x.role != "argument":
        yield x._replace(role="argument")
    if x.role == "leaf":
        yield x._replace(role="captured")
    if x.layout != "C":
        yield x._replace(layout="C")
    if not isinstance(x.value, np.ndarray):
        return
    v = x.value
    if v.dtype == np.float32:
        yield x._replace(value=v.astype(np.float64))
    if v.dtype.kind in "iu" and v.dtype != np.int64:
        yield x._replace(value=v.astype(np.int64))
    for axis, n in enumerate(v.shape):
        for less in (1, 2, 3):
            if less < n:
                yield x._replace(value=np.array(np.take(v, range(less), axis)))
    for simple in _rounder(v):
        if np.array_equal(simple, v):
            break  # what follows is no simpler
        yield x._replace(value=simple)


def _rounder(v: np.ndarray) -> Iterator[Any]:
    if v.dtype.kind == "f" and v.size:
        yield np.ones_like(v)
        ramp = np.arange(1.0, 1.0 + v.size, dtype=v.dtype).reshape(v.shape)
        yield ramp
        yield ramp * v.dtype.type(0.5)
        yield np.round(v, 1)
