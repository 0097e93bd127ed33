"""Integrators: functions with loops, which `nbgrad.njit` differentiates through their steps."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import ArgumentError, StepsError
from ..loops.njit import njit
from ..loops.steps import kept
from .control import constant, factor, least_step

__all__ = ["integrators"]

_FIRST = 16  # steps of the first span


def integrators(
    method: Any, f: Callable, slopes: Callable, n: int, events: Any = None
) -> tuple[Any, Any, Any]:
    """Functions with loops for a state of n elements: the states at given times, the path, which
    are the polynomials of all steps, and the roots of events. `events` gives their values."""
    attempt, polynomial = method.stepper(f, slopes)
    power, calls = method.POWER, method.CALLS

    def norm_of(error, y, z, rtol, atol):
        """The root mean square of errors, of which 1 is allowed."""
        total = 0.0
        for i in range(n):
            scale = atol[i] + rtol * max(abs(constant(y[i])), abs(constant(z[i])))
            total += (constant(error[i]) / scale) ** 2
        return (total / n) ** 0.5

    def first_step(t, most, y, k, sign, options, atol, args):
        """The size of the first step (Hairer, Norsett, Wanner, Solving Ordinary Differential
        Equations I, 1993, section II.4), or the one that is given."""
        if options[1] > 0.0:
            return min(options[1], most)
        size, slope = norm_of(y, y, y, options[0], atol), norm_of(k, y, y, options[0], atol)
        h = 1e-6 if size < 1e-5 or slope < 1e-5 else 0.01 * size / slope
        h = min(h, most)
        change = f(t + sign * h, y + (sign * h) * k, *args) - k
        bend = norm_of(change, y, y, options[0], atol) / h
        if slope <= 1e-15 and bend <= 1e-15:
            return min(max(1e-6, h * 1e-3), most)
        return min(100.0 * h, (0.01 / max(slope, bend)) ** -power, most)

    def next_step(t, t1, h, sign):
        """The step from t, of the size h or to the end t1, and whether it is the last one."""
        if not h > least_step(constant(t)):
            raise StepsError(
                "ode.solve: the step size became too small: f returns nan or inf, has a pole, or "
                "rtol and atol are smaller than rounding errors"
            )
        is_last = 1.000000001 * h >= (t1 - t) * sign
        return t1 - t if is_last else sign * h, is_last

    def passed(out, done, times, t, step, end, sign, y, c1, c2, c3, c4):
        """Write the states at the times up to the end of a step; how many there are by then."""
        while done < times.size and (times[done] - end) * sign <= 0.0:
            x = (times[done] - t) / step
            if (times[done] - (times[done - 1] if done else t)) * sign < 0.0:
                raise ArgumentError("ode.solve: t_eval must be in order and within t_span")
            for i in range(n):
                out[done, i] = y[i] + x * (c1[i] + x * (c2[i] + x * (c3[i] + x * c4[i])))
            done += 1
        return done

    def states(t0, t1, y0, times, options, atol, args):
        """The states at times, which are in order from t0 to t1; `options` are rtol, the size of
        the first step and that of the largest one, and how many words a gradient may record before
        it keeps few states only. Counts: of steps, of calls of f."""
        out, counts = np.empty((times.size, n)), np.zeros(2)
        sign = 1.0 if t1 >= t0 else -1.0
        y, k = np.empty(n), np.empty(n)
        s = f(t0, y0, *args)
        for i in range(n):
            y[i] = y0[i]
            k[i] = s[i]
        t, done, steps, tried = t0, 0, 0, 0
        while done < times.size and (times[done] - t0) * sign <= 0.0:
            if times[done] != t0:
                raise ArgumentError("ode.solve: t_eval must be in order and within t_span")
            for i in range(n):
                out[done, i] = y[i] + k[i] * (times[done] - t0)
            done += 1
        most = min(options[2], abs(constant(t1) - constant(t0)))
        h = constant(first_step(t, most, y, k, sign, options, atol, args))
        words, length = int(options[3]), _FIRST
        while done < times.size:  # spans of steps, of which each is one longer than the one before
            for _ in kept(length, words):
                if done < times.size:
                    if (t1 - t) * sign <= 0.0:
                        raise ArgumentError("ode.solve: t_eval must be in order and within t_span")
                    step, is_last = next_step(t, t1, h, sign)
                    z, slope, error, a, b, c, d = attempt(t, step, y, k, args)
                    norm = norm_of(error, y, z, options[0], atol)
                    tried += 1
                    if norm <= 1.0:
                        end = t1 if is_last else t + step
                        if (times[done] - end) * sign <= 0.0:
                            c1, c2, c3, c4 = polynomial(step, y, k, z, slope, a, b, c, d)
                            done = passed(out, done, times, t, step, end, sign, y, c1, c2, c3, c4)
                        t = end
                        for i in range(n):
                            y[i] = z[i]
                            k[i] = slope[i]
                        steps += 1
                        h = min(most, constant(abs(step)) * factor(norm, power, 0.2, 10.0))
                    else:
                        h = constant(abs(step)) * factor(norm, power, 0.2, 1.0)
                    h = constant(h)
            length += 1
        counts[0], counts[1] = steps, 2 + calls * tried
        return out, counts

    def path(t0, t1, y0, h, options, atol, args, rows):
        """Steps from t0 on, until t1 or until all rows are used, each of which holds the time, the
        size of a step and the coefficients of its polynomial. `h` is the size of the first step; 0
        if it is not known. Returns the state after them and numbers: of the steps, of the calls of
        f, the time, the size of the next step, and whether the size became too small."""
        numbers = np.zeros(5)
        found = np.empty((rows, 2 + 5 * n))
        sign = 1.0 if t1 >= t0 else -1.0
        y, k = np.empty(n), np.empty(n)
        s = f(t0, y0, *args)
        for i in range(n):
            y[i] = y0[i]
            k[i] = s[i]
        t, steps, tried = t0, 0, 0
        most = min(options[2], abs(t1 - t0)) if h == 0.0 else options[2]
        if h == 0.0:
            h = first_step(t, most, y, k, sign, options, atol, args)
        while (t1 - t) * sign > 0.0 and steps < rows:
            if not h > least_step(t):
                numbers[4] = 1.0
                break
            is_last = 1.000000001 * h >= (t1 - t) * sign
            step = t1 - t if is_last else sign * h
            z, slope, error, a, b, c, d = attempt(t, step, y, k, args)
            norm = norm_of(error, y, z, options[0], atol)
            tried += 1
            if norm <= 1.0:
                c1, c2, c3, c4 = polynomial(step, y, k, z, slope, a, b, c, d)
                found[steps, 0], found[steps, 1] = t, step
                for i in range(n):
                    found[steps, 2 + i] = y[i]
                    found[steps, 2 + n + i] = c1[i]
                    found[steps, 2 + 2 * n + i] = c2[i]
                    found[steps, 2 + 3 * n + i] = c3[i]
                    found[steps, 2 + 4 * n + i] = c4[i]
                t = t1 if is_last else t + step
                for i in range(n):
                    y[i] = z[i]
                    k[i] = slope[i]
                steps += 1
                h = min(most, abs(step) * factor(norm, power, 0.2, 10.0))
            else:
                h = abs(step) * factor(norm, power, 0.2, 1.0)
        numbers[0], numbers[1], numbers[2], numbers[3] = steps, 2 + calls * tried, t, h
        return found, y, numbers

    def crosses(before, after, direction):
        """Whether there is a root between two values, in the direction that counts."""
        up = before <= 0.0 <= after and direction >= 0.0
        down = before >= 0.0 >= after and direction <= 0.0
        return (up or down) and not (before == 0.0 and after == 0.0)

    def root_of(i, before, after, t, step, y, c1, c2, c3, c4, args):
        """The time of the root of an event in a step, by bisection."""
        if before == 0.0:
            return t
        low, high = 0.0, 1.0
        w = np.empty(n)
        for _ in range(54 if after != 0.0 else 0):
            x = 0.5 * (low + high)
            for j in range(n):
                w[j] = y[j] + x * (c1[j] + x * (c2[j] + x * (c3[j] + x * c4[j])))
            value = events(t + x * step, w, *args)
            if (value[i] > 0.0) == (before > 0.0):
                low = x
            else:
                high = x
        return t + high * step

    def roots(t0, t1, y0, options, atol, limits, directions, args, every, most):
        """The times of the roots of events, a row for each event, with nan behind the last one; and
        the time of the end, with 1 if that is a root of a terminal event. `limits` are the numbers
        of roots at which events end the integration, 0 for those that do not; `every` are the
        arguments of the events."""
        count = limits.size
        found, ends = np.full((count, most), np.nan), np.zeros(2)
        sign = 1.0 if t1 >= t0 else -1.0
        y, k, before, at = np.empty(n), np.empty(n), np.empty(count), np.empty(count)
        numbers = np.zeros(count, np.int64)
        s, values = f(t0, y0, *args), events(t0, y0, *every)
        for i in range(n):
            y[i] = y0[i]
            k[i] = s[i]
        for i in range(count):
            before[i] = values[i]
        t, end = t0, t1
        largest = min(options[2], abs(t1 - t0))
        h = first_step(t, largest, y, k, sign, options, atol, args)
        while (end - t) * sign > 0.0:
            step, is_last = next_step(t, t1, h, sign)
            z, slope, error, a, b, c, d = attempt(t, step, y, k, args)
            norm = norm_of(error, y, z, options[0], atol)
            if norm <= 1.0:
                late = t1 if is_last else t + step
                after = events(late, z, *every)
                c1, c2, c3, c4 = polynomial(step, y, k, z, slope, a, b, c, d)
                for i in range(count):
                    at[i] = np.nan
                    if crosses(before[i], after[i], directions[i]):
                        at[i] = root_of(i, before[i], after[i], t, step, y, c1, c2, c3, c4, every)
                for _ in range(count):  # in the order of their times
                    first = -1
                    for i in range(count):
                        if at[i] == at[i] and (first < 0 or (at[i] - at[first]) * sign < 0.0):
                            first = i
                    if first >= 0:
                        if numbers[first] >= most:
                            raise ArgumentError(
                                "ode.solve: an event has more roots than max_events: increase it"
                            )
                        found[first, numbers[first]] = at[first]
                        numbers[first] += 1
                        if limits[first] > 0.0 and numbers[first] >= limits[first]:
                            end, ends[1] = at[first], 1.0
                            at[:] = np.nan
                        at[first] = np.nan
                t = late
                for i in range(n):
                    y[i] = z[i]
                    k[i] = slope[i]
                for i in range(count):
                    before[i] = after[i]
                h = min(largest, abs(step) * factor(norm, power, 0.2, 10.0))
            else:
                h = abs(step) * factor(norm, power, 0.2, 1.0)
        ends[0] = end
        return found, ends

    return njit(states), njit(path), njit(roots)
