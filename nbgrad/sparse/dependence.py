"""Propagation of patterns through a recorded program: on which elements of its first input each
output depends, for any values of the inputs."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse

from ..core.array import Array
from ..core.primitive import Aval
from ..core.symbols import Symbol
from ..static.trace.body import Body
from ..static.trace.choice_row import cond
from ..static.trace.loop_row import loop
from ..static.trace.program import Program
from . import labels
from .labels import Pattern
from .local import Op, pattern_of

# Loops of more steps are not followed: what the step joins is then joined entirely.
_STEPS = 2000


class Evidence:
    """Arrays that the program closes over, whose values decided about a pattern."""

    def __init__(self) -> None:
        self._seen: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def read(self, array: np.ndarray) -> np.ndarray:
        """Return an array, and remember its values."""
        self._seen.setdefault(id(array), (array, np.array(array)))
        return self._seen[id(array)][1]

    def is_same(self) -> bool:
        """Whether the arrays have the same values still."""
        return all(np.array_equal(x, then, equal_nan=True) for x, then in self._seen.values())


def dependence(program: Program, evidence: Evidence) -> list[Pattern | None]:
    """Return the pattern of each output with respect to the elements of the first input, None for
    an output that does not depend on it."""
    patterns: dict[Symbol, Pattern | None] = dict.fromkeys(program.inputs)
    patterns[program.inputs[0]] = labels.identity(program.inputs[0].size)
    arrays = dict(program.captured)
    return _Walk(evidence, patterns, arrays).outputs(program)


class _Walk:
    """The patterns of the values of a program, and the values of its constants.

    `patterns` has those of the inputs; `arrays` has captured arrays, which are read if a rule asks
    for their values, and known values of inputs.
    """

    def __init__(self, evidence: Evidence, patterns: dict, arrays: dict):
        self.evidence, self.patterns, self.arrays = evidence, patterns, arrays
        self._values: dict[Symbol, Any] = {}

    def outputs(self, program: Program) -> list[Pattern | None]:
        """Return the patterns of the outputs."""
        for equation in program.equations:
            if equation not in self.patterns:
                self.patterns[equation] = self._of(equation)
        return [self._pattern(x) for x in program.outputs]

    def value(self, x: Any) -> Any:
        """Return the value of a constant, None for a value that depends on inputs."""
        if not isinstance(x, Symbol):
            return None if isinstance(x, Array) else x  # of an outer transformation
        if x not in self._values:
            self._values[x] = self._computed(x)
        return self._values[x]

    def _computed(self, x: Symbol) -> Any:
        if x in self.arrays:
            array = self.arrays[x]
            return self.evidence.read(array) if type(array) is np.ndarray else array
        if x.primitive is None or self.patterns.get(x) is not None:
            return None
        if not x.primitive.registered or x.primitive.has_plain_params not in (None, True):
            return None
        args = [self.value(arg) for arg in x.args]
        if x.primitive.is_random or any(arg is None for arg in args):
            return None
        return np.asarray(x.primitive.evaluate(*args, **x.params)).astype(x.dtype, copy=False)

    def _pattern(self, x: Any) -> Pattern | None:
        return self.patterns.get(x) if isinstance(x, Symbol) else None

    def _of(self, equation: Symbol) -> Pattern | None:
        given = [self._pattern(x) for x in equation.args]
        row = equation.primitive
        assert row is not None
        if all(pattern is None for pattern in given) or not row.differentiable:
            return None
        if row is loop:
            return self._loop(equation, given)
        if row is cond:
            return self._choice(equation, given)
        return pattern_of(Op(equation, given, lambda i: self.value(equation.args[i])))

    # -- loops and choices --------------------------------------------------------------------

    def _inner(self, program: Program, given: Sequence, known: Sequence) -> list[Pattern | None]:
        """Return the patterns of the outputs of a program inside, for the patterns of its inputs
        and the values of those that are known."""
        arrays = {x: v for x, v in zip(program.inputs, known, strict=True) if v is not None}
        patterns = dict(zip(program.inputs, given, strict=True))
        return _Walk(self.evidence, patterns, arrays).outputs(program)

    def _choice(self, equation: Symbol, given: list) -> Pattern | None:
        """Either of two programs may run."""
        sides, outs = equation.params["body"], equation.params["outs"]
        parts = []
        for side in (0, 1):
            places = sides.places[side]
            known = [self.value(equation.args[1 + k]) for k in places]
            found = self._inner(sides.programs[side], [given[1 + k] for k in places], known)
            parts.append(_stacked([found[k] for k in outs], [sides.avals[k] for k in outs]))
        return labels.united(parts)

    def _loop(self, equation: Symbol, given: list) -> Pattern | None:
        body, outs = equation.params["body"], equation.params["outs"]
        avals = [body.avals[k] for k in outs]
        if body.n > _STEPS:
            every = labels.united([labels.all_of(x, 1) for x in given if x is not None])
            return labels.taken(every, np.zeros(sum(a.size for a in avals), int))
        found = self._steps(body, equation.args, given)
        return _stacked([found[body.key(k)] for k in outs], avals)

    def _steps(self, body: Body, args: Sequence, given: list) -> dict[tuple, Pattern | None]:
        """Return the patterns of the results of a loop, by kind and number, step by step."""
        c, s, n = body.constants, body.states, body.n
        known = [self.value(x) for x in args[:c]]
        state = list(given[c : c + s])
        before: list[list] = []
        ys: list[list] = []
        final = list(state)
        slices = [_rows(x, n) for x in given[c + s :]]
        still = False
        for i in range(n - 1, -1, -1) if body.reverse else range(n):
            before.append(state)
            if still and ys:
                ys.append(ys[-1])
                continue
            xs = [None if x is None else x[i] for x in slices]
            inputs = [None, *given[:c], *state, *xs]
            values = [np.asarray(i), *known, *[None] * (s + len(xs))]
            results = self._inner(body.program, inputs, values)
            ys.append(results[s:])
            new = results[:s]
            if body.ending:  # it may end before each step
                new = [labels.united([x, y]) for x, y in zip(state, new, strict=True)]
            still = not any(x is not None for x in slices) and not _reads_number(body)
            still = still and all(map(labels.same, state, new))
            state = new
        final = state
        states = [*before, final]
        if body.reverse:
            states, ys = states[::-1], ys[::-1]
        found: dict[tuple, Pattern | None] = {}
        sizes = [aval.size for aval in body.avals[:s]]
        for k in range(s):
            found["state", k] = final[k]
            found["states", k] = _piled([x[k] for x in states], sizes[k])
            if body.spans:
                found["marks", k] = _piled([x[k] for x in states[: n : body.spans[0]]], sizes[k])
        for k, y in enumerate(body.program_ys):
            found["y", k] = _piled([x[k] for x in ys], y.size)
        return found


def _reads_number(body: Body) -> bool:
    """Whether the step reads its number, so that steps differ."""
    number = body.program.inputs[0]
    return any(arg is number for x in body.program.equations for arg in x.args)


def _rows(pattern: Pattern | None, n: int) -> list[Pattern] | None:
    """The patterns of the items along the first axis."""
    if pattern is None:
        return None
    size = pattern.shape[0] // max(n, 1)
    return [pattern[i * size : (i + 1) * size] for i in range(n)]


def _stacked(parts: Sequence[Pattern | None], avals: Sequence[Aval]) -> Pattern | None:
    """The pattern of results that are joined in one flat array."""
    return _joined(parts, [math.prod(aval.shape) for aval in avals])


def _piled(parts: Sequence[Pattern | None], size: int) -> Pattern | None:
    return _joined(parts, [size] * len(parts))


def _joined(parts: Sequence[Pattern | None], sizes: Sequence[int]) -> Pattern | None:
    known = [part for part in parts if part is not None]
    if not known:
        return None
    columns = known[0].shape[1]
    filled = [
        scipy.sparse.csr_array((size, columns), dtype=bool) if part is None else part
        for part, size in zip(parts, sizes, strict=True)
    ]
    return filled[0] if len(filled) == 1 else scipy.sparse.vstack(filled, format="csr")
