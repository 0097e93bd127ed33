"""The folder that a command writes to."""

import tempfile
from pathlib import Path

import typer


def prepare(out: Path) -> None:
    """Make the folder and check that it can be written, before any time is spent on training."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=out).close()
    except OSError as error:
        raise typer.BadParameter(
            f"cannot write to {str(out)!r}: {error.strerror}", param_hint="'--out'"
        ) from None
