"""Constraints of `minimize` with tracked arguments: the equations of Karush, Kuhn and Tucker.

The unknowns are x, a multiplier y for each equality c(x) = 0 and a multiplier m for each inequality
d(x) >= 0. The gradient of f - y c - m d by x is zero, c = 0, and m = max(m - d, 0), which is d = 0
for an active inequality and m = 0 for another (Nocedal and Wright, Numerical Optimization, 2006,
section 12.3).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import LinearConstraint, NonlinearConstraint

from ..core.primitive import shape_of
from ..errors import NoRuleError
from ..transforms import grad, jacobian
from .tracked import flat

_ACTIVE = 1e-5  # an inequality below this is active


class Constraints:
    """The constraints of a call. `args` are their own arguments, for each one a tuple."""

    def __init__(self, given: Any, unravel: Callable, vector: Any):
        given = list(given) if isinstance(given, (list, tuple)) else [given]
        for one in given:
            if not isinstance(one, (dict, LinearConstraint, NonlinearConstraint)):
                raise NoRuleError(
                    f"minimize: a constraint of type {type(one).__name__} and tracked arguments: "
                    "pass a dict, a LinearConstraint or a NonlinearConstraint"
                )
        self.given, self.unravel = given, unravel
        self.args = [_tuple(one.get("args", ())) if isinstance(one, dict) else () for one in given]
        self.counts = [shape_of(part)[0] for part in self.values(vector, self.args)]

    def __bool__(self) -> bool:
        return bool(self.given)

    def plain(self, args: Sequence) -> list:
        """Return SciPy's constraints for plain arguments."""
        pairs = zip(self.given, args, strict=True)
        return [one | {"args": own} if isinstance(one, dict) else one for one, own in pairs]

    def values(self, v: Any, args: Sequence) -> tuple[Any, Any]:
        """Return the vectors that are zero, and those that are not negative."""
        zero, positive = [np.zeros(0)], [np.zeros(0)]
        x = self.unravel(v)
        for one, own in zip(self.given, args, strict=True):
            if isinstance(one, dict):
                value = flat(one["fun"](x, *own))
                (zero if one["type"].lower() == "eq" else positive).append(value)
                continue
            linear = isinstance(one, LinearConstraint)
            value = np.atleast_2d(_dense(one.A)) @ v if linear else flat(one.fun(x))
            lower, upper = (np.broadcast_to(side, shape_of(value)) for side in (one.lb, one.ub))
            same = lower == upper
            low, high = np.isfinite(lower) & ~same, np.isfinite(upper) & ~same
            zero.append(value[same] - lower[same])
            positive += [value[low] - lower[low], upper[high] - value[high]]
        return np.concatenate(zero), np.concatenate(positive)

    def conditions(self, objective: Callable, project: Callable, z: Any, args: Sequence) -> Any:
        """Return the equations for z, which joins x and the multipliers."""
        n = shape_of(z)[0] - sum(self.counts)
        v, y, m = z[:n], z[n : n + self.counts[0]], z[n + self.counts[0] :]

        def lagrangian(v: Any) -> Any:
            zero, positive = self.values(v, args)
            return np.sum(objective(v)) - y @ zero - m @ positive

        zero, positive = self.values(v, args)
        slope = project(v, grad(lagrangian)(v))
        return np.concatenate([slope, zero, m - np.maximum(m - positive, 0.0)])

    def with_multipliers(self, slope: np.ndarray, free: Any, v: Any, args: Sequence) -> np.ndarray:
        """Join x and estimates of its multipliers, for plain arrays: least squares for the elements
        of x that are `free` of bounds."""
        rows = [np.reshape(part, (-1, len(v))) for part in jacobian(self.values)(v, args)]
        active = self.values(v, args)[1] < _ACTIVE
        used = np.concatenate([np.ones(self.counts[0], bool), active])
        matrix = np.concatenate(rows)[used][:, free]
        multipliers = np.zeros(len(used))
        multipliers[used] = np.linalg.lstsq(matrix.T, slope[free], rcond=None)[0]
        multipliers[self.counts[0] :] = np.maximum(multipliers[self.counts[0] :], 0.0)
        return np.concatenate([v, multipliers])


def _dense(matrix: Any) -> Any:
    return matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix, float)


def _tuple(args: Any) -> tuple:
    return args if isinstance(args, tuple) else (args,)
