"""Private pieces of Numba: in one module, and where one is missing a sentence says so."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.children import ROOT, environment
from packaging.requirements import Requirement
from test_layers import MODULES

from nbgrad.compiler import numba_api

# Documented for those who extend Numba, or public.
PUBLIC = {
    "numba", "numba.types", "numba.extending.intrinsic", "numba.core.types", "numba.core.errors",
    "numba.core.cgutils", "llvmlite", "llvmlite.ir", "llvmlite.binding",
}  # fmt: skip
USERS = ("experiments", "bench")  # rooms that are written as users write


def imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] in ("numba", "llvmlite")}


@pytest.mark.full
def test_private_pieces_are_imported_in_one_module():
    modules = {module for module in MODULES if not module.startswith(USERS)}
    modules.remove("compiler.numba_api")
    elsewhere = {module: imported(MODULES[module]) - PUBLIC for module in modules}
    assert {module: names for module, names in elsewhere.items() if names} == {}


def test_what_is_taken_from_a_module_of_numba_is_looked_for():
    """Names such as `cgutils.if_unlikely`, in all files."""
    known = {(id(owner), name) for owner, names in numba_api._ATTRIBUTES for name in names.split()}
    owners = {
        name: value
        for name, value in vars(numba_api).items()
        if name in ("cgutils", "config", "numpy_support", "typed", "untyped", "_dynfunc")
    }
    missing = set()
    for module, path in MODULES.items():
        if not module.startswith("kernels"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                owner = owners.get(node.value.id)
                if owner is not None and (id(owner), node.attr) not in known:
                    missing.add(f"{node.value.id}.{node.attr}")
    assert missing == set()


def test_the_bound_is_that_of_the_project():
    text = (ROOT / "pyproject.toml").read_text()
    assert f'"{numba_api.SUPPORTED}"' in text
    import numba

    assert Requirement(numba_api.SUPPORTED).specifier.contains(numba.__version__)


def failing(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment({}), capture_output=True, text=True
    )
    assert done.returncode != 0
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    "missing",
    [
        "numba.core.compiler.compile_result", "numba.core.compiler.CompilerBase",
        "numba.core.cgutils.if_unlikely",
        "numba.core.codegen.CPUCodeLibrary._finalize_final_module",
        "numba.np.numpy_support.from_dtype", "numba.core.bytecode.FunctionIdentity.from_function",
        "numba.core.runtime._nrt_python", "llvmlite.binding.ffi",
    ],
)  # fmt: skip
def test_a_missing_piece_is_a_sentence_at_import(missing):
    owner, name = missing.rsplit(".", 1)
    told = failing(f"""
import numba, llvmlite, sys
owner = {owner}
del owner.{name}
if {missing!r} in sys.modules:
    sys.modules[{missing!r}] = None
import nbgrad
""")
    assert re.match(r"nbgrad.errors.UnsupportedVersion: nbgrad cannot work with Numba \d", told), (
        told
    )
    assert name in told and 'pip install "numba>=' in told


def test_a_piece_that_is_missed_later_is_a_sentence():
    told = failing("""
import numpy as np
import nbgrad
from numba.core.codegen import CPUCodegen
del CPUCodegen.magic_tuple
import numba
sine = nbgrad.compile(np.sin).variant(1.0).njit
numba.njit(lambda x: sine(x))(1.0)
""")
    assert re.match(r"nbgrad.errors.UnsupportedVersion: nbgrad cannot work with Numba \d", told), (
        told
    )
    assert "magic_tuple" in told
