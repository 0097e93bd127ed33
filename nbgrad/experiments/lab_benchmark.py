"""Arrays of tracked numbers against tracked arrays: the gradient of ``sum(X @ Y)``, both ways, and
the same compiled."""

import gc
import tracemalloc
from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

import nbgrad
from nbgrad import naive
from nbgrad.experiments.options import Rounds
from nbgrad.experiments.sheet import Sheet

SIZES = ((2, 3), (20, 30))
"""X has such a shape, and Y that of its transpose."""
NAMES = {
    "naive": "number by number",
    "accum": "arrays, accum",
    "backward": "arrays, backward",
    "compiled": "compiled",
}
_ROUND = 0.004  # seconds that one round of one way should last


class Timing(NamedTuple):
    """Seconds a run, and how many times slower the naive way was: medians over the rounds."""

    seconds: float
    ratio: float


class Held(NamedTuple):
    """Blocks of memory, and their bytes, that the graph and the gradients of one run hold."""

    blocks: float
    bytes: float


def by_accum(module: Any, x: np.ndarray, y: np.ndarray) -> tuple:
    """Track, multiply, sum and pull the gradient of Y, with `nbgrad` or with `nbgrad.naive`; gives
    the gradient, then what holds the graph."""
    tracked_x, tracked_y = module.track(x), module.track(y)
    z = np.sum(tracked_x @ tracked_y)
    z.grad = 1.0
    return module.accum(tracked_y), tracked_x, tracked_y, z


def by_backward(x: np.ndarray, y: np.ndarray) -> tuple:
    """The same by `backward`, which gives the gradient of X as well."""
    tracked_x, tracked_y = nbgrad.track(x), nbgrad.track(y)
    z = (tracked_x @ tracked_y).sum()
    z.backward()
    return tracked_y.grad, tracked_x, tracked_y, z


@nbgrad.compile
@nbgrad.grad
def compiled(y: Any, x: Any) -> Any:
    """The gradient of Y as one compiled function."""
    return np.sum(x @ y)


def ways_of(shape: tuple[int, int]) -> dict[str, Callable[[], tuple]]:
    """Each way, ready to run."""
    rng = np.random.default_rng(0)
    x, y = rng.random(shape), rng.random(shape[::-1])
    return {
        "naive": lambda: by_accum(naive, x, y),
        "accum": lambda: by_accum(nbgrad, x, y),
        "backward": lambda: by_backward(x, y),
        "compiled": lambda: (compiled(y, x),),
    }


def measure(shape: tuple[int, int], rounds: int) -> dict[str, Timing]:
    """Time all in turns: machines drift, so only what ran side by side is compared."""
    ways = ways_of(shape)
    for run in ways.values():
        np.testing.assert_allclose(run()[0], ways["naive"]()[0], rtol=1e-12)
    repeats = [max(1, round(_ROUND / _time(run, 3))) for run in ways.values()]
    times = np.array(
        [[_time(*both) for both in zip(ways.values(), repeats, strict=True)] for _ in range(rounds)]
    )
    ratios = times[:, :1] / times
    return {
        way: Timing(float(np.median(times[:, i])), float(np.median(ratios[:, i])))
        for i, way in enumerate(ways)
    }


def memory(shape: tuple[int, int], runs: int = 5) -> dict[str, Held]:
    """What each way holds: counted over some runs that are all kept alive."""
    return {way: _held(run, runs) for way, run in ways_of(shape).items()}


def _held(run: Callable[[], tuple], runs: int) -> Held:
    run()  # what is made once and kept, such as a plan, is no part of a run
    kept: list = [None] * runs
    tracemalloc.start()
    try:
        for i in range(runs):
            kept[i] = run()
        blocks = len(tracemalloc.take_snapshot().traces)
        return Held(blocks / runs, tracemalloc.get_traced_memory()[0] / runs)
    finally:
        tracemalloc.stop()


def _time(run: Callable[[], Any], repeat: int) -> float:
    """Seconds a run, without the garbage collector, which would slow the many objects most."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        start = perf_counter()
        for _ in range(repeat):
            run()
        return (perf_counter() - start) / repeat
    finally:
        if collecting:
            gc.enable()


def run(sheet: Sheet, rounds: Rounds = 60) -> None:
    """Time tracked arrays against arrays of tracked numbers.

    Both track X and Y, compute sum(X @ Y) and pull the gradient of Y: the
    arrays once by accum(Y), once by backward, and once compiled. The gain says
    how many times faster that is than number by number: the median over
    rounds in which all took turns. Memory is what graph and gradients hold.

    [bold]nbgrad run lab-benchmark[/]
    [bold]nbgrad run lab-benchmark --rounds 200[/]
    """
    for m, n in SIZES:
        held = memory((m, n))
        timings = measure((m, n), rounds)
        sheet.table(
            f"{m}x{n}",
            f"Gradient of Y in sum(X @ Y), {m} x {n} by {n} x {m}",
            {"": "", "microseconds": ",.1f", "gain": ",.1f", "blocks": ",.0f", "KiB": ",.2f"},
            [
                (NAMES[way], 1e6 * timing.seconds, timing.ratio, held[way].blocks,
                 held[way].bytes / 1024)
                for way, timing in timings.items()
            ],
        )  # fmt: skip
        for way in ("accum", "compiled"):
            sheet.figure(f"gain of {NAMES[way]}, {m} x {n}", timings[way].ratio)
        if (m, n) == SIZES[0]:
            for way in ("naive", "accum"):
                sheet.figure(f"blocks held, {NAMES[way]}, {m} x {n}", held[way].blocks)
