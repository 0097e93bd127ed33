"""One random program: a few inputs, then 1 to 12 steps, rare ones first."""

from collections.abc import Mapping
from functools import cache

import numpy as np

from .draft import DTYPES, Draft, is_float
from .oracle import Unusable
from .programs import Program, Step
from .registry import known, vocabulary


@cache
def ops() -> dict:
    return vocabulary()


def draw(
    seed: int, met: Mapping[str, int] | None = None, longest: int = 12, wanted: str = ""
) -> Program:
    """A program: the same for the same seed, counts of ops met before, and longest length.

    `wanted` is an op that must be among its steps. Raises Unusable where that did not come about.
    """
    rng = np.random.default_rng(seed)
    d = Draft(rng, ("float64",) if rng.random() < 0.45 else DTYPES)
    names = list(ops())
    weights = np.array([1.0 / (1.0 + (met or {}).get(name, 0)) for name in names])
    weights = 0.5 * weights / weights.sum() + 0.5 / len(names)
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
            _undo(d, before)
            continue
        place = d.places[last]
        if isinstance(place, Step):
            d.places[last] = place._replace(op=name)
        made += 1
    if made == 0:
        raise Unusable("no step fits")
    return d.program(_outputs(d, last), seed)


def _undo(d: Draft, count: int) -> None:
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
