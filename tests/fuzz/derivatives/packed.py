"""A program's vectors: its value, its derivatives in directions, and its cotangents, as calls of
functions with loops give them, beside dual numbers."""

import math
from typing import Any

import numpy as np
from checkers.arithmetic import begin
from checkers.functions import runnable

from nbgrad.errors import NoRuleError
from nbgrad.loops.call import arguments
from nbgrad.loops.calls import Bound
from nbgrad.loops.packed import Derivative, derivative
from nbgrad.loops.status import ALLOWED, WORDS

from .checking import (
    EXACT,
    ROUGH,
    Different,
    Expected,
    Unsupported,
    Unusable,
    expected,
    functions_of,
)
from .drawing import Drawn
from .dual import Dual

__all__ = ["check_packed"]


def check_packed(program: Drawn) -> None:
    """Raise Different where a vector is wrong; see `check`. All arrays of floats that the program
    writes to are results, and have cotangents."""
    rng = np.random.default_rng(program.seed + 1)
    right = expected(program, rng)
    function = functions_of(program.text)["drawn"]
    bound = Bound(function, tuple(program.arguments.values()), {})
    try:
        signature, leaves = bound.signature, arguments(bound)
    except NoRuleError as refused:
        raise Unsupported(str(refused)) from None
    names = list(program.arguments)
    moving = tuple(names.index(name) for name in program.wrt)
    outs = tuple(i for i in sorted(signature.overwritten) if signature.leaves[i].is_float)
    value = derivative(signature, outs)
    if not value.size([np.shape(x) for x in leaves]):
        raise Unusable("it gives no float")
    values, dots = _vectors(right, [names[i] for i in outs])
    _require(program, "values", _filled(value, leaves), values)
    ways = [right.direction[names[i]] for i in moving]
    along = value.changed(along=(moving,))
    _require(program, "tangents", _filled(along, [*leaves, *ways]), dots)
    ct = rng.uniform(-1.0, 1.0, len(values)).astype(value.dtype)
    found = _filled(value.changed(wrt=moving), [*leaves, ct])
    way = np.concatenate([np.ravel(x) for x in ways])
    _require(program, "values beside cotangents", found[way.size :], values[: value.count])
    scale = np.abs(ct * dots).sum() + np.abs(way * found[: way.size]).sum()
    backward, forward = way @ found[: way.size], ct @ dots
    if not abs(backward - forward) <= _tolerance(program) * (1.0 + scale):
        raise Different(f"derivative {backward!r} is not {forward!r}")


def _vectors(right: Expected, outs: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """The float results and the elements of written arrays, and their derivatives."""
    every = [x for x in right.results if isinstance(x, (Dual, float))]
    every += [x for name in outs for x in right.arrays[name]]
    duals = [x if isinstance(x, Dual) else Dual(float(x)) for x in every]
    return np.array([x.value for x in duals]), np.array([x.dot for x in duals])


def _filled(of: Derivative, given: list[Any]) -> np.ndarray:
    """The vector of a derivative, whose elements are not numbers before."""
    function = of.packed(by_address=False)
    shapes = [np.shape(x) for x in given[: len(of.signature.leaves)]]
    out, passed = dict.fromkeys(range(of.size(shapes)), math.nan), []
    for x, is_number in zip(given, map(of.numbers.__contains__, range(len(given))), strict=True):
        if is_number:
            passed.append(np.asarray(x).item())
        else:
            passed += [dict(enumerate(np.ravel(x).tolist())), *np.shape(x)]
    status = dict.fromkeys(range(WORDS), 0) | {ALLOWED: 2**40}
    begin()
    found = runnable(function)(*passed, out, len(out), status, WORDS)
    if status[0] or found or sorted(out) != list(range(len(out))):
        raise Different(f"status {status}, results {found}, elements {sorted(out)}")
    return np.array([out[i] for i in range(len(out))])


def _tolerance(program: Drawn) -> float:
    return ROUGH if program.has_singles else EXACT


def _require(program: Drawn, what: str, found: np.ndarray, wanted: np.ndarray) -> None:
    scale = max([1.0, *np.abs(wanted)])
    if not (np.abs(found - wanted) <= _tolerance(program) * scale).all():
        raise Different(f"{what}: {found.tolist()} is not {wanted.tolist()}")
