"""`nbgrad run`: what trainings print and write, how they are stopped, and how it says no."""

import csv
import os
import signal
import subprocess
import sys
import tempfile

import matplotlib.font_manager  # noqa: F401 (its first import can report on stderr)
import pytest
from helpers.children import interruptible

from nbgrad.experiments import digits, moons
from nbgrad.experiments.catalogue import EXPERIMENTS
from nbgrad.experiments.sheet import Sheet

PNG = b"\x89PNG\r\n\x1a\n"


def interrupt_after(train, stop):
    """The training function, with a Ctrl-C right after one of its steps."""

    def interrupted(*arguments, **options):
        *rest, on_step = arguments

        def stopping(step):
            on_step(step)
            if step.step == stop:
                raise KeyboardInterrupt

        return train(*rest, stopping, **options)

    return interrupted


def test_moons_writes_its_history_and_two_pictures(run, tmp_path):
    code, out, err = run("run", "moons", "--steps", 20, "--out", tmp_path / "new" / "moons")
    assert (code, err) == (0, [])
    assert out[-2].endswith(" of 200 are right")
    written = tmp_path / "new" / "moons"
    assert sorted(p.name for p in written.iterdir()) == [
        "boundary.png",
        "figures.csv",
        "history.csv",
        "history.png",
    ]
    assert (written / "history.png").read_bytes().startswith(PNG)
    assert (written / "boundary.png").read_bytes().startswith(PNG)


def test_digits_writes_its_history_and_three_pictures(run, tmp_path):
    code, out, err = run("run", "digits", "--steps", 20, "--out", tmp_path)
    assert (code, err) == (0, [])
    assert out[-2].endswith(" of 450 are right")
    pictures = ["confusion.png", "history.png", "misread.png"]
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        [*pictures, "figures.csv", "history.csv"]
    )
    assert all((tmp_path / name).read_bytes().startswith(PNG) for name in pictures)


def test_a_history_reads_back_exactly(run, tmp_path):
    run("run", "moons", "--seed", 2, "--steps", 7, "--no-plots", "--out", tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == {"history.csv", "figures.csv"}
    with (tmp_path / "history.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["step", "loss", "accuracy"]
    steps = moons.train(seed=2, steps=7).steps
    assert [(int(n), float(loss), float(accuracy)) for n, loss, accuracy in rows] == steps


def test_progress_is_a_few_plain_lines_where_there_is_no_terminal(run, tmp_path, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    _, out, _ = run("run", "moons", "--steps", 50, "--no-plots", "--out", tmp_path)
    assert len([line for line in out if line.startswith("moons ")]) == 11
    assert "".join(out).isprintable()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["run", "moons", "--steps", "-3"], "--steps"),
        (["run", "moons", "--steps", "0"], "--steps"),
        (["run", "digits", "--steps", "1.5"], "--steps"),
        (["run", "digits", "--steps"], "--steps"),
        (["run", "digits", "--seed", "-1"], "--seed"),
        (["run", "digits", "--seed", "x"], "--seed"),
        (["run", "digits", "--last", "relu"], "--last"),
        (["run", "moons", "--last", "tanh"], "--last"),
        (["run", "moons", "extra"], "extra"),
        (["run", "moon"], "did you mean 'nbgrad run moons'?"),
        (["run", "zzz"], "there are: descend, "),
        (["run", "babysqrt", "--at", "-1"], "--at"),
        (["rnu", "moons"], "did you mean 'nbgrad run'?"),
        (["cache", "clean"], "did you mean 'nbgrad cache clear'?"),
        (["--unknown"], "--unknown"),
    ],
)
def test_bad_values_get_one_line(run, arguments, named, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(*arguments)
    assert (code, out, len(err)) == (2, [], 1)
    assert err[0].startswith("nbgrad: ") and named in err[0]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "told"),
    [(b"", "begins with a letter"), (b"anna\nbob\n", "holds 2 names"), (b"\xff\xfe", "decode")],
)
def test_a_file_without_names_gets_one_line(run, tmp_path, content, told):
    (tmp_path / "names.txt").write_bytes(content)
    code, out, err = run("run", "names", "--file", tmp_path / "names.txt", "--out", tmp_path)
    assert (code, out, len(err)) == (2, [], 1)
    assert "--file" in err[0] and told in err[0]


