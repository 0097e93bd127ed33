"""An eager step against a compiled one, in turns."""

from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple


class Race(NamedTuple):
    """Seconds a step, and the ratio eager / compiled: medians over the rounds."""

    eager: float
    compiled: float
    ratio: float

    def __str__(self) -> str:
        return (
            f"a compiled step takes {1e6 * self.compiled:,.0f} us, an eager one "
            f"{1e6 * self.eager:,.0f} us: {self.ratio:.1f} times as long"
        )


def raced(
    eager: Callable[[], Any], compiled: Callable[[], Any], rounds: int = 40, repeat: int = 5
) -> Race:
    """Time both in turns: machines drift, so only what ran side by side is compared."""
    eager()
    compiled()  # and compile
    times = [(_seconds(eager, repeat), _seconds(compiled, repeat)) for _ in range(rounds)]
    return Race(
        median(time for time, _ in times),
        median(time for _, time in times),
        median(slow / fast for slow, fast in times),
    )


def _seconds(step: Callable[[], Any], repeat: int) -> float:
    """Seconds a step."""
    start = perf_counter()
    for _ in range(repeat):
        step()
    return (perf_counter() - start) / repeat
