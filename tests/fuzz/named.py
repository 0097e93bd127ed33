"""Programs for named sizes: one axis length of the arguments is named, and the program is held
against NumPy for that length and for others, among them 0 and 1."""

import warnings
from typing import Any

import numpy as np

import nbgrad
from nbgrad.errors import TraceError

from .case import Case, Different, NotHere
from .oracle import results
from .static import agree, mode
from .written import run


def spec_of(args: list[Any], length: int) -> dict[str, tuple]:
    """The names of sizes of arguments x0, x1, ... in which each axis of this length is n."""
    shapes = {f"x{i}": np.shape(x) for i, x in enumerate(args)}
    return {
        name: tuple("n" if n == length else None for n in shape)
        for name, shape in shapes.items()
        if length in shape
    }


def resized(x: Any, length: int, n: int) -> Any:
    """An array with n in place of each axis of this length: cut, or its elements again."""
    if not isinstance(x, np.ndarray):
        return x
    old = x
    for axis, m in enumerate(x.shape):
        if m == length:
            x = np.take(x, np.arange(n) % length, axis)
    if x.dtype.kind != "f":
        return np.array(x)
    if n > length and old.size and np.all(np.isfinite(old)):
        # Others of their size: with the same rows again, matrices would be singular.
        return np.random.default_rng(n).uniform(old.min(), old.max(), x.shape).astype(x.dtype)
    # No two are equal: which of them is sorted first is nobody's promise.
    return (x * np.linspace(1.0, 1.01, x.size).reshape(x.shape)).astype(x.dtype)


@mode
def named_sizes(c: Case) -> None:
    """On watched memory, for the sizes that the program is for."""
    lengths = sorted({n for x in c.args for n in np.shape(x) if n > 1})
    if not lengths:
        raise NotHere
    length = lengths[c.program.seed % len(lengths)]
    names = {f"x{i}": k for k, i in enumerate(c.program.arguments)}
    spec = {
        f"x{i}": sizes
        for i, x in zip(c.program.arguments, c.args, strict=True)
        for sizes in spec_of([x], length).values()
    }
    assert spec.keys() <= names.keys()
    _agrees(c, c.f, spec, length)
    if c.program.floats and c.cts:
        slope = nbgrad.grad(_total(c), c.program.floats)
        _agrees(c, _with_names(slope, c), spec, length)


def _agrees(c: Case, g: Any, spec: dict[str, tuple], length: int) -> None:
    """The program of g for the sizes that it is for gives what g gives, or raises where g does."""
    f = nbgrad.compile(g, dynamic=spec)
    try:
        variant, _ = f._find(tuple(c.args), {})
    except TraceError:
        raise NotHere from None  # another program for other sizes
    for n in (length, 0, 1, length + 1, 3 * length):
        if not variant.sizes or not variant.holds_for({"n": n}):
            continue
        args = [resized(x, length, n) for x in c.args]
        expected, found = (_outcome(h, args) for h in (g, lambda *given: _run(f, given)))
        if isinstance(expected, str) != isinstance(found, str):
            raise Different(f"n = {n}: {found} for {expected}")
        if not isinstance(expected, str):
            agree(c, f"n = {n}", found, expected)


def _total(c: Case) -> Any:
    """The sum of the sines of all float results."""

    def total(*args: Any) -> Any:
        found = results(c.f(*args))
        kinds = zip(found, c.weights, strict=True)
        return sum(np.sum(np.sin(x)) for x, weight in kinds if weight is not None)

    return total


def _with_names(g: Any, c: Case) -> Any:
    """A function of arguments that are called as those of the program."""
    names = ", ".join(f"x{i}" for i in c.program.arguments)
    return eval(f"lambda {names}: g({names})", {"g": g})


def _run(f: Any, args: tuple) -> Any:
    return run(*f._find(args, {}))


def _outcome(f: Any, args: list[Any]) -> Any:
    """The results, or what is raised as text."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return results(f(*args))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
