"""All experiments in a row, and one page of what came out: ``nbgrad run all``.

Each runs in a process of its own, so one that fails, or crashes, costs the others nothing.
"""

import csv
import signal
import subprocess
import sys
from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, NamedTuple

import typer

from nbgrad.experiments.catalogue import EXPERIMENTS, Experiment
from nbgrad.experiments.exits import FAILED, STOPPED, complain
from nbgrad.experiments.outputs import prepare
from nbgrad.experiments.progress import progress
from nbgrad.experiments.sheet import FIGURES

KINDS = {".png": "image/png", ".gif": "image/gif"}
"""Files that the page shows."""
PAGE = "report.html"


class Outcome(NamedTuple):
    """How one experiment went: its exit code, its time, what it printed, and its figures."""

    experiment: Experiment
    folder: Path
    code: int
    seconds: float
    told: str
    figures: dict[str, float]

    def off(self, short: bool) -> list[str]:
        """The figures that are missing, or are not what they should be."""
        known = self.experiment.figures
        return [
            figure.name
            for figure in known
            if figure.name not in self.figures or not figure.holds(self.figures[figure.name], short)
        ]

    def verdict(self, short: bool) -> str:
        """In a word or two."""
        if self.code:
            return f"failed, exit code {self.code}"
        off = self.off(short)
        return f"off: {', '.join(off)}" if off else "as it should be"


def run_all(
    out: Annotated[Path, typer.Option(help="Folder for the report and all else.")] = Path(
        "nbgrad-out"
    ),
    no_plots: Annotated[bool, typer.Option("--no-plots", help="Draw no pictures.")] = False,
    short: Annotated[bool, typer.Option("--short", help="A quick look: fewer steps.")] = False,
) -> int:
    """Run every experiment and write one report with pictures and figures.

    Each runs in a process of its own and writes to a folder of its own under
    --out; [bold]report.html[/] shows all of them, their figures beside those of
    their sources, in one file that can be sent and kept. One that fails is
    reported, and the others go on.

    [bold]nbgrad run all[/]
    [bold]nbgrad run all --short --out look[/]
    """
    prepare(out)
    missing = [one for one in EXPERIMENTS if one.needs and find_spec(one.needs) is None]
    chosen = [experiment for experiment in EXPERIMENTS if experiment not in missing]
    outcomes, stopped = [], False
    try:
        with progress("all") as tell:
            for i, experiment in enumerate(chosen):
                tell(i, len(chosen), experiment.name)
                outcomes.append(run_one(experiment, out / experiment.name, no_plots, short))
            tell(len(chosen), len(chosen), "")
    except KeyboardInterrupt:
        stopped = True
    if outcomes:
        left_out = [f'{one.name}: pip install "nbgrad[{one.needs}]"' for one in missing]
        (out / PAGE).write_text(page(outcomes, short, left_out), encoding="utf-8")
        for one in outcomes:
            print(f"{one.experiment.name:<16}{one.seconds:>5.0f} s  {one.verdict(short)}")
        for told in left_out:
            print(f"left out {told}")
        print(f"kept in {out / PAGE}")
    if stopped:
        return complain(f"stopped after {len(outcomes)} of {len(chosen)}", STOPPED)
    wrong = [one.experiment.name for one in outcomes if one.code or one.off(short)]
    return complain(f"not as it should be: {', '.join(wrong)}", FAILED) if wrong else 0


def run_one(experiment: Experiment, folder: Path, no_plots: bool, short: bool) -> Outcome:
    """Run an experiment in a process of its own."""
    options = flags(experiment.short if short else experiment.full)
    command = [sys.executable, "-m", "nbgrad.cli", "run", experiment.name, "--out", str(folder)]
    # What an earlier run left would be shown as if this one had drawn it.
    for old in [*folder.glob("*.png"), *folder.glob("*.gif"), *folder.glob("*.csv")]:
        old.unlink()
    start = perf_counter()
    with subprocess.Popen(
        [*command, *options, *["--no-plots"] * no_plots],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    ) as process:
        try:
            told, _ = process.communicate()
        except KeyboardInterrupt:
            if sys.platform != "win32":  # there, all processes of a console receive it
                process.send_signal(signal.SIGINT)
            raise
    seconds = perf_counter() - start
    return Outcome(experiment, folder, process.returncode, seconds, told, figures(folder))


