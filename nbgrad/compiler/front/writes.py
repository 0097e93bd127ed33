"""Assignments of elements of arrays, and arrays of which none may be assigned."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from .syntax import Unsupported

__all__ = ["Writes"]


class Writes:
    """The buffers to which a function writes in place while it is read. One that is frozen may not
    be written to: see `rebinding`."""

    def __init__(self):
        self._written: list[str] = []
        self._frozen: dict[str, str] = {}  # what to say of a buffer
        self._loops: list[int] = []  # the numbers of writes before the loops around

    def note(self, buffer: str) -> None:
        """Note an assignment of elements. Raises Unsupported for a buffer that is frozen."""
        self._written.append(buffer)
        self._check(buffer)

    def freeze(self, buffers: Iterable[str], text: str) -> None:
        """Refuse to assign elements from here on, and from the start of the loops around on."""
        start = self._loops[0] if self._loops else len(self._written)
        for buffer in buffers:
            self._frozen.setdefault(buffer, text)
            if buffer in self._written[start:]:
                self._check(buffer)

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

    def mark(self) -> tuple[int, dict[str, str]]:
        """The state, for `restore`."""
        return len(self._written), dict(self._frozen)

    def restore(self, mark: tuple[int, dict[str, str]]) -> None:
        """Forget what was noted since."""
        count, frozen = mark
        del self._written[count:]
        self._frozen = dict(frozen)
