"""Documents that run: the README, the tour of derivatives, the examples of docstrings."""

import doctest
import importlib
import linecache
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest

import nbgrad

ROOT = Path(__file__).parent.parent


def blocks(path: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", path.read_text(), re.S)


def execute(block: str, name: str, namespace: dict) -> None:
    """Run code whose source can be read under a name, as that of a file."""
    linecache.cache[name] = (len(block), None, block.splitlines(keepends=True), name)
    exec(compile(block, name, "exec"), namespace)


def test_readme_examples():
    namespace: dict = {}
    for i, block in enumerate(blocks(ROOT / "README.md")):
        if "elementwise(" not in block:
            execute(block, f"<README.md {i}>", namespace)
    assert namespace["x"].grad == 2.5838531634528574
    assert np.allclose(namespace["slopes"]["a"], namespace["slopes"]["b"].T)
    a, sweeps = namespace["a"], namespace["sweeps"]
    assert np.isclose(sweeps(a.copy(), 20), nbgrad.value_and_grad(sweeps)(a, 20)[0], rtol=1e-13)
    root = namespace["root"]
    assert np.isclose(np.exp(root), 3.0 * root * root, rtol=1e-15)
    assert np.isclose(namespace["rise"], -1.0, rtol=1e-14)
    start, t, y = (namespace[name] for name in ("start", "t", "y"))
    assert np.isclose(namespace["value"], namespace["misfit"](start, t, y), rtol=1e-12)


def run(page: str) -> tuple[dict, str]:
    """What the code of a page of docs/ defines, and the page's text."""
    path = ROOT / "docs" / page
    namespace: dict = {}
    for i, block in enumerate(blocks(path)):
        execute(block, f"<{page} {i}>", namespace)
    return namespace, path.read_text()


def test_the_tour_of_derivatives_runs():
    namespace, _ = run("derivatives.md")
    assert namespace["aux"]["largest"] > 0.0


def test_the_page_on_writing_runs():
    namespace, _ = run("writing.md")
    assert namespace["slope"].shape == (3,)


def test_the_page_on_loops_runs():
    namespace, text = run("loops.md")
    assert namespace["slope"].shape == (50,)
    assert f"```text\n{namespace['growth'].plan}\n```" in text


def test_the_page_for_users_of_autograd_runs_and_its_names_are_there():
    namespace, text = run("coming_from_autograd.md")
    assert abs(np.exp(namespace["fitted"]["log_scale"]) - namespace["data"].std()) < 1e-2
    for name in set(re.findall(r"nbgrad((?:\.[a-z_]+)+)", text)):
        found = nbgrad
        for part in name.strip(".").split("."):
            found = getattr(found, part)


def test_the_page_on_training_runs_and_names_what_there_is(capsys):
    _, text = run("training.md")
    assert "Dense" in capsys.readouterr().out
    for room in (nbgrad.nn, nbgrad.optim, nbgrad.data, nbgrad.train):
        inner = {"glorot_uniform", "flatten", "clip", "norm", "Fitted", "Moment"}
        assert [name for name in room.__all__ if name not in text and name not in inner] == []


def test_the_page_on_scaling_runs_and_names_what_there_is(capsys):
    namespace, text = run("scaling.md")
    assert "shards 0" in capsys.readouterr().out
    whole = namespace["loss"](namespace["w"], namespace["x"], namespace["y"])
    assert 0.9 * namespace["value"] < whole <= (1.0 + 1e-12) * namespace["value"], "it went down"
    for name, program in re.findall(r"```python (\S+)\n(.*?)```", text, re.S):
        compile(program, name, "exec")  # for clusters, so that it is read, and not run
    names = set(nbgrad.parallel.__all__) - {"Report", "ValueAndGrad"}
    assert [name for name in names if name not in text] == []


def test_the_tour_names_what_there_is():
    text = (ROOT / "docs" / "derivatives.md").read_text()
    for name in nbgrad.transforms.__all__:
        assert f"{name}" in text or name in ("LinearMap", "CustomRule", "pushforward")


MODULES = ["nbgrad"] + [
    info.name
    for info in pkgutil.walk_packages(nbgrad.__path__, "nbgrad.")
    if "experiments" not in info.name and not info.name.endswith("cli")
]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_run(name):
    module = importlib.import_module(name)
    runner, names = doctest.DocTestRunner(), {**vars(module), "nbgrad": nbgrad, "np": np}
    for test in doctest.DocTestFinder().find(module, globs=names):
        text = test.docstring or ""
        if not name.startswith("nbgrad.numpy") or "nbgrad" in text:  # not NumPy's own
            runner.run(test)
    assert runner.summarize().failed == 0
