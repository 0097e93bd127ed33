"""A failing program made small: statements and parts of expressions go, as long as it fails."""

import ast
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from .drawing import Drawn


def shrunk(program: Drawn, fails: Callable[[Drawn], bool], seconds: float) -> Drawn:
    """The smallest program found in that time for which `fails` still holds."""
    end = time.monotonic() + seconds
    smaller = True
    while smaller and time.monotonic() < end:
        smaller = False
        for text in candidates(program.text):
            if time.monotonic() > end:
                break
            candidate = replace(program, text=text)
            if len(text) < len(program.text) and fails(candidate):
                program, smaller = candidate, True
                break
    for name in program.wrt:
        fewer = replace(program, wrt=tuple(x for x in program.wrt if x != name))
        if fewer.wrt and fails(fewer):
            program = fewer
    return program


def candidates(text: str) -> Iterator[str]:
    """Texts that are a little smaller, the boldest first."""
    statements = sum(isinstance(x, ast.stmt) for x in ast.walk(ast.parse(text)))
    for number in range(statements):
        for by_body in (False, True):
            yield from _parsed(_without(text, number, by_body))
    expressions = sum(isinstance(x, ast.expr) for x in ast.walk(ast.parse(text)))
    for number in range(expressions):
        for way in range(4):
            yield from _parsed(_simpler(text, number, way))


def _parsed(text: str) -> Iterator[str]:
    try:
        compile(text, "<drawn>", "exec")
    except SyntaxError:  # such as a break without its loop
        return
    yield text


def _without(text: str, number: int, by_body: bool) -> str:
    """The text without one of its statements, or with a block in place of what holds it."""
    tree = ast.parse(text)
    wanted = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)][number]
    for node in ast.walk(tree):
        for name, block in ast.iter_fields(node):
            if name in ("body", "orelse") and isinstance(block, list) and wanted in block:
                at = block.index(wanted)
                inside = [] if isinstance(wanted, ast.FunctionDef) else getattr(wanted, "body", [])
                block[at : at + 1] = inside if by_body else []
                if not block and not isinstance(node, ast.Module) and name == "body":
                    block.append(ast.Pass())
    return ast.unparse(tree) + "\n"


def _simpler(text: str, number: int, way: int) -> str:
    """The text with a part of an expression, or a number, in place of the expression."""
    tree = ast.parse(text)
    wanted = [node for node in ast.walk(tree) if isinstance(node, ast.expr)][number]
    parts = [x for x in ast.iter_child_nodes(wanted) if isinstance(x, ast.expr)]
    if isinstance(wanted, (ast.Constant, ast.Name)) or isinstance(
        getattr(wanted, "ctx", None), ast.Store
    ):
        return text
    new = parts[way] if way < len(parts) else ast.Constant(0.5 if way == 3 else 1)

    class Change(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return new if node is wanted else super().generic_visit(node)

    return ast.unparse(ast.fix_missing_locations(Change().visit(tree))) + "\n"
