"""One random program: a few inputs, then 1 to 12 steps, rare ones first."""

from collections.abc import Iterable
from functools import cache

import numpy as np

from .coverage import Coverage
from .draft import DTYPES, NARROW, Draft, is_float
from .oracle import Unusable
from .programs import Program, Step
from .registry import OPERATORS, known, vocabulary


@cache
def ops() -> dict:
    return vocabulary()


def draw(
    seed: int,
    met: Coverage | None = None,
    longest: int = 12,
    wanted: str = "",
    modes: Iterable[str] = (),
) -> Program:
    """A program: the same for the same seed, what was met before, and longest length.

    `wanted` is an op that must be among its steps; of the others those come most often that were
    met least, alone and in these modes. Raises Unusable where that did not come about.
    """
    rng = np.random.default_rng(seed)
    way = rng.random()
    d = Draft(rng, ("float64",) if way < 0.42 else DTYPES if way < 0.85 else NARROW)
    names = list(ops())
    operator = np.array([name in OPERATORS for name in names])
    weights = (met or Coverage()).weights(names, list(modes), d.narrow)
    weights = 0.9 * weights + 0.1 * operator / operator.sum()  # most rewriting is of arithmetic
    d.tails = bool(rng.random() < 0.04)
    for _ in range(1 if d.tails else int(rng.integers(1, 4))):
        d.new((), "float64") if d.tails else d.new()
    count = 1 if d.tails else int(min(rng.integers(1, longest + 1, 2)))  # short ones say most
    made, tries = 0, 0
    last = len(d.values)
    while made < count and tries < 6 * count and not d.refused:
        tries += 1
        name = (
            wanted
            if wanted and (made == 0 or rng.random() < 0.2)
            else str(rng.choice(names, p=weights))
        )
        before = len(d.values)
        try:
            last = known(ops(), d, name)
        except Unusable:
            undo(d, before)
            continue
        place = d.places[last]
        if isinstance(place, Step):
            d.places[last] = place._replace(op=name)
        made += 1
    if made == 0:
        raise Unusable("no step fits")
    return d.program(_outputs(d, last), seed)


def undo(d: Draft, count: int) -> None:
    """Take back what an op added before it failed."""
    while len(d.values) > count:
        d.values.pop()
        d.tracked.pop()
        if not isinstance(d.places.pop(), Step):
            d.inputs.pop()


def _outputs(d: Draft, last: int) -> list[int]:
    """What nothing uses, up to three values, and sometimes what something does use."""
    if d.refused:
        return [last]
    used = {a for place in d.places if isinstance(place, Step) for a in place.args}
    steps = [i for i, place in enumerate(d.places) if isinstance(place, Step)]
    ends = [i for i in steps if i not in used]
    floats = [i for i in ends if is_float(d.values[i]) and d.tracked[i]]
    rest = [i for i in ends if i not in floats]
    chosen = [*floats[-3:], *rest[-1:]] if d.chance(0.6) else [last]
    if d.chance(0.15):
        chosen.append(d.one(steps))
    return list(dict.fromkeys(chosen)) or [last]
