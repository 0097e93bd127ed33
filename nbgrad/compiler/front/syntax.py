"""The syntax trees of functions."""

import ast
import inspect
import linecache
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, combinations
from operator import itemgetter
from types import CodeType, ModuleType
from typing import Any

from ...errors import UnsupportedVersion
from ..sources import lines_of, of_code


class Unsupported(Exception):
    """Something outside of the subset of Python that is read; `place` is the innermost function and
    line with it."""

    def __init__(self, what: str, place: str = ""):
        super().__init__(what)
        self.place = place

    def __str__(self) -> str:
        return f"{self.args[0]}{self.place}"


RESULT = "return"
"""The variable of the result of a function with several `return`, a name that no other has."""
DONE = "return?"
"""The variable that says whether a loop has returned."""


@dataclass(frozen=True)
class Definition:
    """The definition of a function, and the variables that keep the value that they are given
    first."""

    tree: ast.FunctionDef
    steady: frozenset[str]
    ends_once: bool  # whether the only `return` is the last statement


def definition_of(function: Callable) -> Definition:
    """The definition of a function. Raises ImportError where the text that is found for it is not
    its own, and Unsupported for parameters that are not positional ones."""
    code, outside = function.__code__, function.__globals__
    linecache.lazycache(code.co_filename, outside)  # for archives
    modules = [name for name in _names_in(code) if isinstance(outside.get(name), ModuleType)]
    return _definition(code, tuple(dict.fromkeys(modules)))


def _names_in(code: CodeType) -> list[str]:
    """The names that a code reads, also in the functions inside of it."""
    inner = [name for each in _codes_in(code) for name in _names_in(each)]
    return [*code.co_names, *inner]


@lru_cache(maxsize=512)
def _definition(code: CodeType, modules: tuple[str, ...]) -> Definition:
    tree = _found(code, modules)
    if tree is None:
        linecache.checkcache(code.co_filename)  # the file may have been imported anew
        tree = _found(code, modules)
    if tree is None:
        raise UnsupportedVersion(
            f"nbgrad compiles functions from their source, and {code.co_filename} has none for "
            f"{code.co_name}: install nbgrad with its .py files (with PyInstaller, set "
            "module_collection_mode={'nbgrad': 'py'}), and restart Python if they have changed"
        )
    tree = _Entered().visit(tree)
    options = tree.args
    if options.kwarg:
        raise Unsupported(f"{code.co_name}: a parameter **{options.kwarg.arg}")
    names = Names(tree)
    return Definition(tree, names.steady, not names.returns or names.returns == [tree.body[-1]])


class _Entered(ast.NodeTransformer):
    """Puts statements in place of `with np.errstate(...):` around them: compiled code does not
    warn."""

    def visit(self, node: ast.AST) -> Any:
        return node if isinstance(node, ast.expr) else super().visit(node)

    def visit_With(self, node: ast.With) -> Any:
        self.generic_visit(node)
        calls = [x.context_expr for x in node.items if x.optional_vars is None]
        functions = [getattr(x, "func", None) for x in calls]
        is_silent = [getattr(x, "attr", getattr(x, "id", "")) == "errstate" for x in functions]
        return node.body if len(calls) == len(node.items) and all(is_silent) else node


def _found(code: CodeType, modules: tuple[str, ...]) -> ast.FunctionDef | None:
    """The definition in the text of a file that gives this very code: the file may be another one
    than that which was imported."""
    lines = lines_of(code.co_filename) or linecache.getlines(code.co_filename)
    if code.co_name == "<lambda>":
        every = _lambdas("".join(lines), code.co_firstlineno)
        return next((each for each in every if _gives(each, code, modules)), None)
    last = max(filter(None, map(itemgetter(1), code.co_positions())), default=0)
    start = code.co_firstlineno - 1
    # The brackets of the last expression may close in a later line.
    for end in (last, last + 1):
        tree = _parsed(lines[start:end])
        if tree is not None and _gives(tree, code, modules):
            return tree
    # Statements at the end that are never reached are not in the code.
    tree = _parsed(inspect.getblock(lines[start:])) if lines[start:] else None
    return tree if tree is not None and _gives(tree, code, modules) else None


@lru_cache(maxsize=64)
def _lambdas(text: str, line: int) -> list[ast.FunctionDef]:
    """The lambda expressions that begin in a line, as definitions."""
    try:
        nodes = [x for x in ast.walk(ast.parse(text)) if isinstance(x, ast.Lambda)]
    except (SyntaxError, ValueError):
        return []
    return [as_definition(x) for x in nodes if x.lineno == line]


def as_definition(node: ast.Lambda) -> ast.FunctionDef:
    """A lambda expression as the definition of a function."""
    body: list[ast.stmt] = [ast.copy_location(ast.Return(node.body), node.body)]
    tree = ast.FunctionDef("<lambda>", node.args, body, [], None, None)
    tree.type_params = []  # pyright: ignore
    return ast.copy_location(tree, node)


