"""The result of `solve`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..errors import MissingAttribute, StaticError

__all__ = ["Solution"]


@dataclass
class Solution:
    """The result of `nbgrad.ode.solve`, with the attributes of that of `scipy.integrate.solve_ivp`.

    `t` are the times (m,), and `y` the states (n, m), or the tree of the initial state with a last
    axis for the times. `sol` is a function of time, or None. `t_events` and `y_events` are lists of
    arrays, one for each event, or None. `status` is 0 at the end of `t_span` and 1 at a terminal
    event, `message` describes it. `nfev` counts the calls of f; -1 in a compiled program, under
    `vmap`, and with `gradient="adjoint"` and `t_eval`.

    In a compiled program and under `vmap` the rows of `t_events` and `y_events` have the length
    `max_events`, with nan behind the last root; behind a terminal event `t` and `y` are nan.
    Without `t_eval` there are no `t` and `y`.

    >>> found = nbgrad.ode.solve(lambda t, y: -y, (0.0, 1.0), np.ones(1))
    >>> found.success, found.y.shape == (1, found.t.size)
    (True, True)
    """

    t: Any
    y: Any
    sol: Callable[[Any], Any] | None = None
    t_events: Any = None
    y_events: Any = None
    nfev: int = -1
    status: int = 0

    def __getattr__(self, name: str) -> Any:
        if name in ("t", "y"):
            raise StaticError(
                "ode.solve: the number of steps is not known while the function is recorded or "
                "batched: pass t_eval, or read t_events, y_events or sol"
            )
        raise MissingAttribute(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def success(self) -> bool:
        """Whether the solution reached the end or a terminal event. Errors raise, so it did."""
        return True

    @property
    def message(self) -> str:
        """What ended the integration."""
        if self.status:
            return "A termination event occurred."
        return "The solver successfully reached the end of the integration interval."
