"""What objects show in notebooks: HTML, and bars of progress."""

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers.balanced import Balanced

import nbgrad
from nbgrad import nn, train
from nbgrad.runtime import lines, markup, progress


def shown(thing) -> str:
    return Balanced(thing._repr_html_()).text


def test_tracked_arrays_show_values_gradient_and_origin():
    x = nbgrad.track(np.array([1.0, 2.0]), "<x>")
    y: Any = np.sum(np.exp(x) * 0.0 + x)
    assert "gradientnone" not in shown(x) and "leaf <x>" in shown(x) and "none" in shown(x)
    assert "made by sum" in shown(y) and "from +" in shown(y)
    y.backward()
    assert "[1. 1.]" in shown(x) and "float64 (2,)" in shown(x)
    assert "made by sum" in shown(y)


def test_overwritten_arrays_say_so():
    x = nbgrad.track(np.ones(3))
    y = x * 2.0
    node = y.node
    y[0] = 1.0
    assert "[1. 2. 2.]" in shown(y) and node is not y.node


def test_values_inside_of_transformations_are_shown():
    texts = []

    def f(x):
        texts.append(shown(x))
        return np.sum(x)

    nbgrad.grad(f)(np.ones(2))
    assert "[1. 1.]" in texts[0]


def test_compiled_functions_show_their_stages_in_folds():
    f = nbgrad.compile(lambda x: np.sum(x * x))
    assert "not called yet" in shown(f)
    f(np.ones(3))
    assert "float64[3]" in shown(f) and "multiply" in shown(f) and "def " in shown(f)
    f(np.ones(4))
    assert "float64[3]" in shown(f) and "float64[4]" in shown(f)


def test_trainings_show_their_losses():
    model = nn.Dense.random(0, 2, 1)
    data = np.ones((20, 2)), np.ones((20, 1))
    found = train.fit(model, nbgrad.mse, data, steps=30, batch=10, progress=False)
    text = shown(found)
    assert "steps 30" in text and "done" in text and "nan" not in text
    assert "<polyline" in found._repr_html_()


def test_results_of_solvers_show_their_parameters():
    found = nbgrad.scipy.minimize(lambda p: (p["a"] - 2.0) ** 2, {"a": 0.0})
    assert "Optimization terminated" in shown(found) and "a2" in shown(found)
    found = nbgrad.scipy.least_squares(lambda x: x - 2.0, np.zeros(2))
    assert "x[2. 2.]" in shown(found) and "cost 0" in shown(found)


@pytest.mark.parametrize("values", [[], [1.0], [np.nan, np.nan], [np.inf, 1.0]])
def test_there_is_no_curve_without_two_numbers(values):
    assert markup.curve(np.array(values), "loss") == ""


def test_curves_of_constant_and_negative_values():
    for values in ([1.0, 1.0, 1.0], [-1.0, 2.0, 0.0], [0.0, np.nan, 3.0]):
        assert "nan" not in markup.curve(np.array(values), "loss, logarithmic", log=True)


def test_notebooks_have_a_bar(monkeypatch):
    updates: list[str] = []
    handle = SimpleNamespace(update=updates.append)
    display = ModuleType("IPython.display")
    display.HTML, display.display = str, lambda html, display_id: handle  # pyright: ignore
    python = ModuleType("IPython")
    python.get_ipython = lambda: SimpleNamespace(kernel=object())  # pyright: ignore
    monkeypatch.setitem(sys.modules, "IPython", python)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    with progress.Bar(3) as bar:
        bar.update(1, "loss < 1")
        bar.update(3, "end")
    assert "1 of 3 loss &lt; 1" in updates[0] and 'value="3"' in updates[1] and updates[-1] == ""


def test_warmup_shows_a_bar_unless_it_reports_itself(monkeypatch):
    opened: list[bool] = []
    monkeypatch.setattr(progress.Bar, "__enter__", lambda bar: opened.append(bar._wanted) or bar)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    nbgrad.warmup(dtypes=())
    nbgrad.warmup(dtypes=(), on_op=lambda done, total, name: None)
    assert opened == [True, False]


def test_lines_of_cells_have_the_number_of_the_cell(monkeypatch):
    python = ModuleType("IPython")
    cells = SimpleNamespace(_filename_map={"/kernel/123.py": 5})
    python.get_ipython = lambda: SimpleNamespace(compile=cells)  # pyright: ignore
    monkeypatch.setitem(sys.modules, "IPython", python)
    assert lines.file_name("/kernel/123.py") == "In [5]"
    assert lines.file_name("/home/fit.py") == "fit.py"
