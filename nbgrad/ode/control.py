"""The control of step sizes, which is not differentiated: functions of numbers for loops."""

import math

from ..transforms import custom_rule

__all__ = ["constant", "factor", "least_step"]


@custom_rule(pullback=lambda ct, out, x: None)
def constant(x):
    """x, as a constant."""
    return x


def factor(norm, power, least, most):
    """The factor of the step size for a norm of errors, of which 1 is allowed."""
    if not norm < math.inf:
        return least
    if norm == 0.0:
        return most
    return min(most, max(least, 0.9 * norm**power))


def least_step(t):
    """The least step size at t: ten spacings of floats."""
    return max(10.0 * 2.220446049250313e-16 * abs(t), 1e-300)
