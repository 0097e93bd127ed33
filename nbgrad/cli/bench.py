"""The command ``nbgrad bench``: compare with hand-written code and other libraries."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from nbgrad.bench.board import measure
from nbgrad.bench.processes import BenchError
from nbgrad.bench.workloads import workloads
from nbgrad.bench.writing import BARS, PAGE, PICTURE, write
from nbgrad.experiments.exits import complain
from nbgrad.experiments.outputs import prepare
from nbgrad.experiments.progress import progress
from nbgrad.experiments.screen import print_table

LEFT_OUT = ("W5b",)
"""A whole training, which `benchmarks/` measures."""


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("bench")(bench)


def bench(
    names: Annotated[
        list[str] | None, typer.Argument(help="Workloads, such as W1 W5; all by default.")
    ] = None,
    peers: Annotated[
        bool, typer.Option("--peers", help="Also measure other libraries that are installed.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Measure quickly and roughly.")] = False,
    python: Annotated[
        list[str] | None,
        typer.Option(
            help="The Python of an environment with other libraries. With several, the first one "
            "also runs nbgrad, and each of the others runs libraries that the previous ones lack."
        ),
    ] = None,
    budget: Annotated[
        float, typer.Option(min=1.0, help="Time limit for a first call, in seconds.")
    ] = 60.0,
    out: Annotated[Path, typer.Option(help="Output folder.")] = Path("nbgrad-out"),
    no_plots: Annotated[bool, typer.Option("--no-plots", help="Do not draw a picture.")] = False,
) -> int:
    """Compare nbgrad with hand-written NumPy and Numba code, and other libraries.

    The value and gradients of each workload are checked against gradients
    derived by hand, and then timed on one thread, followed by times for
    different sizes and first calls with an empty cache. The results are written
    to [bold]board.html[/], board.md, board.csv, board.png and speed.png.

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
        from nbgrad.bench.bars import draw_bars
        from nbgrad.bench.picture import draw

        draw(board, out / PICTURE)
        named = {workloads[name].what: row for name, row in board.times.items() if row}
        draw_bars(named, out / BARS)
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
