"""L-BFGS for full-batch training."""

from collections.abc import Callable
from typing import Any


def lbfgs(
    loss: Callable,
    parameters: Any,
    args: tuple = (),
    *,
    steps: int = 1000,
    tolerance: float = 1e-10,
    compile: bool = False,
    **settings: Any,
) -> Any:
    """Minimise `loss(parameters, *args)` with SciPy's L-BFGS-B. `parameters` is a tree.

    Arguments:
        loss: a function that returns one number.
        steps: the maximum number of steps.
        tolerance: stop if no element of the gradient is larger, or if the relative decrease of the
            loss is smaller.
        compile: compile the loss with its gradient.
        settings: further arguments of `nbgrad.scipy.minimize`, such as bounds and callback.

    Returns SciPy's result, with `x`, a tree like the parameters, `fun`, the loss, and `nit`, the
    number of steps. Raises the errors of `nbgrad.scipy.minimize`.

    >>> found = nbgrad.optim.lbfgs(lambda w: np.sum((w - 3.0) ** 2), np.zeros(2))
    >>> found.x.round(6)
    array([3., 3.])
    """
    from .. import scipy  # slow to import

    options = {"maxiter": steps, "gtol": tolerance, "ftol": tolerance, "maxcor": 20}
    options |= settings.pop("options", {})
    return scipy.minimize(
        loss, parameters, args, "L-BFGS-B", compile=compile, options=options, **settings
    )
