"""`nbgrad.while_loop`: steps while something holds, differentiable, in both tiers."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.primitive import shape_of
from ..core.symbols import Symbol, is_recorded
from ..errors import DimensionMismatch
from ..rules.assign import explaining_at
from ..runtime.lines import user_line
from ..static.trace.body import BodyRecorder, recorded
from ..static.trace.loop_row import run_loop
from ..transforms import trees
from .carried import (
    carried,
    constants,
    count_of,
    is_chosen_by_samples,
    is_traced,
    name_of,
    require_same,
    require_values,
)


def while_loop(
    test: Callable[[Any], Any], body: Callable[[Any], Any], state: Any, max_steps: int
) -> Any:
    """The first state of which the test does not hold: `while test(state): state = body(state)`.

    Arguments:
        test: gives one truth for the state.
        body: gives the next state for the state.
        state: a number, an array, or nested dicts, lists and tuples of them; every step keeps its
            structure, shapes and dtypes.
        max_steps: the most steps, an integer that does not depend on traced values.

    Inside of `nbgrad.compile` it is a loop that ends where the test says; a gradient keeps the
    states of the steps that were made, in room for max_steps, and goes back as many steps. Inside
    of `nbgrad.vmap` each sample runs to its own end, and those that have ended keep their state.

    Raises RuntimeError where the test holds after max_steps still: count in the state to end
    there without it. Raises as `loop` does for another structure, and DimensionMismatch for a test
    that gives more than one truth.

    >>> halve = lambda x: nbgrad.while_loop(lambda x: x > 1.0, lambda x: 0.5 * x, x, 100)
    >>> nbgrad.compile(nbgrad.value_and_grad(halve))(6.0)
    (0.75, 0.125)
    """
    trees.require_function("while_loop", test)
    trees.require_function("while_loop", body)
    n = count_of("while_loop", max_steps, "give a fixed bound")
    leaves, rebuild = trees.flatten_values(state)
    require_values("while_loop", f"the state of {name_of(body)}", leaves)
    shape, held, asked = trees.structure([state]), constants(state), name_of(test, "test")
    too_long = (
        f"while_loop: {asked} holds after max_steps={n} steps of {name_of(body)} still: allow "
        f"more, or count in the state and end there{user_line()}"
    )

    def goes_on(s: list) -> Any:
        truth = test(rebuild(s))
        if shape_of(truth) != ():
            raise DimensionMismatch(
                f"while_loop: {asked} gives truths of shape {shape_of(truth)}, not one: join them "
                f"by np.any or np.all{user_line()}"
            )
        return truth

    def step(s: list) -> list:
        with explaining_at(f"while_loop: {name_of(body)}"):
            new = body(rebuild(s))
        new_leaves, _ = trees.flatten_values(new)
        require_same("while_loop", body, leaves, shape, new_leaves, new)
        if constants(new) != held:
            raise TypeError(
                f"while_loop: {name_of(body)} gives {constants(new)} in its state, where it was "
                f"given {held}: words and functions are carried along as they are{user_line()}"
            )
        return new_leaves

    def program(s: list, most: int) -> list:
        """The rest of the loop, of at most so many steps, recorded."""

        def both(recorder: BodyRecorder, i: Symbol, own: list, xs: list) -> list:
            new = step(own[:-2])
            return [*new, own[-2] + 1, _truth(recorder, goes_on(new))]

        start = [*s, np.zeros((), np.int64), _first_truth(goes_on(s))]
        traced, lifted = recorded(
            both, name_of(body), most, start, [], ending="stops", too_long=too_long
        )
        return run_loop(traced, [*lifted, *start])[: len(s)]

    if is_traced(leaves):
        return rebuild(program(leaves, n))
    current = [carried(leaf) for leaf in leaves]
    for i in range(n + 1):
        truth = goes_on(current)
        if is_recorded(truth) or is_chosen_by_samples(truth):
            return rebuild(program(current, n - i))
        if not truth:
            return rebuild(current)
        if i < n:
            current = step(current)
    raise RuntimeError(too_long)


def _truth(recorder: BodyRecorder, truth: Any) -> Any:
    """A truth as the state of a loop."""
    truth = recorder.output(truth)
    return truth if truth.dtype == bool else truth != 0


def _first_truth(truth: Any) -> Any:
    if not hasattr(truth, "dtype"):
        return np.asarray(bool(truth))
    return truth if truth.dtype == bool else truth != 0
