"""The commands about Jacobians: ``forward-reverse``, ``accumulation`` and ``transposition``."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from nbgrad.experiments import accumulation, forward_reverse, transposition
from nbgrad.experiments.exits import STOPPED, complain
from nbgrad.experiments.outputs import prepare
from nbgrad.experiments.progress import counting

Rounds = Annotated[int, typer.Option(min=1, help="How often each is timed, in turns.")]
NoPlots = Annotated[bool, typer.Option("--no-plots", help="Draw no pictures.")]


def add_to(experiments: typer.Typer) -> None:
    """Register the commands."""
    experiments.command("forward-reverse")(run_forward_reverse)
    experiments.command("accumulation")(run_accumulation)
    experiments.command("transposition")(run_transposition)


def run_forward_reverse(
    a: Annotated[float, typer.Option("-a", help="In e = (a b) (b + 1).")] = 2.0,
    b: Annotated[float, typer.Option("-b", help="In e = (a b) (b + 1).")] = 3.0,
    at: Annotated[float, typer.Option(min=-5, max=5, help="Where to differentiate.")] = 0.5,
    rounds: Rounds = 5,
    out: Annotated[Path, typer.Option(help="Folder for the table and the pictures.")] = Path(
        "nbgrad-out/forward-reverse"
    ),
    no_plots: NoPlots = False,
) -> int:
    """Compare forward with reverse mode, and the four ways to a derivative.

    Walks through e = (a b) (b + 1) by both modes, with the local derivatives;
    compares 3 x^2 + e^(2 x) by hand, by differences, symbolically and
    automatically; and counts and times both modes on Jacobians from tall to
    wide. Writes [bold]forward-reverse.csv[/], [bold]graph.png[/] and [bold]jacobians.png[/].

    [bold]nbgrad run forward-reverse[/]
    [bold]nbgrad run forward-reverse -a 1 -b -2 --at 1[/]
    """
    from nbgrad.experiments.screen import print_table

    prepare(out)
    try:
        with counting("forward-reverse") as on_part:
            races = forward_reverse.race(rounds, on_part)
    except KeyboardInterrupt:
        return complain("stopped; nothing is kept", STOPPED)
    found = forward_reverse.walk(a, b)
    _write(out / "forward-reverse.csv", forward_reverse.Race._fields, races)
    if not no_plots:
        forward_reverse.draw_walk(found, out / "graph.png")
        forward_reverse.draw_races(races, out / "jacobians.png")
    print(f"kept in {out}")
    print_table(
        f"e = (a b) (b + 1) at a = {a:g}, b = {b:g}",
        ("", "value", "d/da forward", "d/db forward", "de/d reverse"),
        [
            (forward_reverse.FORMULAS[v.name], *(f"{number:g}" for number in v[1:]))
            for v in found.vertices
        ],
    )
    print_table(
        f"The derivative of 3 x^2 + e^(2 x) at {at:g}",
        ("", "derivative", "error"),
        [(w.way, f"{w.derivative:.14f}", f"{w.error:.1e}") for w in forward_reverse.four_ways(at)],
    )
    print_table(
        "Jacobians by forward and by reverse mode: multiplications, milliseconds",
        ("outputs x inputs", "forward", "reverse", "forward ms", "reverse ms", "ratio"),
        [
            (
                f"{r.outputs} x {r.inputs}",
                f"{r.forward_cost:,}",
                f"{r.reverse_cost:,}",
                f"{1e3 * r.forward:,.2f}",
                f"{1e3 * r.reverse:,.2f}",
                f"{r.forward / r.reverse:.2f}",
            )
            for r in races
        ],
    )
    return 0


def run_accumulation(
    seed: Annotated[int, typer.Option(min=0, help="Draws the weights.")] = 0,
    rounds: Rounds = 10,
    out: Annotated[Path, typer.Option(help="Folder for the table and the pictures.")] = Path(
        "nbgrad-out/accumulation"
    ),
    no_plots: NoPlots = False,
) -> int:
    """Find the order in which a Jacobian takes the fewest multiplications.

    Counts the multiplications of the chain rule in forward mode, in reverse
    mode, in the order of Markowitz and in the best that is found, computes
    the Jacobians in each order, and compares them. Writes [bold]accumulation.csv[/],
    [bold]accumulation.png[/] and, of one graph as it shrinks, [bold]elimination.png[/].

    [bold]nbgrad run accumulation[/]
    """
    from nbgrad.experiments.screen import print_table

    prepare(out)
    try:
        with counting("accumulation") as on_part:
            rows = accumulation.compare(seed, rounds, on_part)
    except KeyboardInterrupt:
        return complain("stopped; nothing is kept", STOPPED)
    columns = ("name", "vertices", *accumulation.ORDERS, "difference")
    cells = [(row.name, row.vertices, *row.costs.values(), row.error) for row in rows]
    _write(out / "accumulation.csv", columns, cells)
    if not no_plots:
        accumulation.draw(rows, out / "accumulation.png")
        accumulation.draw_elimination(out / "elimination.png")
    print(f"kept in {out}")
    print_table(
        "Multiplications of a Jacobian; gain: the better mode against the best order",
        ("", "forward", "reverse", "Markowitz", "best", "gain", "in time"),
        [
            (
                row.name,
                *(f"{cost:,}" for cost in row.costs.values()),
                f"{row.saved:.2f}",
                f"{row.time_saved:.2f}",
            )
            for row in rows
        ],
    )
    apart = max(row.error for row in rows)
    print(f"the Jacobians of all orders agree to {apart:.0e} of their largest number")
    return 0


def run_transposition(
    seed: Annotated[int, typer.Option(min=0, help="Draws the data and the weights.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for the table and the picture.")] = Path(
        "nbgrad-out/transposition"
    ),
    no_plots: NoPlots = False,
) -> int:
    """Build reverse mode out of forward mode, by transposing a linear program.

    Pushes symbols through a neuron, shows the linear program that is left and
    its transpose, and compares the gradients of some programs with those of
    the direct pullback. Writes [bold]transposition.csv[/] and [bold]transposition.png[/].

    [bold]nbgrad run transposition[/]
    """
    from nbgrad.experiments.screen import print_table

    prepare(out)
    rows = transposition.compare(seed)
    _write(out / "transposition.csv", transposition.Row._fields, rows)
    if not no_plots:
        transposition.draw(out / "transposition.png")
    print(f"kept in {out}")
    for title, program in zip(
        (
            "tanh(sum(w * x) + b), linear in its tangents:",
            "its transpose, linear in the cotangent:",
        ),
        transposition.side_by_side(),
        strict=True,
    ):
        print(f"\n{title}\n{program}")
    print_table(
        "Gradients by transposition and by the direct pullback",
        ("", "linear ops", "transposed", "apart, relative"),
        [(row.name, row.steps, row.transposed, f"{row.apart:.0e}") for row in rows],
    )
    return 0


def _write(path: Path, columns: Sequence[str], rows: Iterable[Sequence]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
