"""The entry of the command line: it runs the commands and turns every failure into one line."""

import os
import sys
import warnings
from collections.abc import Sequence
from importlib.util import find_spec

from nbgrad import stopping
from nbgrad.errors import MissingExtra, WorkerError
from nbgrad.experiments.exits import MISUSED, STOPPED, complain

SCREEN, EXTRAS = ("rich", "typer"), ("matplotlib", "sklearn")
"""What every command imports beyond the library's own dependencies, and what `EXPERIMENTS` do."""
EXPERIMENTS = ("run", "compile-report")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``nbgrad`` with these arguments (default: the process's) and return its exit code."""
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
        # A warning is one line too, without the place in the code.
        warnings.showwarning = lambda message, *_: complain(str(message))
        from nbgrad.cli.commands import app

        return app(arguments or ["--help"], prog_name="nbgrad", standalone_mode=False) or 0


def _explain(error: Exception) -> int:
    """One line about what failed; raises it again where it is no fault of the call."""
    if isinstance(error, (OSError, MissingExtra, WorkerError)):
        return complain(str(error))
    # Typer's own complaints share no public class across its versions, but this method.
    if not hasattr(error, "format_message"):
        raise error
    told, context = error.format_message(), getattr(error, "ctx", None)  # pyright: ignore
    if not told.startswith("there is no"):  # which names what there is
        path = context.command_path if context else "nbgrad"
        told = f"{told.rstrip('.')}; {path} --help says what there is"
    return complain(told, MISUSED)


def _fill_closed_streams() -> None:
    """Where the shell closed a stream (`>&-`), Python has None, which nobody expects."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))
