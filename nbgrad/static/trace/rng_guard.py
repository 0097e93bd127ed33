"""Refusal of NumPy's random generators in recorded functions, whose numbers would be constants.

A drawn number does not tell that it is random. So the states of the generators that a function can
reach, as a captured or global variable or an argument, are compared before and after recording.
"""

import dis
import linecache
import os
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeAlias

import numpy as np

from ...core.remade import Wrapper
from ...errors import TraceError
from ..reads.uses import nested
from .closure import closed, is_users

Event: TypeAlias = Literal["call", "line", "return", "exception", "opcode"]
_GENERATORS = (np.random.Generator, np.random.RandomState)
_MAKERS = ("default_rng", "RandomState")


class Generators:
    """The generators that a function can reach, and their states."""

    def __init__(self, f: Callable, arguments: Iterable[object]):
        self._codes: list[types.CodeType] = []
        generators: list[tuple[str, Any]] = [
            ("", leaf) for leaf in arguments if isinstance(leaf, _GENERATORS)
        ]
        seen: set[int] = set()
        stack: list[Any] = [f]
        while stack:
            function = stack.pop()
            function = function.__func__ if type(function) is types.MethodType else function
            while isinstance(function, Wrapper):  # a transformation of another's result
                function = function.function
            if not issubclass(type(function), types.FunctionType) or id(function) in seen:
                continue
            seen.add(id(function))
            named = list(closed(function))
            if is_users(function):
                self._codes += nested(function.__code__)
                scope = function.__globals__
                names = {name for code in nested(function.__code__) for name in code.co_names}
                named += [(name, scope[name]) for name in sorted(names) if name in scope]
            generators += [(name, value) for name, value in named if isinstance(value, _GENERATORS)]
            stack += [value for _, value in named]
        generators.append(("random", np.random.mtrand._rand))  # pyright: ignore
        self._states = [(name, value, _state(value)) for name, value in generators]
        # Calls that make a new generator are detected when they run: a name in a branch that is not
        # taken is no error.
        self._makers = {code: _steps(code) for code in self._codes if _names_maker(code)}
        self._maker: types.CodeType | None = None

    def __enter__(self) -> None:
        self._outer = sys.gettrace()
        if self._makers:
            sys.settrace(self._watch)

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        """Raise TraceError if a generator was used or made."""
        if self._makers:
            sys.settrace(self._outer)
        if kind is not None:
            return
        for name, value, before in self._states:
            if _state(value) != before:
                raise _error((name,) if name else (), self._codes)
        if self._maker is not None:
            raise _error(_MAKERS, [self._maker])

    def _watch(self, frame: types.FrameType, event: Event, arg: object) -> Callable | None:
        if frame.f_code not in self._makers:
            return self._outer(frame, event, arg) if self._outer else None
        frame.f_trace_opcodes = True
        return self._step

    def _step(self, frame: types.FrameType, event: str, arg: object) -> Callable:
        if event == "opcode" and frame.f_lasti in self._makers[frame.f_code]:
            self._maker = frame.f_code
        return self._step


def _names_maker(code: types.CodeType) -> bool:
    return not set(_MAKERS).isdisjoint(code.co_names)


def _steps(code: types.CodeType) -> set[int]:
    """Return the offsets of the instructions that make generators without a constant seed; a seeded
    one draws the same numbers at each call."""
    steps = [s for s in dis.get_instructions(code) if s.opname not in ("PUSH_NULL", "PRECALL")]
    triples = zip(steps, steps[1:], steps[2:], strict=False)
    seeded = {
        step.offset
        for step, seed, call in triples
        if seed.opname in ("LOAD_CONST", "LOAD_SMALL_INT")
        and type(seed.argval) is int
        and call.opname == "CALL"
    }
    return {step.offset for step in steps if step.argval in _MAKERS} - seeded


def _state(generator: np.random.Generator | np.random.RandomState) -> str:
    if isinstance(generator, np.random.Generator):
        return repr(generator.bit_generator.state)
    return repr([np.asarray(part).tobytes() for part in generator.get_state()])


def _error(names: tuple[str, ...], codes: list[types.CodeType]) -> TraceError:
    line = next((_shown(code, line) for code in codes for line in _uses(code, names)), "")
    return TraceError(
        "a NumPy Generator draws while the function is recorded: every call would get the same "
        "numbers. Use nbgrad.random, such as state, x = nbgrad.random.normal(state, shape), and "
        "pass the state in and out" + (f" ({line})" if line else "")
    )


def _uses(code: types.CodeType, names: tuple[str, ...]) -> Iterable[int]:
    """The lines that name one of `names`."""
    line = code.co_firstlineno
    for step in dis.get_instructions(code):
        line = step.starts_line if type(step.starts_line) is int else line
        if step.argval in names:
            yield line


def _shown(code: types.CodeType, line: int) -> str:
    text = linecache.getline(code.co_filename, line).strip()
    return f"{os.path.basename(code.co_filename)}:{line}: {text}"