def test_without_the_package_of_names_one_line_says_what_to_do(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "names", None)
    code, out, err = run("run", "names", "--out", tmp_path)
    assert (code, out, len(err)) == (1, [], 1)
    assert 'pip install "nbgrad[names]"' in err[0] and "text file" in err[0]


@pytest.mark.parametrize("below", ["", "folder"])
def test_an_output_folder_that_is_a_file_gets_one_line(run, tmp_path, below):
    (tmp_path / "file").write_text("kept")
    code, out, err = run("run", "moons", "--out", tmp_path / "file" / below)
    assert (code, out, len(err)) == (2, [], 1)
    assert "--out" in err[0]
    assert (tmp_path / "file").read_text() == "kept"


def test_an_output_folder_that_takes_no_files_gets_one_line(run, tmp_path, monkeypatch):
    def refuse(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    code, out, err = run("run", "moons", "--out", tmp_path)
    assert (code, out, len(err)) == (2, [], 1)
    assert "--out" in err[0] and "Permission denied" in err[0]


def test_a_full_disk_gets_one_line(run, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Sheet, "csv", fail)
    code, _, err = run("run", "moons", "--steps", 1, "--out", tmp_path)
    assert (code, len(err)) == (1, 1)
    assert "No space left on device" in err[0]


def test_an_interrupted_training_is_kept(run, tmp_path, monkeypatch):
    monkeypatch.setattr(digits, "train", interrupt_after(digits.train, 6))
    code, out, err = run("run", "digits", "--steps", 50, "--out", tmp_path)
    assert (code, len(err)) == (130, 1)
    assert "6 of 50 steps" in err[0]
    assert (tmp_path / "history.png").read_bytes().startswith(PNG)
    assert len((tmp_path / "history.csv").read_text().splitlines()) == 1 + 6
    assert not any("are right" in line for line in out)


@pytest.mark.parametrize("plots", [True, False])
def test_one_step_is_enough_to_keep(run, tmp_path, monkeypatch, plots):
    monkeypatch.setattr(moons, "train", interrupt_after(moons.train, 1))
    code, _, err = run("run", "moons", "--out", tmp_path, *([] if plots else ["--no-plots"]))
    assert (code, len(err)) == (130, 1)
    assert (tmp_path / "boundary.png").exists() == plots


def test_an_interrupt_before_the_first_step_keeps_nothing(run, tmp_path, monkeypatch):
    def train(*_, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(moons, "train", train)
    code, out, err = run("run", "moons", "--out", tmp_path)
    assert (code, out, err) == (130, [], ["nbgrad: stopped"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="sends a POSIX signal")
def test_a_real_ctrl_c_stops_cleanly(tmp_path):
    command = [sys.executable, "-m", "nbgrad.cli", "run", "moons", "--no-plots"]
    process = subprocess.Popen(
        [*command, "--steps", "10000000", "--out", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=interruptible,
    )
    with process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline().startswith("moons ")
        process.send_signal(signal.SIGINT)
        error = process.stderr.read()
    assert process.returncode == 130
    assert error.startswith("nbgrad: stopped after ") and error.count("\n") == 1
    assert (tmp_path / "history.csv").exists()


def test_missing_packages_are_named_with_the_remedy(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "typer", None)
    code, out, err = run("run", "moons")
    assert (code, out, len(err)) == (1, [], 1)
    assert 'pip install "nbgrad[experiments]"' in err[0]


def test_the_experiments_are_listed(run):
    code, names, err = run("run", "--names")
    assert (code, err) == (0, [])
    assert names == [row.name for row in EXPERIMENTS]
    code, lines, err = run("run", "--list")
    assert (code, err) == (0, [])
    rows = [line.split() for line in lines if line.startswith("  ")]
    assert [row[0] for row in rows] == [*names, "all"]
    assert all(row[1].isdigit() and row[2] == "s" and len(row) > 5 for row in rows)
    assert all(len(line) <= 80 for line in lines)


@pytest.mark.parametrize("name", ["moons", "digits"])
def test_compiled_trainings_say_what_it_brought(run, tmp_path, name):
    code, out, err = run("run", name, "--compiled", "--steps", 5, "--no-plots", "--out", tmp_path)
    assert (code, err) == (0, [])
    (told,) = (line for line in out if line.startswith("a compiled step takes"))
    assert told.endswith("times as long")
    assert len((tmp_path / "history.csv").read_text().splitlines()) == 6
