"""`steps`: ranges of loops whose reverse pass keeps few states."""

from typing import Any

from ..compiler.front.iteration import takes
from ..compiler.front.steps import Kept, Steps
from ..compiler.numba_api import overload
from ..errors import ArgumentError

__all__ = ["kept", "steps"]


def steps(n: int, checkpoint: str | int | None = "sqrt") -> range:
    """`range(n)`, for a loop whose reverse pass keeps few states and runs steps again.

    Reverse mode of a loop records values of each of its steps, so its memory grows with their
    number. A loop over `steps(n)` in a function that nbgrad differentiates copies its state
    before some steps only: the variables and the arrays that it writes to. Its reverse pass goes
    back from copy to copy, and runs the steps behind each of them again to record them. The
    derivatives are the same; sums over all steps may round differently.

    Arguments:
        n: the number of steps.
        checkpoint: which copies are kept. "sqrt": about sqrt(n) of them, and the record of as many
            steps; a step runs once more. "binomial": about 2 n**(1/4) of both; a step runs at most
            three times more. A positive integer k: k copies, and the record of n/k steps. None: no
            copies, as in a loop over `range(n)`.

    Use it where the record of the loop, which `fn.plan` tells, is larger than the caches of the
    processor: from some 10 MB on it is faster, too, as fresh memory costs more than to compute
    again. Loops with a smaller record may take up to 1.6 times as long. The loop must not be left
    by `break` or `return`.

    >>> @nbgrad.njit
    ... def decay(x, n):
    ...     for t in nbgrad.steps(n):
    ...         x = x - 0.001 * x * x
    ...     return x
    >>> round(float(nbgrad.grad(decay)(1.0, 1000)), 6)
    0.249702
    """
    is_number = isinstance(checkpoint, int) and not isinstance(checkpoint, bool) and checkpoint > 0
    if not is_number and checkpoint not in ("sqrt", "binomial", None):
        raise ArgumentError(
            f"checkpoint={checkpoint!r}: give 'sqrt', 'binomial', a positive integer or None"
        )
    return range(n)


@overload(steps, strict=False)  # its annotations differ
def _steps(n: Any, checkpoint: Any = "sqrt") -> Any:
    return lambda n, checkpoint="sqrt": range(n)


takes(steps, Steps)


def kept(n: int, checkpoint: int) -> range:
    """`range(n)`, for a loop in another one, whose reverse pass keeps the record of these rounds
    while that of the whole function has at most `checkpoint` words. From then on it keeps the state
    before them, and runs them again. The loop must not be left by `break` or `return`."""
    return range(n)


@overload(kept)
def _kept(n: Any, checkpoint: Any) -> Any:
    return lambda n, checkpoint: range(n)


takes(kept, Kept)
