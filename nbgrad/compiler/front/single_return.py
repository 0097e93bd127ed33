"""Functions with several `return` as functions with one, at their end."""

import ast
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from .syntax import DONE, RESULT, Definition, Names, definition_of

__all__ = ["with_one_return"]


def with_one_return(function: Callable) -> Definition | None:
    """The definition of a function as one that ends with its only `return`; None where a result is
    missing, or something else than a loop or an `if` returns."""
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
    ast.fix_missing_locations(ast.copy_location(made, tree))
    return Definition(made, Names(made).steady, True)


def _ended(body: Sequence[ast.stmt]) -> list[ast.stmt] | None:
    """Statements that assign the result in place of returning it, on every way; None where there
    are none."""
    for i, each in enumerate(body):
        if isinstance(each, ast.Return):
            return [*body[:i], _assigned(each)]
        if isinstance(each, ast.Raise):
            return list(body[: i + 1])
        if not _returns(each):
            continue
        if isinstance(each, (ast.For, ast.While)):
            ended = _after_loop(each, body[i + 1 :])
            return None if ended is None else [*body[:i], *ended]
        if not isinstance(each, ast.If):
            return None
        parts = [_ended([*part, *body[i + 1 :]]) for part in (each.body, each.orelse)]
        if parts[0] is None or parts[1] is None:
            return None
        made = ast.If(each.test, parts[0], parts[1])
        return [*body[:i], ast.copy_location(made, each)]
    return None


def _returns(each: ast.stmt) -> bool:
    is_inner = isinstance(each, ast.FunctionDef)
    return not is_inner and any(isinstance(x, ast.Return) for x in ast.walk(each))


def _assigned(each: ast.Return) -> ast.stmt:
    value = each.value or ast.copy_location(ast.Constant(None), each)
    return ast.copy_location(ast.Assign([ast.Name(RESULT, ast.Store())], value), each)


# -- loops that return: they note that they have, and break ---------------------------------------


def _after_loop(
    loop: ast.For | ast.While, rest: Sequence[ast.stmt]
) -> list[ast.stmt] | None:  # fmt: skip
    """A loop that breaks in place of returning, and the statements behind it where it has not."""
    left = _left(loop)
    if left is None:
        return None
    start = _noted(loop, False)
    if isinstance(loop, ast.While) and _is_true(loop.test) and not _breaks(loop.body):
        return [start, left]  # what is behind it never runs
    after = _ended(rest)
    if after is None:
        return None
    test = ast.UnaryOp(ast.Not(), ast.Name(DONE, ast.Load()))
    return [start, left, ast.copy_location(ast.If(test, after, []), loop)]


def _left(loop: ast.For | ast.While) -> ast.stmt | None:
    """The loop with `break` in place of each `return`; None where something else returns."""
    if loop.orelse:
        return None
    body = _leaving(loop.body)
    if body is None:
        return None
    made: Any = type(loop)(**dict(ast.iter_fields(loop)))
    made.body = body
    return ast.copy_location(made, loop)


def _leaving(body: Sequence[ast.stmt]) -> list[ast.stmt] | None:
    made: list[ast.stmt] = []
    for each in body:
        if isinstance(each, ast.Return):
            stop = ast.copy_location(ast.Break(), each)
            return [*made, _assigned(each), _noted(each, True), stop]
        if not _returns(each):
            made.append(each)
        elif isinstance(each, (ast.For, ast.While)):
            if (inner := _left(each)) is None:
                return None
            stop = ast.If(ast.Name(DONE, ast.Load()), [ast.copy_location(ast.Break(), each)], [])
            made += [inner, ast.copy_location(stop, each)]
        elif isinstance(each, ast.If):
            parts = _leaving(each.body), _leaving(each.orelse)
            if parts[0] is None or parts[1] is None:
                return None
            made.append(ast.copy_location(ast.If(each.test, parts[0], parts[1]), each))
        else:
            return None
    return made


def _noted(at: ast.stmt, has_returned: bool) -> ast.stmt:
    made = ast.Assign([ast.Name(DONE, ast.Store())], ast.Constant(has_returned))
    return ast.copy_location(made, at)


def _is_true(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and bool(test.value)


def _breaks(body: Sequence[ast.stmt]) -> bool:
    """Whether statements leave the loop that they are in."""
    for each in body:
        if isinstance(each, ast.Break):
            return True
        if isinstance(each, ast.If) and (_breaks(each.body) or _breaks(each.orelse)):
            return True
    return False
