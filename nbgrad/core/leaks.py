"""The error for values of a transformation that is over, which an attribute, a list or a closure
kept. Nothing is noted for it while functions run: who holds a value is asked of Python's garbage
collector, and where that is written is read from the code of its class or module.
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
    """The error for a value that is `what`, of a transformation `op` of the function of a code;
    `line` is where it was made, if that is known."""
    holder = _holder(x, code)
    return LeakedValueError(
        f"{description(what, op, code, line)} is used after that is over. {holder}{_WAY}"
    )


def over(x: Any) -> bool:
    """Whether a value of a level of its own is leaked: a tangent, samples, or a recorded value."""
    return type(x.level) is Level and x.level.over


def of_level(x: Any) -> LeakedValueError:
    """The error for such a value."""
    level = x.level
    return leaked(x, _kind(x), level.op, level.code, getattr(x, "line", ""))


def leaked_among(args: Iterable[Any], level: Level) -> LeakedValueError:
    """The error for an op that has a value of a level that is over among its arguments."""
    return of_level(next(x for x in args if getattr(x, "level", None) is level))


def shown(x: Any) -> str:
    """What stands for such a value in texts."""
    line = getattr(x, "line", "")
    return f"<leaked: {description(_kind(x), x.level.op, x.level.code, line)}>"


def _kind(x: Any) -> str:
    kind = "recorded" if hasattr(x, "builder") else type(x).__name__.lower()
    return f"the {kind} value of shape {x.aval.shape}"


def description(what: str, op: str, code: CodeType | None, line: str = "") -> str:
    """What a value is, and where it was made."""
    of = f" of {place(code)}" if code is not None else ""
    made = f", at {line}," if line else ""
    return f"{what} that was made inside of {op or 'a transformation'}{of}{made}"


def place(code: CodeType) -> str:
    """A function of the user's, with its line."""
    return f"{code.co_name} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})"


def _holder(x: Any, code: CodeType | None) -> str:
    """A sentence about the attribute, the global variable or the closure that holds a value,
    directly or in a container; empty where none is found."""
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
    """The names by which something is held, each with the code that may write it."""
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
    """The line of some code that sets a name: an attribute, a global or a closed-over variable.
    The last one of a function, as earlier ones may set what it begins with."""
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
