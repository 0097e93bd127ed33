"""One program through modes, and what came of it."""

import traceback
import warnings
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

import nbgrad

from . import modes, static
from .modes import MODES, REFUSALS, Case, Different, NotHere
from .oracle import Unusable
from .programs import Program
from .rounding import (
    is_number_by_rounding,
    is_rounding,
    is_steep,
    is_within_noise,
    left_open,
    shape_is_open,
)


class Failure(NamedTuple):
    """A program that goes wrong in a mode: `kind` is the exception's name, or "Different"."""

    program: Any  # a Program; text where a call is odd
    mode: str
    kind: str
    message: str

    @property
    def signature(self) -> tuple[str, str, str]:
        """What failures of one cause have in common: the mode, the kind, and how it was raised."""
        return (self.mode, self.kind, self.message.split(":")[0][:60])


class Outcome(NamedTuple):
    """Modes that agree, that refuse with what words, that differ, and that have nothing to say."""

    done: list[str]
    refused: list[tuple[str, str]]
    failures: list[Failure]
    silent: list[str]


def outcome(program: Any, names: Iterable[str], table: dict[str, Any] = MODES) -> Outcome:
    """Run a program in these modes. Raises Unusable where it says nothing."""
    found = Outcome([], [], [], [])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if program.refused:
            ways = modes.refusing if table is MODES else static.refusing
            for name, run in ways(program).items():
                record(
                    program, f"refuse {name}", lambda run=run: modes.refuses(program, run), found
                )
            return found
        case = Case(program)
        for name in names:
            record(program, name, lambda name=name: table[name](case), found, table[name])
    return found


def record(
    program: Program, name: str, run: Callable, found: Outcome, mode: Callable | None = None
) -> None:
    """Run one mode, and note what came of it."""
    try:
        run()
        found.done.append(name)
    except (NotHere, Unusable):
        found.silent.append(name)
    except REFUSALS as error:
        if _must_work(program, str(error)):
            found.failures.append(Failure(program, name, "refused", str(error)))
        else:
            found.refused.append((name, str(error)))
    except Different as error:
        if isinstance(program, Program) and _says_nothing(program, mode, error):
            found.silent.append(name)
            return
        found.failures.append(Failure(program, name, "Different", str(error)))
    except Exception as error:
        # What numbers are is refused, and rounding decides what they are.
        numbers = isinstance(error, (ValueError, ArithmeticError, np.linalg.LinAlgError))
        ours = isinstance(error, nbgrad.NbgradError)
        if (
            _widened(program, error)
            or _left_open_by_numpy(program, error)
            or (numbers and isinstance(program, Program) and shape_is_open(program))
            or (numbers and not ours and isinstance(program, Program) and left_open(program))
        ):
            found.refused.append((name, str(error)))
            return
        if isinstance(error.__cause__, REFUSALS):  # NumPy's word for it, as in plain[0] = tracked
            found.refused.append((name, str(error.__cause__)))
            return
        where = traceback.extract_tb(error.__traceback__)[-1]
        at = f"{where.filename.rsplit('/', 1)[-1]}:{where.name}"
        found.failures.append(Failure(program, name, f"{type(error).__name__} in {at}", str(error)))


def _must_work(program: Program, refusal: str) -> bool:
    """Whether what is refused is a number of Python's, written into an array of any dtype."""
    if "cannot take values of dtype" not in refusal or not isinstance(program, Program):
        return False
    return all(len(step.args) == 1 for step in program.steps if step.op == "assign")


def _says_nothing(program: Program, mode: Callable | None, error: Different) -> bool:
    """Whether a difference is rounding, or there is no one right answer."""
    if is_open(program, error) or is_within_noise(program, error.gap):
        return True
    return mode is not None and is_rounding(program, mode, error.gap, error.size)


def is_open(program: Program, error: Different) -> bool:
    """Whether there is no one right answer: values jump at the point; or one side of the difference
    is no number, and values are none close by, or their slopes are infinite."""
    if left_open(program) or shape_is_open(program) or is_number_by_rounding(program):
        return True
    return not error.finite and (left_open(program, edges=True) or is_steep(program))


def _left_open_by_numpy(program: Program, error: Exception) -> bool:
    """Whether a compiled program refuses what NumPy leaves open: columns that depend on each other,
    as the shape of what `lstsq` gives would depend on them, and the whole number 1 / 0. Or what it
    has no word for: slopes of integers."""
    if "lstsq" in str(program):
        return isinstance(error, (np.linalg.LinAlgError, nbgrad.DimensionMismatch))
    text = str(error)
    return "an integer 0 has no reciprocal" in text or "holds no float to differentiate" in text


def _widened(program: Program, error: Exception) -> bool:
    """Whether a loop refuses that its state becomes float64, beside a number of Python's, which is
    a float64 array where it is differentiated."""
    numbers = any(type(x.value) is float for x in program.inputs)
    return isinstance(error, TypeError) and numbers and "changes the state from" in str(error)
