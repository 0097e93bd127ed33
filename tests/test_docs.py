"""Documents that run: the README, the tour of derivatives, the examples of docstrings."""

import doctest
import importlib
import inspect
import pkgutil
import re
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from helpers import pages

import nbgrad


def run(page: str) -> tuple[dict, str]:
    """What the code of a page of docs/ defines, and the page's text."""
    return pages.run(pages.DOCS / page), (pages.DOCS / page).read_text(encoding="utf-8")


WITH_TESTS = (
    "README",
    "derivatives",
    "writing",
    "loops",
    "autograd",
    "training",
    "scaling",
    "profile",
)
"""Pages whose results the tests below examine."""
ELSEWHERE = ("adding_an_op",)
"""A page whose rows `tests/rules/test_guide.py` adds."""


@pytest.mark.parametrize(
    "path",
    [path for path in pages.pages() if path.stem not in WITH_TESTS + ELSEWHERE],
    ids=lambda path: path.stem,
)
def test_a_page_runs(path):
    pages.run(path)


@pytest.mark.parametrize("path", pages.pages(), ids=lambda path: path.stem)
def test_what_a_page_names_is_there(path):
    text = path.read_text(encoding="utf-8")
    for name in set(re.findall(r"\bnbgrad(?:\.[A-Za-z_]\w*)+", text)):
        pkgutil.resolve_name(name)
    for title, program in re.findall(r'^```python title="(\S+)"\n(.*?)^```', text, re.S | re.M):
        compile(program, title, "exec")  # with other processes or packages: not run


def _anchors(path):
    """The anchors of a page's headings, as the site names them."""
    prose = re.sub(r"^( *)```.*?^\1```", "", path.read_text(encoding="utf-8"), flags=re.S | re.M)
    headings = re.findall(r"^#+ (.+)$", prose, re.M)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", h).strip().lower()) for h in headings}


def test_links_between_pages_lead_to_headings():
    dead = []
    for page in [pages.DOCS / "../README.md", *pages.DOCS.rglob("*.md")]:
        links = re.findall(
            r"\]\(([\w./-]*?\.md)?(?:#([\w-]+))?\)", page.read_text(encoding="utf-8")
        )
        for target, anchor in links:
            other = page.parent / target if target else page
            if not other.exists() or (anchor and anchor not in _anchors(other)):
                dead.append(f"{page.name}: {target}#{anchor}")
    assert not dead


def test_readme_examples():
    namespace, _ = run("../README.md")
    a, sweeps = namespace["a"], namespace["sweeps"]
    assert np.isclose(sweeps(a.copy(), 20), namespace["value"], rtol=1e-13)
    assert np.isclose(namespace["found"].x["floor"], 1.0)


def test_the_tour_of_derivatives_runs():
    namespace, _ = run("guide/derivatives.md")
    assert namespace["aux"]["largest"] > 0.0


def test_the_page_on_writing_runs():
    namespace, _ = run("guide/writing.md")
    assert namespace["slope"].shape == (3,)


def test_the_page_on_loops_runs():
    namespace, text = run("guide/loops.md")
    assert namespace["slope"].shape == (50,)
    assert f"```text\n{namespace['growth'].plan}\n```" in text


def test_the_page_for_users_of_autograd_runs():
    namespace, _ = run("coming_from/autograd.md")
    assert abs(np.exp(namespace["fitted"]["log_scale"]) - namespace["data"].std()) < 1e-2


def test_the_page_on_training_runs_and_names_what_there_is(capsys):
    _, text = run("guide/training.md")
    assert "Dense" in capsys.readouterr().out
    for room in (nbgrad.nn, nbgrad.optim, nbgrad.data, nbgrad.train):
        inner = {"glorot_uniform", "flatten", "clip", "norm", "Fitted", "Moment"}
        assert [name for name in room.__all__ if name not in text and name not in inner] == []


def test_the_page_on_scaling_runs_and_names_what_there_is(capsys):
    namespace, text = run("guide/scaling.md")
    assert "shards 0" in capsys.readouterr().out
    whole = namespace["loss"](namespace["w"], namespace["x"], namespace["y"])
    assert 0.9 * namespace["value"] < whole <= (1.0 + 1e-12) * namespace["value"], "it went down"
    names = set(nbgrad.parallel.__all__) - {"Report", "ValueAndGrad"}
    assert [name for name in names if name not in text] == []


def test_the_reference_has_everything_public():
    """Each name of `nbgrad`, by itself or with the module that defines it, and each module."""
    text = "\n".join(path.read_text() for path in (pages.DOCS / "reference").glob("*.md"))
    listed = set(re.findall(r"^::: nbgrad\.(?:\S+\.)?(\w+)", text, re.M))
    of_rooms = {
        name
        for room in listed
        if isinstance(module := getattr(nbgrad, room, None), ModuleType)
        for name in module.__all__
    }
    assert set(nbgrad.__all__) - listed - of_rooms == set()


@pytest.mark.filterwarnings("ignore:loss is compiled for the 9th time")
def test_the_page_on_profiles_runs_and_its_steps_help(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace: dict = {"__name__": "fit"}
    *steps, part = pages.blocks(pages.DOCS / "how_to" / "profile.md")
    calls, shapes = [], []
    for i, step in enumerate(steps):
        few = step.replace("measured()), 60", "measured()), 1")
        pages.execute(few, f"<profile.md {i}>", namespace)
        with nbgrad.profile() as p:
            namespace["fit"](list(namespace["measured"]()), 1)
        calls.append(sum(row.calls for row in p.table if row.kind in ("op", "call")))
        compiled = [row for row in p.table if row.op == "loss (compiled)" and row.kind == "compile"]
        shapes.append(sum(row.calls for row in compiled))
    assert calls[0] > 40 * calls[1] > 8 * 40 * 20 and calls[2:] == [20, 20]
    assert shapes == [0, 0, 20, 1]
    pages.execute(part, "<profile.md part>", namespace)
    assert namespace["calls"] == 20 and (tmp_path / "profile.html").exists()
    assert "loss (compiled)" in capsys.readouterr().out


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


ROOMS = ["nbgrad"] + [
    f"nbgrad.{name}"
    for path in sorted((pages.DOCS / "reference").glob("*.md"))
    for name in re.findall(r"^::: nbgrad\.(\w+)$", path.read_text(), re.M)
    if isinstance(getattr(nbgrad, name), ModuleType)
]
"""Modules that pages of the reference show whole."""


@pytest.mark.parametrize("name", ROOMS)
def test_everything_public_has_an_example_that_runs(name):
    """Each function, also one that a decorator made, which the test above does not find."""
    room = importlib.import_module(name)
    runner, names = doctest.DocTestRunner(), {**vars(room), "nbgrad": nbgrad, "np": np}
    missing = []
    for public in room.__all__:
        thing = getattr(room, public)
        if isinstance(thing, ModuleType) or not callable(thing) or is_error(thing):
            continue
        test = doctest.DocTestParser().get_doctest(
            inspect.getdoc(thing) or "", dict(names), public, None, 0
        )
        if not test.examples:
            missing.append(public)
        runner.run(test)
    assert missing == [] and runner.summarize().failed == 0


def is_error(thing: Any) -> bool:
    return isinstance(thing, type) and issubclass(thing, BaseException)
