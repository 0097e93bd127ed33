"""The path of a solution, the polynomials of its steps, and the events on it, of plain numbers."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import brentq

from ..errors import DimensionMismatch, StaticError, StepsError
from .problem import Problem, plain_of

__all__ = ["Event", "Path", "path_of"]

_ROWS = 512  # of steps that one call of the program takes


class Event:
    """A function of time and state whose roots are looked for, with SciPy's attributes."""

    def __init__(self, f: Callable, problem: Problem, args: tuple, place: int):
        self.f, self._problem, self._args, self._place = f, problem, args, place
        self.direction = float(getattr(f, "direction", 0) or 0)
        terminal = getattr(f, "terminal", None)
        self.count = 0 if not terminal else 1 if terminal is True else int(terminal)

    def __call__(self, t: Any, y: Any, args: Any = None) -> Any:
        """The value at a time and a state vector."""
        value = self.f(t, self._problem.state.tree(y), *(self._args if args is None else args))
        if np.shape(value) not in ((), (1,)):
            raise DimensionMismatch(
                f"ode.solve: event {self._place} returned shape {np.shape(value)}: return one "
                "number, such as y[0]"
            )
        return value if np.shape(value) == () else value[0]

    def number(self, t: float, y: np.ndarray) -> float:
        """The value for plain numbers, also of a function that closes over tracked ones."""
        value = plain_of(self(t, y))
        if value is None:
            raise StaticError(
                f"ode.solve: event {self._place} depends on values that are not known while the "
                "function is recorded or batched: compute events in eager code"
            )
        return float(value)

    def crosses(self, before: float, after: float) -> bool:
        """Whether there is a root between two values, in the direction that counts."""
        up = before <= 0.0 <= after and self.direction >= 0.0
        down = before >= 0.0 >= after and self.direction <= 0.0
        return (up or down) and not (before == 0.0 == after)


class Path:
    """Steps in order, as rows: the time, the size, the coefficients of polynomials of degree 4 in
    the fraction of the step. `events` are pairs of the number of an event and its time."""

    def __init__(self, n: int, t0: float, y0: np.ndarray):
        self.n, self.t_end, self.y_end, self.calls = n, t0, y0, 0
        self.rows = np.empty((0, 2 + 5 * n))
        self.events: list[tuple[int, float]] = []
        self.is_stopped = False

    @property
    def times(self) -> np.ndarray:
        """The ends of steps."""
        return np.append(self.rows[:, 0], self.t_end)

    def __call__(self, t: Any) -> np.ndarray:
        """The state (n,) at a time, or the states (n, m) at m times; outside of the path, the
        polynomial of the nearest step."""
        t = np.asarray(t, float)
        if not len(self.rows):
            return np.broadcast_to(self.y_end.reshape(self.n, *[1] * t.ndim), (self.n, *t.shape))
        starts = self.rows[:, 0]
        sign = 1.0 if self.rows[0, 1] >= 0.0 else -1.0
        at = np.searchsorted(sign * starts, sign * t, side="right") - 1
        row = self.rows[np.clip(at, 0, len(starts) - 1)]
        x = ((t - row[..., 0]) / row[..., 1])[..., None]
        c = row[..., 2:].reshape(*row.shape[:-1], 5, self.n)
        y = c[..., 4, :]
        for j in (3, 2, 1, 0):
            y = c[..., j, :] + x * y
        return np.moveaxis(y, -1, 0)

    def look(self, events: Sequence[Event], rows: np.ndarray, counts: list[int]) -> None:
        """Add the roots of events in the latest steps; stop at a terminal one."""
        ends = np.append(rows[:, 0], self.t_end)
        states = [*rows[:, 2 : 2 + self.n], self.y_end]
        values = [[g.number(t, y) for t, y in zip(ends, states, strict=True)] for g in events]
        for i in range(len(rows)):
            found = []
            for k, g in enumerate(events):
                before, after = values[k][i], values[k][i + 1]
                if g.crosses(before, after):
                    found.append((self._root(g, ends[i], ends[i + 1], before, after), k))
            sign = 1.0 if rows[i, 1] >= 0.0 else -1.0
            for t, k in sorted(found, key=lambda pair: sign * pair[0]):
                self.events.append((k, t))
                counts[k] += 1
                if events[k].count and counts[k] >= events[k].count:
                    self._stop(t)
                    return

    def _root(self, g: Event, start: float, end: float, before: float, after: float) -> float:
        if before == 0.0 or after == 0.0:
            return float(start if before == 0.0 else end)
        values = g.number(start, self(start)), g.number(end, self(end))
        if values[0] * values[1] >= 0.0:  # by rounding at an end
            return float(start if abs(values[0]) < abs(values[1]) else end)
        eps: Any = 4.0 * np.finfo(float).eps
        root: Any = brentq(lambda t: g.number(t, self(t)), start, end, xtol=eps, rtol=eps)
        return float(root)

    def _stop(self, t: float) -> None:
        sign = 1.0 if self.rows[0, 1] >= 0.0 else -1.0
        self.y_end = self(t)
        keep = sign * (self.rows[:, 0] - t) < 0.0
        keep[0] = True
        self.rows, self.t_end, self.is_stopped = self.rows[keep], t, True


def path_of(
    problem: Problem, t0: float, t1: float, y0: np.ndarray, options: np.ndarray,
    atol: np.ndarray, leaves: tuple, events: Sequence[Event],
) -> Path:  # fmt: skip
    """Integrate, and find the roots of events. Raises StepsError for a step size that is too small
    before a terminal event."""
    path, counts, h = Path(problem.state.size, t0, y0), [0] * len(events), 0.0
    t, y = t0, y0
    while (t1 - t) * (1.0 if t1 >= t0 else -1.0) > 0.0 and not path.is_stopped:
        found, y, numbers = problem.run("path", t, t1, y, h, options, atol, leaves, _ROWS)
        rows = found[: int(numbers[0])]
        path.calls += int(numbers[1])
        path.rows = np.concatenate([path.rows, rows])
        t, h = float(numbers[2]), float(numbers[3])
        path.t_end, path.y_end = t, y
        if events:
            path.look(events, rows, counts)
        if numbers[4] and not path.is_stopped:
            raise StepsError(
                f"ode.solve: the step size became too small at t = {t:.6g}: f returns nan or inf, "
                "has a pole there, or rtol and atol are smaller than rounding errors"
            )
    return path
