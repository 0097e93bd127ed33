"""Steps of functions that write to arrays of their own: loops, branches, samples, derivatives."""

import numpy as np

from ..control import KEPT
from ..draft import is_float
from ..oracle import Unusable
from .draft import MemoryDraft
from .forms import SMOOTH, Form, Target
from .views import Op
from .writes import escaped, indented, statements

BODIES: dict[str, Op] = {}


def body(f: Op) -> Op:
    BODIES[f.__name__.strip("_")] = f
    return f


def _inner(
    d: MemoryDraft, name: str, shape: tuple[int, ...], others: tuple[str, ...] = (),
    forms: dict[str, Form] | None = None,
) -> str:  # fmt: skip
    """Statements on an array that a function calls by this name, with others of its shape."""

    names = (*others, name)

    def given(wanted: tuple[int, ...]) -> str:
        choices = [f"{x} * 0.5" for x in names] if wanted == shape else []
        return d.one([*choices, f"np.sum({name}) * 0.1", str(round(d.rng.uniform(-1, 1), 2))])

    text = statements(Target(d, name, shape, given), d.number(1, 3), forms)
    scope = {
        "np": np,
        **{x: np.linspace(0.1, 0.9, int(np.prod(shape))).reshape(shape) for x in names},
    }
    try:  # compiled programs look at what NumPy never runs, such as the other branch
        with np.errstate(all="ignore"):
            exec(text, scope)
    except Exception as error:
        raise Unusable(f"{text}: {error}") from None
    return indented(escaped(text))


def _start(d: MemoryDraft, rank: int = 1) -> tuple[int, tuple[int, ...]]:
    shape = tuple(d.number(1, 4) for _ in range(rank))
    i = d.pick(lambda x: np.ndim(x) >= rank and is_float(x), shape=shape, dtype="float64")
    if not 0 < np.size(d.values[i]) < 60:
        raise Unusable("nothing to do, or much")
    if not np.asarray(d.values[i]).flags.c_contiguous:
        raise Unusable("copies have its order in NumPy, and C order here")
    return i, np.shape(d.values[i])


@body
def loop(d: MemoryDraft) -> int:
    i, shape = _start(d)
    inner = _inner(d, "s", shape)
    text = f"def body(i, s):\n{inner}\n    return s\n"
    state = d.one(["{0} * 1.0", "{0}.copy()", "np.zeros_like({0})"])
    text += f"{{out}} = nbgrad.loop({d.number(0, 3)}, body, {state}{d.one(KEPT)})"
    return d.step("loop_writes", [i], text)


@body
def loop_of_two(d: MemoryDraft) -> int:
    """A state of two arrays, one of which the body makes anew."""
    i, shape = _start(d)
    inner = _inner(d, "a", shape, ("b",))
    made = d.one(["b", "b * 0.5", "np.sin(a)", "a + b"])
    text = f"def body(i, s):\n    a, b = s\n{inner}\n    return a, {made}\n"
    state = f"({{0}} * 1.0, {{0}} + 1.0))[{d.number(0, 1)}]"
    text += f"{{out}} = nbgrad.loop({d.number(0, 3)}, body, {state}"
    return d.step("loop_writes", [i], text)


@body
def loop_of_temporaries(d: MemoryDraft) -> int:
    """A body that writes to what it made itself."""
    i, shape = _start(d)
    inner = _inner(d, "t", shape, ("s",))
    made = d.one(["s * 1.0", "s.copy()", "np.zeros_like(s)", "s + 0.1"])
    text = f"def body(i, s):\n    t = {made}\n{inner}\n"
    text += f"    return {d.one(['t', 's + t', 'np.sin(t)', 't * s'])}\n"
    text += f"{{out}} = nbgrad.loop({d.number(0, 3)}, body, {{0}} * 1.0{d.one(KEPT)})"
    return d.step("loop_writes", [i], text)


