"""The entry of the command line: it runs the commands and turns every failure into one line."""

import sys
import warnings
from collections.abc import Sequence
from importlib.util import find_spec

from nbgrad.experiments.exits import MISUSED, STOPPED, complain

SCREEN, EXTRAS = ("rich", "typer"), ("matplotlib", "sklearn")
"""What every command imports beyond the library's own dependencies, and what `EXPERIMENTS` do."""
EXPERIMENTS = ("run", "compile-report")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``nbgrad`` with these arguments (default: the process's) and return its exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    needed = SCREEN + EXTRAS if arguments and arguments[0] in EXPERIMENTS else SCREEN
    if any(find_spec(name) is None for name in needed):
        return complain('this command needs more packages: pip install "nbgrad[experiments]"')
    try:
        with warnings.catch_warnings():
            # A warning is one line too, without the place in the code.
            warnings.showwarning = lambda message, *_: complain(str(message))
            from nbgrad.experiments.commands import app

            code = app(arguments or ["--help"], prog_name="nbgrad", standalone_mode=False)
    except KeyboardInterrupt:
        return complain("stopped", STOPPED)
    except OSError as error:
        return complain(str(error))
    except Exception as error:
        # Typer's own complaints share no public class across its versions, but this method.
        if not hasattr(error, "format_message"):
            raise
        told, context = error.format_message(), getattr(error, "ctx", None)  # pyright: ignore
        if not told.startswith("there is no"):  # which names what there is
            path = context.command_path if context else "nbgrad"
            told = f"{told.rstrip('.')}; {path} --help says what there is"
        return complain(told, MISUSED)
    return code or 0


if __name__ == "__main__":
    sys.exit(main())
