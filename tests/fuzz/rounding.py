"""Whether a small difference of derivatives is rounding.

What is wrong hardly changes where the inputs change a little. What is left of terms
that cancel, each of which is rounded, comes out differently every time.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from .case import Case, Different
from .oracle import Unusable, epsilon
from .programs import Input, Program

DRAWS = 6


def is_rounding(program: Program, mode: Callable[[Case], None], gap: np.ndarray | None) -> bool:
    """Whether `gap`, by how much a mode differs, is small and another one for inputs close by."""
    unit = epsilon(*(x.value for x in program.inputs))
    if gap is None or not np.all(np.isfinite(gap)) or np.max(np.abs(gap)) > unit**0.5:
        return False
    rng = np.random.default_rng(1)
    found = []
    for _ in range(DRAWS):
        inputs = tuple(_beside(x, unit, rng) for x in program.inputs)
        try:
            mode(Case(replace(program, inputs=inputs)))
            found.append(np.zeros_like(gap))
        except Different as error:
            if error.gap is None or error.gap.shape != gap.shape:
                return False
            found.append(error.gap)
        except Unusable:
            continue
    moved = [float(np.max(np.abs(other - gap))) for other in found]
    return bool(moved) and float(np.median(moved)) > 0.3 * float(np.max(np.abs(gap)))


def _beside(x: Input, unit: float, rng: np.random.Generator) -> Input:
    if not x.is_float:
        return x
    value = np.asarray(x.value)
    moved = (value * (1 + unit**0.6 * rng.uniform(-1.0, 1.0, value.shape))).astype(value.dtype)
    return x._replace(value=moved if isinstance(x.value, np.ndarray) else float(moved))