@body
def scan(d: MemoryDraft) -> int:
    i, shape = _start(d, 2)
    inner = _inner(d, "s", shape[1:], ("x",))
    given = d.one(["s * 1.0", "np.sum(s)", "s + x", "np.sin(s)"])
    text = f"def body(s, x):\n{inner}\n    return s, {given}\n"
    which = d.number(0, 1)
    state = d.one(["{0}[0] * 1.0", "np.zeros_like({0}[0])", "np.sin({0}[-1])"])
    text += f"{{out}} = nbgrad.scan(body, {state}, {{0}}{d.one(KEPT)})[{which}]"
    if not shape[0]:
        raise Unusable("no steps")
    return d.step("scan_writes", [i], text)


@body
def while_loop(d: MemoryDraft) -> int:
    i, shape = _start(d)
    inner = _inner(d, "a", shape)
    test = f"np.logical_and(s[1] < {d.number(0, 3)}, np.sum(s[0]) > -{d.number(3, 30)}.5)"
    text = f"def body(s):\n    a, k = s\n{inner}\n    return a, k + 1\n"
    text += f"{{out}} = nbgrad.while_loop(lambda s: {test}, body, ({{0}} * 1.0, 0), 4)[0]"
    return d.step("while_writes", [i], text)


@body
def cond(d: MemoryDraft) -> int:
    i, shape = _start(d)
    sides = [_inner(d, "a", shape) for _ in range(2)]
    text = "".join(
        f"def {n}(a):\n{s}\n    return a\n" for n, s in zip(("one", "other"), sides, strict=True)
    )
    test = f"np.sum({{0}}) > {d.number(-2, 2)}.25"
    return d.step(
        "cond_writes", [i], f"{text}{{out}} = nbgrad.cond({test}, one, other, {{0}} * 1.0)"
    )


@body
def cond_of_given(d: MemoryDraft) -> int:
    """Branches that write to an array of the program."""
    i = d.memory()
    shape = np.shape(d.values[i])
    sides = [_inner(d, "a", shape) for _ in range(2)]
    text = "".join(
        f"def {n}(a):\n{s}\n    return a * 1.0\n"
        for n, s in zip(("one", "other"), sides, strict=True)
    )
    test = f"np.sum({{0}}) > {d.number(-2, 2)}.25"
    return d.write("cond_of_given", [i], f"{text}nbgrad.cond({test}, one, other, {{0}})")


def _own(d: MemoryDraft, shape: tuple[int, ...], forms: dict[str, Form] | None = None) -> str:
    """A function of one array that writes to a copy."""
    start = d.one(["r * 1.0", "r.copy()", "np.sin(r)", "np.zeros_like(r)"])
    inner = _inner(d, "t", shape, ("r",), forms)
    given = d.one(["t", "t * r", "np.sum(t) * r"])
    return f"def own(r):\n    t = {start}\n{inner}\n    return {given}\n"


@body
def vmap(d: MemoryDraft) -> int:
    i, shape = _start(d, 2)
    if not shape[0]:
        raise Unusable("no samples")
    if d.chance(0.3):
        return d.step("vmap_writes", [i], _own(d, shape[1:]) + "{out} = nbgrad.map(own, {0})")
    return d.step("vmap_writes", [i], _own(d, shape[1:]) + "{out} = nbgrad.vmap(own)({0})")


@body
def checkpoint(d: MemoryDraft) -> int:
    i, shape = _start(d)
    return d.step("checkpoint_writes", [i], _own(d, shape) + "{out} = nbgrad.checkpoint(own)({0})")


@body
def slope(d: MemoryDraft) -> int:
    i, shape = _start(d)
    made = d.one(["nbgrad.grad(lambda r: np.sum(own(r)))({0})",
                  "nbgrad.jvp(own, ({0},), ({0} * 0.5,))[1]"])  # fmt: skip
    return d.step("slope_writes", [i], _own(d, shape, SMOOTH) + f"{{out}} = {made}")
