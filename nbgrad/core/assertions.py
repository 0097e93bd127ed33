"""Branches that only raise, such as checks of arguments, become runtime checks of a program.

A recorded value has no truth value. `if x <= 0.0: raise ValueError(...)` and `assert x > 0.0` do
not need one: recording continues after the branch, and the program raises the error when it runs.
"""

import builtins
import dis
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError, coded
from ..runtime.lines import calling_line, is_ours
from .functions import functions
from .primitive import Aval, Primitive, Tracer, bind


class Check(NamedTuple):
    """The truth value with which the function continues, and the name of the error that it raises
    otherwise."""

    expected: bool
    error: str


def checked(x: Any, frame: FrameType | None) -> bool | None:
    """The truth value of a recorded number for which the user's code continues, if it raises for
    the other one; adds a check to the program. None if the code continues for both, if it is inside
    of a `try`, and for formulas, which have no checks."""
    while frame is not None and is_ours(frame):
        frame = frame.f_back
    if frame is None or x.size != 1 or not hasattr(x.builder, "checked"):
        return None
    check = _check_at(frame.f_code, frame.f_lasti)
    if check is None or _is_caught(frame):
        return None
    ok = functions[np.logical_not](functions[np.reshape](x, ()))
    if check.expected:
        ok = functions[np.logical_not](ok)
    message = f"a condition for which the function raises {check.error} holds"
    told = coded(f"{message} ({calling_line(frame)})", "NB-CONDITION")
    bind(holds, ok, error=check.error, message=told)
    return check.expected


class _Holds(Primitive):
    """A condition that must hold when a program runs."""

    registered = differentiable = False
    checks = True

    def evaluate(self, *args, error: str, message: str):
        if not args[0]:
            raise _error_of(error)(message)
        return np.asarray(args[0])

    def infer(self, *avals, **params) -> Aval:
        return avals[0]

    def form(self, graph, symbol, ok):
        graph.require(ok, _error_of(symbol.params["error"]), symbol.params["message"])
        return ok


holds = _Holds("holds")


def require(ok: Any, message: str) -> None:
    """Raise ValueError unless `ok` is true; a compiled program raises it when it runs."""
    if isinstance(ok, Tracer):
        bind(holds, ok, error="ValueError", message=coded(message, "NB-VALUE"))
    elif not ok:
        raise ArgumentError(message)


def _error_of(name: str) -> type[Exception]:
    kind = getattr(builtins, name, None)
    return kind if isinstance(kind, type) and issubclass(kind, Exception) else ValueError


@lru_cache(1024)
def _check_at(code: CodeType, place: int) -> Check | None:
    """The check whose condition the instruction at `place` evaluates."""
    steps = list(dis.get_instructions(code))
    at = next((i for i, step in enumerate(steps) if step.offset == place), len(steps))
    negated = False
    while at < len(steps) and steps[at].opname in ("TO_BOOL", "COMPARE_OP", "UNARY_NOT"):
        negated ^= steps[at].opname == "UNARY_NOT"
        at += 1
    if at == len(steps) or not steps[at].opname.startswith("POP_JUMP"):
        return None
    name = steps[at].opname
    if not name.endswith(("_IF_TRUE", "_IF_FALSE")):
        return None
    jumps = name.endswith("_IF_TRUE") ^ negated  # for this truth
    sides = {
        jumps: _raised(steps, steps[at].argval),
        not jumps: _raised(steps, steps[at + 1].offset),
    }
    for truth, error in sides.items():
        if error and not sides[not truth]:
            return Check(not truth, error)
    return None


def _raised(steps: list[dis.Instruction], place: int) -> str:
    """The name of the error that code raises from `place` on, on all paths; "" if it may
    continue."""
    numbers, error = {step.offset: i for i, step in enumerate(steps)}, ""
    seen, ways = set(), [numbers[place]]
    while ways:
        at = ways.pop()
        if at in seen:
            continue
        seen.add(at)
        step = steps[at]
        name = step.opname
        if name.startswith(("RETURN", "YIELD", "RERAISE")) or "BACKWARD" in name:
            return ""
        if name == "LOAD_ASSERTION_ERROR":
            error = error or "AssertionError"
        elif name in ("LOAD_GLOBAL", "LOAD_NAME") and step.argval.endswith("Error"):
            error = error or step.argval
        if step.opcode in _JUMPS:
            ways.append(numbers[step.argval])
        if name not in ("RAISE_VARARGS", "JUMP_FORWARD"):
            ways.append(at + 1)
    return error or "an error"


_JUMPS = frozenset([*dis.hasjrel, *dis.hasjabs])


def _is_caught(frame: FrameType | None) -> bool:
    """Whether the running code is inside of a `try`, up to the function that is recorded."""
    while frame is not None and not is_ours(frame):
        if _is_tried(frame.f_code, frame.f_lasti):
            return True
        frame = frame.f_back
    return False


@lru_cache(1024)
def _is_tried(code: CodeType, place: int) -> bool:
    text = dis.Bytecode(code)
    steps = list(text)
    for entry in text.exception_entries:  # pyright: ignore[reportAttributeAccessIssue]
        if entry.start <= place < entry.end:
            at = next(i for i, step in enumerate(steps) if step.offset == entry.target)
            names = [step.opname for step in steps[at : at + 2]]
            if names[0] == "PUSH_EXC_INFO" and names[1] != "WITH_EXCEPT_START":
                return True
    return False
