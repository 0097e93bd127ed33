"""The error for leaked values: values of a transformation that is over, which an attribute, a list
or a closure has kept.

It costs nothing while functions run. Python's garbage collector knows what refers to a value, and
the line that stored it is found in the bytecode of the class or module.
"""

import dis
import gc
import linecache
import os
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from types import CellType, CodeType, FrameType, FunctionType
from typing import Any

from ..errors import LeakedValueError
from .levels import Level

_WAY = (
    "Return the new state beside the result in place of keeping it, `return loss, state` with "
    "has_aux=True, and give it to the next call as an argument; of eager gradients x.data may be "
    "kept, which is plain numbers"
)
_STORES = ("STORE_ATTR", "STORE_GLOBAL", "STORE_DEREF")
_OURS = ("nbgrad.core.", "nbgrad.values.", "nbgrad.transforms.", "nbgrad.static.")
_CONTAINERS = (list, tuple, dict, set, deque)


def leaked(x: Any, what: str, op: str, code: CodeType | None, line: str = "") -> LeakedValueError:
    """The error for a leaked value. `what` describes it, `op` is the transformation, `code` that of
    the transformed function, and `line` the line that computed it, if known."""
    holder = _holder(x, code)
    return LeakedValueError(
        f"{description(what, op, code, line)} is used after that is over. {holder}{_WAY}"
    )


def over(x: Any) -> bool:
    """Whether a dual, batched or recorded value is leaked."""
    return type(x.level) is Level and x.level.over


def of_level(x: Any) -> LeakedValueError:
    """The error for a leaked dual, batched or recorded value."""
    level = x.level
    return leaked(x, _kind(x), level.op, level.code, getattr(x, "line", ""))


def leaked_among(args: Iterable[Any], level: Level) -> LeakedValueError:
    """The error for an op with a leaked argument of a level."""
    return of_level(next(x for x in args if getattr(x, "level", None) is level))


def shown(x: Any) -> str:
    """The `repr` of a leaked value."""
    line = getattr(x, "line", "")
    return f"<leaked: {description(_kind(x), x.level.op, x.level.code, line)}>"


def _kind(x: Any) -> str:
    kind = "recorded" if hasattr(x, "builder") else type(x).__name__.lower()
    return f"the {kind} value of shape {x.aval.shape}"


def description(what: str, op: str, code: CodeType | None, line: str = "") -> str:
    """A phrase that says what a value is and where it was computed."""
    of = f" of {place(code)}" if code is not None else ""
    made = f", at {line}," if line else ""
    return f"{what} that was made inside of {op or 'a transformation'}{of}{made}"


def place(code: CodeType) -> str:
    """The name, file and line of a function."""
    return f"{code.co_name} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})"


def _holder(x: Any, code: CodeType | None) -> str:
    """A sentence about the attribute, global variable or closure that refers to a value, directly
    or through containers; "" if none is found."""
    path = ""
    for _ in range(3):
        for name, codes in _names(x):
            line = _written(name.rpartition(".")[2], [*codes, *([code] if code else [])])
            return f"It is kept as {name}{path}" + (f", written at {line}. " if line else ". ")
        holders = [c for c in gc.get_referrers(x) if type(c) in _CONTAINERS and _key(c, x)]
        if not holders:
            return ""
        path, x = _key(holders[0], x) + path, holders[0]
    return ""


def _key(container: Any, x: Any) -> str:
    items = container.items() if isinstance(container, dict) else enumerate(container)
    return next((f"[{key!r}]" for key, value in items if value is x), "")


def _names(x: Any) -> Iterator[tuple[str, list[CodeType]]]:
    """The names that refer to an object, each with the code that may have stored it."""
    for owner in gc.get_referrers(x):
        if isinstance(owner, (FrameType, *_CONTAINERS[:2])):
            continue
        if isinstance(owner, dict):
            module = sys.modules.get(str(owner.get("__name__")))
            if module is not None and vars(module) is owner:
                if keys := [key for key, value in owner.items() if value is x]:
                    codes = [f.__code__ for f in owner.values() if isinstance(f, FunctionType)]
                    yield f"{module.__name__}.{keys[0]}", codes
                continue
            for holder in gc.get_referrers(owner):
                if getattr(holder, "__dict__", None) is owner:
                    yield from _attribute(holder, x)
        elif isinstance(owner, CellType):
            closures = [c for c in gc.get_referrers(owner) if type(c) is tuple]
            for f in gc.get_referrers(*closures) if closures else ():
                if isinstance(f, FunctionType):
                    pairs = zip(f.__code__.co_freevars, f.__closure__ or (), strict=True)
                    for name in [name for name, cell in pairs if cell is owner]:
                        yield f"{f.__name__}.{name}", [f.__code__]
        else:
            yield from _attribute(owner, x)


def _attribute(holder: Any, x: Any) -> Iterator[tuple[str, list[CodeType]]]:
    if type(holder).__module__.startswith(_OURS):
        return
    for name in (*getattr(holder, "__dict__", ()), *getattr(type(holder), "__slots__", ())):
        if getattr(holder, name, None) is x:
            members = [f for kind in type(holder).__mro__ for f in vars(kind).values()]
            codes = [f.__code__ for f in members if isinstance(f, FunctionType)]
            yield f"{type(holder).__name__}.{name}", codes


def _written(name: str, codes: list[CodeType]) -> str:
    """The line that stores to a name: an attribute, a global or a closure variable. It is the last
    such line of a function, as earlier ones may only initialize it."""
    for code in codes:
        lines = [
            step.positions.lineno
            for step in dis.get_instructions(code)
            if step.opname in _STORES and step.argval == name and step.positions is not None
        ]
        if lines and lines[-1] and code.co_name != "__init__":
            text = linecache.getline(code.co_filename, lines[-1]).strip()
            return f"{os.path.basename(code.co_filename)}:{lines[-1]}: {text}"
        inner = [const for const in code.co_consts if isinstance(const, CodeType)]
        if inner and (line := _written(name, inner)):
            return line
    return ""
