"""A progress bar on a terminal or in a notebook, shown after two seconds."""

import sys
import time
from html import escape
from typing import Protocol

from .lines import ipython

PATIENCE = 2.0
"""Seconds before the bar is shown."""


class Shown(Protocol):
    """A bar that is on the screen."""

    def update(self, done: int, report: str) -> None: ...

    def stop(self) -> None: ...


class Bar:
    """A bar with the number of completed steps. Without a terminal, a notebook or rich it shows
    nothing."""

    def __init__(self, steps: int, wanted: bool = True):
        self._steps, self._wanted = steps, wanted and (sys.stdout.isatty() or _in_notebook())
        self._started = time.monotonic()
        self._shown: Shown | None = None

    def __enter__(self) -> "Bar":
        return self

    def update(self, done: int, report: str) -> None:
        """Set the number of completed steps."""
        if self._shown is None and self._wanted and time.monotonic() - self._started > PATIENCE:
            self._shown = Notebook(self._steps) if _in_notebook() else on_terminal(self._steps)
            self._wanted = self._shown is not None
        if self._shown is not None:
            self._shown.update(done, report)

    def __exit__(self, *error: object) -> None:
        if self._shown is not None:
            self._shown.stop()


def on_terminal(steps: int) -> Shown | None:
    """Return a bar of rich, or None if it is missing or the terminal cannot show it."""
    try:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )
    except ImportError:
        return None
    console = Console()
    if console.is_dumb_terminal:
        return None

    class Terminal(Progress):
        def update(self, done: int, report: str) -> None:  # pyright: ignore
            super().update(self.task_ids[0], completed=done, report=report)

    report = TextColumn("{task.fields[report]}")
    columns = BarColumn(bar_width=None), MofNCompleteColumn(), report, TimeRemainingColumn()
    bar = Terminal(*columns, console=console, expand=True, transient=True)
    bar.add_task("", total=steps, report="")
    bar.start()
    return bar


def _in_notebook() -> bool:
    """Whether the process is the kernel of a notebook, which shows HTML."""
    return getattr(ipython(), "kernel", None) is not None


class Notebook:
    """A bar of HTML below the cell that runs, removed at the end."""

    def __init__(self, steps: int):
        from IPython.display import HTML, display  # pyright: ignore[reportMissingImports]

        self._steps, self._html = steps, HTML
        self._display = display(HTML(""), display_id=True)
        self._last = 0.0

    def update(self, done: int, report: str) -> None:
        """Set the number of completed steps, at most ten times a second."""
        now = time.monotonic()
        if now - self._last > 0.1 or done >= self._steps:
            self._last = now
            self._display.update(
                self._html(
                    f'<progress value="{done}" max="{self._steps}" style="width: 40%"></progress> '
                    f"{done:,} of {self._steps:,} {escape(report)}"
                )
            )

    def stop(self) -> None:
        self._display.update(self._html(""))
