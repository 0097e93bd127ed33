"""L-BFGS, which takes the whole of the data at each step."""

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
    """SciPy's L-BFGS-B on `loss(parameters, *args)` from these parameters, a tree.

    Arguments:
        loss: gives one number.
        steps: how many at most.
        tolerance: it ends where no element of the gradient is larger, or the loss falls by a
            smaller share.
        compile: compile the loss with its gradient.
        settings: those of `nbgrad.scipy.minimize`, such as bounds and callback.

    Returns SciPy's result: `x`, a tree like the parameters, `fun`, the loss, `nit`, the steps, and
    the rest. It raises as `nbgrad.scipy.minimize` does.

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