def _gives(tree: ast.FunctionDef, code: CodeType, modules: tuple[str, ...]) -> bool:
    """Whether a definition is that of the code, inside of a function that has its outer names.
    Python calls what is in an imported module otherwise than a method."""
    if tree.name != code.co_name:
        return False
    if lines_of(code.co_filename):
        return True
    # Under another name, as its own may be that of a global.
    bare: Any = ast.FunctionDef(
        **(dict(ast.iter_fields(tree)) | {"name": "_", "decorator_list": []})
    )
    if tree.name == "<lambda>":
        value = tree.body[0].value  # pyright: ignore
        bare = ast.Expr(ast.copy_location(ast.Lambda(tree.args, value), tree))
    found = of_code(code)
    # In a notebook, modules may have been imported in the cell of the function, or before.
    count = len(modules)
    sizes = range(count, -1, -1) if count <= 6 else (count, 0)
    for imported in chain.from_iterable(combinations(modules, size) for size in sizes):
        imports = f"import {', '.join(imported)}\n" if imported else ""
        whole = ast.parse(f"{imports}def outer({', '.join(code.co_freevars)}): pass")
        whole.body[-1].body = [ast.copy_location(bare, tree)]  # pyright: ignore
        (outer,) = _codes_in(_compiled(whole, code.co_filename))
        if found in map(of_code, _codes_in(outer)):
            return True
    return False


def _compiled(tree: ast.Module, filename: str) -> CodeType:
    """The code of a tree. Python limits the depth of trees that it compiles from text less."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(4 * limit)
    try:
        return compile(tree, filename, "exec", dont_inherit=True)
    finally:
        sys.setrecursionlimit(limit)


def _codes_in(code: CodeType) -> list[CodeType]:
    return [each for each in code.co_consts if isinstance(each, CodeType)]


class Names:
    """The uses of the names of a function, in the order of its text, and its `returns`.

    `steady` are the variables that keep the value that they are given first: one statement gives
    it, and they are read only behind it, in the same sequence of statements or inside of that; and
    the arguments that are given none.
    """

    def __init__(self, tree: ast.FunctionDef):
        self._at = 0
        self._first: dict[str, int] = {}
        self._last: dict[str, int] = {}
        # For each name that is given a value, from where on and how far that statement serves.
        self._served: dict[str, list[tuple[int, int]]] = {}
        self.returns: list[ast.AST] = []
        self._sequence(tree.body)
        untouched = [each.arg for each in parameters_of(tree) if each.arg not in self._served]
        self.steady = frozenset(untouched).union(filter(self._is_steady, self._served))

    def _is_steady(self, name: str) -> bool:
        (start, end), *others = self._served[name]
        first, last = self._first.get(name, start), self._last.get(name, start)
        return not others and start <= first and last <= end

    def _sequence(self, body: Iterable[ast.stmt]) -> None:
        given: list[tuple[str, int]] = []
        for node in body:
            if isinstance(node, ast.For):
                self._condition(node.iter)
                start = self._at
                self._sequence(node.body)
                for name in self._read(node.target):
                    self._served.setdefault(name, []).append((start, self._at))
                self._sequence(node.orelse)
            elif isinstance(node, (ast.If, ast.While)):
                self._condition(node.test)
                self._sequence(node.body)
                self._sequence(node.orelse)
            else:
                stored = self._read(node)
                given += [(name, self._at) for name in stored]
                if isinstance(node, ast.AugAssign):  # which reads it, too
                    given += [(name, self._at) for name in stored]
        for name, start in given:
            self._served.setdefault(name, []).append((start, self._at))

    def _condition(self, node: ast.expr) -> None:
        """A variable that an expression in the head of a statement assigns is not steady."""
        for name in self._read(node):
            self._served.setdefault(name, []).extend([(self._at, self._at)] * 2)

    def _read(self, node: ast.AST) -> list[str]:
        """Note the names that are read; the others, which are given a value."""
        stored, stack = [], [node]
        while stack:
            node = stack.pop()
            if isinstance(node, ast.Name):
                if isinstance(node.ctx, ast.Load):
                    self._first.setdefault(node.id, self._at)
                    self._at += 1
                    self._last[node.id] = self._at
                else:
                    stored.append(node.id)
                continue
            if isinstance(node, ast.Return):
                self.returns.append(node)
            for field in node._fields:
                value = getattr(node, field)
                if isinstance(value, ast.AST):
                    stack.append(value)
                elif isinstance(value, list):
                    for each in value:
                        if isinstance(each, ast.AST):
                            stack.append(each)
        return stored


def parameters_of(tree: ast.FunctionDef) -> list[ast.arg]:
    """The parameters of a definition, in the order of the function's variables."""
    options = tree.args
    starred = [options.vararg] if options.vararg else []
    return [*options.posonlyargs, *options.args, *options.kwonlyargs, *starred]


def _parsed(lines: list[str]) -> ast.FunctionDef | None:
    text = "".join(lines)
    indented = text[:1].isspace()  # and then texts of several lines must not be moved
    try:
        [tree] = ast.parse(f"if 1:\n{text}" if indented else text).body
        [tree] = tree.body if isinstance(tree, ast.If) else [tree]
    except (SyntaxError, ValueError):
        return None
    return tree if isinstance(tree, ast.FunctionDef) else None


def line_of(function: Callable, node: ast.stmt) -> str:
    """The function and the line of a statement of its definition."""
    code, tree = function.__code__, definition_of(function).tree
    first = min(each.lineno for each in (tree, *tree.decorator_list))
    line = code.co_firstlineno + node.lineno - first
    return f" ({code.co_filename}:{line}, in {code.co_name})"


def outer_names(function: Callable) -> dict[str, Any]:
    """The values of the names that a function takes from enclosing functions."""
    names, cells = function.__code__.co_freevars, function.__closure__ or ()
    return {name: cell.cell_contents for name, cell in zip(names, cells, strict=True)}
