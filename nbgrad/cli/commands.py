"""The commands of ``nbgrad``, and the help that teaches them."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from nbgrad import __version__
from nbgrad.cli import upkeep
from nbgrad.experiments import (
    babysqrt,
    compile_report,
    descend,
    digits,
    jacobian_commands,
    lab_benchmark,
    moons,
    trace,
)
from nbgrad.experiments.exits import STOPPED, complain
from nbgrad.experiments.groups import Group, summaries
from nbgrad.experiments.history import History, OnStep
from nbgrad.experiments.network import Last
from nbgrad.experiments.outputs import prepare
from nbgrad.experiments.progress import counting, progress
from nbgrad.experiments.race import Race

app = typer.Typer(
    cls=Group,
    suggest_commands=False,  # Group suggests
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
experiments = typer.Typer(cls=Group, suggest_commands=False)
app.add_typer(experiments, name="run")
upkeep.add_to(app)
compile_report.add_to(app)

Seed = Annotated[int, typer.Option(min=0, help="Draws the data and the first weights.")]
Steps = Annotated[int, typer.Option(min=1, help="How many steps of gradient descent.")]
Out = Annotated[Path, typer.Option(help="Folder for history.csv and the pictures.")]
Compiled = Annotated[bool, typer.Option("--compiled", help="All steps are one compiled loop.")]
NoPlots = Annotated[bool, typer.Option("--no-plots", help="Draw no pictures.")]


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
    [bold]nbgrad compile-report moons[/]  shows what a compiled program does
    [bold]nbgrad warmup[/]       compiles the common kernels now, for later
    [bold]nbgrad config[/]       shows versions, cache folder, BLAS and threads
    [bold]nbgrad cache info[/]   shows what the kernel cache holds
    """


@experiments.callback(invoke_without_command=True)
def run(
    ctx: typer.Context,
    list_all: Annotated[bool, typer.Option("--list", help="Say what there is, and stop.")] = False,
    names: Annotated[bool, typer.Option("--names", help="Only the names, one a line.")] = False,
) -> None:
    """Run an experiment: it shows how it goes, and draws what came out.

    A training prints its accuracy last. It writes [bold]history.csv[/] (step,
    loss, accuracy) and pictures to --out; Ctrl-C stops it and keeps the steps
    so far.

    [bold]nbgrad run --list[/]
    [bold]nbgrad run moons --last linear[/]
    [bold]nbgrad run digits --seed 3 --out digits-3[/]
    """
    if list_all or names:
        for name, told in summaries(ctx).items():
            print(name if names else f"{name:<16} {told}")
        raise typer.Exit()
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())


@experiments.command("digits")
def run_digits(
    seed: Seed = 0,
    steps: Steps = digits.STEPS,
    compiled: Compiled = False,
    out: Out = Path("nbgrad-out/digits"),
    no_plots: NoPlots = False,
) -> int:
    """Read handwritten digits with a 64-64-32-10 relu network.

    Shows minibatches, momentum and a decaying learning rate, on tracked
    weights that take thousands of updates. The digits are 1,797 scans of
    8 x 8 pixels; a quarter of them is held out to measure the accuracy.
    Pictures show the training, which digits are taken for which, and every
    digit that was misread.

    [bold]nbgrad run digits[/]
    [bold]nbgrad run digits --steps 300 --no-plots[/]
    [bold]nbgrad run digits --compiled[/]  all steps one compiled loop
    """
    train = partial(digits.train, seed, steps, compiled=compiled)
    race = partial(digits.race, seed) if compiled else None
    return _run("digits", "held-out accuracy", train, steps, out, not no_plots, race)


