"""A step of RODAS, a stiffly stable Rosenbrock method of order 4 with an interpolant of order 3
(Hairer and Wanner, Solving Ordinary Differential Equations II, 1996, section IV.10)."""

from collections.abc import Callable

import numpy as np

__all__ = ["CALLS", "POWER", "stepper"]

CALLS, POWER = 6, -0.25


def stepper(f: Callable, slopes: Callable) -> tuple[Callable, Callable]:
    """The functions of `dormand_prince.stepper`. `slopes` gives the Jacobian of f by y, and its
    derivative by t."""

    def attempt(t, h, y, k1, args):
        jacobian, by_t = slopes(t, y, *args)
        m = np.linalg.inv(np.eye(y.size) * (4.0 / h) - jacobian)
        u1 = m @ (k1 + h * 0.25 * by_t)
        r = f(t + 0.386 * h, y + 1.544 * u1, *args)
        u2 = m @ (r - 5.6688 / h * u1 - 0.1043 * h * by_t)
        r = f(t + 0.21 * h, y + 0.9466785280815826 * u1 + 0.2557011698983284 * u2, *args)
        u3 = m @ (r - (2.430093356833875 * u1 + 0.2063599157091915 * u2) / h + 0.1035 * h * by_t)
        r = f(
            t + 0.63 * h,
            y + 3.314825187068521 * u1 + 2.896124015972201 * u2 + 0.9986419139977817 * u3,
            *args,
        )
        u4 = m @ (
            r - (0.1073529058151375 * u1 + 9.594562251023355 * u2 + 20.47028614809616 * u3) / h
            - 0.03620000000000023 * h * by_t
        )  # fmt: skip
        w = (
            y + 1.221224509226641 * u1 + 6.019134481288629 * u2 + 12.53708332932087 * u3
            - 0.6878860361058950 * u4
        )  # fmt: skip
        r = f(t + h, w, *args)
        u5 = m @ (
            r + (7.496443313967647 * u1 - 10.24680431464352 * u2 - 33.99990352819905 * u3
                 + 11.70890893206160 * u4) / h
        )  # fmt: skip
        w = w + u5
        r = f(t + h, w, *args)
        u6 = m @ (
            r + (8.083246795921522 * u1 - 7.981132988064893 * u2 - 31.52159432874371 * u3
                 + 16.31930543123136 * u4 - 6.058818238834054 * u5) / h
        )  # fmt: skip
        z = w + u6
        p = (
            10.12623508344586 * u1 - 7.487995877610167 * u2 - 34.80091861555747 * u3
            - 7.992771707568823 * u4 + 1.025137723295662 * u5
        )  # fmt: skip
        q = (
            -0.6762803392801253 * u1 + 6.087714651680015 * u2 + 16.43084320892478 * u3
            + 24.76722511418386 * u4 - 6.594389125716872 * u5
        )  # fmt: skip
        return z, f(t + h, z, *args), u6, p, q, p, q

    def polynomial(h, y, k1, z, end, p, q, r, s):
        return z - y + p, q - p, -q, 0.0 * y

    return attempt, polynomial
