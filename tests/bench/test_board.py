"""``nbgrad bench``: who is measured, that wrong gradients are not timed, and what is written."""

import contextlib
import csv
import json
import sys
import time

import numpy as np
import pytest

from nbgrad import cli
from nbgrad.bench import __main__ as measuring
from nbgrad.bench import board as boards
from nbgrad.bench import contestants, processes, sweep
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
    {"facts": {"numpy": "2.1", "numba": "0.6", "pytensor": "3.0", "torch": "2.0"},
     "peers": ["torch", "pytensor"]},
    {"workload": "W1", "contestant": "pytensor", "least": 3e-6, "median": 3e-6},
    {"workload": "W2", "contestant": "pytensor", "gave_up": 60.0},
    {"curve": "rosenbrock", "size": 100, "contestant": "pytensor", "gave_up": 60.0},
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
    who = ["NumPy by hand", "nbgrad", "nbgrad compiled", "torch", "pytensor"]
    assert board.contestants == who
    assert board.losses() == [
        "nbgrad compiled on W2: faster are torch (2.0 times)",
        "nbgrad on W1: faster are NumPy by hand (5.0 times), pytensor (3.3 times)",
    ]
    assert board.wrong == ["naive on W2"]


def test_peers_of_another_environment_are_told_with_what_they_run_on(board):
    assert board.peers == ["torch", "pytensor"] and board.facts["processor"] == "a <fast> one"
    assert board.facts["pytensor"] == "3.0 (beside NumPy 2.1, Numba 0.6)"
    assert "torch" not in board.facts


