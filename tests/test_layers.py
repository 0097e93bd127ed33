"""The rooms of the package: imports point down only, and importing is cheap."""

import ast
import json
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import pytest
from helpers.children import TESTS, environment, run

import nbgrad

PACKAGE = Path(nbgrad.__file__).parent
# From the ground floor up. A module imports from lower floors and from its own room; modules that
# share a floor and not a room are neighbours who do not know each other.
FLOORS = (
    ("errors", "stopping"),
    ("runtime",),
    ("ir",),
    ("compiler", "adjoints"),
    ("threads",),
    ("capi",),
    ("kernels",),
    ("core",),
    ("eager",),
    ("rules",),
    ("complex",),
    ("values",),
    ("elimination",),
    ("transforms",),
    ("static",),
    ("control", "loops", "random", "sparse"),
    (
        "check",
        "descent",
        "estimators",
        "extend",
        "linalg",
        "naive",
        "numpy",
        "special",
        "warmup",
    ),
    ("stats",),
    ("ode",),
    ("scipy",),
    ("data", "nn", "optim", "parallel", "profiling", "sample"),
    ("misc", "train"),
    ("",),  # nbgrad/__init__.py
    ("experiments",),
    ("bench",),
    ("cli",),
    ("__main__",),
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
SOURCES = sorted(PACKAGE.rglob("*.py"))


def module_of(path: Path) -> str:
    """The module's name without `nbgrad.`; the package itself is the empty name."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in SOURCES}


def room(module: str) -> str:
    return module.partition(".")[0]


def inner_imports(module: str, tree: ast.AST) -> set[str]:
    """The modules of this package that the import statements under `tree` name."""
    here = ["nbgrad", *filter(None, module.split("."))]
    package = here if MODULES[module].name == "__init__.py" else here[:-1]
    found = set()
    for statement in ast.walk(tree):
        if isinstance(statement, ast.Import):
            names = [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom):
            above = package[: len(package) - statement.level + 1] if statement.level else []
            base = ".".join([*above, *filter(None, [statement.module])])
            names = [f"{base}.{alias.name}" for alias in statement.names]
        else:
            continue
        for name in names:
            if name.split(".")[0] == "nbgrad":
                inside = name.removeprefix("nbgrad").removeprefix(".")
                # `from .room import thing` names a module or something in one.
                found.add(inside if inside in MODULES else inside.rpartition(".")[0])
    return found - {module}


def without_type_checking(tree: ast.Module) -> ast.Module:
    """The module without what only type checkers read."""

    class Strip(ast.NodeTransformer):
        def visit_If(self, node):
            return None if ast.unparse(node.test).endswith("TYPE_CHECKING") else node

    return Strip().visit(tree)


def at_import(tree: ast.Module) -> ast.Module:
    """The module without the bodies of functions, which run later."""

    class Strip(ast.NodeTransformer):
        def visit(self, node) -> Any:
            function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            return None if function else super().visit(node)

    return Strip().visit(tree)


def parsed(module: str) -> ast.Module:
    return without_type_checking(ast.parse(MODULES[module].read_text(encoding="utf-8")))


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_down_only(module):
    assert room(module) in FLOOR, f"give nbgrad/{room(module)} a floor in FLOORS"
    floor = FLOOR[room(module)]
    up = {
        name
        for name in inner_imports(module, parsed(module))
        if room(name) != room(module) and FLOOR[room(name)] >= floor
    }
    assert not up, f"nbgrad.{module} imports from above or beside: {sorted(up)}"


def test_no_module_is_imported_in_a_circle():
    graph = {module: inner_imports(module, at_import(parsed(module))) for module in MODULES}
    order = list(TopologicalSorter(graph).static_order())  # raises CycleError
    assert set(order) == set(MODULES)
    assert graph["values.tracked"] >= {"core.primitive", "eager.plans", "values.graph"}, (
        "relative imports are understood"
    )


def test_numba_is_imported_where_machine_code_is_made_only():
    """So its flags and private pieces have one place; experiments and workloads are users' code."""
    importers = set()
    for module in MODULES:
        for statement in ast.walk(parsed(module)):
            if isinstance(statement, ast.Import):
                names = [alias.name for alias in statement.names]
            elif isinstance(statement, ast.ImportFrom) and not statement.level:
                names = [statement.module or ""]
            else:
                continue
            if {name.partition(".")[0] for name in names} & {"numba", "llvmlite"}:
                importers.add(room(module))
    assert importers == {"capi", "compiler", "kernels", "threads", "experiments", "bench"}


def test_no_file_has_more_than_350_lines():
    lengths = {
        module: len(path.read_text(encoding="utf-8").splitlines())
        for module, path in MODULES.items()
    }
    assert lengths and {module: n for module, n in lengths.items() if n > 350} == {}


def test_nothing_is_compiled_at_import():
    code = """
import gc
from numba.core.dispatcher import Dispatcher
ours = [d for d in gc.get_objects() if isinstance(d, Dispatcher)
        and d.py_func.__module__.startswith("nbgrad")]
result = [d.py_func.__name__ for d in ours]
"""
    session = run(code, NBGRAD_CACHE_DIR="/nowhere")
    assert session.result == []
    assert [session.stats[name] for name in ("compiled", "loaded", "called")] == [0, 0, 0]
    assert not session.warnings, "the cache folder is not asked for either"


def test_import_loads_no_package_that_numpy_and_numba_do_not():
    def packages(imports: str) -> set[str]:
        show = "print(json.dumps([name.partition('.')[0] for name in sys.modules]))"
        answer = subprocess.run(
            [sys.executable, "-c", f"import {imports}, json, sys; {show}"],
            env=environment({}),
            capture_output=True,
            check=True,
        )
        return set(json.loads(answer.stdout))

    ours = packages("numpy, numba, nbgrad") - packages("numpy, numba")
    assert ours - {"__future__", "cmath"} == {"nbgrad"}


def test_the_root_has_at_most_twelve_modules_and_tests_stand_in_rooms():
    assert len(list(PACKAGE.glob("*.py"))) <= 12
    rooms = {path.parent.relative_to(TESTS).parts[0] for path in TESTS.glob("*/test_*.py")}
    assert rooms - {"fuzz"} <= {path.name for path in PACKAGE.iterdir() if path.is_dir()}
