"""A program as machine code: its value beside Numba's, bit for bit, its cotangents beside dual
numbers, and nothing written outside of its arrays."""

import warnings
from dataclasses import replace
from typing import Any

import numba
import numpy as np

import nbgrad
from nbgrad.errors import NoRuleError
from nbgrad.loops.maker import Reverse

from .checking import (
    EXACT,
    ROUGH,
    Different,
    Unsupported,
    check_cotangents,
    expected,
    functions_of,
    kind_of,
)
from .drawing import Drawn
from .dual import Dual

_EDGE = 8
_GUARD = 77  # what stands beside each array


class _Guarded:
    """A copy of an array with elements on both sides that are not to be written."""

    def __init__(self, x: np.ndarray):
        self._room = np.full(x.size + 2 * _EDGE, _GUARD, x.dtype)
        self.array = self._room[_EDGE : _EDGE + x.size].reshape(x.shape)
        self.array[...] = x

    def require_kept(self, name: str) -> None:
        edges = np.concatenate([self._room[:_EDGE], self._room[-_EDGE:]])
        if not (edges == _GUARD).all():
            raise Different(f"a store beside {name}")


def check_machine(program: Drawn) -> None:
    """Raise Different where machine code is wrong; see `check`."""
    rng = np.random.default_rng(program.seed + 1)
    right = expected(program, rng)
    names = list(program.arguments)
    kinds = tuple(map(kind_of, program.arguments.values()))
    places = tuple(names.index(name) for name in program.wrt)
    maker = Reverse(functions_of(program.text)["drawn"], kinds, places)
    exact = maker.made.attributes | {"exact"}  # rounds as Numba does
    vars(maker)["made"] = replace(maker.made, attributes=exact)
    kernel = maker.kernel()

    def run(*passed: Any) -> tuple:
        given = dict(zip((name for name, _ in maker.made.parameters), passed, strict=True))
        guarded: dict[str, _Guarded] = {}
        arguments: list[Any] = []
        for each in maker.arguments:
            value = given[each.parameters[0]]
            if isinstance(value, dict):
                own = program.arguments[each.parameters[0].removesuffix(".bar")]
                x = np.array(list(value.values()), own.dtype).reshape(own.shape)
                guarded[each.parameters[0]] = _Guarded(x)
                arguments.append(guarded[each.parameters[0]].array)
            else:
                arguments.append(each.kind.type(value))
        found = kernel(*arguments)
        for name, one in guarded.items():
            one.require_kept(name)
            given[name].update(enumerate(one.array.ravel().tolist()))
        return found if isinstance(found, tuple) else () if found is None else (found,)

    check_cotangents(program, maker.made, run, right, rng)


def check_numba(program: Drawn) -> None:
    """Raise Different where the value that comes with cotangents is not what Numba gives."""
    space = functions_of(program.text)
    for name, function in list(space.items()):
        if name.startswith("part"):
            space[name] = numba.njit(error_model="numpy")(function)
    plain = numba.njit(error_model="numpy")(space["drawn"])
    arrays = [np.copy(x) if isinstance(x, np.ndarray) else x for x in program.arguments.values()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = plain(*arrays)
    right = expected(program, np.random.default_rng(program.seed + 1))
    results = list(found) if isinstance(found, tuple) else [] if found is None else [found]
    values = [getattr(x, "value", x) for x in right.results]
    if results != values and not program.has_singles:
        raise Different(f"Numba gives {results}, Python {values}")
    for name, x in zip(program.arguments, arrays, strict=True):
        if isinstance(x, np.ndarray) and not program.has_singles:
            values = [getattr(y, "value", y) for y in right.arrays[name]]
            if x.ravel().tolist() != values:
                raise Different(f"Numba leaves {x.ravel().tolist()} in {name}, Python {values}")


def is_floats(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind == "f"


def check_tracked(program: Drawn) -> None:
    """Raise Different where tracked calls, which keep their record, give other derivatives."""
    rng = np.random.default_rng(program.seed + 1)
    right = expected(program, rng)
    names = list(program.arguments)
    leaves = [
        nbgrad.track(np.copy(x)) if name in program.wrt or is_floats(x) else x
        for name, x in program.arguments.items()
    ]
    given = [x.copy() if hasattr(x, "backward") else x for x in leaves]  # it may write to these
    try:
        found = nbgrad.njit(functions_of(program.text)["drawn"])(*given)
    except NoRuleError as refused:
        raise Unsupported(str(refused)) from None
    results = found if isinstance(found, tuple) else () if found is None else (found,)
    pairs = list(zip(results, right.results, strict=True))
    for name, x in zip(names, given, strict=True):
        if name in right.arrays and hasattr(x, "backward"):
            pairs += zip(x.ravel(), right.arrays[name], strict=True)
    total, forward, scale = nbgrad.track(0.0), 0.0, 1.0
    for x, wanted in pairs:
        if isinstance(wanted, (Dual, float)):
            ct = float(rng.uniform(-1.0, 1.0))
            total = total + ct * x
            forward += ct * getattr(wanted, "dot", 0.0)
            scale += abs(ct * getattr(wanted, "dot", 0.0))
    total.backward()
    backward = 0.0
    for name, x in zip(names, leaves, strict=True):
        if name in program.wrt and x.grad is not None:
            terms = np.ravel(x.grad) * np.ravel(right.direction[name])
            backward += terms.sum()
            scale += np.abs(terms).sum()
    tolerance = ROUGH if program.has_singles else EXACT
    if not abs(forward - backward) <= tolerance * scale:
        raise Different(f"derivative {backward!r} is not {forward!r}")