@experiments.command("moons")
def run_moons(
    seed: Seed = 0,
    steps: Steps = moons.STEPS,
    last: Annotated[Last, typer.Option(help="What follows the last layer.")] = "relu",
    compiled: Compiled = False,
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
    [bold]nbgrad run moons --compiled[/]              all steps one compiled loop
    """
    train = partial(moons.train, seed, steps, last, compiled=compiled)
    race = partial(moons.race, seed, last) if compiled else None
    return _run("moons", "accuracy", train, steps, out, not no_plots, race)


@experiments.command("descend")
def run_descend(out: Out = Path("nbgrad-out/descend"), no_plots: NoPlots = False) -> int:
    """Go down a hilly surface from two neighbouring points.

    Shows nbgrad.minimize on y^2 + sin(x): one descent finds the minimum at
    (-pi / 2, 0), the other leaves for the next valley. Writes an animation,
    [bold]descend.gif[/], and its last picture, [bold]descend.png[/].

    [bold]nbgrad run descend[/]
    """
    if not no_plots:
        prepare(out)
    descents = descend.run()
    if not no_plots:
        descend.draw(descents, out)
        print(f"kept in {out}")
    for one in descents:
        print(
            f"from ({one.x[0]}, {one.y[0]}) in {len(one.x) - 1} steps "
            f"to ({one.x[-1]:.3f}, {one.y[-1]:.1g}), height {one.height[-1]:.3f}"
        )
    return 0


@experiments.command("babysqrt")
def run_babysqrt(
    at: Annotated[
        float, typer.Option("--at", min=1e-3, max=1e3, help="Where to take the derivative.")
    ] = 2.0,
    out: Out = Path("nbgrad-out/babysqrt"),
    no_plots: NoPlots = False,
) -> int:
    """Differentiate Heron's square root, a loop, in five ways.

    Compares reverse mode, the same number by number, forward mode and central
    differences with 1 / (2 sqrt(x)), in a table, and draws the derivative
    against x after 1, 3 and 10 steps of the loop.

    [bold]nbgrad run babysqrt[/]
    [bold]nbgrad run babysqrt --at 100[/]
    """
    from nbgrad.experiments.screen import print_table

    if not no_plots:
        prepare(out)
    rows = babysqrt.compare(at)
    if not no_plots:
        babysqrt.draw(at, out / "babysqrt.png")
        print(f"kept in {out}")
    print_table(
        f"The derivative of the square root at {at:g}",
        ("", "derivative", "error"),
        [(row.way, f"{row.derivative:.16f}", f"{row.error:.1e}") for row in rows],
    )
    return 0


@experiments.command("lab-benchmark")
def run_lab_benchmark(
    rounds: Annotated[int, typer.Option(min=1, help="How often each is timed, in turns.")] = 60,
) -> int:
    """Time tracked arrays against arrays of tracked numbers.

    Both track X and Y, compute sum(X @ Y) and pull the gradient of Y: the
    arrays once by accum(Y), once by backward. Each ratio says how many times
    faster that is than number by number: the median over rounds in which
    all took turns.

    [bold]nbgrad run lab-benchmark[/]
    [bold]nbgrad run lab-benchmark --rounds 200[/]
    """
    from nbgrad.experiments.screen import print_table

    rows = []
    for shape in lab_benchmark.SIZES:
        m, n = shape
        cells = [f"{m} x {n} by {n} x {m}"]
        for way, timing in lab_benchmark.measure(shape, rounds).items():
            cells.append(f"{1e6 * timing.seconds:,.1f}")
            if way != "naive":
                cells.append(f"{timing.ratio:,.1f}")
        rows.append(cells)
    print_table(
        "Gradient of sum(X @ Y), microseconds",
        ("", "number by number", "arrays, accum", "ratio", "arrays, backward", "ratio"),
        rows,
    )
    return 0


@experiments.command("trace")
def run_trace(
    rounds: Annotated[int, typer.Option(min=1, help="How many draws each error is over.")] = 100,
    seed: Seed = 0,
    out: Annotated[Path, typer.Option(help="Folder for trace.csv and trace.png.")] = Path(
        "nbgrad-out/trace"
    ),
    no_plots: NoPlots = False,
) -> int:
    """Estimate the divergence of a vector field from few products.

    Compares Hutchinson's estimator with Hutch++, which learns the large part
    of the spectrum first, and three kinds of random vectors, with the exact
    divergence of 100 dimensions beside. Where the spectrum decays, Hutch++ is
    far ahead; where it is flat, there is nothing to learn. Writes the errors
    as [bold]trace.csv[/] and draws them as [bold]trace.png[/].

    [bold]nbgrad run trace[/]
    [bold]nbgrad run trace --rounds 1000[/]
    """
    from nbgrad.experiments.screen import print_table

    prepare(out)
    with counting("trace") as on_part:
        rows = trace.measure(rounds, seed, on_part)
    trace.save(rows, out / "trace.csv")
    if not no_plots:
        trace.draw(rows, out / "trace.png")
    print(f"kept in {out}")
    for spectrum, cells in trace.table(rows).items():
        print_table(
            f"{spectrum.capitalize()} spectrum: error in % of the trace",
            ("products", *map(str, (*trace.PRODUCTS, trace.SIZE))),
            cells,
        )
    return 0


jacobian_commands.add_to(experiments)


def _run(
    name: str,
    accuracy_label: str,
    train: Callable[[OnStep], History],
    steps: int,
    out: Path,
    plots: bool,
    race: Callable[[], Race] | None,
) -> int:
    """Train, save, draw and print, and say what compiling brought; returns the exit code."""
    try:
        prepare(out)
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
        if race is not None:
            print(race())
        print(f"kept in {out}")
        print(f"{accuracy_label} {share} ({history.correct} of {len(history.labels)})")
        return 0
    except KeyboardInterrupt:
        return complain("stopped", STOPPED)