def flags(options: Mapping[str, Any]) -> list[str]:
    """Options as they are typed."""
    return [text for name, value in options.items() for text in (f"--{name}", str(value))]


def figures(folder: Path) -> dict[str, float]:
    """The figures that an experiment left in its folder."""
    file = folder / FIGURES
    if not file.exists():
        return {}
    with file.open(newline="", encoding="utf-8") as lines:
        return {row["name"]: float(row["value"]) for row in csv.DictReader(lines)}


STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 62rem; margin: 2rem auto;
  padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { text-align: left; padding: .2rem .9rem .2rem 0; border-bottom: 1px solid #ddd;
  vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
section { margin-top: 3rem; border-top: 2px solid #2166ac; }
img { max-width: 100%; height: auto; }
pre { background: #f6f6f6; padding: 1rem; overflow-x: auto; font-size: 13px; line-height: 1.3; }
.off { color: #b2182b; font-weight: bold; }
.source { color: #666; }
"""


def page(outcomes: Sequence[Outcome], short: bool, left_out: Sequence[str] = ()) -> str:
    """The report as one HTML file that needs no other."""
    note = " Short forms: fewer steps than the sources take." if short else ""
    rows = "".join(
        f'<tr><td><a href="#{one.experiment.name}">{one.experiment.name}</a></td>'
        f"<td>{escape(one.experiment.title)}</td>"
        f'<td class="number">{one.seconds:.0f} s</td>'
        f"<td{_class(one, short)}>{escape(one.verdict(short))}</td></tr>"
        for one in outcomes
    )
    total = sum(one.seconds for one in outcomes)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>nbgrad: the experiments</title><style>{STYLE}</style></head><body>"
        f"<h1>The experiments of nbgrad</h1><p>{len(outcomes)} experiments in {total:.0f} s, each "
        f"with its figures beside those of the document that it comes from.{note}</p>"
        f"{''.join(f'<p>Left out {escape(told)}</p>' for told in left_out)}"
        f"<table><tr><th></th><th>what it shows</th><th>time</th><th></th></tr>{rows}</table>"
        f"{''.join(_section(one, short) for one in outcomes)}</body></html>\n"
    )


def _class(one: Outcome, short: bool) -> str:
    return ' class="off"' if one.code or one.off(short) else ""


def _section(one: Outcome, short: bool) -> str:
    experiment = one.experiment
    off = one.off(short)
    rows = "".join(
        f"<tr><td>{escape(figure.name)}</td>"
        f'<td class="number">{figure.shown(one.figures[figure.name])}</td>'
        f"<td>{escape(figure.source)}</td>"
        f"<td>{'<b class=off>off</b>' if figure.name in off else '✓'}</td></tr>"
        for figure in experiment.figures
        if figure.name in one.figures
    )
    table = f"<table><tr><th></th><th>here</th><th>as it should be</th><th></th></tr>{rows}</table>"
    pictures = "".join(
        f'<p><img alt="{escape(path.stem)} of {experiment.name}" src="data:{KINDS[path.suffix]};'
        f'base64,{b64encode(path.read_bytes()).decode()}"></p>'
        for path in sorted(one.folder.glob("*"))
        if path.suffix in KINDS
    )
    failed = f'<p class="off">{escape(one.verdict(short))}</p>' if one.code else ""
    return (
        f'<section id="{experiment.name}"><h2>{experiment.name}: {escape(experiment.title)}</h2>'
        f'<p class="source">{escape(experiment.source)}; {one.seconds:.0f} s, usually '
        f"{experiment.seconds:.0f} s</p>{failed}{table if rows else ''}{pictures}"
        f"<details{' open' if one.code else ''}><summary>What it printed</summary>"
        f"<pre>{escape(one.told)}</pre></details></section>"
    )
