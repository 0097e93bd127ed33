"""Who runs the workloads: by hand, nbgrad's tiers, and other libraries where they are installed."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from .hand_numba import hand_numba
from .libraries import Library, naive_library, nbgrad_compiled_library, nbgrad_library
from .peers import as_numpy, peers
from .workloads import Workload, hand_runner, numba_runner, runner, takes

NUMPY, NUMBA, EAGER, COMPILED = "NumPy by hand", "Numba by hand", "nbgrad", "nbgrad compiled"
OURS = {"naive": naive_library, EAGER: nbgrad_library, COMPILED: nbgrad_compiled_library}


@dataclass(frozen=True)
class Contestant:
    """A name, what it takes, how a workload is run, and the least that has to be compiled before
    a first call is timed: the start of the compiler itself."""

    name: str
    takes: Callable[[Workload], bool]
    runner: Callable[[Workload], Callable[[], tuple]]
    start: Callable[[], Any]


def contestant(name: str) -> Contestant:
    """The contestant of that name; ImportError where its package is missing."""
    if name == NUMPY:
        return Contestant(name, lambda _: True, hand_runner, lambda: None)
    if name == NUMBA:
        run = lambda workload: numba_runner(workload, hand_numba())  # noqa: E731
        known = hand_numba()
        return Contestant(name, lambda w: w.name in known, run, lambda: numba.njit(_next)(1.0))
    library: Library = (OURS[name] if name in OURS else peers[name])()
    return Contestant(
        name,
        lambda workload: takes(library, workload),
        lambda workload: runner(workload, library),
        lambda: library.prepare(_next, [np.array(1.0)], [])(),
    )


def names(others: Iterable[str] = ()) -> list[str]:
    """Our contestants in the order of the board, and others."""
    return [NUMPY, NUMBA, *OURS, *others]


def agrees(result: tuple, expected: tuple, tolerance: float) -> bool:
    """Whether a runner's value and gradients are those derived by hand.

    Gradients may stand flat after the value, as hand-written Numba has them.
    """
    value, *gradients = result
    if len(gradients) == 1 and isinstance(gradients[0], (list, tuple)):
        gradients = gradients[0]
    (value, bars), (wanted, wanted_bars) = as_numpy((value, gradients)), as_numpy(expected)
    # Where an array's gradient is 0, as of a bias before a normalisation, there is rounding only.
    scale = max(float(np.max(np.abs(bar), initial=0.0)) for bar in wanted_bars)
    return abs(value - wanted) <= tolerance * abs(wanted) and all(
        bar.shape == by_hand.shape and np.max(np.abs(bar - by_hand)) <= tolerance * scale
        for bar, by_hand in zip(bars, wanted_bars, strict=True)
    )


def _next(x: Any) -> Any:
    return x + 1.0
