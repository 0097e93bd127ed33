"""A step of Dormand and Prince's method of order 5 (1980), with Shampine's interpolant of order 4
(1986), the coefficients of SciPy's RK45."""

from collections.abc import Callable

__all__ = ["CALLS", "POWER", "stepper"]

CALLS, POWER = 6, -0.2


def stepper(f: Callable, slopes: Callable) -> tuple[Callable, Callable]:
    """Functions of loops: `attempt` takes a step of size h from the state y, where the slope is k1;
    `polynomial` gives the coefficients of its interpolant in the fraction of the step."""

    def attempt(t, h, y, k1, args):
        """The state after the step, the slope there, an estimate of its error, other slopes."""
        k2 = f(t + h / 5.0, y + h * (k1 / 5.0), *args)
        k3 = f(t + h * 0.3, y + h * (3.0 / 40.0 * k1 + 9.0 / 40.0 * k2), *args)
        k4 = f(t + h * 0.8, y + h * (44.0 / 45.0 * k1 - 56.0 / 15.0 * k2 + 32.0 / 9.0 * k3), *args)
        k5 = f(
            t + h * (8.0 / 9.0),
            y + h * (19372.0 / 6561.0 * k1 - 25360.0 / 2187.0 * k2 + 64448.0 / 6561.0 * k3
                     - 212.0 / 729.0 * k4),
            *args,
        )  # fmt: skip
        k6 = f(
            t + h,
            y + h * (9017.0 / 3168.0 * k1 - 355.0 / 33.0 * k2 + 46732.0 / 5247.0 * k3
                     + 49.0 / 176.0 * k4 - 5103.0 / 18656.0 * k5),
            *args,
        )  # fmt: skip
        z = y + h * (35.0 / 384.0 * k1 + 500.0 / 1113.0 * k3 + 125.0 / 192.0 * k4
                     - 2187.0 / 6784.0 * k5 + 11.0 / 84.0 * k6)  # fmt: skip
        k7 = f(t + h, z, *args)
        error = h * (-71.0 / 57600.0 * k1 + 71.0 / 16695.0 * k3 - 71.0 / 1920.0 * k4
                     + 17253.0 / 339200.0 * k5 - 22.0 / 525.0 * k6 + 1.0 / 40.0 * k7)  # fmt: skip
        return z, k7, error, k3, k4, k5, k6

    def polynomial(h, y, k1, z, k7, k3, k4, k5, k6):
        """The coefficients of the powers from 1 on."""
        c2 = h * (-8048581381.0 / 2820520608.0 * k1 + 131558114200.0 / 32700410799.0 * k3
                  - 1754552775.0 / 470086768.0 * k4 + 127303824393.0 / 49829197408.0 * k5
                  - 282668133.0 / 205662961.0 * k6 + 40617522.0 / 29380423.0 * k7)  # fmt: skip
        c3 = h * (8663915743.0 / 2820520608.0 * k1 - 68118460800.0 / 10900136933.0 * k3
                  + 14199869525.0 / 1410260304.0 * k4 - 318862633887.0 / 49829197408.0 * k5
                  + 2019193451.0 / 616988883.0 * k6 - 110615467.0 / 29380423.0 * k7)  # fmt: skip
        c4 = h * (-12715105075.0 / 11282082432.0 * k1 + 87487479700.0 / 32700410799.0 * k3
                  - 10690763975.0 / 1880347072.0 * k4 + 701980252875.0 / 199316789632.0 * k5
                  - 1453857185.0 / 822651844.0 * k6 + 69997945.0 / 29380423.0 * k7)  # fmt: skip
        return h * k1, c2, c3, c4

    return attempt, polynomial
