"""A draft whose steps may share memory, and write; inputs are read only."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..draft import REFUSED, Draft, require_finite
from ..oracle import Unusable
from ..programs import Step

LARGEST = 1e4  # what repeated writes may grow to


class MemoryDraft(Draft):
    """Values that share memory where NumPy's do: a write changes all of them."""

    def shape(self) -> tuple[int, ...]:
        rank = int(self.rng.choice(4, p=(0.04, 0.5, 0.36, 0.1)))
        return tuple(int(self.rng.choice(5, p=(0.03, 0.09, 0.3, 0.38, 0.2))) for _ in range(rank))

    def new(self, shape: Any = None, dtype: Any = None, low=-2.0, high=2.0, role: str = "") -> int:
        if not role and any(x.role == "argument" for x in self.inputs) and not self.chance(0.1):
            role = "captured"
        i = super().new(shape, dtype, low, high, role)
        return self._closed(i)

    def given(self, value: np.ndarray) -> int:
        return self._closed(super().given(value))

    def _closed(self, i: int) -> int:
        """Input i in C order, as nbgrad's arrays are, and read only."""
        self.inputs[-1] = self.inputs[-1]._replace(layout="C")
        self.values[i] = self.inputs[-1].make()
        if isinstance(self.values[i], np.ndarray):
            self.values[i].flags.writeable = False
        return i

    def step(self, op: str, args: list[int], text: str) -> int:
        """A step with a note of whose memory it shares; results that NumPy does not put in C order
        are copied."""
        i = super().step(op, args, text)
        if isinstance(self.places[i], Step):
            value = self.values[i]
            shares = tuple(k for k, a in enumerate(args) if is_shared(value, self.values[a]))
            if isinstance(value, np.ndarray) and not shares and not value.flags.c_contiguous:
                self.values.pop()
                self.tracked.pop()
                self.places.pop()
                more = "\n{out} = {out}.copy()" if "{out}" in text else ".copy()"
                return super().step(
                    op, args, f"{text}{more}" if more[0] == "\n" else f"({text}){more}"
                )
            self.places[i] = self.places[i]._replace(shares=shares)
        return i

    def write(self, op: str, args: list[int], text: str, writes: tuple[int, ...] = (0,)) -> int:
        """Add a statement that writes to these arguments; its value is the first of them.

        Raises Unusable, and changes nothing, where NumPy refuses it or gives no numbers.
        """
        targets = [args[k] for k in writes]
        read = [a for k, a in enumerate(args) if k not in writes]
        if not all(isinstance(self.places[a], Step) for a in targets):
            raise Unusable("inputs are not written to")
        if any(self.tracked[a] for a in args) and not all(self.tracked[a] for a in targets):
            raise Unusable("plain arrays take no tracked numbers")
        item = Step(op, tuple(args), text, writes)
        saved = self._saved()
        try:
            scope = self.run(item)
            for x, _ in saved:
                require_finite(x, text, LARGEST)
            for a in targets:
                require_finite(scope[f"v{a}"], text, LARGEST)
        except (*REFUSED, IndexError, DeprecationWarning, Unusable) as error:
            for x, old in saved:
                x[...] = old
            raise Unusable(f"{text}: {error}") from None
        for a in targets:
            self.values[a] = scope[f"v{a}"]
        self.values.append(scope["out"])
        self.tracked.append(self.tracked[targets[0]] or any(self.tracked[a] for a in read))
        self.places.append(item)
        return len(self.values) - 1

    def _saved(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The memory of all values, and copies of what it holds."""
        owners = {id(x): x for x in map(owner, self.values) if isinstance(x, np.ndarray)}
        return [(x, x.copy()) for x in owners.values() if x.flags.writeable]

    def memory(self, fits: Callable[[Any], bool] = lambda x: True) -> int:
        """A tracked array that can be written to: an op keeps plain ones as they are given to it.
        Raises Unusable where there is none that fits."""
        names = [i for i, moves in enumerate(self.tracked) if moves and fits_in(self.values[i])]
        found = [i for i in names if fits(self.values[i])]
        if not found:
            raise Unusable("nothing to write to")
        weights = np.arange(1.0, len(found) + 1)
        return int(self.rng.choice(found, p=weights / weights.sum()))


def fits_in(x: Any) -> bool:
    """Whether other numbers can be written to it."""
    return isinstance(x, np.ndarray) and bool(x.flags.writeable)


def owner(x: Any) -> Any:
    """What the memory of an array belongs to."""
    while isinstance(x, np.ndarray) and isinstance(x.base, np.ndarray):
        x = x.base
    return x


def is_shared(x: Any, y: Any) -> bool:
    """Whether two values share memory, or a write to one may be one to the other."""
    if not isinstance(x, np.ndarray) or not isinstance(y, np.ndarray):
        return False
    return owner(x) is owner(y) or bool(np.may_share_memory(x, y))
