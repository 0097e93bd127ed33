"""Variables for whole-array expressions that only the next statement reads.

Their elements are computed where that statement reads them, as if it held the expression. So no
array is made for the variable, and none for its cotangents.
"""

import ast
from collections.abc import Mapping
from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np

__all__ = ["fused_names"]


@lru_cache(maxsize=256)
def _candidates(tree: ast.FunctionDef) -> tuple[tuple[str, tuple[ast.Call, ...]], ...]:
    """The names, and the calls in the statements that read them."""
    nodes = list(ast.walk(tree))
    if any(isinstance(x, _SCOPES) for x in nodes if x is not tree):
        return ()
    uses: dict[str, list[ast.Name]] = {}
    for each in nodes:
        if isinstance(each, ast.Name):
            uses.setdefault(each.id, []).append(each)
    found = []
    for first, second in zip(tree.body, tree.body[1:], strict=False):
        match first:
            case ast.Assign(targets=[ast.Name(id=name)]):
                pass
            case _:
                continue
        if not isinstance(second, (ast.Assign, ast.AugAssign, ast.Return)) or not second.value:
            continue
        inside = list(ast.walk(second.value))
        reads = [x for x in inside if isinstance(x, ast.Name) and x.id == name]
        if len(reads) + 1 != len(uses[name]):
            continue
        if len(reads) > 1 and not _is_elementwise(second.value, name):
            continue
        found.append((name, tuple(x for x in inside if isinstance(x, ast.Call))))
    return tuple(found)


_SCOPES = (
    ast.FunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
    ast.NamedExpr, ast.Global, ast.Nonlocal,
)  # fmt: skip


def _is_elementwise(node: ast.expr, name: str) -> bool:
    """Whether an expression reads equal elements of all arrays of a name at once."""
    rest = [node]
    while rest:
        match node := rest.pop():
            case ast.Name():
                pass
            case ast.BinOp(left=x, op=op, right=y) if not isinstance(op, ast.MatMult):
                rest += [x, y]
            case ast.UnaryOp(operand=x):
                rest.append(x)
            case ast.Compare(left=x, comparators=[y]):
                rest += [x, y]
            case ast.Call(func=ast.Attribute(attr=called), args=parts, keywords=[]) if (
                called == "where" or isinstance(getattr(np, called, None), np.ufunc)
            ):
                rest += parts
            case _ if any(isinstance(x, ast.Name) and x.id == name for x in ast.walk(node)):
                return False
    return True


def fused_names(tree: ast.FunctionDef, names: Mapping[str, Any]) -> frozenset[str]:
    """The names; `names` are those from outside of the function. The statement that reads one calls
    functions of NumPy only, which write to none of their arguments."""

    def is_numpy(call: ast.Call) -> bool:
        match call:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=home), attr=name)):
                module = names.get(home)
                return isinstance(module, ModuleType) and module is np and name not in _WRITING
        return False

    return frozenset(name for name, calls in _candidates(tree) if all(map(is_numpy, calls)))


_WRITING = {"copyto", "fill_diagonal", "place", "put", "putmask", "put_along_axis"}
