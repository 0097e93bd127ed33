"""A progress bar on a terminal, shown after two seconds."""

import sys
import time
from typing import Any

PATIENCE = 2.0
"""Seconds before the bar is shown."""


class Bar:
    """A bar with the number of completed steps. Without a terminal or rich it shows nothing."""

    def __init__(self, steps: int, wanted: bool = True):
        self._steps, self._wanted = steps, wanted and sys.stdout.isatty()
        self._started = time.monotonic()
        self._shown: Any = None

    def __enter__(self) -> "Bar":
        return self

    def update(self, done: int, report: str) -> None:
        """Set the number of completed steps."""
        if self._shown is None and self._wanted and time.monotonic() - self._started > PATIENCE:
            self._open()
        if self._shown is not None:
            self._shown.update(self._shown.task_ids[0], completed=done, report=report)

    def _open(self) -> None:
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
            self._wanted = False
            return
        console = Console()
        if console.is_dumb_terminal:
            self._wanted = False
            return
        report = TextColumn("{task.fields[report]}")
        columns = BarColumn(bar_width=None), MofNCompleteColumn(), report, TimeRemainingColumn()
        self._shown = Progress(*columns, console=console, expand=True, transient=True)
        self._shown.add_task("", total=self._steps, report="")
        self._shown.start()

    def __exit__(self, *error: object) -> None:
        if self._shown is not None:
            self._shown.stop()
