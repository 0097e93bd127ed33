"""Runs of the kernels of derivatives, and the memory that their records take.

A kernel refuses a record that is larger than the memory it is allowed, before it writes to it. Few
records are large, and to find out how much memory there is takes longer than small kernels. So the
first run is allowed little; only if that is too little, the kernel runs again with all there is.
"""

from collections.abc import Callable, Sequence
from math import isqrt, prod
from typing import Any

import numpy as np

from ..adjoints.record import Fact
from ..adjoints.told import outer_loop
from ..ir.statements import For
from ..runtime.available import LARGEST, available, readable
from .packed import Derivative
from .samples import Samples
from .source_lines import Lines
from .status import ALLOWED, FACTS, NUMBER, WORDS, error_of

__all__ = ["Runs"]

_SMALL = 1 << 26  # bytes
_START = np.zeros(WORDS, np.int64)
_START[ALLOWED] = _SMALL


class Runs:
    """The runs of a kernel. `status` is that of the latest one."""

    __slots__ = ("_derivative", "_is_large", "_kernel", "_refused", "status")

    def __init__(self, derivative: Derivative | Samples, kernel: Callable):
        self._derivative, self._kernel, self._is_large = derivative, kernel, False
        self.status = _START
        self._refused: tuple[list[Any], int] | None = None

    def __call__(self, *arguments: Any, record: np.ndarray | None = None) -> None:
        """Fill the last one of the arguments; with a record, as the status of the run that kept it,
        backward. Raises what the function raises."""
        status = self._status() if record is None else record.copy()
        self.status = status
        self._kernel(*arguments, status)
        if (number := status.item(NUMBER)) and self._lacks(status) and not self._is_large:
            self._is_large = True
            self.status = status = self._status()
            self._kernel(*arguments, status)
            number = status.item(NUMBER)
        if self._is_large:
            self._is_large = not 0 < status.item(FACTS + Fact.KEPT) <= _SMALL
        if number:
            kind, message = error_of(self._derivative.signature.errors[number - 1])
            raise kind(self._told(status, arguments) if self._lacks(status) else message)

    def keeping(self, *arguments: Any, room: int) -> np.ndarray | None:
        """Fill the last one of the arguments and keep the record. The status of the run; None if
        the record is larger than `room` bytes."""
        if self._refused is not None:
            lengths, needed = self._refused
            if needed > room and lengths == _lengths(arguments):
                return None
        status = _START.copy()
        status[ALLOWED] = room
        self._kernel(*arguments, status)
        self.status = status
        if number := status.item(NUMBER):
            if self._lacks(status):
                self._refused = _lengths(arguments), status.item(FACTS + Fact.NEEDED)
                return None
            kind, message = error_of(self._derivative.signature.errors[number - 1])
            raise kind(message)
        return status

    def _status(self) -> np.ndarray:
        status = _START.copy()
        if self._is_large:
            status[ALLOWED] = available()
        return status

    def _lacks(self, status: np.ndarray) -> bool:
        """Whether a run ended as it may not take so much memory."""
        is_memory = status.item(NUMBER) == len(self._derivative.signature.errors)
        return is_memory and status.item(FACTS + Fact.NEEDED) > status.item(ALLOWED)

    def _told(self, status: np.ndarray, arguments: Sequence) -> str:
        """The message for a record that is too large."""
        needed, number, rounds = (
            status.item(FACTS + x) for x in (Fact.NEEDED, Fact.LOOP, Fact.ROUNDS)
        )
        run = self._derivative
        of = run.of if isinstance(run, Samples) else run
        signature = of.signature
        loop, state = None, None
        if number:
            loop, state = outer_loop(signature.primal, of.wanted, signature.lengths, number)
        what = "the record of a while loop" if loop else "the record"
        if isinstance(loop, For):
            what = f"the record of a loop{Lines(signature).note(loop.axis)}"
        least = "" if rounds else "at least "
        text = (
            f"{signature.name}: {what} needs {least}{readable(needed)} for a derivative, and "
            f"{readable(status.item(ALLOWED))} are available: "
        )
        if getattr(loop, "checkpoint", ""):
            return f'{text}pass checkpoint="binomial" to nbgrad.steps, which keeps fewer states'
        if not isinstance(loop, For):
            return f"{text}use a loop over nbgrad.steps(n), which keeps few states"
        about = ""
        if rounds and needed < LARGEST and of is run:
            size = _size(of, state, arguments)
            if size is not None:
                kept = (isqrt(rounds) + 1) * (needed // rounds + (size << len(of.along)))
                about = f": about {readable(kept)}"
        return f"{text}loop over nbgrad.steps(n), which keeps few states{about}"


def _lengths(arguments: Sequence) -> list[Any]:
    """The arguments that mostly determine the size of a record: numbers, and array shapes."""
    return [x.shape if type(x) is np.ndarray else x for x in arguments]


def _size(of: Derivative, state: Any, arguments: Sequence) -> int | None:
    """The bytes of a state; None if the arguments do not tell them."""
    if state is None:
        return None
    names = iter(of.signature.lengths)
    known: dict[str, Any] = {}
    for leaf, x in zip(of.signature.leaves, arguments, strict=False):
        known |= zip((next(names) for _ in range(leaf.ndim or 0)), np.shape(x), strict=True)
        known[leaf.name] = x
    try:
        sizes = [
            prod(int(known[x] if isinstance(x, str) else x.number) for x in factors)
            for factors in state.buffers.values()
        ]
    except KeyError:
        return None
    return 8 * (len(state.variables) + sum(sizes))
