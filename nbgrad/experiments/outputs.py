"""The folder that a command writes to."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

import typer

from nbgrad.parallel.engines import extra


def prepare(out: Path) -> None:
    """Make the folder and check that it can be written, before any time is spent on training."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=out).close()
    except OSError as error:
        raise typer.BadParameter(
            f"cannot write to {str(out)!r}: {error.strerror}", param_hint="'--out'"
        ) from None


@contextmanager
def shown_once(out: Path, mpi: bool) -> Iterator[Path]:
    """The folder to write to. Where ranks of MPI run the same command, the first shows and writes;
    the others say nothing. One that fails ends all, which would wait for it."""
    if not mpi:
        yield out
        return
    first = extra("mpi4py.MPI", "mpi").COMM_WORLD.Get_rank() == 0
    try:
        if first:
            yield out
            return
        with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w") as nowhere:
            with redirect_stdout(nowhere):
                yield Path(folder)
    except BaseException:
        extra("mpi4py.run", "mpi").set_abort_status(1)
        raise
