"""Files that change while a process runs: machine code is that of the functions which the process
imported, and it is not stored."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from helpers.children import ROOT, environment

# A kernel of a file, and a function that a program compiled from memory calls.
PROGRAM = """
import json, warnings
import numpy as np
import nbgrad
{before}
x = np.linspace(0.25, 1.0, 4)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    program = nbgrad.compile(lambda x: np.sum(np.exp(x)))
    found = [float(np.sum(nbgrad.track(x)).data), float(program(x))]
print(json.dumps([found, nbgrad.stats()["compiled"], [str(w.message) for w in caught]]))
"""
RIGHT = [2.5, 7.7680]
EDITS = {
    "kernels/reduce.py": ("total += part\n", "total += part + 100.0\n"),
    "kernels/scalar/exponential.py": ("return exp_inside(x)\n", "return exp_inside(x) + 100.0\n"),
}
EDIT = f"""
from pathlib import Path
for name, (old, new) in {EDITS}.items():
    path = Path(nbgrad.__file__).parent / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
"""


def run(folder, before: str = ""):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(before=before)],
        env={**environment({"NBGRAD_CACHE_DIR": folder / "cache"}), "PYTHONPATH": str(folder)},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.full
def test_files_that_change_between_import_and_compilation(tmp_path):
    package = tmp_path / "nbgrad"
    shutil.copytree(ROOT / "nbgrad", package, ignore=shutil.ignore_patterns("__pycache__"))
    old = {name: (package / name).read_text() for name in EDITS}
    found, compiled, messages = run(tmp_path, EDIT)
    assert found == pytest.approx(RIGHT, abs=1e-4), "of the functions that were imported"
    assert compiled > 0
    assert any("files of nbgrad have changed" in message for message in messages)
    for name, text in old.items():
        (package / name).write_text(text)
    found, compiled, messages = run(tmp_path)
    assert found == pytest.approx(RIGHT, abs=1e-4)
    assert (compiled > 0, messages) == (True, []), "nothing of the other process was loaded"
    assert run(tmp_path) == [found, 0, []]


def test_a_function_that_is_defined_anew_in_its_file(tmp_path, monkeypatch):
    """The lines of its first definition are known from then on, as a traceback shows them."""
    import importlib
    import linecache

    monkeypatch.syspath_prepend(tmp_path)
    text = "from nbgrad.compiler.kernel import kernel\n\n@kernel\ndef f(x):\n    return x + {}\n"
    path = tmp_path / "defined_anew.py"
    path.write_text(text.format(1.0))
    import defined_anew  # pyright: ignore[reportMissingImports]

    assert linecache.getline(str(path), 5) == "    return x + 1.0\n"
    first = defined_anew.f
    path.write_text(text.format(20.5))
    os.utime(path, ns=(10**18, 10**18))
    second = importlib.reload(defined_anew).f
    assert (first(1.0), second(1.0)) == (2.0, 21.5)
