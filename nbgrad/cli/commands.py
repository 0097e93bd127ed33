"""The commands of ``nbgrad``, and their help."""

from typing import Annotated

import typer

from nbgrad import __version__
from nbgrad.cli import bench, experiments, explain, profiler, upkeep
from nbgrad.experiments import compile_report
from nbgrad.experiments.groups import Group

app = typer.Typer(
    cls=Group,
    suggest_commands=False,  # Group suggests
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.add_typer(experiments.app, name="run")
upkeep.add_to(app)
explain.add_to(app)
compile_report.add_to(app)
bench.add_to(app)
profiler.add_to(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit()


@app.callback()
def nbgrad(
    _: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Automatic differentiation for NumPy and Numba.

    This command runs experiments and benchmarks, profiles programs, and manages
    the kernel cache:

    [bold]nbgrad run digits[/]   trains a network on handwritten digits
    [bold]nbgrad run --list[/]   lists all experiments
    [bold]nbgrad run all[/]      runs all of them and writes a report
    [bold]nbgrad compile-report moons[/]  shows a compiled program
    [bold]nbgrad profile fit.py[/]  tells where the time of a program goes
    [bold]nbgrad bench --quick[/]  compares with hand-written code
    [bold]nbgrad warmup[/]       compiles the common kernels
    [bold]nbgrad config[/]       shows versions, cache folder, BLAS and threads
    [bold]nbgrad cache info[/]   shows the contents of the kernel cache
    [bold]nbgrad explain NB-RULE[/]  explains the code at the end of an error
    """
