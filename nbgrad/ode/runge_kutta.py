"""A step of the classical Runge-Kutta method of order 4, with cubic Hermite interpolation."""

from collections.abc import Callable

__all__ = ["CALLS", "POWER", "stepper"]

CALLS, POWER = 4, 0.0


def stepper(f: Callable, slopes: Callable) -> tuple[Callable, Callable]:
    """The functions of `dormand_prince.stepper`; the estimate of the error is 0."""

    def attempt(t, h, y, k1, args):
        k2 = f(t + h / 2.0, y + h * (k1 / 2.0), *args)
        k3 = f(t + h / 2.0, y + h * (k2 / 2.0), *args)
        k4 = f(t + h, y + h * k3, *args)
        z = y + h * (k1 / 6.0 + k2 / 3.0 + k3 / 3.0 + k4 / 6.0)
        return z, f(t + h, z, *args), 0.0 * y, k2, k3, k4, k4

    def polynomial(h, y, k1, z, end, k2, k3, k4, k5):
        c2 = 3.0 * (z - y) - h * (2.0 * k1 + end)
        c3 = 2.0 * (y - z) + h * (k1 + end)
        return h * k1, c2, c3, 0.0 * y

    return attempt, polynomial
