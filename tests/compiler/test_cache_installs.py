"""Kernels of a package in an archive, never those of another version; a package without sources."""

import compileall
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from helpers.children import ROOT, environment

# A sum by a hand-written kernel, a compiled program, and what they cost.
PROGRAM = """
import json, warnings
warnings.simplefilter("error")
import numpy as np
import nbgrad
x = nbgrad.track(np.arange(6.0).reshape(2, 3))
z = (x @ np.ones((3, 2))).sum()
z.backward()
f = nbgrad.compile(lambda x: np.tanh(x) * 2.0)
stats = nbgrad.stats()
print(json.dumps([x.grad.tolist(), f(np.zeros(3)).tolist(), nbgrad.stats(), nbgrad.__file__]))
"""


def installed(folder: Path, changed: bool = False) -> Path:
    """The package in an archive, as what goes onto the path; `changed` in one kernel's source."""
    package = folder / "nbgrad"
    shutil.copytree(ROOT / "nbgrad", package, ignore=shutil.ignore_patterns("__pycache__"))
    if changed:
        source = package / "kernels" / "running.py"
        source.write_text(source.read_text() + "\nCHANGED = 1\n")
    archive = folder / "packages.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in package.rglob("*.py"):
            file.write(path, path.relative_to(folder))
    shutil.rmtree(package)
    return archive


def run(path: Path, cache: Path) -> tuple[int, int]:
    """How many kernels a process compiled and loaded."""
    import json

    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**environment({"NBGRAD_CACHE_DIR": cache}), "PYTHONPATH": os.fspath(path)},
        cwd=cache.parent,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    slope, values, stats, where = json.loads(done.stdout)
    assert where.startswith(os.fspath(path))
    assert (slope, values) == ([[2.0] * 3] * 2, [0.0] * 3)
    return stats["compiled"], stats["loaded"]


@pytest.mark.full
def test_kernels_of_an_archive_are_kept_by_version(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one = installed(tmp_path / "one")
    compiled, _ = run(one, tmp_path / "cache")
    assert compiled > 0
    assert run(one, tmp_path / "cache") == (0, compiled)
    two = installed(tmp_path / "two", changed=True)
    assert run(two, tmp_path / "cache") == (compiled, 0)


@pytest.mark.parametrize(
    "program", ["np.sum(nbgrad.track(np.ones(3)))", "nbgrad.compile(np.tanh)(1.0)"]
)
def test_without_sources_the_first_kernel_says_so(tmp_path, program):
    package = tmp_path / "nbgrad"
    shutil.copytree(ROOT / "nbgrad", package, ignore=shutil.ignore_patterns("__pycache__"))
    compileall.compile_dir(package, quiet=1, legacy=True)
    for path in package.rglob("*.py"):
        path.unlink()
    done = subprocess.run(
        [sys.executable, "-c", f"import numpy as np, nbgrad; print(1); {program}"],
        env={**environment({"NBGRAD_CACHE_DIR": tmp_path / "cache"}), "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "1\n", "it is found when the first kernel is compiled"
    last = done.stderr.splitlines()[-1]
    assert last.startswith("nbgrad.errors.UnsupportedVersion: nbgrad compiles functions")
    assert "install nbgrad with its .py files" in last and "module_collection_mode" in last
