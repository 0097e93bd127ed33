"""Entry point of the command line: runs commands and prints each error as one line."""

import os
import sys
import warnings
from collections.abc import Sequence
from importlib.util import find_spec

from nbgrad import stopping
from nbgrad.errors import MissingExtra, WorkerError
from nbgrad.experiments.exits import MISUSED, STOPPED, complain

SCREEN, EXTRAS = ("rich", "typer"), ("matplotlib", "sklearn")
"""Optional packages that all commands need, and those that `EXPERIMENTS` need."""
EXPERIMENTS = ("run", "compile-report")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``nbgrad`` with arguments (by default those of the process); return the exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    _fill_closed_streams()
    with stopping.noticed() as interrupts:
        try:
            return _run(arguments)
        except KeyboardInterrupt:
            return complain("stopped", STOPPED)
        except Exception as error:
            return complain("stopped", STOPPED) if interrupts else _explain(error)


def _run(arguments: list[str]) -> int:
    needed = SCREEN + EXTRAS if arguments and arguments[0] in EXPERIMENTS else SCREEN
    if any(find_spec(name) is None for name in needed):
        return complain('this command needs more packages: pip install "nbgrad[experiments]"')
    with warnings.catch_warnings():
        # Warnings are printed as one line, without their location.
        warnings.showwarning = lambda message, *_: complain(str(message))
        from nbgrad.cli.commands import app

        return app(arguments or ["--help"], prog_name="nbgrad", standalone_mode=False) or 0


def _explain(error: Exception) -> int:
    """Print an error of the user as one line; raise other errors again."""
    if isinstance(error, (OSError, MissingExtra, WorkerError)):
        return complain(str(error))
    # Typer's errors have no common public class in all versions, but they have this method.
    if not hasattr(error, "format_message"):
        raise error
    told, context = error.format_message(), getattr(error, "ctx", None)  # pyright: ignore
    if not told.startswith("there is no"):  # such messages list the alternatives
        path = context.command_path if context else "nbgrad"
        told = f"{told.rstrip('.')}; {path} --help says what there is"
    return complain(told, MISUSED)


def _fill_closed_streams() -> None:
    """Replace streams that the shell closed (`>&-`), which are None in Python."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))
