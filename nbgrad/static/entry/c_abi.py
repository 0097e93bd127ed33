"""C functions around a program's core, as text: for tables of addresses, integrators, solvers.

Numba compiles a shell, which allocates scratch memory if it is large, and calls a `linked`
function."""

from collections.abc import Sequence

import numpy as np

from ...errors import TraceError
from ..loops.memory import ArgumentBuffer
from .signature import Signature, call_lines, function, new_scratch, pointer_to


def addressed(signature: Signature, captured: Sequence[int]) -> str:
    """`name_addressed(given, results)`: two tables of addresses, scalars among them; `captured` are
    addresses that stay. Where a check fails, results become nan."""
    lines, operands = [], []
    count = len(signature.inputs) - len(captured)
    for i, value in enumerate(signature.inputs):
        place = f"given[{i}]" if i < count else str(captured[i - count])
        pointer = pointer_to(value, place)
        operands.append(pointer if value.shape else f"{pointer}[0]")
    for i, value in enumerate(signature.outputs):
        lines.append(f"r{i} = {pointer_to(value, f'results[{i}]')}")
    operands += [f"r{i}" for i in signature.memory.written]
    lines += _call_lines(signature, operands)
    lines += _copy_lines(signature, operands)
    lines += [f"r{i}[0] = s{i}" for i in signature.scalars()]
    return _shell(signature, "addressed", ["given", "results"], [*lines, *_spoiled(signature)])


def quad(signature: Signature, captured: Sequence[int]) -> str:
    """`double name_quad(int n, double* x, void* data)`: the inputs stand in `x` one after another;
    nan where n is not their number."""
    _real(signature, "quad")
    if len(signature.outputs) != 1 or signature.outputs[0].shape != ():
        raise TraceError(f'{signature.name}: cfunc("quad") is for functions that return one number')
    operands, total = _laid_out(signature, captured, "x", 0)
    lines = [f"if n != {total}:", "    return np.nan"]
    lines += _call_lines(signature, operands)
    if signature.messages:
        failed = " or ".join(f"not ok{i}" for i in range(len(signature.messages)))
        lines += [f"if {failed}:", "    return np.nan"]
    return _shell(signature, "quad", ["n", "x"], [*lines, "return float64(s0)"], ["data"])


def ode(signature: Signature, captured: Sequence[int]) -> str:
    """`void name_ode(double t, double* u, double* du, double* p)`: the program takes t and u, and
    what stands in `p` one after another; it returns du."""
    _real(signature, "ode")
    first = signature.inputs[: len(signature.inputs) - len(captured)]
    fits = len(first) >= 2 and first[0].shape == () and len(signature.outputs) == 1
    if not fits or first[1].shape != signature.outputs[0].shape:
        raise TraceError(
            f'{signature.name}: cfunc("ode") is for f(t, u) or f(t, u, parameters), t a number, '
            "that returns an array of the shape of u"
        )
    state = "u[0]" if first[1].shape == () else "u"
    rest, _ = _laid_out(signature, captured, "p", 2)
    operands = ["t", state, *rest, *(["du"] if signature.memory.written else [])]
    lines = _call_lines(signature, operands)
    if not signature.memory.written:
        lines.append("du[0] = s0" if state != "u" else f"move(du, u, {first[1].size})")
    if signature.messages:
        failed = " or ".join(f"not ok{i}" for i in range(len(signature.messages)))
        lines += [f"if {failed}:", f"    spoil(du, {first[1].size})"]
    return _shell(signature, "ode", ["t", "u", "du", "p"], lines)


def _shell(
    signature: Signature,
    kind: str,
    arguments: list[str],
    lines: Sequence[str],
    unused: Sequence[str] = (),
) -> str:
    """The C function of a kind, and the function with these lines that it calls."""
    name, passed = f"{signature.name}_{kind}", [*arguments, *["work"] * signature.large]
    shell = [*new_scratch(signature), f"return {name}_run({', '.join(passed)})"]
    run = function(f"{name}_run", passed, lines)
    return f"@linked\n{run}\n\n{function(name, [*arguments, *unused], shell)}"


def _call_lines(signature: Signature, operands: Sequence[str]) -> list[str]:
    operands = [*operands, *["pointer(work)"] * signature.large]
    return call_lines(signature, operands, raises=False)


def _copy_lines(signature: Signature, operands: Sequence[str] = ()) -> list[str]:
    """Results that are copies of an input or of another result."""
    lines = []
    for i, source in signature.memory.copies.items():
        is_argument = operands and isinstance(source, ArgumentBuffer)
        place = operands[source.position] if is_argument else signature.name_of(source)
        lines.append(f"move(r{i}, {place}, {signature.outputs[i].size})")
    return lines


def _spoiled(signature: Signature) -> list[str]:
    floats = [i for i, v in enumerate(signature.outputs) if v.dtype.kind == "f"]
    if not signature.messages or not floats:
        return []
    failed = " or ".join(f"not ok{i}" for i in range(len(signature.messages)))
    return [f"if {failed}:", *(f"    spoil(r{i}, {signature.outputs[i].size})" for i in floats)]


def _laid_out(
    signature: Signature, captured: Sequence[int], base: str, first: int
) -> tuple[list, int]:
    """The arguments of the core where inputs from `first` on stand one after another."""
    operands, at, count = [], 0, len(signature.inputs) - len(captured)
    for value in signature.inputs[first:count]:
        operands.append(f"shift({base}, {at})" if value.shape else f"{base}[{at}]")
        at += value.size
    for value, place in zip(signature.inputs[count:], captured, strict=True):
        pointer = pointer_to(value, str(place))
        operands.append(pointer if value.shape else f"{pointer}[0]")
    return operands, at


def _real(signature: Signature, what: str) -> None:
    for value in [*signature.inputs, *signature.outputs]:
        if value.dtype != np.float64:
            raise TraceError(
                f'{signature.name}: cfunc("{what}") takes and gives float64; there is a value of '
                f"{value.dtype}: pass floats, or use .address"
            )
