"""The options that the commands of several experiments share."""

from typing import Annotated, Literal

import typer

Seed = Annotated[int, typer.Option(min=0, help="Draws the data and the first weights.")]
Seeds = Annotated[int, typer.Option(min=1, help="Train from so many seeds, 0 and up.")]
Steps = Annotated[int, typer.Option(min=1, help="How many steps of training.")]
Rounds = Annotated[int, typer.Option(min=1, help="How often each is timed, in turns.")]
Compiled = Annotated[bool, typer.Option("--compiled", help="All steps are one compiled loop.")]
Engine = Annotated[
    Literal["threads", "processes", "dask", "mpi"] | None,
    typer.Option(help="Divide each batch between workers; for mpi, start with mpiexec."),
]
Workers = Annotated[
    int | None, typer.Option(min=1, help="How many workers: threads, or of the --engine.")
]
