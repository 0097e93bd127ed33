"""``nbgrad bench``: who is measured, that wrong gradients are not timed, and what is written."""

import csv
import json
import sys

import numpy as np
import pytest

from nbgrad import cli
from nbgrad.bench import __main__ as measuring
from nbgrad.bench import board as boards
from nbgrad.bench import contestants, sweep
from nbgrad.bench.workloads import hand_runner, workloads

FIGURES = [
    {"facts": {"processor": "a <fast> one", "cores": "2"}, "bandwidth": 1e10, "flops": 5e10,
     "peers": ["torch"]},
    {"workload": "W1", "contestant": "NumPy by hand", "least": 2e-6, "median": 3e-6},
    {"workload": "W1", "contestant": "nbgrad", "least": 1e-5, "median": 1e-5},
    {"workload": "W1", "contestant": "nbgrad compiled", "least": 1e-6, "median": 1e-6},
    {"workload": "W1", "contestant": "torch", "least": 2e-5, "median": 2e-5},
    {"workload": "W2", "contestant": "nbgrad compiled", "least": 4e-6, "median": 4e-6},
    {"workload": "W2", "contestant": "torch", "least": 2e-6, "median": 2e-6},
    {"workload": "W2", "contestant": "naive", "wrong": True},
    {"curve": "rosenbrock", "size": 10, "contestant": "nbgrad", "least": 1e-5, "median": 1e-5},
    {"curve": "rosenbrock", "size": 100, "contestant": "nbgrad", "least": 2e-5, "median": 1e-5},
    {"workload": "W1", "contestant": "nbgrad", "first": 0.5, "memory": 20.0},
]  # fmt: skip


@pytest.fixture
def board():
    made = boards.Board()
    for figures in FIGURES:
        made.take(json.loads(json.dumps(figures)))
    return made


def test_losses_are_told_with_their_factors(board):
    assert board.contestants == ["NumPy by hand", "nbgrad", "nbgrad compiled", "torch"]
    assert board.losses() == [
        "nbgrad compiled on W2: faster are torch (2.0 times)",
        "nbgrad on W1: faster are NumPy by hand (5.0 times)",
    ]
    assert board.wrong == ["naive on W2"]


def test_the_command_writes_tables_a_page_and_a_picture(board, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("nbgrad.cli.bench.measure", lambda *arguments: board)
    assert cli.main(["bench", "W1", "W2", "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "nbgrad compiled on W2: faster are torch (2.0 times)" in shown
    assert "wrong gradient, not timed: naive on W2" in shown
    with (tmp_path / "board.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {"what": "first call", "workload": "W1", "contestant": "nbgrad", "value": "0.5"} in rows
    assert len(rows) == 10
    text = (tmp_path / "board.md").read_text()
    assert "| W1: sum(X @ Y), 2x3 and 3x2 | 2 | 10 | 1 | 20 |" in text
    page = (tmp_path / "board.html").read_text()
    assert "a &lt;fast&gt; one" in page and "data:image/png;base64," in page
    assert (tmp_path / "board.png").read_bytes().startswith(b"\x89PNG")


def test_results_are_checked_before_they_are_timed(monkeypatch, capsys):
    def wrong(workload):
        value, bars = hand_runner(workload)()
        return lambda: (value, [bar * (1 + 1e-6) for bar in bars])

    real = contestants.contestant

    def one(name):
        if name != "careless":
            return real(name)
        return contestants.Contestant(name, lambda _: True, wrong, lambda: None)

    monkeypatch.setattr(measuring, "contestant", one)
    measuring.main(
        ["times", "W4", "--with", "NumPy by hand", "nbgrad", "careless", "--seconds", "0.01"]
    )
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {"workload": "W4", "contestant": "careless", "wrong": True} in lines
    timed = {line["contestant"]: line["least"] for line in lines if "least" in line}
    assert set(timed) == {"NumPy by hand", "nbgrad"} and min(timed.values()) > 0


@pytest.mark.parametrize("curve", ["rosenbrock", "product"])
def test_curves_have_the_gradients_of_the_hand(curve):
    for n in sweep.sizes(1e3)[curve]:
        workload = sweep.workload(curve, n)
        run = contestants.contestant("nbgrad").runner(workload)
        assert contestants.agrees(run(), hand_runner(workload)(), 1e-12)


def test_the_hand_is_finite_on_every_workload():
    for workload in workloads.values():
        if workload.large:
            continue
        value, bars = hand_runner(workload)()
        assert np.isfinite(value) and all(np.isfinite(bar).all() for bar in bars)


def test_a_process_that_fails_is_told_by_its_last_line(tmp_path):
    measuring = boards.Measuring(sys.executable, boards.Board(), print)
    with pytest.raises(boards.BenchError, match="KeyError: 'no such'"):
        measuring.run("times", "W1", "--with", "no such")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [(["W99"], "there is no workload W99: there are W1"),
     (["W1", "--python", "/no/such/python"], "No such file")],
)  # fmt: skip
def test_mistakes_get_one_line(arguments, told, tmp_path, capsys):
    assert cli.main(["bench", *arguments, "--out", str(tmp_path), "--no-plots"]) != 0
    shown = capsys.readouterr().err
    assert told in shown and len(shown.splitlines()) == 1
