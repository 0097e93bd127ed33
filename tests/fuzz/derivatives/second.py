"""Second derivatives of a program in two ways: forward over reverse, and reverse over forward."""

import math
from typing import Any

import numpy as np
from checkers.functions import runnable

from nbgrad.adjoints.reverse import value_and_cotangents
from nbgrad.adjoints.tangent import tangents
from nbgrad.ir.statements import Function, Pointer

from .checking import Different, Unusable, _elements, _passed, _run, compiled, expected
from .drawing import Drawn

__all__ = ["check_second"]

_TOLERANCE = 1e-8


def check_second(program: Drawn) -> None:
    """Raise Different where the two disagree, Unusable where that cannot be said."""
    if program.has_singles:
        raise Unusable("float32")
    rng = np.random.default_rng(program.seed + 1)
    direction = expected(program, rng).direction
    primal = compiled(program).function
    lengths = [name for name, _ in primal.parameters if "_n" in name]
    arrays = [name for name in program.arguments if np.ndim(program.arguments[name])]
    weights: dict[Any, Any] = {
        name: rng.uniform(-1.0, 1.0, program.arguments[name].size) for name in arrays
    }
    seeds = rng.uniform(-1.0, 1.0, len(primal.results)).tolist()
    reverse = value_and_cotangents(primal, program.wrt, lengths)
    forward = tangents(primal, program.wrt, lengths)
    shadowed = {name for name in arrays if f"{name}.bar" in dict(reverse.parameters)}
    first = _bent(program, tangents(reverse, program.wrt, lengths), direction, weights, seeds)
    passed = dict(forward.parameters)
    dots = [f"{name}.dot" for name in program.wrt if name in arrays and f"{name}.dot" in passed]
    back = value_and_cotangents(forward, [*program.wrt, *dots], lengths)
    weights = {f"{name}.dot": weights[name] for name in shadowed}
    second = _bent(program, back, direction, weights, [0.0] * _floats(primal) + seeds)
    (found, buffers), (wanted, others) = first, second
    for x, y in zip(
        found[len(reverse.results) + _floats(primal) :],
        wanted[len(forward.results) :],
        strict=False,
    ):
        _require_near(x, y, "a number")
    for name in program.wrt:
        if name in shadowed:
            bar, other = f"{name}.bar.dot", f"{name}.bar"
            zeros = [0.0] * program.arguments[name].size
            xs = _elements(name, buffers[bar], program) if bar in buffers else zeros
            ys = _elements(name, others[other], program) if other in others else zeros
            for x, y in zip(xs, ys, strict=True):
                _require_near(x, y, name)


def _floats(function: Function) -> int:
    return sum(dtype.kind == "f" for dtype in function.results)


def _bent(
    program: Drawn, made: Function, direction: dict[str, Any], weights: dict[str, Any], seeds: Any
) -> tuple[Any, dict[str, Any]]:
    """The results and the buffers of a second derivative along a direction. `weights` are the
    cotangents of buffers, `seeds` those of results; others are 0."""
    passed, _ = _passed(program)
    cotangents = iter(seeds)
    for name, kind in made.parameters:
        if name in passed:
            continue
        stem, _, last = name.rpartition(".")
        if last == "bar":
            given = weights.get(stem, np.zeros(len(passed[stem])))
        elif last == "dot" and stem in program.arguments:
            given = direction.get(stem, np.zeros(np.shape(program.arguments[stem])))
        elif last == "dot":
            given = np.zeros(len(passed[stem]))
        else:
            given = next(cotangents)
        is_buffer = isinstance(kind, Pointer)
        passed[name] = dict(enumerate(np.ravel(given).tolist())) if is_buffer else float(given)
    found = _run(runnable(made), [passed[name] for name, _ in made.parameters])
    return found, {name: x for name, x in passed.items() if isinstance(x, dict)}


def _require_near(x: float, y: float, what: str) -> None:
    if not math.isclose(x, y, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE):
        raise Different(f"second derivative of {what}: {x!r} is not {y!r}")
