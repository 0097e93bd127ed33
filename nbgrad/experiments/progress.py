"""Live progress: a bar on a terminal, a few plain lines anywhere else."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from nbgrad.experiments.history import OnStep, Step

LINES = 10
"""How many lines report a whole training where there is no terminal."""


@contextmanager
def progress(name: str, steps: int) -> Iterator[OnStep]:
    """Show the progress of ``steps`` steps; gives the function to call after each."""
    from rich.console import Console

    console = Console()
    # Rich's own test can be overruled by environment variables, and would then write control
    # characters into a file.
    if sys.stdout.isatty() and not console.is_dumb_terminal:
        with _bar(console, name, steps) as on_step:
            yield on_step
    else:
        yield lambda step: _line(step, steps)


@contextmanager
def _bar(console, name: str, steps: int) -> Iterator[OnStep]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TextColumn("{task.fields[report]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, expand=True) as bar:
        task = bar.add_task(name, total=steps, report="compiling")

        def on_step(step: Step) -> None:
            bar.update(task, completed=step.step, report=_report(step))

        yield on_step


@contextmanager
def counting(name: str) -> Iterator[Callable[[int, int, str], None]]:
    """Show work of which each part has a name; gives the function to call before each, with how
    many are done, how many there are, and the name."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console()
    if not sys.stdout.isatty() or console.is_dumb_terminal:
        yield lambda done, total, part: _tenth(name, done, total, part)
        return
    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TextColumn("{task.fields[part]:<20}"),
    )
    with Progress(*columns, console=console, expand=True, transient=True) as bar:
        task = bar.add_task(name, total=None, part="")
        yield lambda done, total, part: bar.update(task, completed=done, total=total, part=part)


def _tenth(name: str, done: int, total: int, part: str) -> None:
    if done * LINES // total > (done - 1) * LINES // total:
        print(f"{name} {done:{len(str(total))}d} of {total}  {part}", flush=True)


def _line(step: Step, steps: int) -> None:
    if step.step == 1 or step.step * LINES // steps > (step.step - 1) * LINES // steps:
        print(f"step {step.step:{len(str(steps))}d} of {steps}  {_report(step)}", flush=True)


def _report(step: Step) -> str:
    return f"loss {step.loss:.4f}  accuracy {100 * step.accuracy:5.1f} %"
