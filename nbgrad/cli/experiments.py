"""The commands ``nbgrad run ...``: one for each experiment of the catalogue, and ``all``."""

import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from nbgrad.experiments.catalogue import EXPERIMENTS, Experiment
from nbgrad.experiments.exits import STOPPED, complain
from nbgrad.experiments.groups import Group
from nbgrad.experiments.outputs import prepare, shown_once
from nbgrad.experiments.report import run_all
from nbgrad.experiments.sheet import Sheet

Out = Annotated[Path | None, typer.Option(help="Folder for tables and pictures.")]
NoPlots = Annotated[bool, typer.Option("--no-plots", help="Do not draw pictures.")]

app = typer.Typer(cls=Group, suggest_commands=False)


@app.callback(invoke_without_command=True)
def run(
    ctx: typer.Context,
    list_all: Annotated[bool, typer.Option("--list", help="List all experiments.")] = False,
    names: Annotated[bool, typer.Option("--names", help="List only their names.")] = False,
) -> None:
    """Run an experiment, show its progress, and draw the results.

    Tables are printed and written to --out as CSV files, with the pictures.
    Ctrl-C stops an experiment; a training keeps the completed steps.

    [bold]nbgrad run --list[/]
    [bold]nbgrad run all[/]    runs all experiments and writes a report
    [bold]nbgrad run moons --last linear[/]
    [bold]nbgrad run digits --seed 3 --out digits-3[/]
    """
    if names:
        print(*(row.name for row in EXPERIMENTS), sep="\n")
    elif list_all:
        print("\n".join(listed()))
    elif ctx.invoked_subcommand is None:
        print(ctx.get_help())
    if names or list_all:
        raise typer.Exit()


def listed() -> list[str]:
    """Return the lines of a list of experiments, by source, with their usual times and titles."""
    lines, source = [], None
    for row in EXPERIMENTS:
        if row.source != source:
            source = row.source
            lines += ["", source] if lines else [source]
        lines.append(f"  {row.name:<15}{row.seconds:>3.0f} s  {row.title}")
    total = sum(row.seconds for row in EXPERIMENTS)
    return [*lines, "", f"  {'all':<14}{total:>4.0f} s  Run every one and write a report"]


def command(row: Experiment) -> Callable[..., int]:
    """Return the command of an experiment, with the options of its ``run`` and for the output."""

    def call(out: Path | None, no_plots: bool, **options: Any) -> int:
        import scipy.linalg  # noqa: F401 (loads a BLAS, which is limited below)
        from threadpoolctl import threadpool_limits

        try:
            place = out or Path("nbgrad-out") / row.name
            with shown_once(place, options.get("engine") == "mpi") as folder:
                sheet = Sheet(row.name, folder, not no_plots, row.figures)
                prepare(sheet.out)
                # Threads do not speed up small products, and slow them down on a busy machine.
                with threadpool_limits(1):
                    row.run(sheet, **options)
                sheet.close()
        except KeyboardInterrupt as stop:
            return complain(str(stop) or "stopped", STOPPED)
        return 0

    shared = {"out": (Out, None), "no_plots": (NoPlots, False)}
    _, *own = inspect.signature(row.run, eval_str=True).parameters.values()
    parameter = partial(inspect.Parameter, kind=inspect.Parameter.KEYWORD_ONLY)
    parameters = [
        *(one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own),
        *(parameter(name, annotation=a, default=d) for name, (a, d) in shared.items()),
    ]
    call.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportFunctionMemberAccess]
    call.__annotations__ = {one.name: one.annotation for one in parameters}
    call.__doc__ = row.run.__doc__
    return call


for _row in EXPERIMENTS:
    app.command(_row.name)(command(_row))
app.command("all")(run_all)
