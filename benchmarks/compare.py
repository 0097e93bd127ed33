"""nbgrad, NumPy by hand and the installed peers, in turns: one table of times and ratios to hand.

python benchmarks/compare.py                  every workload
python benchmarks/compare.py W1 W5 --rounds 50
"""

import argparse
import warnings

from peers import installed, peers
from timing import Times, interleave
from workloads import (
    hand_runner,
    nbgrad_anew_library,
    nbgrad_function_library,
    nbgrad_library,
    runner,
    workloads,
)

HAND = "NumPy by hand"
HEADER = ("workload", "library", "median, us", "least, us", "ratio", "of least")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    # Not `choices`: some Pythons refuse an empty list with them.
    parser.add_argument("names", nargs="*", help=f"of {', '.join(workloads)}")
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    unknown = set(options.names) - set(workloads)
    if unknown:
        parser.error(f"no workload {', '.join(unknown)}: there are {', '.join(workloads)}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the peers, on import
        libraries = [nbgrad_library(), nbgrad_anew_library(), nbgrad_function_library()]
        libraries += [peers[name]() for name in installed()]
    rows = []
    for name in options.names or workloads:
        workload = workloads[name]
        runs = {HAND: hand_runner(workload)}
        runs |= {library.name: runner(workload, library) for library in libraries}
        times = interleave(runs, HAND, options.rounds)
        rows += [_row(name, library, found, times[HAND]) for library, found in times.items()]
    show(rows)


def _row(name: str, library: str, times: Times, hand: Times) -> tuple[str, ...]:
    return (
        name,
        library,
        f"{times.middle * 1e6:.1f}",
        f"{times.least * 1e6:.1f}",
        f"{times.ratio:.2f}",
        f"{times.least / hand.least:.2f}",
    )


def show(rows: list[tuple[str, ...]]) -> None:
    """A table: by rich where it is installed, else in plain text."""
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        widths = [max(map(len, column)) for column in zip(HEADER, *rows, strict=True)]
        for row in [HEADER, *rows]:
            cells = zip(row, widths, strict=True)
            print("  ".join(c.ljust(w) if i < 2 else c.rjust(w) for i, (c, w) in enumerate(cells)))
        return
    table = Table()
    for title in HEADER[:2]:
        table.add_column(title, no_wrap=True)
    for title in HEADER[2:]:
        table.add_column(title, justify="right")
    for i, row in enumerate(rows):
        last = i + 1 == len(rows) or rows[i + 1][0] != row[0]
        table.add_row(*row, end_section=last)
    Console().print(table)


if __name__ == "__main__":
    main()
