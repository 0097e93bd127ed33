"""Loops inside each other, while they are being filled, and how they are closed."""

from collections.abc import Callable
from dataclasses import dataclass, field

from ...ir.affine import Affine
from ...ir.reductions import CHUNK
from ...ir.sizes import is_dynamic
from ...ir.statements import Chunks, For, Statement
from ...ir.walk import defined, rewritten, walk, with_position

EACH = -1
"""The loop variable that runs over a whole buffer."""


@dataclass
class Block:
    """Loops (axis, start, stop) inside each other, with statements before and after what is inside
    of each; `before[i]` and `after[i]` are inside of the first i loops. `parts` are sums over the
    innermost loop that totals outside of it take in."""

    loops: list[tuple[int, int, int]]
    before: list[list[Statement]] = field(default_factory=list)
    after: list[list[Statement]] = field(default_factory=list)
    parts: set[str] = field(default_factory=set)

    def __post_init__(self):
        self.before = [[] for _ in range(len(self.loops) + 1)]
        self.after = [[] for _ in range(len(self.loops) + 1)]

    def closed(self) -> list[Statement]:
        """The statements, with loops that run over consecutive elements merged into one."""
        self._merge()
        body: list[Statement] = [*self.before[-1], *self.after[-1]]
        for depth in range(len(self.loops) - 1, -1, -1):
            axis, start, stop = self.loops[depth]
            before, after = self.before[depth], self.after[depth]
            innermost = depth == len(self.loops) - 1
            dynamic = is_dynamic(stop - start)
            loop: Statement = For(axis, start, stop, tuple(body))
            if innermost and self.parts and (dynamic or stop - start > CHUNK):
                begins = [s for s in before if defined(s) in self.parts]
                before = [s for s in before if s not in begins]
                loop = Chunks(loop, CHUNK, tuple(begins), tuple(after))
                after = []
            body = [*before, loop, *after]
        return body

    def _merge(self) -> None:
        """Merge each loop into the one inside of it where all positions allow that."""
        for depth in range(len(self.loops) - 2, -1, -1):
            (outer, first, last), (axis, start, stop) = self.loops[depth : depth + 2]
            inside = [*self.before[depth + 1 :], *self.after[depth + 1 :]]
            positions = (s.at for part in inside for s in walk(part) if hasattr(s, "at"))
            if start or not all(_runs_on(at, outer, axis, stop) for at in positions):
                continue
            for part in inside:
                part[:] = rewritten(part, lambda s, axis=outer: with_position(s, _without(axis)))
            self.before[depth] += self.before.pop(depth + 1)
            self.after[depth] = [*self.after.pop(depth + 1), *self.after[depth]]
            self.loops[depth : depth + 2] = [(axis, first * stop, last * stop)]


def _without(axis: int) -> Callable[[Affine], Affine]:
    """Positions without the term of a loop that is merged into another one."""
    return lambda at: Affine(at.const, tuple(term for term in at.terms if term[0] != axis))


def _runs_on(position: Affine, outer: int, axis: int, n: int) -> bool:
    """Whether the first element of the next row follows the last one of a row."""
    steps = dict(position.terms)
    return steps.get(outer, 0) == steps.get(axis, 0) * n


__all__ = ["EACH", "Block"]
