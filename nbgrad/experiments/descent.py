"""A whole training in one compiled loop."""

from typing import Any

import nbgrad


@nbgrad.compile(static_argnames=("loss_of", "optimiser", "steps"))
def descend(
    loss_of: Any,
    model: Any,
    given: tuple,
    optimiser: Any,
    steps: int | None = None,
    each: Any = None,
) -> tuple[Any, Any]:
    """Bring ``loss_of(model, *given)`` down: the last model, and the loss before each step.

    There are so many ``steps``, or one for each row of ``each``, such as the indices of a batch;
    the loss then takes the row too: ``loss_of(model, *given, row)``.
    """

    def step(carried, row):
        model, state = carried
        extra = () if each is None else (row,)
        loss, slopes = nbgrad.value_and_grad(loss_of)(model, *given, *extra)
        state, model = optimiser.update(state, slopes, model)
        return (model, state), loss

    first = (model, optimiser.init(model))
    (model, _), losses = nbgrad.scan(step, first, each, length=steps)
    return model, losses
