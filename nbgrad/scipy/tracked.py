"""SciPy's solvers with tracked arguments: solutions as implicit functions of their arguments."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.primitive import shape_of
from ..errors import NoRuleError, StepsError
from ..transforms import stop_gradient, trees
from ..transforms.solutions import captured, solution
from ..transforms.systems import matrix_of
from .found import Solved

_FACTS = ("message", "status", "nit", "nfev", "njev", "nhev", "method")
_STEPS = 4  # Newton steps from the solution of SciPy
_SHORT = 1e-8  # a Newton step behind which the error is one of rounding
LARGE = 1000  # unknowns: from here on, systems are solved by products with the Jacobian


def is_tracked(*values: Any) -> bool:
    """Return whether arguments, or closures of functions among them, hold tracked values."""
    return any(captured(value)[1] for value in values)


def require_plain(op: str, settings: dict[str, Any], why: str) -> None:
    """Raise NoRuleError for a setting with tracked values."""
    for name, value in settings.items():
        if is_tracked(value):
            raise NoRuleError(
                f"{op}: {name} holds a tracked value, and the solution has no derivative with "
                f"respect to it: {why}"
            )


class Runs:
    """The results of SciPy for the calls of one solver; several under `vmap`."""

    def __init__(self):
        self.results: list[Any] = []

    def found(self, **values: Any) -> Solved:
        """Return the differentiable `values`, with the facts of SciPy's result if there is one."""
        facts = {"success": True}
        if len(self.results) == 1:
            facts |= {k: v for k, v in self.results[0].items() if k in _FACTS}
        return Solved(values | facts)


def solved(
    op: str,
    conditions: Callable[[Any, Any], Any],
    run: Callable[[Any, Any], tuple[Any, bool, str]],
    traced: Callable[[Any, Any], Any],
    x0: Any,
    args: Any,
    solve: Any = None,
) -> Any:
    """Return the vector x with `conditions(x, args) = 0` as a differentiable function of args.

    `run(x0, args)` calls SciPy with plain arguments, and returns x, whether it converged, and its
    message. `traced(x0, args)` computes x in a compiled program. A Newton step brings the solution
    from SciPy's tolerance to rounding errors.
    """

    def solver(x0: Any, args: Any) -> Any:
        if is_tracked(conditions, x0, args):
            return traced(x0, args)
        x, converged, message = run(x0, args)
        return _polished(op, lambda x: conditions(x, args), x, converged, message, solve)

    def optimality(x: Any, x0: Any, args: Any) -> Any:
        return conditions(x, args)

    x0 = stop_gradient(x0)
    if solve is None and int(np.prod(shape_of(x0))) > LARGE:
        solve = "gmres"
    return solution(op, optimality, solver, (x0, args), {}, solve)


def _polished(
    op: str, residual: Callable, x: Any, converged: bool, message: str, solve: Any
) -> Any:
    """Return x after Newton steps, as long as they are long and reduce the residual.

    Raises StepsError if SciPy's solver did not converge, unless the last step is short: some
    solvers report a loss of precision at a solution.
    """
    rest = first = np.asarray(flat(residual(x)))
    if solve is not None:
        if not converged:
            raise _unsolved(op, message, rest)
        return x
    far, shape = np.inf, np.shape(x)
    for _ in range(_STEPS):
        matrix = matrix_of(lambda v: flat(residual(np.reshape(v, shape))), np.reshape(x, -1))
        try:
            step = np.linalg.solve(matrix, rest)
        except np.linalg.LinAlgError:  # a derivative raises MatrixError
            break
        moved = x - np.reshape(step, np.shape(x))
        with np.errstate(all="ignore"):
            after = np.asarray(flat(residual(moved)))
        far = _most(step)
        if not _most(after) < _most(rest):
            break
        x, rest = moved, after
        if far <= _SHORT * (1.0 + _most(x)):
            break
    if not converged and not far <= 1e-6 * (1.0 + _most(x)):
        raise _unsolved(op, message, first)
    return x


def _unsolved(op: str, message: str, rest: Any) -> StepsError:
    return StepsError(
        f"{op} did not converge, so its solution has no derivative: {' '.join(message.split())} "
        f"(the residual of the equations is {_most(rest):.3g})"
    )


def _most(x: Any) -> float:
    return float(np.max(np.abs(x), initial=0.0))


def flat(value: Any) -> Any:
    """Join the arrays of a nested result in one vector."""
    parts = [np.reshape(x, -1) for x in trees.flatten(value)[0]]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
