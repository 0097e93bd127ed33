"""The syntax trees of functions."""

import ast
import linecache
from collections.abc import Callable
from functools import lru_cache
from types import CodeType
from typing import Any


class Unsupported(Exception):
    """What Numba's own front end has to compile."""


def tree_of(function: Callable) -> ast.FunctionDef:
    """The definition of a function. Raises Unsupported where its text is not there."""
    code = function.__code__
    tree = _definitions(code.co_filename).get((code.co_firstlineno, code.co_name))
    if tree is None:
        raise Unsupported(f"the text of {code.co_name}")
    options = tree.args
    if options.vararg or options.kwarg or options.kwonlyargs:
        raise Unsupported("a signature with more than positional parameters")
    return tree


@lru_cache(maxsize=256)
def _definitions(filename: str) -> dict[tuple[int, str], ast.FunctionDef]:
    """The functions of a file, by their first line, that of the decorator, and name."""
    try:
        whole = ast.parse("".join(linecache.getlines(filename)))
    except (SyntaxError, OSError):
        return {}
    found = {}
    for node in ast.walk(whole):
        if isinstance(node, ast.FunctionDef):
            lines = [node.lineno, *(decorator.lineno for decorator in node.decorator_list)]
            found[min(lines), node.name] = node
    return found


def outer_names(function: Callable) -> dict[str, Any]:
    """What the names mean that a function takes from outside of its module: those of closures."""
    code: CodeType = function.__code__
    cells = function.__closure__ or ()
    return {name: cell.cell_contents for name, cell in zip(code.co_freevars, cells, strict=True)}
