"""C functions around a program's core, as text: for tables of addresses, integrators, solvers."""

from collections.abc import Sequence

import numpy as np

from ...errors import TraceError
from ..loops.memory import Argument
from .signature import Frame, called, function, kept_alive, pointer_to, scratch_of


def addressed(frame: Frame, captured: Sequence[int]) -> str:
    """`name_addressed(given, results)`: two tables of addresses, scalars among them; `captured` are
    addresses that stay. Where a check fails, results become nan."""
    lines, given = [], []
    count = len(frame.inputs) - len(captured)
    for i, value in enumerate(frame.inputs):
        place = f"given[{i}]" if i < count else str(captured[i - count])
        found = pointer_to(value, place)
        given.append(found if value.shape else f"{found}[0]")
    for i, value in enumerate(frame.outputs):
        lines.append(f"r{i} = {pointer_to(value, f'results[{i}]')}")
    given += [f"r{i}" for i in frame.memory.written]
    alive: list[str] = []
    lines += scratch_of(frame, False, given, alive)
    lines += called(frame, given, raises=False)
    lines += _moved(frame, given)
    lines += [f"r{i}[0] = s{i}" for i in frame.scalars()]
    lines += [*kept_alive(alive), *_spoiled(frame)]
    return function(f"{frame.name}_addressed", ["given", "results"], lines)


def quad(frame: Frame, captured: Sequence[int]) -> str:
    """`double name_quad(int n, double* x, void* data)`: the inputs stand in `x` one after another;
    nan where n is not their number."""
    _real(frame, "quad")
    if len(frame.outputs) != 1 or frame.outputs[0].shape != ():
        raise TraceError(f'{frame.name}: cfunc("quad") is for functions that return one number')
    given, total = _laid_out(frame, captured, "x", 0)
    lines = [f"if n != {total}:", "    return np.nan"]
    alive: list[str] = []
    lines += [*scratch_of(frame, False, given, alive), *called(frame, given, raises=False)]
    lines += kept_alive(alive)
    if frame.messages:
        failed = " or ".join(f"not ok{i}" for i in range(len(frame.messages)))
        lines += [f"if {failed}:", "    return np.nan"]
    return function(f"{frame.name}_quad", ["n", "x", "data"], [*lines, "return float64(s0)"])


def ode(frame: Frame, captured: Sequence[int]) -> str:
    """`void name_ode(double t, double* u, double* du, double* p)`: the program takes t and u, and
    what stands in `p` one after another; it returns du."""
    _real(frame, "ode")
    first = frame.inputs[: len(frame.inputs) - len(captured)]
    fits = len(first) >= 2 and first[0].shape == () and len(frame.outputs) == 1
    if not fits or first[1].shape != frame.outputs[0].shape:
        raise TraceError(
            f'{frame.name}: cfunc("ode") is for f(t, u) or f(t, u, parameters), t a number, that '
            "returns an array of the shape of u"
        )
    state = "u[0]" if first[1].shape == () else "u"
    rest, _ = _laid_out(frame, captured, "p", 2)
    given, alive = ["t", state, *rest, *(["du"] if frame.memory.written else [])], []
    lines = [*scratch_of(frame, False, given, alive), *called(frame, given, raises=False)]
    if not frame.memory.written:
        lines.append("du[0] = s0" if state != "u" else f"move(du, u, {first[1].size})")
    if frame.messages:
        failed = " or ".join(f"not ok{i}" for i in range(len(frame.messages)))
        lines += [f"if {failed}:", f"    spoil(du, {first[1].size})"]
    return function(f"{frame.name}_ode", ["t", "u", "du", "p"], [*lines, *kept_alive(alive)])


def _moved(frame: Frame, given: Sequence[str] = ()) -> list[str]:
    """Results that are copies of an input or of another result."""
    lines = []
    for i, source in frame.memory.copies.items():
        is_given = given and isinstance(source, Argument)
        place = given[source.position] if is_given else frame.name_of(source)
        lines.append(f"move(r{i}, {place}, {frame.outputs[i].size})")
    return lines


def _spoiled(frame: Frame) -> list[str]:
    floats = [i for i, v in enumerate(frame.outputs) if v.dtype.kind == "f"]
    if not frame.messages or not floats:
        return []
    failed = " or ".join(f"not ok{i}" for i in range(len(frame.messages)))
    return [f"if {failed}:", *(f"    spoil(r{i}, {frame.outputs[i].size})" for i in floats)]


def _laid_out(frame: Frame, captured: Sequence[int], base: str, first: int) -> tuple[list, int]:
    """What the core is given where inputs from `first` on stand one after another."""
    given, at, count = [], 0, len(frame.inputs) - len(captured)
    for value in frame.inputs[first:count]:
        given.append(f"shift({base}, {at})" if value.shape else f"{base}[{at}]")
        at += value.size
    for value, place in zip(frame.inputs[count:], captured, strict=True):
        found = pointer_to(value, str(place))
        given.append(found if value.shape else f"{found}[0]")
    return given, at


def _real(frame: Frame, what: str) -> None:
    for value in [*frame.inputs, *frame.outputs]:
        if value.dtype != np.float64:
            raise TraceError(
                f'{frame.name}: cfunc("{what}") takes and gives float64; there is a value of '
                f"{value.dtype}: pass floats, or use .address"
            )
