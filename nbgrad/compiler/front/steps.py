"""Loops over `steps(n, checkpoint)`: over `range(n)`, with checkpoints in reverse mode."""

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ...ir.statements import Operand
from .emit import FunctionBuilder
from .syntax import Unsupported
from .values import INT, Known, Value

__all__ = ["STEPS", "checkpoint_of", "is_steps", "require_whole"]

STEPS: set[Callable] = set()
"""The functions that give such ranges."""

_SCHEDULES = ("sqrt", "binomial")


def is_steps(function: Any) -> bool:
    try:
        return function in STEPS
    except TypeError:  # not hashable
        return False


def checkpoint_of(
    emit: FunctionBuilder, args: Sequence[Value], keywords: Mapping[str, Value]
) -> tuple[str, Operand | None]:
    """The schedule of the snapshots, and their number where that is given."""
    given = dict(zip(("n", "checkpoint"), args, strict=False)) | dict(keywords)
    if len(given) != len(args) + len(keywords) or not {"n"} <= set(given) <= {"n", "checkpoint"}:
        raise Unsupported("nbgrad.steps takes n and checkpoint")
    how = given.get("checkpoint", Known("sqrt"))
    if isinstance(how, Known) and how.value is None:
        return "", None
    if isinstance(how, Known) and how.value in _SCHEDULES:
        return str(how.value), None
    is_number = not isinstance(how, Known) or (
        isinstance(how.value, int) and not isinstance(how.value, bool) and how.value > 0
    )
    if not is_number or emit.dtype(how).kind not in "iu":
        raise Unsupported("checkpoint of nbgrad.steps: 'sqrt', 'binomial', a positive integer or None")
    return "equal", emit.cast(emit.settled(how), INT).operand


def require_whole(body: Sequence[ast.stmt]) -> None:
    """Raises Unsupported for a body that may leave its loop early."""
    for node in _statements(body, True):
        if isinstance(node, (ast.Break, ast.Return)):
            raise Unsupported(
                f"{type(node).__name__.lower()} in a loop over nbgrad.steps: loop over range, or "
                "compute nothing in the rounds that are left"
            )


def _statements(body: Sequence[ast.stmt], is_ours: bool) -> Iterator[Any]:
    """The statements, without those that leave loops inside."""
    for node in body:
        if is_ours or not isinstance(node, ast.Break):
            yield node
        inside = is_ours and not isinstance(node, (ast.For, ast.While))
        yield from _statements(getattr(node, "body", ()), inside)
        yield from _statements(getattr(node, "orelse", ()), is_ours)
