"""Loops whose steps write parts of their state: right, and at the price of what they write.

Random bodies write rows, elements, columns and blocks in any order, and read what they write over
before and after; what is compiled is compared with plain Python. What it costs is counted: bytes
of scratch, and the elements that a step goes over.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from fuzz.written import check_written
from helpers.daily import daily
from helpers.static.random_writes import SIZE, Draw, point

import nbgrad
from nbgrad.ir.core import Core, Device, Repeat
from nbgrad.ir.statements import For, If, Kernel
from nbgrad.ir.walk import callee, walk

rng = np.random.default_rng(0)
N = 24
MATRIX = rng.uniform(-1, 1, (N, N))


def total(states: Any) -> Any:
    a, b = states
    return np.sum(a * a) + np.sum(np.sin(b))


def start(x: Any) -> tuple:
    return x * 0.5, x[0] * 0.3


def plain(d: Draw, other: Draw) -> Callable:
    return lambda x: total(nbgrad.loop(4, d.body(x), start(x)))


def with_ys(d: Draw, other: Draw) -> Callable:
    """Rows of the state, the state before a step, and a number of all of it."""

    def loss(x):
        def step(s, x_i):
            new = d.body(x)(x_i[1], s)
            return new, (new[0][0], s[1], np.sum(new[0] * x_i[0]))

        states, ys = nbgrad.scan(step, start(x), (x[:3], np.arange(3)))
        return total(states) + sum(np.sum(y * y) for y in ys)

    return loss


def with_states(d: Draw, other: Draw) -> Callable:
    """All states, as ys."""

    def loss(x):
        step = lambda s, i: (d.body(x)(i, s), s[0])  # noqa: E731
        states, ys = nbgrad.scan(step, start(x), np.arange(3))
        return total(states) + np.sum(ys * ys)

    return loss


def nested(d: Draw, other: Draw) -> Callable:
    def loss(x):
        inner = lambda i: lambda j, s: other.body(x)((i + j) % SIZE, s)  # noqa: E731
        step = lambda i, s: nbgrad.loop(3, inner(i), d.body(x)(i, s))  # noqa: E731
        return total(nbgrad.loop(2, step, start(x)))

    return loss


def chosen(d: Draw, other: Draw) -> Callable:
    def loss(x):
        def step(i, s):
            sides = (lambda t: d.body(x)(i, t)), (lambda t: other.body(x)(i, t))
            return nbgrad.cond(s[1][0] > 0.1, *sides, s)

        return total(nbgrad.loop(3, step, start(x)))

    return loss


def ending(d: Draw, other: Draw) -> Callable:
    def loss(x):
        step = lambda s: (*d.body(x)(s[2], s[:2]), s[2] + 1)  # noqa: E731
        goes_on = lambda s: s[2] < 3  # noqa: E731
        return total(nbgrad.while_loop(goes_on, step, (*start(x), 0), max_steps=6)[:2])

    return loss


def in_spans(d: Draw, other: Draw) -> Callable:
    step = lambda x: lambda i, s: d.body(x)(i % SIZE, s)  # noqa: E731
    return lambda x: total(nbgrad.loop(7, step(x), start(x), checkpoint=3))


def none_and_one(d: Draw, other: Draw) -> Callable:
    return lambda x: total(nbgrad.loop(1, d.body(x), nbgrad.loop(0, other.body(x), start(x))))


def unrolled(d: Draw, other: Draw) -> Callable:
    """Without a loop: writes one after another."""

    def loss(x):
        states = start(x)
        for i in range(SIZE):
            states = d.body(x)(i, states)
        return total(states)

    return loss


PROGRAMS = (plain, with_ys, with_states, nested, chosen, ending, in_spans, none_and_one, unrolled)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("seed", daily(range(6), 2))
def test_random_bodies_are_what_eager_loops_give(seed, program):
    loss = program(Draw(seed), Draw(seed + 1000))
    check_written(nbgrad.compile(nbgrad.value_and_grad(loss)), point(seed))


def hvp(f: Callable) -> Callable:
    return lambda x: nbgrad.jvp(nbgrad.grad(f), (x,), (np.cos(x),))


def of_samples(f: Callable) -> Callable:
    return lambda x: nbgrad.vmap(nbgrad.grad(f))(np.stack([x, x * 0.5]))


def through_samples(f: Callable) -> Callable:
    return nbgrad.grad(lambda x: np.sum(nbgrad.vmap(f)(np.stack([x, np.sin(x)]))))


def twice(f: Callable) -> Callable:
    return nbgrad.grad(lambda x: np.sum(nbgrad.grad(f)(x) ** 2))


@pytest.mark.parametrize("transform", [hvp, of_samples, through_samples, twice],
                         ids=lambda transform: transform.__name__)  # fmt: skip
@pytest.mark.parametrize("seed", daily(range(20, 24), 2))
def test_other_derivatives_of_random_bodies(seed, transform):
    f = plain(Draw(seed), Draw(seed + 1000))
    check_written(nbgrad.compile(transform(f)), point(seed))


@pytest.mark.parametrize("seed", range(40, 44))
def test_random_bodies_in_single_precision(seed):
    f = plain(Draw(seed), Draw(seed + 1000))
    check_written(nbgrad.compile(nbgrad.value_and_grad(f)), point(seed, np.float32))


# -- against NumPy, compiled ----------------------------------------------------------------------


def row(x, i, s):
    s[i] = np.tanh(x[i]) * 0.5 + s[i - 1] * 0.9


def reads_next(x, i, s):
    s[i] = s[(i + 1) % N] * x[i] + s[i]


def turned_round(x, i, s):
    s[-1 - i] = np.sin(s[i]) + x[:, i]


def column(x, i, s):
    s[:, i] = s[:, i - 1] * 0.5 + x[:, i]


def element(x, i, s):
    s[i, (3 * i) % N] = s[i - 1, i] * x[i, i] + 0.5


def written_twice(x, i, s):
    s[i] = s[i - 1] + x[i]
    s[i] = s[i] * s[i, 0] * 0.1


def read_before_and_after(x, i, s):
    before = s[i] * 1.0
    s[i] = x[i] + np.sum(s[:]) * 0.01
    s[i - 1] = before * s[i]


def stencil(x, i, s):
    s[1:-1] = 0.5 * (s[:-2] + s[2:]) + x[i] * 0.1


STEPS = (row, reads_next, turned_round, column, element, written_twice, read_before_and_after,
         stencil)  # fmt: skip


class Mutable:
    """What lets a step that writes in place run on values that know no writes."""

    def __init__(self, value: Any):
        self.value = value

    def __getitem__(self, index: Any) -> Any:
        return self.value[index]

    def __setitem__(self, index: Any, new: Any) -> None:
        self.value = nbgrad.at(self.value)[index].set(new)


def looped(step: Callable) -> Callable:
    """A loss of the state after a loop of steps that write in place."""

    def loss(x):
        def body(i, s):
            state = Mutable(s)
            step(x, i, state)
            return state.value

        return np.sum(nbgrad.loop(N, body, x * 0.5) ** 2)

    return loss


def by_hand(step: Callable, x: np.ndarray) -> float:
    state = x * 0.5
    for i in range(N):
        step(x, i, state)
    return float(np.sum(state**2))


def test_written_loops_are_what_numpy_gives():
    """All at once, as it is compiled: number by number, and slopes by differences."""
    both = nbgrad.compile(lambda x: [nbgrad.value_and_grad(looped(step))(x) for step in STEPS])
    way = rng.uniform(-1, 1, (N, N))
    for step, (value, slope) in zip(STEPS, both(MATRIX), strict=True):
        expected = by_hand(step, MATRIX)
        assert abs(value - expected) <= 1e-12 * abs(expected), step.__name__
        near = [by_hand(step, MATRIX + h * way) for h in (1e-5, -1e-5)]
        along = (near[0] - near[1]) / 2e-5
        assert abs(np.sum(slope * way) - along) <= 1e-6 * (1 + abs(along)), step.__name__


# -- what it costs --------------------------------------------------------------------------------


def inside(core: Core) -> Iterator[Any]:
    """What the steps of the loops of a core do."""
    stack: list[tuple[Any, bool]] = [(step.statement, False) for step in core.steps]
    while stack:
        statement, repeated = stack.pop()
        if isinstance(statement, Repeat):
            stack += [(step.statement, True) for step in statement.body]
        elif isinstance(statement, If):
            sides = (*statement.then, *statement.otherwise)
            stack += [(step.statement, repeated) for step in sides]
        elif isinstance(callee(statement), Core):
            stack += [(step.statement, repeated) for step in statement.function.steps]
        elif repeated:
            yield statement


def longest(f: Callable, *args: Any) -> float:
    """The most elements that one statement of a step goes over."""
    counts: list[float] = [0]
    for statement in inside(nbgrad.compile(f).variant(*args)._emitted.core):
        function = callee(statement)
        if isinstance(function, Kernel):
            loops = [s for s in walk(function.body) if isinstance(s, For)]
            counts += [loop.stop - loop.start for loop in loops]
        elif isinstance(function, Device):
            counts += function.extents
    return max(counts)


def scratch(f: Callable, *args: Any) -> int:
    """The bytes of scratch that a program takes."""
    return nbgrad.compile(f).variant(*args)._emitted.plan.memory.size


@pytest.mark.parametrize("step", STEPS[:6], ids=lambda step: step.__name__)
def test_a_step_goes_over_what_it_writes(step):
    both = nbgrad.value_and_grad(looped(step))
    assert longest(looped(step), MATRIX) <= N
    assert longest(both, MATRIX) <= N
    assert scratch(both, MATRIX) <= 5 * MATRIX.nbytes


def test_a_filter_keeps_numbers():
    def loss(x):
        step = lambda i, s: nbgrad.at(s)[i].set(0.5 * s[i - 1] * s[i - 2] + x[i])  # noqa: E731
        return np.sum(nbgrad.loop(900, step, np.zeros(900)) ** 2)

    both, x = nbgrad.value_and_grad(loss), rng.uniform(-1, 1, 900)
    assert longest(both, x) <= 1
    assert scratch(both, x) <= 6 * x.nbytes


def test_what_is_read_as_a_whole_is_had_again_from_what_was_overwritten():
    def loss(x):
        step = lambda i, s: nbgrad.at(s)[i].set(np.tanh(x[i] + s[i - 1] @ s))  # noqa: E731
        return np.sum(nbgrad.loop(N, step, x * 0.5) ** 2)

    both = nbgrad.value_and_grad(loss)
    assert scratch(both, MATRIX) <= 8 * MATRIX.nbytes
    check_written(nbgrad.compile(both), MATRIX)


def test_loops_inside_of_loops_write_in_place():
    n, x = 12, MATRIX[:12, :12]

    def eliminated(x):
        def below(k):
            def step(i, a):
                factor = np.where(i > k, a[i, k] / (3.0 + a[k, k]), 0.0)
                return nbgrad.at(a)[i].add(-factor * a[k])

            return step

        return np.sum(nbgrad.loop(n, lambda k, a: nbgrad.loop(n, below(k), a), x * 1.0) ** 2)

    def elements(x):
        step = lambda i: lambda j, s: nbgrad.at(s)[i, j].set(x[i, j] * s[i - 1, j])  # noqa: E731
        rows = lambda i, s: nbgrad.loop(n, step(i), s)  # noqa: E731
        return np.sum(nbgrad.loop(n, rows, np.ones((n, n))) ** 2)

    assert longest(eliminated, x) <= n
    assert longest(nbgrad.value_and_grad(elements), x) <= 1
    check_written(nbgrad.compile(nbgrad.value_and_grad(eliminated)), x)
    check_written(nbgrad.compile(nbgrad.value_and_grad(elements)), x)


def test_writes_of_an_unrolled_loop_go_over_what_they_write():
    def loss(x):
        y = x * 1.0
        for i in range(N):
            y = nbgrad.at(y)[i].set(np.tanh(y[i - 1]) + x[i])
        return np.sum(y * y)

    both = nbgrad.value_and_grad(loss)
    assert scratch(both, MATRIX) <= 4 * MATRIX.nbytes
    check_written(nbgrad.compile(both), MATRIX)


def test_states_that_are_needed_as_they_were_are_kept():
    """Given back unchanged, swapped, and given with what was written."""

    def loss(x):
        def step(i, s):
            a, b, c = s
            new = nbgrad.at(a)[i].set(b[i] + x[i])
            return new, a, nbgrad.at(c)[i].add(new[i - 1])

        states, ys = nbgrad.scan(
            lambda s, i: (step(i, s), (s[0], s[2][0])), (x, x * 0.5, x * 0.0), np.arange(6)
        )
        return sum(np.sum(s * s) for s in (*states, *ys))

    check_written(nbgrad.compile(nbgrad.value_and_grad(loss)), MATRIX[:6])
