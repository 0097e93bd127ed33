"""Every experiment of the catalogue, in its short form: its figures, tables and pictures."""

import csv

import matplotlib.font_manager  # noqa: F401 (its first import can report on stderr)
import numpy as np
import pytest
from helpers.daily import pairs

from nbgrad import cli
from nbgrad.experiments import report
from nbgrad.experiments.catalogue import BY_NAME, EXPERIMENTS

STARTS = {".png": b"\x89PNG\r\n\x1a\n", ".gif": b"GIF8", ".csv": b"", ".txt": b""}


def names_file(folder):
    """A text file of names, in place of the package that brings some."""
    parts = ("an", "bel", "ca", "do", "el", "fi", "go", "hen", "is", "jo", "ka", "lu", "mi", "no")
    path = folder / "names.txt"
    path.write_text("\n".join(a + b + c for a in parts for b in parts for c in ("", "a", "ry")))
    return ["--file", str(path)]


@pytest.mark.parametrize(("name", "is_pictured"), pairs([*BY_NAME], [True, False], 4))
def test_an_experiment_comes_out_as_it_should(name, is_pictured, tmp_path, capsys):
    """Pictures take as long as what they show: those of every other experiment are made each
    time."""
    experiment, out = BY_NAME[name], tmp_path / "out"
    options = [*report.flags(experiment.short), *(names_file(tmp_path) if name == "names" else [])]
    options += [] if is_pictured else ["--no-plots"]
    code = cli.main(["run", name, "--out", str(out), *options])
    told = capsys.readouterr()
    assert (code, told.err) == (0, "")
    assert told.out.endswith(f"kept in {out}\n")
    assert told.out.replace("\n", "").isprintable()
    found = report.figures(out)
    assert list(found) == [figure.name for figure in experiment.figures]
    off = {
        figure.name: found[figure.name]
        for figure in experiment.figures
        if not figure.holds(found[figure.name], short=True)
    }
    assert off == {}
    for path in out.iterdir():
        assert path.read_bytes().startswith(STARTS[path.suffix])
        if path.suffix == ".csv":
            with path.open(newline="") as file:
                header, *rows = csv.reader(file)
            assert rows and all(len(row) == len(header) for row in rows), path


def test_every_experiment_says_what_it_shows():
    assert len({row.name for row in EXPERIMENTS}) == len(EXPERIMENTS)
    for row in EXPERIMENTS:
        assert row.figures and 0 < row.seconds <= 60
        for figure in row.figures:
            low, high = figure.within
            assert low <= high and figure.source
            shown = figure.shown(high if np.isfinite(high) else 20_000.0)
            assert len(figure.name) + len(shown) + len(figure.source) <= 72, "80 columns hold it"


@pytest.fixture
def two(monkeypatch):
    """A catalogue of one experiment that works and one that cannot."""
    rows = (BY_NAME["transposition"], BY_NAME["babysqrt"])
    monkeypatch.setattr(report, "EXPERIMENTS", rows)
    monkeypatch.setattr(report, "flags", lambda options: [])
    return rows


@pytest.mark.full
def test_all_of_them_make_one_report(two, tmp_path, capsys):
    code = cli.main(["run", "all", "--out", str(tmp_path)])
    told = capsys.readouterr()
    assert (code, told.err) == (0, "")
    assert told.out.count("as it should be") == 2
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("<section") == 2 and page.count("data:image/png;base64,") == 3
    assert "http" not in page and 'src="' not in page.replace('src="data:', "")
    assert all(figure.name in page for row in two for figure in row.figures)


@pytest.mark.full
def test_one_that_fails_is_told_and_the_others_go_on(two, tmp_path, capsys, monkeypatch):
    (tmp_path / "transposition").write_text("a file where a folder should be")
    code = cli.main(["run", "all", "--no-plots", "--out", str(tmp_path)])
    told = capsys.readouterr()
    assert code == 1
    assert told.err == "nbgrad: not as it should be: transposition\n"
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "failed, exit code 2" in page and "cannot write to" in page
    assert (tmp_path / "babysqrt" / "figures.csv").exists()


def test_a_report_that_cannot_be_written_gets_one_line(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert cli.main(["run", "all", "--out", str(tmp_path / "file")]) == 2
    assert capsys.readouterr().err.startswith("nbgrad: ")
