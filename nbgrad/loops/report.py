"""Texts about the reverse pass of a function: its program, and the values that it records."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..adjoints.record import Fact
from ..adjoints.told import Recorded, recorded
from ..compiler.front.argument_types import kind_of_any
from ..compiler.front.syntax import Unsupported
from ..errors import TraceError
from ..ir.statements import For
from ..runtime.available import readable
from .kept import MOST, latest_status
from .kernels import runs_of
from .packed import Derivative, derivative, latest
from .signature import Signature
from .source_lines import Lines
from .status import ALLOWED, FACTS
from .text import function_text

__all__ = ["plan_of", "source_of"]


def source_of(dispatcher: Any) -> str:
    """The text of the program that computes value and gradient."""
    of = _shown(dispatcher).changed(half="")
    return function_text(of.function, Lines(of.signature))


def plan_of(dispatcher: Any) -> str:
    """The values that the forward sweep records for the reverse sweep, and why; how many bytes that
    were in the latest run."""
    of = _shown(dispatcher).changed(half="")
    status = runs_of(of).status
    total, plain = (status.item(FACTS + x) for x in (Fact.KEPT, Fact.PLAIN))
    signature, lines = of.signature, Lines(of.signature)
    leaves = signature.leaves
    found, states, threads = recorded(signature.primal, of.wanted, signature.lengths)
    head = f"{signature.name}: gradient with respect to " + ", ".join(
        dict.fromkeys(leaves[i].label for i in of.wrt or ())
    )
    on_threads = [
        f"rounds of {_plain(loop.axis) or 'a loop'} run on {note}{lines.note(loop.axis)}"
        for loop, note in threads.items() if isinstance(loop, For) and not loop.checkpoint
    ]  # fmt: skip
    of_call = [_kept(x)] if (x := latest_status.get(dispatcher.py_func)) is not None else []
    if not found and not states:
        nothing = "nothing is recorded: the reverse sweep finds all that it reads"
        return "\n".join([head, nothing, *of_call, *on_threads])
    groups: dict[tuple, list[Recorded]] = {}
    for each in found:
        groups.setdefault(tuple(map(id, each.loops)), []).append(each)
    text = [head]
    for loop, state in states.items():
        text.append(f"each segment of {_plain(_steps(loop).axis)}: a copy of the state")
        text += [f"    {_plain(name)}: 8 bytes" for name in state.variables]
        text += [f"    {_plain(name)}: 8 bytes an element" for name in state.buffers]
    for group in groups.values():
        loops = group[0].loops
        segments = [_plain(_steps(x).axis) for x in loops if x in states]
        kept = f", for one segment of {', '.join(segments)} at a time" if segments else ""
        loops = [x for x in loops if x not in states]
        text.append(f"{_loops(loops)}: {8 * len(group)} bytes{kept}")
        text += [f"    {_reason(each)}{lines.note(each.name, each.buffer)}" for each in group]
    if states:
        text.append("a loop over range keeps the bytes of all its rounds, and no copies")
    if total:
        instead = f", in place of {readable(plain)} for loops over range" if states else ""
        text.append(f"the latest run kept {readable(total)}{instead}")
    return "\n".join([*text, *of_call, *on_threads])


def _kept(status: np.ndarray) -> str:
    """What the latest call keeps for its pullback."""
    needed, allowed = status.item(FACTS + Fact.NEEDED), status.item(ALLOWED)
    if needed > allowed:
        return (
            f"the latest call kept no record, and its pullback runs the function again: "
            f"{readable(needed)} are needed, {readable(allowed)} of {readable(MOST)} are left"
        )
    return (
        f"the latest call keeps {readable(status.item(FACTS + Fact.KEPT))} for its pullback, with "
        "the arrays that this reads"
    )


def _steps(loop: Any) -> For:
    """The loop over the rounds of a segment."""
    return next(x for x in loop.body if isinstance(x, For))


def _loops(loops: Sequence[Any]) -> str:
    if not loops:
        return "once"
    names = [_plain(x.axis) if isinstance(x, For) else "while" for x in loops]
    return f"each round of {', '.join(names)}"


def _plain(name: Any) -> str:
    return str(name).partition("#")[0].partition(".")[0]


def _reason(each: Recorded) -> str:
    if each.buffer is not None:
        return f"the element of {_plain(each.buffer)} that is overwritten, which is read before"
    name = _plain(each.name) or "a value"
    if each.is_dear:
        return f"{name}: computing it again takes longer"
    return f"{name}: what it is computed from is overwritten"


def _shown(dispatcher: Any) -> Derivative:
    """The gradient to be shown: the latest one, or that for the types of the latest call."""
    function = dispatcher.py_func
    if (found := latest.get(function)) is not None:
        return found
    if not dispatcher.signatures:
        raise TraceError(
            f"{function.__name__}: the types of its arguments are not known: call it, or compute a "
            "gradient, before",
            code="NB-LOOP",
        )
    try:
        kinds = tuple(map(kind_of_any, dispatcher.signatures[-1]))
    except Unsupported as refused:
        raise TraceError(f"{function.__name__}: {refused}", code="NB-LOOP") from None
    signature = Signature(function, kinds)
    floats = tuple(i for i, leaf in enumerate(signature.arguments) if leaf.is_float)
    return derivative(signature, (), floats)
