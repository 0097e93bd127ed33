"""Random programs over one graph against brute force: what Hypothesis can do to tracked arrays.

NBGRAD_FUZZ_SEED chooses another seed, NBGRAD_FUZZ_SECONDS goes on with fresh ones for so long.
"""

import itertools
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

import nbgrad
from nbgrad import GraphError, track
from nbgrad.core.memory import base_of

from . import model
from .model import LINEAR, PAIRS, SLOPES, Value

places = st.one_of(st.just(0), st.integers(0, 50))
numbers = st.integers(0, 10_000)
INDICES: list[Any] = [0, -1, slice(0, 1), slice(None), np.array([1, 0])]


def draws(number: int, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers that no coincidence makes equal."""
    return np.random.default_rng(number).normal(size=shape)


def close(found: Any, expected: Any) -> None:
    if expected is None:
        assert found is None
        return
    assert found is not None
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * (1 + np.abs(expected).max()))


class GraphMachine(RuleBasedStateMachine):
    """The arrays that are held, each with its value in the model.

    `freed` are values whose graph a backward pass or a reset took, `made` and `changed` when a
    value was computed and a leaf was written to, `seeds` what `accum` starts from. `torn` says that
    memos may be of arrays that are gone: then `accum` waits for a reset.
    """

    def __init__(self):
        super().__init__()
        self.held: list[tuple[Any, Value]] = []
        self.leaves: list[tuple[Any, Value]] = []
        self.freed: set[Value] = set()
        self.grads: dict[Value, np.ndarray | None] = {}
        self.seeds: dict[Value, np.ndarray] = {}
        self.every: list[Value] = []
        self.made: dict[Value, int] = {}
        self.changed: dict[Value, int] = {}
        self.torn = self.pulled = False
        self.clock = itertools.count(1)
        for order in "CF":
            self.new_leaf(7, order)

    # -- what is made -------------------------------------------------------------------------

    def new_leaf(self, number: int, order: Any) -> None:
        array = np.array(draws(number + len(self.leaves), (2, 2)), order=order)
        pair = track(array), Value(array)
        self.leaves.append(pair)
        self.held.append(pair)
        self.every.append(pair[1])
        self.grads[pair[1]] = None

    def pick(self, place: int) -> tuple[Any, Value]:
        """Recent arrays come first: deep graphs are made more often."""
        return self.held[-1 - place % len(self.held)]

    def hold(self, made: Any, value: Value) -> None:
        close(made.data, value.array)
        self.held.append((made, value))
        self.note(value)

    def note(self, value: Value) -> None:
        if value not in self.made:
            self.every.append(value)
            self.made[value] = next(self.clock)

    @precondition(lambda self: len(self.leaves) < 4)
    @rule(number=numbers, order=st.sampled_from("CF"))
    def track_one(self, number, order):
        self.new_leaf(number, order)

    @rule(place=places, name=st.sampled_from(sorted(SLOPES)))
    def elementwise(self, place, name):
        x, value = self.pick(place)
        self.hold(SLOPES[name][0](x), model.applied(name, value))

    @rule(place=places, name=st.sampled_from(sorted(LINEAR)), of_leaf=st.booleans())
    def linear(self, place, name, of_leaf):
        x, value = self.leaves[place % len(self.leaves)] if of_leaf else self.pick(place)
        if len(value.array.shape) == 2 and min(value.array.shape) >= 2:
            self.hold(LINEAR[name](x), model.applied(name, value))

    @rule(first=places, second=places, name=st.sampled_from([*sorted(PAIRS), "matmul"]))
    def binary(self, first, second, name):
        (x, a), (y, b) = self.pick(first), self.pick(second)
        if name == "matmul":
            if a.array.ndim == b.array.ndim == 2 and a.array.shape[1] == b.array.shape[0]:
                self.hold(np.matmul(x, y), model.applied(name, a, b))
        elif a.array.shape == b.array.shape:
            self.hold(PAIRS[name][0](x, y), model.applied(name, a, b))

    @rule(place=places, number=numbers)
    def with_plain_array(self, place, number):
        x, value = self.pick(place)
        plain = draws(number, value.array.shape)
        matrix = np.diag(plain.ravel())
        self.hold(x * plain, Value(value.array * plain, [(value, matrix)]))

    @rule(count=st.integers(2, 20), number=numbers)
    def join(self, count, number):
        """One number of many arrays, so that what they share gets cotangents from all."""
        x, value = None, None
        for k, (y, other) in enumerate(self.held[-count:]):
            plain = draws(number + k, other.array.shape)
            weighed = Value(other.array * plain, [(other, np.diag(plain.ravel()))])
            total, summed = np.sum(y * plain), model.applied("total", weighed)
            self.note(weighed)
            self.note(summed)
            if x is None or value is None:
                x, value = total, summed
            else:
                x, value = x + total, model.applied("add", value, summed)
                self.note(value)
        if x is not None and value is not None:
            self.hold(x, value)

    @rule(place=places, source=places, index=st.sampled_from(range(len(INDICES))))
    def assign(self, place, source, index):
        (y, old), (v, value) = self.pick(place), self.pick(source)
        chosen, (base, _) = INDICES[index], base_of(y)
        if base.node.plan is None or y is v or old.array.ndim != 2 or old.array.shape[0] < 2:
            return
        if old.array[chosen].shape == value.array.shape:
            new = model.assigned(old, chosen, value)
            y[chosen] = v
            close(y.data, new.array)
            self.note(new)
            self.held = [(x, new if x is y else known) for x, known in self.held]

    # -- what is done to it -------------------------------------------------------------------

    @rule(place=places, number=numbers)
    def update(self, place, number):
        leaf, value = self.leaves[place % len(self.leaves)]
        step = draws(number, (2, 2))
        if number % 2:
            leaf.data -= step
            value.array = value.array - step
        else:
            leaf.data = step
            value.array = step
        self.changed[value] = next(self.clock)

    @precondition(lambda self: not self.pulled and not self.seeds)
    @rule(place=places)
    def drop(self, place):
        if len(self.held) > len(self.leaves):
            computed = [pair for pair in self.held if pair[0].node.plan is not None]
            gone = computed[place % len(computed)]
            self.held = [pair for pair in self.held if pair is not gone]

    def below(self, value: Value) -> set[Value]:
        """The value and all that it was computed from, as far as that was not freed."""
        found, stack = {value}, [value]
        while stack:
            new = {parent for parent, _ in stack.pop().parts} - found
            found |= new
            stack += new
        return found

    def may_fail(self, values: set[Value]) -> bool:
        """Whether a walk over these may meet data that was changed."""
        return any(
            self.changed.get(parent, 0) > self.made.get(value, 0)
            for value in values
            for parent, _ in value.parts
        )

    @rule(place=places, number=numbers, keep=st.booleans())
    def backward(self, place, number, keep):
        x, value = self.pick(place)
        ct = draws(number, value.array.shape)
        reached = self.below(value)
        before = {leaf: grad for leaf, grad in self.grads.items()}
        try:
            x.backward(ct, keep_graph=keep)
        except GraphError:
            assert reached & self.freed or self.may_fail(reached)
            self.torn = True
            self.compare(before)
            return
        assert not reached & self.freed
        for _, leaf in self.leaves:
            if leaf in reached:
                g = value.pulled(ct, leaf)
                known = self.grads[leaf]
                self.grads[leaf] = g if known is None else known + g
        if not keep:
            self.freed |= {v for v in reached if v.parts}
            self.torn = True
        self.compare(self.grads)

    def compare(self, expected: dict[Value, np.ndarray | None]) -> None:
        for leaf, value in self.leaves:
            close(leaf.grad, expected[value])

    @precondition(lambda self: not self.torn)
    @rule(place=places, number=numbers)
    def seed(self, place, number):
        x, value = self.pick(place)
        if x.node.plan is not None:
            self.seeds[value] = draws(number, value.array.shape)
            x.grad = self.seeds[value]

    @precondition(lambda self: self.seeds and not self.torn)
    @rule(place=places)
    def take_back(self, place):
        x, value = self.pick(place)
        if x.node.plan is not None:
            x.grad = None
            self.seeds.pop(value, None)

    def alive(self) -> list[Value]:
        found: set[Value] = set()
        for _, value in self.held:
            found |= self.below(value)
        return [value for value in self.every if value in found]

    @precondition(lambda self: not self.torn)
    @rule(place=places)
    def accum(self, place):
        x, value = self.pick(place)
        found = self.alive()
        known: dict[Value, np.ndarray | None] = {}
        for v in reversed(found):  # what was computed from it comes before
            if v in self.seeds:
                known[v] = self.seeds[v]
                continue
            parts = [
                (g.ravel() @ matrix).reshape(v.array.shape)
                for child in found
                if (g := known.get(child)) is not None
                for parent, matrix in child.parts
                if parent is v
            ]
            known[v] = model.total(parts)
        self.pulled = True
        try:
            result = nbgrad.accum(x)
        except GraphError:
            assert self.may_fail(set(found))
            self.torn = True
            return
        close(result, known[value])
        if value in self.grads:
            self.grads[value] = known[value]
        self.compare(self.grads)

    @rule()
    def reset(self):
        nbgrad.reset(*(leaf for leaf, _ in self.leaves))
        for leaf, value in self.leaves:
            assert leaf.grad is None and not len(leaf.children)
            self.grads[value] = None
        self.freed |= {value for value in self.every if value.parts}
        self.held = list(self.leaves)
        self.every = [value for _, value in self.leaves]
        self.seeds.clear()
        self.torn = self.pulled = False


def run(number: int | None, examples: int, phases: Sequence[Phase] = tuple(Phase)) -> None:
    profile = settings(
        max_examples=examples,
        stateful_step_count=25,
        derandomize=number is None,
        deadline=None,
        database=None,
        phases=phases,
        suppress_health_check=tuple(HealthCheck),  # pyright: ignore[reportArgumentType]
    )
    machine = GraphMachine if number is None else seed(number)(type("Seeded", (GraphMachine,), {}))
    run_state_machine_as_test(machine, settings=profile)


@pytest.mark.parametrize("examples", [60, pytest.param(150, marks=pytest.mark.full)])
def test_a_graph_in_any_order_of_events(examples):
    chosen = os.environ.get("NBGRAD_FUZZ_SEED")
    seconds = float(os.environ.get("NBGRAD_FUZZ_SECONDS", 0))
    start = time.monotonic()
    number = int(chosen) if chosen else None
    run(number, examples)
    with suppress(KeyboardInterrupt):
        while time.monotonic() - start < seconds:
            number = (number or 0) + 1
            print(f"NBGRAD_FUZZ_SEED={number}")
            run(number, examples)
