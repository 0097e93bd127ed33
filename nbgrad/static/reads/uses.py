"""The names that a function's code reads, found in its instructions."""

import dis
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

Keys: TypeAlias = frozenset | None
"""The constant subscripts that a name is read with; None where it is read in any other way."""

_GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
_CELL = ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
_ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "LOAD_SPECIAL", "IMPORT_FROM")
_TEXTS = ("BUILD_STRING", "FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC")
# Methods of containers that read nothing.
_WRITERS = frozenset({"add", "append", "clear", "extend", "insert", "update", "write"})


@dataclass
class Uses:
    """Names of globals, of closed-over variables and of attributes, each with its subscripts;
    `words` are string constants that may name an attribute, as in `getattr(x, "rate")`, and
    `modules` what the code imports."""

    globals: dict[str, Keys] = field(default_factory=dict)
    cells: dict[str, Keys] = field(default_factory=dict)
    attributes: dict[str, Keys] = field(default_factory=dict)
    words: set[str] = field(default_factory=set)
    modules: set[str] = field(default_factory=set)
    makes_texts: bool = False  # such as f"rate_{i}"


@lru_cache(4096)
def uses(code: types.CodeType) -> Uses:
    """The names that a code object and those inside of it read."""
    found = Uses()
    for inner in nested(code):
        found.words |= {x for x in _words(inner.co_consts) if x.isidentifier()}
        steps = [step for step in dis.get_instructions(inner) if step.opname != "EXTENDED_ARG"]
        for i, step in enumerate(steps):
            if step.opname == "IMPORT_NAME":
                found.modules.add(step.argval)
            if step.opname in _TEXTS:
                found.makes_texts = True
            kinds = ((_GLOBAL, found.globals), (_CELL, found.cells), (_ATTRIBUTE, found.attributes))
            for kind, names in kinds:
                if step.opname in kind:
                    merge(names, step.argval, _keys(steps[i + 1 : i + 4]))
    return found


def merge(names: dict[str, Keys], name: str, keys: Keys) -> None:
    """Note one more use of a name."""
    known = names.get(name, frozenset())
    names[name] = None if keys is None or known is None else known | keys


def _keys(following: list[dis.Instruction]) -> Keys:
    """The subscript with which the value is read that is on the stack before these steps."""
    if len(following) < 2:
        return None
    first, second = following[:2]
    if first.opname in _ATTRIBUTE and first.argval in _WRITERS:
        return frozenset()
    if first.opname in _ATTRIBUTE and first.argval == "get" and _is_constant(second):
        return frozenset({second.argval})
    if _is_constant(first) and (second.opname == "BINARY_SUBSCR" or second.argrepr == "[]"):
        return frozenset({first.argval})
    if _is_constant(first) and second.opname in ("STORE_SUBSCR", "DELETE_SUBSCR"):
        return frozenset()
    return None


def _is_constant(step: dis.Instruction) -> bool:
    return step.opname in ("LOAD_CONST", "LOAD_SMALL_INT") and isinstance(step.argval, (int, str))


def _words(constants: Iterable[object]) -> Iterator[str]:
    for x in constants:
        if isinstance(x, str):
            yield x
        elif isinstance(x, tuple):
            yield from _words(x)


def nested(code: types.CodeType) -> list[types.CodeType]:
    """The code of a function and of those that it defines."""
    inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return [code, *(deeper for c in inner for deeper in nested(c))]
