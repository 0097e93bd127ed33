"""Functions with several `return` as functions with one, at their end."""

import ast
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from .syntax import RESULT, Definition, Names, definition_of

__all__ = ["with_one_return"]


def with_one_return(function: Callable) -> Definition | None:
    """The definition of a function as one that ends with its only `return`; None where a loop
    returns, or where a result is missing."""
    definition = definition_of(function)
    return definition if definition.ends_once else _joined(definition)


@lru_cache(maxsize=512)
def _joined(definition: Definition) -> Definition | None:
    tree = definition.tree
    body = _ended(tree.body)
    if body is None:
        return None
    last = ast.Return(ast.Name(RESULT, ast.Load()))
    made: Any = ast.FunctionDef(**dict(ast.iter_fields(tree)))
    made.body = [*body, ast.copy_location(last, tree.body[-1])]
    ast.copy_location(made, tree)
    return Definition(made, Names(made).steady, True)


def _ended(body: Sequence[ast.stmt]) -> list[ast.stmt] | None:
    """Statements that assign the result in place of returning it, on every way; None where there
    are none."""
    for i, each in enumerate(body):
        if isinstance(each, ast.Return):
            value = each.value or ast.copy_location(ast.Constant(None), each)
            result = ast.Assign([ast.Name(RESULT, ast.Store())], value)
            return [*body[:i], ast.copy_location(result, each)]
        if isinstance(each, ast.Raise):
            return list(body[: i + 1])
        is_inner = isinstance(each, ast.FunctionDef)
        if is_inner or not any(isinstance(x, ast.Return) for x in ast.walk(each)):
            continue
        if not isinstance(each, ast.If):
            return None
        parts = [_ended([*part, *body[i + 1 :]]) for part in (each.body, each.orelse)]
        if parts[0] is None or parts[1] is None:
            return None
        made = ast.If(each.test, parts[0], parts[1])
        return [*body[:i], ast.copy_location(made, each)]
    return None
