"""`nbgrad.while_loop`: repeat a step while a condition holds."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.conversions import has_samples
from ..core.primitive import shape_of
from ..core.symbols import Symbol, is_recorded
from ..errors import DimensionMismatch, StepsError
from ..rules.assign import explaining_at
from ..runtime.lines import user_line
from ..static.trace.body import BodyRecorder, recorded
from ..static.trace.loop_row import run_loop
from ..transforms import trees
from .carried import Carried, as_bool, count_of, is_traced, name_of


def while_loop(
    test: Callable[[Any], Any], body: Callable[[Any], Any], state: Any, max_steps: int
) -> Any:
    """Return the first state for which the test is false: `while test(state): state = body(state)`.

    Arguments:
        test: a function of the state that returns a condition.
        body: a function of the state that returns the next state.
        state: a number, an array, or nested dicts, lists and tuples of them. Each step must keep
            its structure, shapes and dtypes.
        max_steps: the maximum number of steps, an integer that does not depend on traced values.

    Inside `nbgrad.compile`, this is a loop that ends when the test is false. A gradient reserves
    memory for `max_steps` states and repeats the steps that were taken. Inside `nbgrad.vmap`, each
    sample ends after its own number of steps.

    Raises StepsError if the test still holds after max_steps; to stop without an error, count the
    steps in the state. Raises the errors of `loop` if the state changes its structure, and
    DimensionMismatch if the condition is not a single value.

    >>> halve = lambda x: nbgrad.while_loop(lambda x: x > 1.0, lambda x: 0.5 * x, x, 100)
    >>> nbgrad.compile(nbgrad.value_and_grad(halve))(6.0)
    (0.75, 0.125)
    """
    trees.require_function("while_loop", test)
    trees.require_function("while_loop", body)
    with explaining_at(f"while_loop: {name_of(body)}"):
        return repeated(test, body, state, max_steps)


def repeated(
    test: Callable[[Any], Any],
    body: Callable[[Any], Any],
    state: Any,
    max_steps: int,
    told: Callable[[Any], str] | None = None,
) -> Any:
    """Return the state of a `while_loop`. `told` returns the message if it takes too many steps,
    for the last state, or for None if the state is recorded."""
    n = count_of("while_loop", max_steps, "use a fixed bound")
    carried, asked = Carried("while_loop", body, state), name_of(test, "test")
    leaves, rebuild = carried.leaves, carried.rebuild

    def too_long(last: Any = None) -> str:
        if told is not None:
            return told(last) + user_line()
        return (
            f"while_loop: {asked} still holds after max_steps={n} steps of {carried.name}: "
            f"increase max_steps, or count the steps in the state{user_line()}"
        )

    def goes_on(s: list) -> Any:
        truth = test(rebuild(s))
        if shape_of(truth) != ():
            raise DimensionMismatch(
                f"while_loop: {asked} returned a condition of shape {shape_of(truth)}: reduce it "
                f"with np.any or np.all{user_line()}",
                code="NB-STATE",
            )
        return truth

    def step(s: list) -> list:
        return carried.checked(body(rebuild(s)))

    def program(s: list, most: int) -> list:
        """Record the rest of the loop, of at most `most` steps."""

        def both(recorder: BodyRecorder, i: Symbol, own: list, xs: list) -> list:
            new = step(own[:-2])
            return [*new, own[-2] + 1, as_bool(recorder.output(goes_on(new)))]

        first = goes_on(s)
        first = as_bool(first) if hasattr(first, "dtype") else np.asarray(bool(first))
        start = [*s, np.zeros((), np.int64), first]
        traced, lifted = recorded(
            both, carried.name, most, start, [], ending="stops", too_long=too_long()
        )
        return run_loop(traced, [*lifted, *start])[: len(s)]

    if is_traced(leaves):
        return rebuild(program(leaves, n))
    current = carried.start()
    for i in range(n + 1):
        truth = goes_on(current)
        if is_recorded(truth) or has_samples(truth):
            return rebuild(program(current, n - i))
        if not truth:
            return rebuild(current)
        if i < n:
            current = step(current)
    raise StepsError(too_long(rebuild(current)))
