"""The syntax trees of functions."""

import ast
import linecache
import textwrap
from collections.abc import Callable
from typing import Any


class Unsupported(Exception):
    """What Numba's own front end has to compile."""


def tree_of(function: Callable) -> ast.FunctionDef:
    """The definition of a function. Raises Unsupported where its text is not there, and for
    parameters that are not positional ones."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename)
    last = max(end or 0 for _, end, _, _ in code.co_positions())
    # The brackets of the last expression may close in a later line.
    tree = _parsed(lines[code.co_firstlineno - 1 : last]) or _parsed(
        lines[code.co_firstlineno - 1 : last + 1]
    )
    if tree is None or tree.name != code.co_name:
        raise Unsupported(f"the text of {code.co_name}")
    options = tree.args
    if options.vararg or options.kwarg or options.kwonlyargs:
        raise Unsupported("a signature with more than positional parameters")
    return tree


def _parsed(lines: list[str]) -> ast.FunctionDef | None:
    try:
        [tree] = ast.parse(textwrap.dedent("".join(lines))).body
    except (SyntaxError, ValueError):
        return None
    return tree if isinstance(tree, ast.FunctionDef) else None


def outer_names(function: Callable) -> dict[str, Any]:
    """What the names mean that a function takes from the functions around it."""
    names, cells = function.__code__.co_freevars, function.__closure__ or ()
    return {name: cell.cell_contents for name, cell in zip(names, cells, strict=True)}
