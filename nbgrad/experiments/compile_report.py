"""The command ``compile-report``: what a compiled program of the experiments does, step by step."""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer

import nbgrad
from nbgrad.experiments import digits, moons
from nbgrad.experiments.outputs import prepare
from nbgrad.static.inspect.report import HEADER, NUMBERS, Plan, in_bytes
from nbgrad.static.variant import Variant

PROGRAMS: dict[str, Callable[[], Variant]] = {"moons": moons.program, "digits": digits.program}
"""A step of training each: loss, gradients and update."""
STAGES: dict[str, Callable[[Variant], object]] = {
    "program": lambda variant: variant.program,
    "lower": lambda variant: variant.lowered,
    "schedule": lambda variant: variant.schedule,
    "loops": lambda variant: variant.loops,
    "source": lambda variant: variant.source,
}
"""What each stage of the compiler makes of a program, in order."""


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("compile-report")(report)


def report(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(PROGRAMS)}.")],
    out: Annotated[Path | None, typer.Option(help="Folder for the page and the picture.")] = None,
    no_plots: Annotated[bool, typer.Option("--no-plots", help="Draw no picture.")] = False,
    stage: Annotated[
        str | None,
        typer.Option(help=f"Print only what a stage made of it: one of {', '.join(STAGES)}."),
    ] = None,
) -> int:
    """Show what a compiled step of training does: its work, and its memory.

    Prints a table of the steps with their operations, the bytes that they read
    and write, and the line of Python that they come from. Writes
    [bold]report.html[/], with the recorded program and the emitted code too, and
    [bold]buffers.png[/], which shows from which step to which each buffer lives.

    With [bold]--stage[/] it prints one stage of the compiler, and writes nothing:
    [bold]program[/] is the function as it was recorded, one op a line; [bold]lower[/] has
    the few kinds of values that ops are made of; [bold]schedule[/] says which of them
    share a loop nest; [bold]loops[/] has the loops over memory; [bold]source[/] is the
    text that Numba compiles.

    [bold]nbgrad compile-report moons[/]
    [bold]nbgrad compile-report moons --stage schedule[/]
    [bold]nbgrad compile-report digits --out digits-report[/]
    """
    from nbgrad.experiments.screen import print_table

    if name not in PROGRAMS:
        raise typer.BadParameter(f"there is no program {name!r}; {_hint(name, PROGRAMS)}")
    if stage is not None:
        if stage not in STAGES:
            raise typer.BadParameter(f"there is no stage {stage!r}; {_hint(stage, STAGES)}")
        print(STAGES[stage](PROGRAMS[name]()))
        return 0
    out = out or Path("nbgrad-out") / f"compile-report-{name}"
    prepare(out)
    page = nbgrad.show(PROGRAMS[name]())
    plan = page.plan
    print_table(plan.summary, HEADER, plan.rows(), NUMBERS)
    page.save(out / "report.html")
    if not no_plots:
        plot_buffers(plan, out / "buffers.png", f"A step of {name}: its buffers")
    print(f"kept in {out}")
    return 0


def _hint(name: str, known: Mapping[str, object]) -> str:
    near = get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known)}"


def plot_buffers(plan: Plan, path: Path, title: str) -> None:
    """Draw each buffer as a bar from its first step to its last, and above them how many bytes of
    scratch and results are in use; write it as a PNG."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    from nbgrad.experiments.style import GRID, INK, new_figure, tidy
    from nbgrad.static.inspect.page import COLOURS

    figure = new_figure(9, 2.6 + 0.17 * len(plan.buffers))
    above, below = figure.subplots(
        2, 1, sharex=True, height_ratios=[1.6, 0.4 + 0.17 * len(plan.buffers)]
    )
    figure.suptitle(title, color=INK, fontsize=13)
    steps = range(len(plan.steps))
    floor = [0] * len(plan.steps)
    for kind in ("scratch", "result"):
        buffers = [buffer for buffer in plan.buffers if buffer.kind == kind]
        used = [sum(b.size for b in buffers if b.first <= step <= b.last) for step in steps]
        above.bar(steps, used, bottom=floor, width=0.9, color=COLOURS[kind], label=kind)
        floor = [low + high for low, high in zip(floor, used, strict=True)]
    above.yaxis.set_major_formatter(FuncFormatter(lambda size, _: in_bytes(size)))
    above.set_ylabel("in use")
    for row, buffer in enumerate(plan.buffers):
        length = buffer.last - buffer.first + 0.9
        below.barh(row, length, 0.7, buffer.first - 0.45, color=COLOURS[buffer.kind])
    below.set_yticks(
        range(len(plan.buffers)),
        [f"{b.name}  {b.what}  {in_bytes(b.size)}" for b in plan.buffers],
        fontsize=6.5,
        family="monospace",
    )
    below.invert_yaxis()
    below.set_ylim(len(plan.buffers) - 0.4, -0.6)
    below.set_xlabel("step")
    below.xaxis.set_major_locator(MaxNLocator(integer=True))
    for axes in (above, below):
        axes.grid(axis="x", color=GRID, linewidth=0.8)
        tidy(axes)
    handles = [below.barh(0, 0, color=colour) for colour in COLOURS.values()]
    above.legend(handles, list(COLOURS), loc="upper right", fontsize=8, frameon=False, ncols=3)
    figure.savefig(path)
