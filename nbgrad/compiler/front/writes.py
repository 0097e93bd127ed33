"""Assignments of elements of arrays, and arrays of which none may be assigned."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from .syntax import Unsupported
from .values import whole

__all__ = ["Writes"]


class Writes:
    """The buffers to which a function writes in place while it is read. One that is frozen may not
    be written to: see `rebinding`."""

    def __init__(self):
        self._written: list[str] = []
        self._frozen: dict[str, str] = {}  # what to say of a buffer
        self._copies: list[tuple[str, str]] = []  # sources and targets
        self._loops: list[int] = []  # the numbers of writes before the loops around

    def note(self, buffer: str) -> None:
        """Note an assignment of elements. Raises Unsupported for a buffer that is frozen."""
        buffer = whole(buffer)
        self._written.append(buffer)
        self._check(buffer)

    def freeze(self, buffers: Iterable[str], text: str) -> None:
        """Refuse to assign elements from here on, and from the start of the loops around on."""
        start = self._loops[0] if self._loops else len(self._written)
        for buffer in map(whole, buffers):
            is_new = buffer not in self._frozen
            self._frozen.setdefault(buffer, text)
            if buffer in self._written[start:]:
                self._check(buffer)
            if is_new:
                self.freeze([y for x, y in self._copies if x == buffer], text)

    def copy(self, source: str, target: str) -> None:
        """Note that a variable stands for the array of another one, and has a copy of it: it may
        not be written to either if that is frozen."""
        source, target = whole(source), whole(target)
        self._copies.append((source, target))
        if source in self._frozen:
            self.freeze([target], self._frozen[source])

    def _check(self, buffer: str) -> None:
        if buffer in self._frozen:
            raise Unsupported(
                f"{self._frozen[buffer]} is assigned again in a loop or a branch, and its elements "
                "are assigned: make a copy with .copy(), or assign all elements by x[:] = ...,"
            )

    @contextmanager
    def loop(self) -> Iterator[None]:
        """The body of a loop."""
        self._loops.append(len(self._written))
        try:
            yield
        finally:
            self._loops.pop()

    def mark(self) -> tuple[int, int, dict[str, str]]:
        """The state, for `restore`."""
        return len(self._written), len(self._copies), dict(self._frozen)

    def restore(self, mark: tuple[int, int, dict[str, str]]) -> None:
        """Forget what was noted since."""
        written, copied, frozen = mark
        del self._written[written:], self._copies[copied:]
        self._frozen = dict(frozen)
