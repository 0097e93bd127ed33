"""Live progress: a bar on a terminal, a few plain lines anywhere else."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LINES = 10
"""How many lines report a whole run where there is no terminal."""

Tell = Callable[[int, int, str], None]
"""Called with how much is done, how much there is, and a few words."""


@contextmanager
def progress(name: str) -> Iterator[Tell]:
    """Show how work goes on; gives the function to call as each part of it is done."""
    from rich.console import Console

    console = Console()
    # Rich's own test can be overruled by environment variables, and would then write control
    # characters into a file.
    if not sys.stdout.isatty() or console.is_dumb_terminal:
        yield lambda done, total, text: _line(name, done, total, text)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TextColumn("{task.fields[text]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, expand=True) as bar:
        task = bar.add_task(name, total=None, text="compiling")
        yield lambda done, total, text: bar.update(task, completed=done, total=total, text=text)


def _line(name: str, done: int, total: int, text: str) -> None:
    if done == 1 or done * LINES // total > (done - 1) * LINES // total:
        print(f"{name} {done:{len(str(total))}d} of {total}  {text}".rstrip(), flush=True)
