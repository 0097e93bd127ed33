"""Refusals of syntax and of calls: what they are, and what to write in their place."""

import ast
from typing import Any, NoReturn

from .syntax import Unsupported

__all__ = ["described", "growing", "real_needed", "refuse"]


def real_needed(what: str) -> str:
    """The text about a complex number where a real one is needed."""
    return f"a complex number as {what}: take z.real, z.imag or abs(z)"


_LIST = "np.array([...]) of a list makes an array of it"
_WORDS: dict[str, str] = {
    "ListComp": f"a list: {_LIST}",
    "GeneratorExp": f"a generator: {_LIST}",
    "Dict": "a dictionary: use arrays and tuples",
    "DictComp": "a dictionary: use arrays and tuples",
    "Set": "a set: use an array of bools",
    "SetComp": "a set: use an array of bools",
    "JoinedStr": "an f-string other than in raise and print",
    "Yield": "a generator: fill an array and return it",
    "YieldFrom": "a generator: fill an array and return it",
    "Await": "a coroutine",
    "Try": "try: test for the condition with an if",
    "TryStar": "try: test for the condition with an if",
    "With": "with: write what it does",
    "Match": "match: use if and elif",
    "Global": "global: return the value",
    "Nonlocal": "nonlocal: return the value",
    "Import": "an import inside of a function: move it to the top of the module",
    "ImportFrom": "an import inside of a function: move it to the top of the module",
    "ClassDef": "a class inside of a function: move it to the top of the module",
}
_GROWING = {"append", "extend", "insert", "pop", "remove", "clear", "reverse"}


def refuse(node: ast.AST) -> NoReturn:
    """Refuse a piece of syntax."""
    name = type(node).__name__
    raise Unsupported(_WORDS.get(name, name))


def growing(name: str) -> str:
    """The reason why an attribute is refused."""
    if name in _GROWING:
        return (
            f"{name} of a list: use an array with room for all elements, and count those that are "
            "in use"
        )
    return f"the attribute {name}"


def described(function: Any) -> str:
    """A call that is refused."""
    name = getattr(function, "__name__", repr(function))
    home = str(getattr(function, "__module__", None) or "")
    owner = type(getattr(function, "__self__", None)).__name__
    if home.startswith("numpy.random") or owner in ("RandomState", "Generator"):
        return (
            f"a call of np.random.{name}, whose numbers differ from call to call: draw from "
            "nbgrad.random with a state, or pass the numbers as an argument"
        )
    if home.startswith("numpy.linalg"):
        name = f"np.linalg.{name}"
    return f"a call of {name}"
