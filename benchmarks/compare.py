"""nbgrad, NumPy and Numba by hand and the installed peers, in turns: one table of times and ratios.

python benchmarks/compare.py                  every workload
python benchmarks/compare.py W1 W5 --rounds 50 --to "Numba by hand"
"""

import argparse
import warnings

from nbgrad.bench.hand_numba import fast, hand_numba
from nbgrad.bench.libraries import (
    naive_library,
    nbgrad_anew_library,
    nbgrad_compiled_library,
    nbgrad_function_library,
    nbgrad_library,
)
from nbgrad.bench.peers import installed, peers
from nbgrad.bench.timing import Times, interleave
from nbgrad.bench.workloads import hand_runner, numba_runner, runner, takes, workloads

HAND = "NumPy by hand"
OURS = (
    nbgrad_library,
    nbgrad_anew_library,
    nbgrad_function_library,
    nbgrad_compiled_library,
)
HEADER = ("workload", "library", "median, us", "least, us", "ratio", "of least")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    # Not `choices`: some Pythons refuse an empty list with them.
    parser.add_argument("names", nargs="*", help=f"of {', '.join(workloads)}")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--naive", action="store_true", help="number by number too, which is slow")
    parser.add_argument("--to", default=HAND, help=f"ratios to this (default: {HAND})")
    options = parser.parse_args()
    unknown = set(options.names) - set(workloads)
    if unknown:
        parser.error(f"no workload {', '.join(unknown)}: there are {', '.join(workloads)}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the peers, on import
        libraries = [make() for make in OURS]
        if options.naive:
            libraries.append(naive_library())
        libraries += [peers[name]() for name in installed()]
    numba_by_hand = {
        "Numba by hand": hand_numba(), "Numba by hand, nbgrad's exp": hand_numba(fast()),
    }  # fmt: skip
    rows = []
    for name in options.names or workloads:
        workload = workloads[name]
        runs = {HAND: hand_runner(workload)}
        for label, functions in numba_by_hand.items():
            if name in functions:
                runs[label] = numba_runner(workload, functions)
        able = [library for library in libraries if takes(library, workload)]
        runs |= {library.name: runner(workload, library) for library in able}
        if options.to not in runs:
            parser.error(f"no library {options.to!r}: there are {', '.join(runs)}")
        times = interleave(runs, options.to, options.rounds)
        rows += [_row(name, key, found, times[options.to]) for key, found in times.items()]
    show(rows)


def _row(name: str, library: str, times: Times, base: Times) -> tuple[str, ...]:
    return (
        name,
        library,
        f"{times.middle * 1e6:.1f}",
        f"{times.least * 1e6:.1f}",
        f"{times.ratio:.2f}",
        f"{times.least / base.least:.2f}",
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
