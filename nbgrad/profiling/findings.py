"""What the numbers of a profile show, in sentences, each with what helps."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..static.inspect.report import in_bytes
from .breakdown import Breakdown, Row, Where, total
from .compilations import BY_NUMBA, CHANGED, DTYPE, FIRST, NESTING, SHAPE, STATIC
from .units import counted, in_percent

__all__ = ["findings"]

_SHORT = 10_000
"""The most elements of an array for which calling an op takes longer than computing it."""
_QUICK = 3e-4
"""The most seconds that such a call takes on average, also where other programs run."""
_SLOW = 1e-7
"""Seconds for each byte that a loop records, in which it does far more than that."""
_LARGE = 1 << 28
"""The bytes from which memory is worth a sentence."""


class Finding(NamedTuple):
    """A sentence, and the share of the time that it is about."""

    share: float
    sentence: str


def findings(b: Breakdown) -> list[str]:
    """The sentences, those about most time first; none where nothing stands out."""
    finders: list[Callable[[Breakdown], Iterator[Finding]]] = [
        _compiling, _short_ops, _outside, _widened, _largest, _memory, _fallbacks, _waiting,
    ]  # fmt: skip
    found = [each for finder in finders for each in finder(b)]
    found.sort(key=lambda each: each.share, reverse=True)
    return [each.sentence for each in found]


def _share(b: Breakdown, seconds: float) -> float:
    return seconds / b.all_seconds if b.all_seconds else 0.0


# -- compiling ------------------------------------------------------------------------------------


def _compiling(b: Breakdown) -> Iterator[Finding]:
    """Much time that went into preparing calls."""
    groups = [g for g in b.grouped(lambda row: (row.kind, row.op)) if g[0].kind == "compile"]
    whats = [total(g, _latest(g), "compile", g[0].op) for g in groups]
    rest = sum(what.time for what in whats)
    for what, rows in zip(whats, groups, strict=True):
        share = _share(b, what.time)
        told = _told_of_function(what, rows) if share >= 0.15 else ""
        if told:
            rest -= what.time
            yield Finding(share, f"{in_percent(share)} of the time is compiling: {told}")
    if _share(b, rest) >= 0.2:
        most = max(whats, key=lambda what: what.time)
        yield Finding(
            _share(b, rest),
            f"{in_percent(_share(b, rest))} of the time is compiling, most of it {_plain(most)}: "
            f"{_told_of_kernels(b)}",
        )


def _latest(rows: list[Row]) -> Where:
    return max(rows, key=lambda row: row.time).where


def _plain(row: Row) -> str:
    """The name of a function and its line."""
    return f"{row.op.partition(' (')[0]} ({row.where})"


def _told_of_function(what: Row, rows: list[Row]) -> str:
    """What helps a function that is compiled; "" for an op, and for a function compiled once."""
    name = _plain(what)
    if BY_NUMBA in what.op:
        return (
            f"Numba compiles {name} in each process. @nbgrad.njit(cache=True) keeps the machine "
            "code for the next one."
        )
    reasons = Counter[str]()
    for row in rows:
        reasons[row.kernel] += row.calls
    first = reasons.pop(FIRST, 0)
    if "(compiled)" not in what.op or not reasons:
        return ""
    ((why, count),) = reasons.most_common(1)
    if why == CHANGED:
        times = counted(count, "time")
        return f"{name} reads a value that changed {times}. Pass it as an argument."
    several = f"{counted(count + min(first, 1), why.removeprefix('new '))} of {name}"
    return f"{several}. {_REMEDIES[why]}"


_REMEDIES = {
    SHAPE: (
        'Name the lengths that vary: nbgrad.compile(f, dynamic={"x": ("n", None)}) compiles once '
        "for all of them."
    ),
    DTYPE: "Convert its arguments to one dtype.",
    STATIC: "Pass numbers that change as floats or arrays.",
    NESTING: "Pass arguments with the same nesting.",
}


def _told_of_kernels(b: Breakdown) -> str:
    made = sum(each.compiled for _, each in b.compilations)
    if made:
        return (
            f"{counted(made, 'kernel')} compiled for the first time. The next run loads "
            f"{'them' if made > 1 else 'it'} from the cache, so profile that one."
        )
    return (
        "kernels are loaded, and functions recorded, at their first call in a process. A longer "
        "run shows more."
    )


# -- running --------------------------------------------------------------------------------------


def _short_ops(b: Breakdown) -> Iterator[Finding]:
    """Many calls of ops on few numbers."""
    short = [row for row in b.merged() if row.kind == "op" and _is_short(row)]
    calls = sum(map(_calls, short))
    around = [row for row in b.rows if row.op in ("between ops", "backward pass")]
    share = _share(b, total([*short, *around], Where()).time)
    if calls < 1000 or share < 0.3:
        return
    # One call of one line: rows of `merged` may have several.
    most = max((row for row in b.rows if row.kind == "op" and _is_short(row)), key=_calls)
    rounds = most.calls // max(b.passes, 1)
    if rounds >= 50:
        each = f" in each of {b.passes:,} backward passes" if b.passes > 1 else ""
        told = (
            f"a Python loop of {rounds:,} rounds{each}, over arrays of "
            f"{counted(most.elements or 0, 'number')} ({most.where}: {most.where.text}). "
            "nbgrad.scan and nbgrad.njit run such a loop as one op."
        )
    else:
        told = (
            f"{calls:,} eager ops on few numbers: calling an op takes longer than computing it. "
            f"nbgrad.compile makes one call of {_function_of(short)}, as in "
            "nbgrad.compile(nbgrad.value_and_grad(f))."
        )
    yield Finding(share, f"{in_percent(share)} of the time is {told}")


def _calls(row: Row) -> int:
    return row.calls


def _is_short(row: Row) -> bool:
    return row.elements is not None and row.elements <= _SHORT and row.seconds <= _QUICK * row.calls


def _function_of(rows: list[Row]) -> str:
    """The function with most of the calls."""
    calls = Counter[str]()
    for row in rows:
        calls[row.where.function] += row.calls
    ((name, _),) = calls.most_common(1)
    where = next(row.where for row in rows if row.where.function == name)
    return f"the function {name} ({where})" if name.isidentifier() else f"the code at {where}"


def _outside(b: Breakdown) -> Iterator[Finding]:
    """Much time outside of nbgrad."""
    rows = [
        total(g, g[0].where)
        for g in b.grouped(lambda row: (row.where, row.kind, row.op))
        if g[0].kind == "python" and g[0].op == "Python"
    ]
    share = _share(b, sum(row.time for row in rows))
    if share >= 0.4 and b.seconds >= 0.1:
        most = max(rows, key=lambda row: row.time)
        line = f", most of it at {most.where}: {most.where.text}" if most.where.file else "."
        yield Finding(share, f"{in_percent(share)} of the time is outside of nbgrad{line}")


def _widened(b: Breakdown) -> Iterator[Finding]:
    """Arrays of float32 that an op turned into float64."""
    wide = [row for row in b.sorted("time") if row.note]
    if wide:
        row, *others = wide
        more = f" (and in {counted(len(others), 'other op')})" if others else ""
        yield Finding(
            _share(b, row.time),
            f"float32 is turned into float64 at {row.where}{more}: {row.op} of {row.note}. Make "
            "the other operand float32, too, or what follows takes twice the memory and time.",
        )


def _largest(b: Breakdown) -> Iterator[Finding]:
    """One op on long arrays, or one function, that takes much of the time."""
    rows = [row for row in b.merged() if row.kind in ("op", "call") and not _is_short(row)]
    row = max(rows, key=lambda row: row.time, default=None)
    if row is not None and _share(b, row.time) >= 0.3:
        of = f" of {row.kernel}" if row.kind == "op" and row.kernel else ""
        back = f", {in_percent(row.back_seconds / row.time)} of it backward"
        told = (
            f"{in_percent(_share(b, row.time))} of the time is {row.op}{of} at {row.where} in "
            f"{counted(row.calls, 'call')}{back if row.back_calls else ''}: {row.where.text}"
        )
        if row.bytes and row.time / row.calls > _SLOW * row.bytes:
            told += (
                f". It records {in_bytes(row.bytes)}, so its loops are short and the calls take "
                "longer than they do: nbgrad.compile(nbgrad.value_and_grad(f)) of the function "
                "around it makes them one program."
            )
        yield Finding(_share(b, row.time), told)


def _memory(b: Breakdown) -> Iterator[Finding]:
    """Graphs and records that take much memory."""
    if b.peak >= _LARGE:
        row = max(b.merged(), key=lambda row: row.held)
        yield Finding(
            0.0,
            f"The graph of a backward pass holds {in_bytes(b.peak)}, of which "
            f"{in_bytes(row.held)} are results of {row.op} at {row.where}. nbgrad.checkpoint(f) "
            "keeps the arguments of f only, and runs it again in the backward pass.",
        )
    row = max(b.rows, key=lambda row: row.bytes, default=None)
    if row is not None and row.bytes >= _LARGE:
        yield Finding(
            0.0,
            f"{row.op} at {row.where} records {in_bytes(row.bytes)} for its backward pass. A loop "
            "over nbgrad.steps(n) keeps few states.",
        )


def _fallbacks(b: Breakdown) -> Iterator[Finding]:
    """Compiled functions that ran uncompiled."""
    for name, told in dict.fromkeys((name, told) for _, name, told in b.fallbacks):
        yield Finding(0.0, f"{name} ran uncompiled inside of a transformation: {told}")


def _waiting(b: Breakdown) -> Iterator[Finding]:
    """A process that often did not run."""
    share = b.computed / b.seconds if b.seconds else 1.0
    if share < 0.7 and b.seconds >= 0.2:
        yield Finding(
            1.0 - share,
            f"The process ran for {in_percent(share)} of the time only: other programs had the "
            "cores, or it waited. The times here contain that.",
        )
