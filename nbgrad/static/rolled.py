"""Runs of a core's lines that differ by the same steps become loops.

A network that is unrolled in Python calls the same few kernels over and over, at places of memory
that lie evenly apart. Numba's time grows with the lines.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

# A run is at least so many rounds, of at most so many lines each.
_ROUNDS, _LONGEST = 4, 12
_CALL = re.compile(r"\w+\(.*\)")
_NUMBER = re.compile(r"(?<![\w.])(?<!e[-+])\d+(?![\w.])")


class _Form(NamedTuple):
    """What a line says, apart from its whole numbers."""

    text: str
    source: str
    call: bool  # and nothing else: a line that may be repeated
    numbers: tuple[int, ...]


def rolled(lines: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Lines, each with the user's, as loops over calls without results where that is possible.

    >>> calls = [(f"f({10 - 2 * i}, {3 * i})", "") for i in range(5)]
    >>> [line for line, _ in rolled(calls)]
    ['for step in range(5):', '    f(10 - step * 2, step * 3)']
    """
    forms = [_form(*line) for line in lines]
    out: list[tuple[str, str]] = []
    at = 0
    while at < len(lines):
        rounds, length = _run(forms, at)
        if rounds == 1:
            out.append(lines[at])
        else:
            out.append((f"for step in range({rounds}):", lines[at][1]))
            for (text, source), one, other in zip(
                lines[at:], forms[at : at + length], forms[at + length :], strict=False
            ):
                out.append((f"    {_stepping(text, one, other)}", source))
        at += rounds * length
    return out


def _form(text: str, source: str) -> _Form:
    numbers = tuple(map(int, _NUMBER.findall(text)))
    return _Form(_NUMBER.sub("#", text), source, _CALL.fullmatch(text) is not None, numbers)


def _run(forms: Sequence[_Form], at: int) -> tuple[int, int]:
    """The rounds, and the lines of each, of the run from `at` on that takes most lines; 1 and 1
    where there is none."""
    best = (1, 1)
    for length in range(1, _LONGEST + 1):
        rounds = _rounds(forms, at, length)
        if rounds >= _ROUNDS and rounds * length > best[0] * best[1]:
            best = (rounds, length)
    return best


def _rounds(forms: Sequence[_Form], at: int, length: int) -> int:
    """How many times the lines from `at` on come again, their numbers in equal steps."""
    count = 0  # of the lines that go on with those before
    while _goes_on(forms, at + length + count, length, count >= length):
        count += 1
    return 1 + count // length


def _goes_on(forms: Sequence[_Form], at: int, length: int, steady: bool) -> bool:
    """Whether a line is that of the round before; where `steady`, as far from it as that one from
    the round before."""
    if at >= len(forms):
        return False
    line, last = forms[at], forms[at - length]
    if not line.call or line[:2] != last[:2]:
        return False
    return not steady or _steps(forms[at - 2 * length], last) == _steps(last, line)


def _steps(one: _Form, other: _Form) -> list[int]:
    return [y - x for x, y in zip(one.numbers, other.numbers, strict=True)]


def _stepping(text: str, one: _Form, other: _Form) -> str:
    """A line of the first round with the numbers that change counted by `step`."""
    steps = iter(_steps(one, other))

    def number(match: re.Match) -> str:
        step = next(steps)
        if step == 0:
            return match[0]
        start = "" if match[0] == "0" else f"{match[0]} {'+' if step > 0 else '-'} "
        return f"{start}step{f' * {abs(step)}' if abs(step) > 1 else ''}"

    return _NUMBER.sub(number, text)
