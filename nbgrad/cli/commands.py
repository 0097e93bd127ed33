"""The commands of ``nbgrad``, and the help that teaches them."""

from typing import Annotated

import typer

from nbgrad import __version__
from nbgrad.cli import bench, experiments, upkeep
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
compile_report.add_to(app)
bench.add_to(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit()


@app.callback()
def nbgrad(
    _: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show it, and stop."),
    ] = False,
) -> None:
    """Gradients for NumPy and Numba people.

    This command runs experiments, so that you can watch nbgrad at work, and
    looks after the compiled kernels:

    [bold]nbgrad run digits[/]   reads handwritten digits (a few seconds)
    [bold]nbgrad run --list[/]   says what else there is to run
    [bold]nbgrad run all[/]      runs every one and writes a report
    [bold]nbgrad compile-report moons[/]  shows what a compiled program does
    [bold]nbgrad bench --quick[/]  measures it beside the hand and its peers
    [bold]nbgrad warmup[/]       compiles the common kernels now, for later
    [bold]nbgrad config[/]       shows versions, cache folder, BLAS and threads
    [bold]nbgrad cache info[/]   shows what the kernel cache holds
    """
