"""Refusal of NumPy's random generators in recorded functions, whose numbers would be constants.

A drawn number does not tell that it is random. So the states of the generators that a function can
reach, through captured and global variables, defaults, arguments, attributes and containers, are
compared before and after recording.
"""

import dis
import linecache
import sys
import types
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np

from ...core.remade import Wrapper
from ...errors import DrawnError
from ...runtime.lines import file_name
from ..reads.uses import nested
from .closure import closed, is_users

Event: TypeAlias = Literal["call", "line", "return", "exception", "opcode"]
_GENERATORS = (np.random.Generator, np.random.RandomState)
_MAKERS = ("default_rng", "RandomState")
_OURS = "builtins", "nbgrad", "numpy", "numba", "scipy"
_MOST, _LONG = 10_000, 1_000  # values that are looked at; items of a container


class Generators:
    """The generators that a function can reach, and their states."""

    def __init__(self, f: Callable, arguments: Iterable[object]):
        self._codes: list[types.CodeType] = []
        generators: list[tuple[str, Any]] = []
        seen: dict[int, Any] = {}  # the values too: their numbers are not used again
        stack: list[tuple[str, Any]] = [("", f), *(("", leaf) for leaf in arguments)]
        while stack and len(seen) < _MOST:
            name, value = stack.pop()
            if isinstance(value, _GENERATORS):
                generators.append((name, value))
            elif id(value) not in seen:
                seen[id(value)] = value
                stack += self._reached(value)
        generators.append(("random", np.random.mtrand._rand))  # pyright: ignore
        self._states = [(name, value, _state(value)) for name, value in generators]
        # Calls that make a new generator are detected when they run: a name in a branch that is not
        # taken is no error.
        self._makers = {code: _steps(code) for code in self._codes if _names_maker(code)}
        self._maker: types.CodeType | None = None

    def _reached(self, value: Any) -> Iterable[tuple[str, Any]]:
        """The values that a function, an object or a container holds, with their names."""
        if isinstance(value, Wrapper):  # a transformation of another's result
            return [("", value.function)]
        if type(value) is types.MethodType:
            return [("", value.__func__), ("", value.__self__)]
        if isinstance(value, partial):
            return [("", x) for x in (value.func, *value.args, *value.keywords.values())]
        if isinstance(value, types.FunctionType):
            held = [*closed(value), *(("", x) for x in value.__defaults__ or ())]
            held += (value.__kwdefaults__ or {}).items()
            if is_users(value):
                codes = nested(value.__code__)
                self._codes += codes
                names = {name for code in codes for name in code.co_names}
                held += [(x, value.__globals__[x]) for x in sorted(names & {*value.__globals__})]
            return held
        if type(value) in (list, tuple) and len(value) < _LONG:
            return [("", x) for x in value]
        if type(value) is dict and len(value) < _LONG:
            return [(str(name), x) for name, x in value.items()]
        kind = type(value)
        if issubclass(kind, (type, types.ModuleType)) or kind.__module__.partition(".")[0] in _OURS:
            return ()
        attributes = (getattr(value, "__dict__", None) or {}).items()
        return [*attributes, *([("", value.__call__)] if callable(value) else [])]

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


def _error(names: tuple[str, ...], codes: list[types.CodeType]) -> DrawnError:
    line = next((_shown(code, line) for code in codes for line in _uses(code, names)), "")
    return DrawnError(
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
    return f"{file_name(code.co_filename)}:{line}: {text}"
