"""The command ``nbgrad bench``: the workloads beside the hand and other libraries."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from nbgrad.bench.board import measure
from nbgrad.bench.processes import BenchError
from nbgrad.bench.workloads import workloads
from nbgrad.bench.writing import PAGE, PICTURE, write
from nbgrad.experiments.exits import complain
from nbgrad.experiments.outputs import prepare
from nbgrad.experiments.progress import progress
from nbgrad.experiments.screen import print_table

LEFT_OUT = ("W5b",)
"""A training as a whole, of which `benchmarks/` has the figures."""


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("bench")(bench)


def bench(
    names: Annotated[
        list[str] | None, typer.Argument(help="Workloads, such as W1 W5; all by default.")
    ] = None,
    peers: Annotated[
        bool, typer.Option("--peers", help="Other libraries too, those that are installed.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="A quick look: rough figures.")] = False,
    python: Annotated[
        list[str] | None,
        typer.Option(
            help="The Python of another environment, which has the peers. Of several, the first "
            "runs nbgrad too, and each of the others the peers that none before it has."
        ),
    ] = None,
    budget: Annotated[
        float, typer.Option(min=1.0, help="Seconds after which a first call is given up.")
    ] = 60.0,
    out: Annotated[Path, typer.Option(help="Folder for what is written.")] = Path("nbgrad-out"),
    no_plots: Annotated[bool, typer.Option("--no-plots", help="Draw no picture.")] = False,
) -> int:
    """Measure nbgrad beside NumPy and Numba by hand, and its peers.

    Each workload's value and gradients are checked against those derived by
    hand, then timed in turns on one thread; then time against size, and first
    calls with an empty cache. [bold]board.html[/] shows all of it, board.md,
    board.csv and board.png have the parts.

    [bold]nbgrad bench --quick[/]
    [bold]nbgrad bench W5 W6 --peers[/]
    [bold]python -m venv peers[/]
    [bold]peers/bin/pip install numba scipy autograd mygrad torch jax[/]
    [bold]nbgrad bench --peers --python peers/bin/python[/]
    [bold]python -m venv more[/]
    [bold]more/bin/pip install numba scipy casadi pytensor[/]
    [bold]nbgrad bench --peers --python peers/bin/python --python more/bin/python[/]
    """
    chosen = names or [name for name in workloads if name not in LEFT_OUT]
    unknown = [name for name in chosen if name not in workloads]
    if unknown:
        raise typer.BadParameter(
            f"there is no workload {', '.join(unknown)}: there are {', '.join(workloads)}"
        )
    pictures = not no_plots
    if pictures and find_spec("matplotlib") is None:
        return complain('a picture needs more: pip install "nbgrad[experiments]", or --no-plots')
    prepare(out)
    try:
        with progress("bench") as tell:
            board = measure(chosen, peers, quick, python or [], budget, tell)
    except (BenchError, OSError) as error:
        return complain(str(error))
    if pictures:
        from nbgrad.bench.picture import draw

        draw(board, out / PICTURE)
    write(board, out, pictures)
    who = board.contestants
    rows = [
        [name, *(f"{row[one] * 1e6:.3g}" if one in row else "" for one in who)]
        for name, row in board.times.items()
    ]
    print_table("Microseconds a call", ["", *who], rows)
    if peers and not board.peers:
        print("no other library is installed there: pip install autograd mygrad torch jax")
    for line in board.losses():
        print(line)
    for name, row in board.gave_up.items():
        told = ", ".join(f"{one} after {seconds:g} s" for one, seconds in row.items())
        print(f"gave up on {name}: {told}")
    for line in board.wrong:
        print(f"wrong gradient, not timed: {line}")
    print(f"kept in {out / PAGE}")
    return 0
