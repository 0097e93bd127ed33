"""Loops over `steps(n, checkpoint)`: over `range(n)`, with checkpoints in reverse mode."""

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from ...ir.statements import Operand
from .emit import FunctionBuilder
from .iteration import Range
from .syntax import Unsupported
from .values import INT, Known, Value

__all__ = ["Kept", "Steps", "require_whole"]


class Steps(Range):
    """`steps(n, checkpoint)`: `schedule` is the name of a schedule of copies of the state, "" for
    none; `copies` is their number where that is given."""

    def __init__(self, emit: FunctionBuilder, n: Value, checkpoint: Value = Known("sqrt")):  # noqa: B008
        super().__init__(emit, n)
        self.schedule, self.copies = "equal", None
        if isinstance(checkpoint, Known) and checkpoint.value in (None, "sqrt", "binomial"):
            self.schedule = checkpoint.value or ""
        else:
            self.copies = _count(emit, checkpoint)


class Kept(Steps):
    """`kept(n, checkpoint)`: the record of the rounds is kept while the whole one has at most so
    many words, else a copy of the state."""

    def __init__(self, emit: FunctionBuilder, n: Value, checkpoint: Value):
        Range.__init__(self, emit, n)
        self.schedule, self.copies = "kept", emit.cast(emit.settled(checkpoint), INT).operand


def _count(emit: FunctionBuilder, value: Value) -> Operand:
    wrong = isinstance(value, Known) and not (value.is_number and value.value > 0)
    if wrong or emit.dtype(value).kind not in "iu":
        raise Unsupported(
            "checkpoint of nbgrad.steps: give 'sqrt', 'binomial', a positive integer or None"
        )
    return emit.cast(emit.settled(value), INT).operand


def require_whole(body: Sequence[ast.stmt]) -> None:
    """Raises Unsupported for a body that may leave its loop early."""
    for node in _leaving(body, True):
        raise Unsupported(
            f"{type(node).__name__.lower()} in a loop over nbgrad.steps: loop over range, or put "
            "the rest of the body under a condition"
        )


def _leaving(body: Sequence[Any], is_ours: bool) -> Iterator[ast.stmt]:
    """The statements that leave the loop; `break` does where the body `is_ours`, not that of a loop
    inside."""
    for node in body:
        if isinstance(node, ast.Return) or (is_ours and isinstance(node, ast.Break)):
            yield node
        inside = is_ours and not isinstance(node, (ast.For, ast.While))
        yield from _leaving(getattr(node, "body", ()), inside)
        yield from _leaving(getattr(node, "orelse", ()), is_ours)
