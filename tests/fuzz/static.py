"""The ways to run a program compiled, each held against NumPy or against the eager tier.

They run as machine code or, in a process with NUMBA_DISABLE_JIT, as the same program in plain
Python, where its results and its scratch begin as not-a-numbers: what is read before it is written
shows.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np

import nbgrad
from nbgrad.compiler.program import DISABLED
from nbgrad.transforms import trees

from . import case, higher
from .case import Case, Different, NotHere, plain
from .oracle import results
from .programs import Program
from .written import watched

STATIC: dict[str, case.Mode] = {}
SMALLEST = 1e-12


def mode(f: case.Mode) -> case.Mode:
    STATIC[f.__name__.strip("_")] = f
    return f


@contextlib.contextmanager
def poisoned() -> Iterator[None]:
    """Fresh memory is full of not-a-numbers, and of -1 for integers."""
    empty = np.empty

    def filled(*args: Any, **options: Any) -> np.ndarray:
        made = empty(*args, **options)
        if made.size and made.flags.c_contiguous:
            made.reshape(-1).view(np.uint8).fill(255)
        return made

    with mock.patch.object(np, "empty", filled):
        yield


def run(f: Callable, *args: Any, **options: Any) -> Any:
    """Call it, in plain Python on poisoned memory."""
    if not DISABLED:
        return f(*args, **options)
    try:
        with poisoned():
            return f(*args, **options)
    except ZeroDivisionError:
        raise NotHere from None  # literal zeros, which machine code divides by


def tolerance(c: Case) -> float:
    return SMALLEST if c.rounding < 1e-10 else 100 * c.rounding


def agree(c: Case, what: str, found: Any, expected: Any, scale: float = 1e-3) -> None:
    """Both trees hold equal numbers, up to rounding of what is as large as values or `scale`."""
    mine, theirs = trees.flatten(found)[0], trees.flatten(expected)[0]
    if len(mine) != len(theirs):
        raise Different(f"{what}: {len(mine)} results for {len(theirs)}")
    theirs = [plain(x) for x in theirs]
    c.typed(what, mine, theirs)
    top = max(
        [
            scale,
            *(
                float(np.max(np.abs(x), initial=0.0))
                for x in c.point.values
                if np.asarray(x).dtype.kind == "f"
            ),
        ]
    )
    c.alike(what, mine, theirs, tolerance(c), top)


def every(c: Case) -> tuple[int, ...]:
    return tuple(range(len(c.moving)))


@mode
def compiled(c: Case) -> None:
    """From Python, twice, and with arguments that lie otherwise in memory."""
    f = nbgrad.compile(c.f)
    agree(c, "compiled", results(run(f, *c.args)), c.point.values)
    other = [
        np.asfortranarray(x) if isinstance(x, np.ndarray) and x.ndim > 1 else x for x in c.args
    ]
    agree(c, "compiled, other layouts", results(run(f, *other)), c.point.values)
    for x, before in zip(c.args, c.program.make(), strict=True):
        if not np.array_equal(x, before):
            raise Different("an argument was written to")


@mode
def written(c: Case) -> None:
    """On memory that knows what was written: the function, and its gradient."""
    agree(c, "on watched memory", results(watched(nbgrad.compile(c.f), *c.args)), c.point.values)
    if c.program.floats and c.cts:
        slopes = nbgrad.compile(nbgrad.grad(c.scalar, every(c)))
        agree(c, "gradient on watched memory", watched(slopes, *c.moving), c.gradients)


@mode
def compiled_out(c: Case) -> None:
    """Into given arrays, and into arguments that fit."""
    f = nbgrad.compile(c.f)
    run(f, *c.args)
    one = not isinstance(c.f(*c.args), tuple)

    def into(places: list[Any], args: list[Any]) -> None:
        given = run(f, *args, out=places[0] if one else tuple(places))
        agree(c, "out=", results(given), c.point.values)
        for place, x in zip(places, c.point.values, strict=True):
            if np.ndim(x):
                agree(c, "what out= holds", (place,), (x,))

    fresh = [unwritten(x) for x in c.point.values]
    into(fresh, c.args)
    for k, x in enumerate(c.args):
        for n, y in enumerate(c.point.values):
            if fits_out(x, y):
                args = [owned(v) for v in c.args]
                places = [unwritten(v) for v in c.point.values]
                places[n] = args[k]
                into(places, args)


@mode
def compiled_out_captured(c: Case) -> None:
    """Into arrays that the function closes over."""
    held = [owned(x.value) for x in c.program.inputs]
    f = c.program.function(captured=held)
    closed = [i for i, x in enumerate(c.program.inputs) if x.role == "captured"]
    one = not isinstance(f(*c.args), tuple)
    g = nbgrad.compile(f)
    pairs = [(i, n) for i in closed for n, y in enumerate(c.point.values) if fits_out(held[i], y)]
    if not pairs:
        raise NotHere
    for i, n in pairs:
        before = held[i].copy()
        places = [unwritten(v) for v in c.point.values]
        places[n] = held[i]
        run(g, *c.args, out=places[0] if one else tuple(places))
        agree(c, "out= into a captured array", (places[n],), (c.point.values[n],))
        held[i][...] = before


def fits_out(x: Any, y: Any) -> bool:
    """Whether the array x can take the result y."""
    if not isinstance(x, np.ndarray) or not x.ndim:
        return False
    if not (x.flags.c_contiguous and x.dtype.isnative):
        return False
    return (x.shape, x.dtype) == (np.shape(y), np.asarray(y).dtype)


def owned(x: Any) -> Any:
    return np.array(x, order="C") if isinstance(x, np.ndarray) else x


@mode
def compiled_gradient(c: Case) -> None:
    c.require_slopes()
    f = nbgrad.compile(nbgrad.value_and_grad(c.scalar, every(c)))
    agree(
        c, "compiled value_and_grad", run(f, *c.moving), (plain(c.scalar(*c.moving)), c.gradients)
    )


@mode
def compiled_jvp(c: Case) -> None:
    c.require_slopes()
    f = nbgrad.compile(lambda x, u: nbgrad.jvp(c.of_floats, x, u)[1])
    agree(c, "compiled jvp", run(f, tuple(c.moving), tuple(c.directions)), c.tangents)


@mode
def compiled_hvp(c: Case) -> None:
    case.smooth(c)
    f = nbgrad.compile(nbgrad.hvp(lambda x: c.scalar(*x)))
    found = run(f, tuple(c.moving), tuple(c.directions))
    agree(c, "compiled hvp", found, case.second(c), case.steepness(c))


@mode
def compiled_third(c: Case) -> None:
    case.smooth(c)
    if c.program.length > 4:
        raise NotHere
    once = lambda *x: case.along(c, c.scalar, *x)  # noqa: E731
    twice = lambda *x: case.along(c, once, *x)  # noqa: E731
    slopes = nbgrad.grad(twice, every(c))
    found, expected = run(nbgrad.compile(slopes), *c.moving), slopes(*c.moving)
    # The terms of a third derivative at x are of the order of 1 / x**3, also where they cancel.
    close = min([1.0, *(float(abs(x)) for v in c.moving for x in np.ravel(v) if x)])
    agree(c, "compiled third order", found, expected, 1e-3 / close**3)


@mode
def compiled_vmap(c: Case) -> None:
    """The same as vmap in the eager tier, which a mode of its own holds against NumPy."""
    batched, axes = higher.batch(c, 3)
    expected = nbgrad.vmap(c.f, axes)(*batched)
    try:
        found = run(nbgrad.compile(nbgrad.vmap(c.f, axes)), *batched)
    except np.linalg.LinAlgError:
        if all(np.all(np.isfinite(plain(x))) for x in results(expected)):
            raise
        raise NotHere from None  # samples beside the domain: not-a-numbers, which it may refuse
    agree(c, "compiled vmap", results(found), results(expected))


@mode
def compiled_vmap_of_grad(c: Case) -> None:
    c.require_slopes()
    moving = [np.stack([np.asarray(x)] * 2) for x in c.moving]
    slopes = nbgrad.vmap(nbgrad.grad(c.scalar, every(c)))
    agree(
        c,
        "compiled vmap of grad",
        run(nbgrad.compile(slopes), *moving),
        [np.stack([g, g]) for g in c.gradients],
    )


@mode
def compiled_tree(c: Case) -> None:
    """Arguments in a dict, with its keys in one order and in the other."""
    names = [f"p{k}" for k in range(len(c.args))]
    f = nbgrad.compile(lambda p: c.f(*(p[name] for name in names)))
    fold = nbgrad.compile(lambda p: [np.sum(x) * (k + 1.0) for k, x in enumerate(p.values())])
    tree = dict(zip(names, c.args, strict=True))
    for given in (tree, dict(reversed(tree.items()))):
        agree(c, "compiled, a dict", results(run(f, given)), c.point.values)
        expected = [
            np.asarray(
                np.sum(x) * (k + 1.0),
                np.float64 if np.asarray(x).dtype != np.float32 else np.float32,
            )
            for k, x in enumerate(given.values())
        ]
        terms = sum(float(np.sum(np.abs(x))) * (k + 1.0) for k, x in enumerate(given.values()))
        c.alike("compiled fold over a dict", run(fold, given), expected, 1e-6, terms)


@mode
def compiled_captured(c: Case) -> None:
    """Arrays that the function closes over are read at each call."""
    held = [
        x.make()
        if x.role == "argument" or not isinstance(x.value, np.ndarray)
        else np.array(x.value)
        for x in c.program.inputs
    ]
    closed = [
        i
        for i, x in enumerate(c.program.inputs)
        if x.role == "captured" and isinstance(held[i], np.ndarray)
    ]
    if not closed or _folded(c.program):
        raise NotHere
    f = c.program.function(captured=held)
    g = nbgrad.compile(f)
    agree(c, "compiled over captured arrays", results(run(g, *c.args)), c.point.values)
    for i in closed:
        if held[i].dtype.kind == "f":
            held[i] *= held[i].dtype.type(0.9)
        else:  # positions stay in their range
            held[i][...] = np.roll(held[i].ravel(), 1).reshape(held[i].shape)
    try:
        changed = results(f(*c.args))
    except (ValueError, IndexError, np.linalg.LinAlgError):  # such as a negative length
        return
    if all(np.all(np.isfinite(plain(x))) for x in changed):
        agree(c, "compiled, captured arrays changed", results(run(g, *c.args)), changed)


def _folded(program: Program) -> bool:
    """Whether a step works on closed over arrays alone: NumPy runs it while the function is
    recorded."""
    if not program.steps:
        return True
    fixed = {i for i, x in enumerate(program.inputs) if x.role != "argument"}
    for i, step in enumerate(program.steps):
        if fixed.issuperset(step.args):
            if step.args:
                return True
            fixed.add(i + len(program.inputs))
    return False


def unwritten(x: Any) -> np.ndarray:
    """An array like x that holds no-numbers, or integers that no program makes."""
    made = np.zeros(np.shape(x), np.asarray(x).dtype.newbyteorder("="))
    made.fill(np.nan if made.dtype.kind == "f" else 77)
    return made


def refusing(program: Program) -> dict[str, Callable]:
    """The compiled ways to run a program that must be refused."""
    args = program.make()
    twice = [np.stack([np.asarray(x)] * 2) for x in args]
    return {
        "compiled": lambda: nbgrad.compile(program.function())(*args),
        "compiled vmap": lambda: nbgrad.compile(nbgrad.vmap(program.function()))(*twice),
    }
