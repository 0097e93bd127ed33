"""From a program to the source of one Numba function.

Elementwise ops are fused by pulling: each loop starts from what it must produce, the arrays that
the function returns and the sums, and takes in every op that these need. Loops over one shape
whose inputs are ready together are one loop. Sums end a loop; what depends on them comes after.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..emission import NAMES, body_of, steps_of
from ..errors import TraceError
from ..kernels.emit import Operand, function_source, module_head, substitute
from ..symbols import Symbol, is_full, topological
from .program import Program


class Loop(NamedTuple):
    """One pass over arrays of `shape`: the arrays that it writes, and the sums that it returns."""

    shape: tuple[int, ...]
    arrays: list[Symbol]
    sums: list[Symbol]


def source_of(program: Program) -> tuple[str, str]:
    """The name and the module text of the Numba function of `program`.

    It takes the inputs in order, arrays or floats, and returns the outputs, floats and new arrays.
    """
    _check_supported(program)
    arrays = [s for s in _unique(program.outputs) if isinstance(s, Symbol) and _is_array(s)]
    stages = _stages(program)
    loops = _loops(program, arrays, stages)
    labels: dict[Symbol, str] = {s: f"a{i}" for i, s in enumerate(program.inputs)}
    labels |= {s: f"r{i}" for i, s in enumerate(arrays) if s not in labels}
    functions, lines = [], []
    for symbol in program.inputs:
        if _is_array(symbol):
            lines += [
                f"if {labels[symbol]}.shape != {symbol.shape}:",
                f"    raise ValueError('{program.name} was compiled for an argument of shape "
                f"{symbol.shape}')",
            ]
    lines += [
        f"{labels[s]} = np.empty({s.shape}, np.{s.dtype})"
        for s in arrays
        if s.primitive is not None
    ]
    for stage in range(max(stages.values(), default=0) + 1):
        lines += _scalars(program, stages, stage, labels)
        for (at, _), loop in loops.items():
            if at == stage:
                name = f"loop{len(functions)}"
                text, call = _loop(name, loop, labels)
                functions.append("@device\n" + text)
                lines.append(call)
    returned = [_returned(program, i, labels) for i in range(len(program.outputs))]
    lines.append(f"return {', '.join(returned)}")
    arguments = ", ".join(labels[s] for s in program.inputs)
    entry = f"def {program.name}({arguments}):\n" + "".join(f"    {line}\n" for line in lines)
    text = "\n\n".join([*functions, entry])
    return program.name, module_head(text, _DEVICE) + text


_DEVICE = "from nbgrad.kernels._jit import device"


def _is_array(symbol: Symbol) -> bool:
    return symbol.shape != ()


def _is_sum(symbol: Any) -> bool:
    """A sum of an array to a scalar, the undoing of a broadcast among them."""
    if not isinstance(symbol, Symbol) or symbol.primitive is None:
        return False
    sums = symbol.primitive.name in ("sum", "unbroadcast")
    return sums and symbol.shape == () and symbol.args[0].shape != ()


def _check_supported(program: Program) -> None:
    """What the loops below can express: elementwise ops on one shape or on scalars, full sums,
    and scalars that are spread."""
    for symbol in program.equations:
        row = symbol.primitive
        assert row is not None
        shapes = {arg.shape for arg in symbol.args if isinstance(arg, Symbol)} - {()}
        shapes |= {arg.shape for arg in symbol.args if isinstance(arg, np.ndarray)} - {()}
        elementwise = hasattr(row, "body") and shapes <= {symbol.shape}
        spread = row.name in ("reshape", "broadcast_to") and not (_size(symbol.args[0]) > 1)
        if any(isinstance(arg, np.ndarray) and arg.size > 1 for arg in symbol.args):
            raise TraceError(
                f"{program.name}: an array of shape {shapes} is captured; pass it as an argument"
            )
        if not (elementwise or spread or is_full(symbol) or _is_sum(symbol)):
            raise TraceError(
                f"{program.name}: {row.name} of {', '.join(map(str, shapes)) or 'scalars'} to "
                f"{symbol.shape} has no static form yet; elementwise functions on arrays of one "
                "shape, scalars, and sums over all axes have one, or run the function uncompiled"
            )


def _size(x: Any) -> int:
    return x.aval.size if isinstance(x, Symbol) else int(np.size(x))


def _stages(program: Program) -> dict[Symbol, int]:
    """How many sums one after the other each value needs."""
    stages: dict[Symbol, int] = {}
    for symbol in topological(program.outputs):
        below = [stages[a] + _is_sum(a) for a in symbol.args if isinstance(a, Symbol)]
        stages[symbol] = max(below, default=0)
    return stages


def _loops(program: Program, arrays: list[Symbol], stages: dict[Symbol, int]) -> dict:
    """Loops by stage and shape."""
    loops: dict[tuple[int, tuple[int, ...]], Loop] = {}
    for symbol in arrays:
        if symbol.primitive is not None:
            key = (stages[symbol], symbol.shape)
            loops.setdefault(key, Loop(symbol.shape, [], [])).arrays.append(symbol)
    for symbol in program.equations:
        if _is_sum(symbol):
            shape = symbol.args[0].shape
            loops.setdefault((stages[symbol], shape), Loop(shape, [], [])).sums.append(symbol)
    return dict(sorted(loops.items()))


def _inlined(symbol: Any) -> Any:
    """A value as its loop sees it: spreading a scalar changes nothing for one element."""
    while isinstance(symbol, Symbol) and symbol.primitive and symbol.primitive.name in (
        "reshape", "broadcast_to",
    ):  # fmt: skip
        symbol = symbol.args[0]
    return symbol


def _loop(name: str, loop: Loop, labels: dict[Symbol, str]) -> tuple[str, str]:
    """The text of a loop function, and the line that calls it."""
    roots = [*loop.arrays, *(s.args[0] for s in loop.sums)]
    needed = topological(roots, {s for s in labels if s.primitive is None or not _is_array(s)})
    produced = set(loop.arrays)
    given = {s: labels[s] for s in needed if s in labels and s not in produced}
    names = {s: f"e_{label}" if _is_array(s) else label for s, label in given.items()}
    steps, values, _ = steps_of(roots, names, _inlined)
    reads = [Operand(names[s], "full" if _is_array(s) else "number") for s in given]
    count = len(loop.arrays)
    writes = {
        Operand(f"e_{labels[s]}", "full"): value
        for s, value in zip(loop.arrays, values[:count], strict=True)
    }
    for s in loop.sums:
        labels[s] = f"s{len(labels)}"
    returns = {labels[s]: value for s, value in zip(loop.sums, values[count:], strict=True)}
    text = function_source(name, steps, reads, writes, returns)
    passed = [f"{labels[s]}.ravel()" if _is_array(s) else labels[s] for s in given]
    passed += [f"{labels[s]}.ravel()" for s in loop.arrays]
    results = ", ".join(labels[s] for s in loop.sums)
    return text, (f"{results} = " if results else "") + f"{name}({', '.join(passed)})"


def _scalars(program: Program, stages: dict, stage: int, labels: dict[Symbol, str]) -> list[str]:
    """The scalar ops of a stage, as straight lines."""
    lines = []
    for symbol in program.equations:
        if stages[symbol] != stage or _is_array(symbol) or _is_sum(symbol) or is_full(symbol):
            continue
        labels[symbol] = f"t{len(labels)}"
        row = symbol.primitive
        assert row is not None
        operands = [_scalar(arg, labels) for arg in symbol.args]
        if not hasattr(row, "body"):
            lines.append(f"{labels[symbol]} = {operands[0]}")
            continue
        named = dict(zip(NAMES, operands, strict=False))
        lines.append(f"{labels[symbol]} = {substitute(body_of(row, symbol.params), named)}")
    return lines


def _scalar(x: Any, labels: dict[Symbol, str]) -> str:
    x = _inlined(x)
    if is_full(x):
        return repr(x.params["number"])
    if isinstance(x, Symbol):
        return labels[x] if not _is_array(x) else f"{labels[x]}.ravel()[0]"
    return f"({float(x)!r})"


def _returned(program: Program, i: int, labels: dict[Symbol, str]) -> str:
    """Output i: a fresh array or a float; never an input, nor the same array twice."""
    output = program.outputs[i]
    earlier = any(output is other for other in program.outputs[:i])
    if not isinstance(output, Symbol):
        return repr(float(output))
    if not _is_array(output):
        return _scalar(output, labels)
    return f"{labels[output]}.copy()" if earlier or output.primitive is None else labels[output]


def _unique(values: Sequence[Any]) -> list[Any]:
    return list({id(value): value for value in values}.values())
