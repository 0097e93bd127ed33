"""How a command ends: its exit codes, and the one line that says why."""

import sys

from nbgrad.stopping import STOPPED as STOPPED

FAILED, MISUSED = 1, 2
"""Exit codes: it did not work, it was called wrongly; STOPPED is for Ctrl-C."""


def complain(message: str, code: int = FAILED) -> int:
    """Write one line to stderr; returns the exit code."""
    print("nbgrad:", " ".join(message.removeprefix("nbgrad: ").split()), file=sys.stderr)
    return code
