"""The commands of ``nbgrad``, and the help that teaches them."""

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from typer.core import TyperGroup

from nbgrad.experiments import digits, moons
from nbgrad.experiments.exits import STOPPED, complain
from nbgrad.experiments.history import History, OnStep
from nbgrad.experiments.network import Last
from nbgrad.experiments.progress import progress


class Experiments(TyperGroup):
    """A group whose complaint about an unknown name lists the names there are."""

    def get_command(self, ctx, cmd_name):
        """The command of that name, or one line that says which there are."""
        command = super().get_command(ctx, cmd_name)
        if command is None:
            ctx.fail(f"no experiment {cmd_name!r}; there are: {', '.join(self.list_commands(ctx))}")
        return command


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
experiments = typer.Typer(cls=Experiments)
app.add_typer(experiments, name="run")

Seed = Annotated[int, typer.Option(min=0, help="Draws the data and the first weights.")]
Steps = Annotated[int, typer.Option(min=1, help="How many steps of gradient descent.")]
Out = Annotated[Path, typer.Option(help="Folder for history.csv and the pictures.")]
NoPlots = Annotated[bool, typer.Option("--no-plots", help="Draw no pictures.")]


@app.callback()
def nbgrad() -> None:
    """Gradients for NumPy and Numba people.

    This command trains two small networks, so that you can watch nbgrad at work:

    [bold]nbgrad run moons[/]   separates two interleaved half circles (a second)
    [bold]nbgrad run digits[/]  reads handwritten digits (a few seconds)
    """


@experiments.callback(invoke_without_command=True)
def run(ctx: typer.Context) -> None:
    """Train a small network, show how it goes, draw what it learnt.

    The last line that an experiment prints is the accuracy. It writes
    [bold]history.csv[/] (step, loss, accuracy) and pictures to --out.
    Ctrl-C stops a training and keeps the steps so far.

    [bold]nbgrad run moons --last linear[/]
    [bold]nbgrad run digits --seed 3 --out digits-3[/]
    """
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())


@experiments.command("digits")
def run_digits(
    seed: Seed = 0,
    steps: Steps = digits.STEPS,
    out: Out = Path("nbgrad-out/digits"),
    no_plots: NoPlots = False,
) -> int:
    """Read handwritten digits with a 64-64-32-10 relu network.

    Shows minibatches, momentum and a decaying learning rate, on tracked
    weights that take thousands of updates. The digits are 1,797 scans of
    8 x 8 pixels; a quarter of them is held out to measure the accuracy.

    [bold]nbgrad run digits[/]
    [bold]nbgrad run digits --steps 300 --no-plots[/]
    """
    train = partial(digits.train, seed, steps)
    return _run("digits", "held-out accuracy", train, steps, out, plots=not no_plots)


@experiments.command("moons")
def run_moons(
    seed: Seed = 0,
    steps: Steps = moons.STEPS,
    last: Annotated[Last, typer.Option(help="What follows the last layer.")] = "relu",
    out: Out = Path("nbgrad-out/moons"),
    no_plots: NoPlots = False,
) -> int:
    """Separate two interleaved half circles with a 2-16-16-2 relu network.

    Shows plain gradient descent on 200 points, and the boundary it finds.
    With a relu after the last layer too, some seeds get stuck, since no
    gradient passes where it cuts; with a linear last layer nearly every
    seed reaches 100 %.

    [bold]nbgrad run moons[/]
    [bold]nbgrad run moons --seed 6[/]                a seed that gets stuck
    [bold]nbgrad run moons --seed 6 --last linear[/]  and the way out
    """
    train = partial(moons.train, seed, steps, last)
    return _run("moons", "accuracy", train, steps, out, plots=not no_plots)


def _run(
    name: str,
    accuracy_label: str,
    train: Callable[[OnStep], History],
    steps: int,
    out: Path,
    plots: bool,
) -> int:
    """Train, save, draw and print; returns the exit code."""
    try:
        _prepare(out)
        with progress(name, steps) as on_step:
            history = train(on_step)
        taken = len(history.steps)
        if taken == 0:
            return complain("stopped before the first step; nothing is kept", STOPPED)

        share = f"{100 * history.accuracy:.1f} %"
        history.save(out / "history.csv")
        if plots:
            from nbgrad.experiments.plots import draw  # slow to import

            draw(history, out, f"{name.capitalize()}: {accuracy_label} {share}", accuracy_label)
        if history.interrupted:
            return complain(f"stopped after {taken} of {steps} steps, kept in {out}", STOPPED)
        print(f"kept in {out}")
        print(f"{accuracy_label} {share} ({history.correct} of {len(history.labels)})")
        return 0
    except KeyboardInterrupt:
        return complain("stopped", STOPPED)


def _prepare(out: Path) -> None:
    """Make the folder and check that it can be written, before any time is spent on training."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=out).close()
    except OSError as error:
        raise typer.BadParameter(
            f"cannot write to {str(out)!r}: {error.strerror}", param_hint="'--out'"
        ) from None
