"""One random program that writes."""

from functools import cache

import numpy as np

from ..draft import DTYPES, NARROW, is_float
from ..draw import ops, undo
from ..oracle import Unusable
from ..programs import Program, Step
from ..registry import known
from .bodies import BODIES
from .draft import MemoryDraft
from .views import VIEWS
from .writes import WRITES

SHARES = {"view": 0.35, "write": 0.37, "body": 0.17, "other": 0.11}
TABLES = {"view": VIEWS, "write": WRITES, "body": BODIES}


GIVEN = {"broadcast_arrays", "loop", "loop_of_constants", "while_loop"}
"""Ops that may give what they were given, or a copy of it, as no step of a loop may run; and one
whose views NumPy will make read only."""


@cache
def memory_ops() -> dict:
    """The steps that only these programs have."""
    return {f"{name} {op}": f for name, table in TABLES.items() for op, f in table.items()}


def draw(seed: int, longest: int = 10, wanted: str = "") -> Program:
    """A program that writes to its arrays: the same for the same seed and longest length.

    `wanted` is an op of the vocabulary that must be among its steps. Raises Unusable where that did
    not come about.
    """
    d, outputs = drafted(seed, longest, wanted)
    program = d.program(outputs, seed)
    if not any(step.writes for step in program.steps):
        raise Unusable("nothing is written")
    return program


def drafted(seed: int, longest: int = 10, wanted: str = "") -> tuple[MemoryDraft, list[int]]:
    """All that is drawn for a program, and which of its values are given."""
    rng = np.random.default_rng([seed, 1])
    way = rng.random()
    d = MemoryDraft(rng, ("float64",) if way < 0.8 else DTYPES if way < 0.93 else NARROW)
    d.new(d.shape() or (3,), "float32" if d.narrow else "float64", role="argument")
    if rng.random() < 0.5:
        d.new(d.shape() or (3,), role="argument" if rng.random() < 0.25 else "captured")
    VIEWS["owned"](d)
    count = int(rng.integers(2, longest + 1))
    tries = made = 0
    others = [name for name in ops() if name not in GIVEN]
    while made < count and tries < 8 * count and not d.refused:
        tries += 1
        group = str(rng.choice(list(SHARES), p=list(SHARES.values())))
        before = len(d.values)
        try:
            if group == "other":
                op = wanted if wanted and made == 0 else d.one(others)
                i = known(ops(), d, op)
            else:
                name = d.one(list(TABLES[group]))
                op, i = f"{group} {name}", known(TABLES[group], d, name)
        except Unusable:
            undo(d, before)
            continue
        place = d.places[i]
        if isinstance(place, Step):
            d.places[i] = place._replace(op=op)
        made += 1
    if d.refused or not any(isinstance(p, Step) and p.writes for p in d.places):
        raise Unusable("nothing is written")
    return d, _outputs(d)


def _outputs(d: MemoryDraft) -> list[int]:
    """Some of what was written, of what shares memory with it, and of what was saved before."""
    steps = [i for i, place in enumerate(d.places) if isinstance(place, Step)]
    written = [i for i in steps if d.places[i].writes]
    floats = [i for i in steps if is_float(d.values[i]) and d.tracked[i]] or steps
    chosen = [d.one(written)]
    chosen += [d.one(floats) for _ in range(d.number(0, 3))]
    if d.chance(0.3):
        chosen.append(steps[-1])
    return list(dict.fromkeys(chosen))