def test_the_command_writes_tables_a_page_and_a_picture(board, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("nbgrad.cli.bench.measure", lambda *arguments: board)
    assert cli.main(["bench", "W1", "W2", "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "nbgrad compiled on W2: faster are torch (2.0 times)" in shown
    assert "wrong gradient, not timed: naive on W2" in shown
    assert "gave up on W2: pytensor after 60 s" in shown
    with (tmp_path / "board.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {"what": "first call", "workload": "W1", "contestant": "nbgrad", "value": "0.5"} in rows
    gave_up = {"what": "gave up after", "contestant": "pytensor", "value": "60.0"}
    assert gave_up | {"workload": "W2"} in rows and gave_up | {"workload": "rosenbrock 100"} in rows
    assert len(rows) == 13
    text = (tmp_path / "board.md").read_text()
    assert "| W1: sum(X @ Y), 2x3 and 3x2 | 2 | 10 | 1 | 20 | 3 |" in text
    assert "| 4 | 2 | gave up after 60 s |" in text
    page = (tmp_path / "board.html").read_text()
    assert "a &lt;fast&gt; one" in page and "data:image/png;base64," in page
    for picture in ("board.png", "speed.png"):
        assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG")


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


def test_what_takes_too_long_is_given_up(monkeypatch, capsys):
    """Also where a library takes the end for an error of its own."""

    def never(workload):
        def run():
            while True:
                pass

        return run

    def stubborn(workload):
        def run():
            with contextlib.suppress(BaseException):
                never(workload)()
            raise RuntimeError("an error of the compiler")

        return run

    slow = {"slow": never, "stubborn": stubborn}
    real = contestants.contestant

    def one(name):
        if name not in slow:
            return real(name)
        return contestants.Contestant(name, lambda _: True, slow[name], lambda: None)

    monkeypatch.setattr(measuring, "contestant", one)
    given = ["W4", "--seconds", "0.01", "--budget", "0.2"]
    measuring.main(["times", *given, "--with", "NumPy by hand", *slow])
    measuring.main(["first", *given, "--with", "slow"])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for name in slow:
        assert {"workload": "W4", "contestant": name, "gave_up": 0.2} in lines
    assert [line["contestant"] for line in lines if "least" in line] == ["NumPy by hand"]
    told = [line for line in lines if "tries" not in line]
    assert [line.get("gave_up", 0.0) for line in told] == [0.2, 0.2, 0.0, 0.2]


@pytest.mark.parametrize("others", [0, 1])
def test_each_peer_is_measured_where_it_is(monkeypatch, others):
    """In the first environment that has it; nbgrad and the hand in the first of all."""
    asked = []

    def run(self, *arguments, contestants=(), fresh_cache=False):
        asked.append((self.python, (*arguments, *contestants)))
        if arguments[0] in ("machine", "peers"):
            here = ["torch"] if self.python == "a" else ["torch", "pytensor"]
            most = {"bandwidth": 1.0, "flops": 1.0} if arguments[0] == "machine" else {}
            facts = {"numpy": "2", "numba": "0", "pytensor": "3"}
            self.take({"facts": facts, "peers": here, **most})

    monkeypatch.setattr(boards.Measuring, "run", run)
    boards.measure(["W1"], True, True, ["a", "b"][: 1 + others], 60.0, lambda *_: None)
    timed = {
        python: [name for name in told if name in ("nbgrad", "torch", "pytensor")]
        for python, (what, *told) in asked if what == "times"
    }  # fmt: skip
    assert timed == {"a": ["nbgrad", "torch"]} | ({"b": ["pytensor"]} if others else {})


@pytest.mark.parametrize("curve", ["rosenbrock", "product"])
def test_curves_have_the_gradients_of_the_hand(curve):
    for n in sweep.sizes(curve, 1e3):
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
    measuring = processes.Measuring(sys.executable, boards.Board().take, print, 60.0)
    with pytest.raises(processes.BenchError, match="KeyError: 'no such'"):
        measuring.run("times", "W1", contestants=["no such"])


HANGS = """#!{python}
import json, sys, time
for name in sys.argv[sys.argv.index("--with") + 1 :]:
    about = {{"workload": "W1", "contestant": name}}
    print(json.dumps({{**about, "tries": True}}), flush=True)
    time.sleep(600.0 if name == "stubborn" else 0.0)
    print(json.dumps({{"tries": False}}), flush=True)
    time.sleep(0.5)
    print(json.dumps({{**about, "least": 1.0}}), flush=True)
"""


def test_who_does_not_give_up_by_itself_is_ended(tmp_path, monkeypatch):
    """From outside, and the others are measured without it; only a first call has a limit."""
    monkeypatch.setattr(processes, "GRACE", 0.1)
    python = tmp_path / "python"
    python.write_text(HANGS.format(python=sys.executable))
    python.chmod(0o755)
    board = boards.Board()
    measuring = processes.Measuring(str(python), board.take, lambda _: None, 0.2)
    measuring.run("times", "W1", contestants=["one", "stubborn", "another"])
    assert board.gave_up == {"W1": {"stubborn": 0.2}}
    assert board.times == {"W1": {"one": 1.0, "another": 1.0}}


def test_who_gave_up_is_not_asked_for_more(monkeypatch, capsys):
    def never(workload):
        time.sleep(60.0)
        return tuple

    real = contestants.contestant
    slow = contestants.Contestant("slow", lambda _: True, never, lambda: None)
    monkeypatch.setattr(
        measuring, "contestant", lambda name: slow if name == "slow" else real(name)
    )
    given = ["--seconds", "0.01", "--budget", "3", "--with", "slow", "nbgrad"]
    measuring.main(["sweep", "rosenbrock", "--most", "100", *given])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["size"] for line in lines if "gave_up" in line] == [2]
    assert [line["size"] for line in lines if "least" in line] == [2, 10, 100]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [(["W99"], "there is no workload W99: there are W1"),
     (["W1", "--python", "/no/such/python"], "No such file")],
)  # fmt: skip
def test_mistakes_get_one_line(arguments, told, tmp_path, capsys):
    assert cli.main(["bench", *arguments, "--out", str(tmp_path), "--no-plots"]) != 0
    shown = capsys.readouterr().err
    assert told in shown and len(shown.splitlines()) == 1
