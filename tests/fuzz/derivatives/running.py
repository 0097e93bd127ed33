"""Many programs: how many agree, and the first failures, shrunk."""

import time
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from .checking import Different, Unsupported, Unusable, check, rounds_of
from .drawing import Drawn, draw
from .shrinking import shrunk

Check = Callable[[Drawn], None]
Draw = Callable[[int], Drawn]


class Outcomes(NamedTuple):
    """Numbers of programs by what happened, and failures with what is wrong."""

    counts: Counter
    failures: list[tuple[Drawn, str]]


def outcome(program: Drawn, checked: Check = check) -> str:
    """ "" where a program is right, "unusable", "refused", or what is wrong."""
    try:
        with rounds_of(program):
            checked(program)
    except Unusable:
        return "unusable"
    except Unsupported:
        return "refused"
    except Different as error:
        return f"Different: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def is_wrong(told: str) -> bool:
    return told not in ("", "unusable", "refused")


def run(
    seed: int,
    programs: int,
    seconds: float = 1e9,
    most: int = 1,
    checked: Check = check,
    draw: Draw = draw,
) -> Outcomes:
    """Check the programs of seeds from `seed` on, until `most` have failed."""
    counts: Counter = Counter()
    failures: list[tuple[Drawn, str]] = []
    end = time.monotonic() + seconds
    for number in range(seed, seed + programs):
        if time.monotonic() > end or len(failures) >= most:
            break
        program = draw(number)
        told = outcome(program, checked)
        counts["wrong" if is_wrong(told) else told or "right"] += 1
        if is_wrong(told):
            failures.append((program, told))
    return Outcomes(counts, failures)


def small(program: Drawn, seconds: float, checked: Check = check) -> Drawn:
    """The failing program shrunk: it fails in the same way, as far as the first word tells."""
    kind = outcome(program, checked).split()[:2]
    return shrunk(program, lambda x: outcome(x, checked).split()[:2] == kind, seconds)


def told(program: Drawn, checked: Check = check) -> str:
    """A program that fails, with what is wrong and its arguments."""
    given = {
        name: x.tolist() if hasattr(x, "tolist") else x for name, x in program.arguments.items()
    }
    wrong = outcome(program, checked)
    return f"# seed {program.seed}: {wrong}\n{program.text}# by {program.wrt}, of {given}\n"
