"""Calls with what functions do not take: they must be refused by a documented error.

Eager and compiled: no traceback of Numba, KeyError, RecursionError, StopIteration or AttributeError
of something inside may come out.
"""

import contextlib
import operator
import os
import signal
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import nbgrad
from nbgrad.core.array import functions

DOCUMENTED = (
    nbgrad.NbgradError, TypeError, ValueError, IndexError, OverflowError, NotImplementedError,
    ZeroDivisionError, np.linalg.LinAlgError,
)  # fmt: skip
"""What a wrong call may raise: our own errors, and those of NumPy and Python for the same."""

NOT_CALLED = {
    "StaticFunction", "TrackedArray", "compile", "print_tree", "draw", "warmup", "minimize",
    "descend", "check_grads", "show", "stats",
}  # fmt: skip
"""These run whatever they are given, write, or start long work."""

OPERATORS = {
    "__add__", "__rsub__", "__mul__", "__truediv__", "__rfloordiv__", "__mod__", "__pow__",
    "__rpow__", "__matmul__", "__rmatmul__", "__getitem__", "__setitem__", "__eq__", "__lt__",
    "__iadd__", "__divmod__", "__round__", "__contains__", "__format__", "__float__", "__len__",
}  # fmt: skip
LONGEST = 60.0  # seconds that a call may take, its compilation included
HOME = os.path.dirname(nbgrad.__file__)
TRACKED = 12  # so many tracked arrays lead the pool
KEYWORDS = ("axis", "keepdims", "out", "dtype", "axes", "shape", "name", "copy", "nonsense", "ord")


class Stranger:
    """An object that nothing knows."""


def values(rng: np.random.Generator) -> list[Any]:
    tracked = [nbgrad.track(rng.normal(size=shape)) for shape in ((), (3,), (2, 3), (3, 3), (0, 3))]
    plain = [rng.normal(size=shape) for shape in ((), (3,), (3, 2), (2, 2, 3))]
    return [
        *tracked, *tracked, nbgrad.track(np.ones(3, np.float32)), tracked[1] * 2.0, *plain,
        None, "text", b"bytes", 1, -1, 0, 7, 2.5, -0.5, True, float("nan"), float("inf"), 1j,
        10**400, Stranger(), Stranger, len, [], (), {}, [1, "a"], [[1.0], [1.0, 2.0]], (0, 1),
        (5, -9), [3, 3], slice(0, 2), ..., np.array(["a"]), np.array([None]), np.array([1 + 1j]),
        np.arange(3),
        np.array([True, False, True]), np.float32(1), np.int64(2), np.datetime64("2020-01-01"),
        [tracked[1], tracked[1]], [tracked[0], 1.0], (tracked[1], tracked[2]), {"a": tracked[1]},
        np.longdouble(1), np.ones(2, np.float16), 1.5 + 0j, range(3), "ij,jk->ik", "sum", np.sum,
        np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False]), np.ones(3, ">f8"),
        np.ones(3, np.uint16),
    ]  # fmt: skip


def candidates() -> dict[str, Any]:
    """Public functions, NumPy functions with a rule, and methods and operators by name."""
    found = {
        f"nbgrad.{name}": getattr(nbgrad, name)
        for name in nbgrad.__all__
        if callable(getattr(nbgrad, name)) and name not in NOT_CALLED
    }
    found |= {f"np.{f.__name__}": f for f in functions if callable(f) and hasattr(f, "__name__")}
    for name in dir(nbgrad.TrackedArray):
        method = getattr(nbgrad.TrackedArray, name)
        plain = not name.startswith("_") or name in OPERATORS
        if plain and callable(method) and name not in ("process", "bind1", "bind2"):
            found[f"x.{name}"] = name
    return found


def wrong_call(function: Any, rng: np.random.Generator, pool: list[Any]) -> str | None:
    """Call `function` with random values; a description of an undocumented error, or None."""
    args = [pool[rng.integers(len(pool))] for _ in range(rng.integers(0, 4))]
    if isinstance(function, str):
        function = getattr(pool[rng.integers(TRACKED)], function, None)
        if function is None:  # such as the length of a number
            return None
    elif function in functions:
        # Without a tracked array NumPy itself would answer.
        args.insert(0, pool[rng.integers(TRACKED)])
    options = {}
    if rng.random() < 0.3:
        options[KEYWORDS[rng.integers(len(KEYWORDS))]] = pool[rng.integers(len(pool))]
    return undocumented(lambda: function(*args, **options), f"{args} {options}")


def wrong_compiled_call(function: Any, rng: np.random.Generator, pool: list[Any]) -> str | None:
    """The same while a function of one or two arrays is recorded, and when it then runs."""
    given = [pool[rng.integers(TRACKED)].data for _ in range(rng.integers(1, 3))]
    if isinstance(function, str) and function.startswith("__") and not hasattr(operator, function):
        return None  # of what Python itself calls by another name
    rest = [pool[rng.integers(TRACKED, len(pool))] for _ in range(rng.integers(0, 3))]
    options = {}
    if rng.random() < 0.3:
        options[KEYWORDS[rng.integers(len(KEYWORDS))]] = pool[rng.integers(TRACKED, len(pool))]

    def called(*arrays):
        if isinstance(function, str) and function.startswith("__"):
            return getattr(operator, function)(*arrays, *rest)
        if isinstance(function, str):
            method = getattr(arrays[0], function, None)
            if method is None:
                raise TypeError("no method of what stands for an array while it is recorded")
            return method(*arrays[1:], *rest, **options)
        return function(*arrays, *rest, **options)

    return undocumented(
        lambda: nbgrad.compile(called)(*given), f"compiled {given} {rest} {options}"
    )


class Endless(Exception):
    """A call that does not end."""


@contextlib.contextmanager
def ending() -> Iterator[None]:
    """Raise Endless in a block that does not end, where there are such signals."""
    if not hasattr(signal, "SIGALRM") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def late(*_: object) -> None:
        raise Endless(f"does not end in {LONGEST} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, LONGEST)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def undocumented(run: Callable, what: str) -> str | None:
    try:
        with ending(), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            run()
    except DOCUMENTED as error:
        if type(error).__module__.startswith("numba") or "numba" in str(error).lower():
            return f"{what}: {type(error)} {error}"
    except Exception as error:
        return f"{what}: {type(error).__name__} {error}" if _is_ours(error) else None
    return None


def _is_ours(error: Exception) -> bool:
    """Whether nbgrad was called by what was called here, and so raised it: of its first argument
    `np.apply_over_axes` knows nothing, and NumPy itself answers."""
    ours = False
    for frame in traceback.extract_tb(error.__traceback__):
        ours = frame.filename != __file__ and (ours or frame.filename.startswith(HOME))
    return ours


def run(calls: int, seed: int, compiled: bool = False) -> list[str]:
    """Faults of so many calls."""
    rng = np.random.default_rng(seed)
    named = list(candidates().items())
    faults, pool = [], []
    for i in range(calls):
        if i % 500 == 0:
            pool = values(rng)
        name, function = named[rng.integers(len(named))]
        call = wrong_compiled_call if compiled else wrong_call
        fault = call(function, rng, pool)
        if fault:
            faults.append(f"{name} {fault}")
    return faults
