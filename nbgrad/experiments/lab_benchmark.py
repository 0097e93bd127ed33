"""Arrays of tracked numbers against tracked arrays: the gradient of ``sum(X @ Y)``, both ways."""

import gc
from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

import nbgrad
from nbgrad import naive

SIZES = ((2, 3), (20, 30))
"""X has such a shape, and Y that of its transpose."""
_ROUND = 0.004  # seconds that one round of one way should last


class Timing(NamedTuple):
    """Seconds a run, and how many times slower the naive way was: medians over the rounds."""

    seconds: float
    ratio: float


def by_accum(module: Any, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Track, multiply, sum and pull the gradient of Y, with `nbgrad` or with `nbgrad.naive`."""
    tracked_x, tracked_y = module.track(x), module.track(y)
    z = np.sum(tracked_x @ tracked_y)
    z.grad = 1.0
    return module.accum(tracked_y)


def by_backward(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The same by `backward`, which gives the gradient of X as well."""
    tracked_x, tracked_y = nbgrad.track(x), nbgrad.track(y)
    (tracked_x @ tracked_y).sum().backward()
    return tracked_y.grad


def measure(shape: tuple[int, int], rounds: int) -> dict[str, Timing]:
    """Time all in turns: machines drift, so only what ran side by side is compared."""
    rng = np.random.default_rng(0)
    x, y = rng.random(shape), rng.random(shape[::-1])
    ways: dict[str, Callable[[], np.ndarray]] = {
        "naive": lambda: by_accum(naive, x, y),
        "accum": lambda: by_accum(nbgrad, x, y),
        "backward": lambda: by_backward(x, y),
    }
    for run in ways.values():
        np.testing.assert_allclose(run(), ways["naive"](), rtol=1e-12)
    repeats = [max(1, round(_ROUND / _time(run, 3))) for run in ways.values()]
    times = np.array(
        [[_time(*both) for both in zip(ways.values(), repeats, strict=True)] for _ in range(rounds)]
    )
    ratios = times[:, :1] / times
    return {
        way: Timing(float(np.median(times[:, i])), float(np.median(ratios[:, i])))
        for i, way in enumerate(ways)
    }


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
