"""Programs with every form of loop, branch and exit that Numba has: functions and arguments."""

# pyright: reportPossiblyUnboundVariable=false

# ruff: noqa: B905

from functools import partial
from typing import Any

import numba
import numpy as np

from .arrays.table import program

_random = np.random.default_rng(7)
X = _random.normal(size=9)
Y = _random.uniform(0.5, 2.0, size=7)
A = _random.normal(size=(4, 5))
CASES: list[Any] = []
case = partial(program, CASES)


# -- loops ----------------------------------------------------------------------------------------


@case(X)
def over_an_array(x):
    s = 0.0
    for v in x:
        s += v * v
    return s


@case(A)
def over_rows(a):
    s = 1.0
    for row in a:
        for v in row:
            s = s * 0.9 + v * v
    return s


@case(X)
def with_enumerate(x):
    s = 0.0
    for i, v in enumerate(x):
        s += i * v * v
    return s


@case(X)
def with_enumerate_from_three(x):
    s = 0.0
    for i, v in enumerate(x, 3):
        s += v**2 / i
    return s


@case(X, Y)
def with_zip(x, y):
    s = 0.0
    for u, v in zip(x, y):
        s += u * np.log(v)
    return s


@case(X, Y)
def with_enumerate_of_zip(x, y):
    s = 0.0
    for i, (u, v) in enumerate(zip(x, y)):
        s += (i + 1) * u / v
    return s


@case(X)
def with_a_zip_of_ranges(x):
    s = 0.0
    for i, j in zip(range(1, 9, 2), range(8, 0, -2)):
        s += x[i] * x[j]
    return s


@case(X)
def with_a_negative_step(x):
    s = 0.0
    for i in range(x.shape[0] - 1, -1, -2):
        s = s * x[i] + 1.0
    return s


@case(X, -3)
def with_a_step_at_run_time(x, step):
    s = 0.0
    for i in range(8, -1, step):
        s = s * 0.5 + x[i] * x[i]
    return s


@case(X, 5)
def with_a_narrow_range(x, n):
    s = 0.0
    for i in range(np.int32(n)):
        s += x[i] * (i << 1)
    return s


@case(X, 5)
def with_an_unsigned_range(x, n):
    s = 0.0
    for i in range(np.uint64(n)):
        s += x[i] * x[i]
    return s


@case(X)
def with_prange(x):
    s = 0.0
    for i in numba.prange(x.size):
        s += np.sin(x[i])
    return s


@case(X, 1.5)
def with_else_that_runs(x, limit):
    s = 0.0
    for v in x:
        if abs(v) > 99.0:
            break
        s += v * limit
    else:
        s = s * s + limit
    return s


@case(X, 0.3)
def with_else_that_is_skipped(x, limit):
    s = 1.0
    for v in x:
        if v > limit:
            s *= v
            break
        s += v * v
    else:
        s = 0.0
    return s * limit


@case(3.7)
def while_with_else(x):
    n = 0
    while x > 1.0:
        x = x * 0.8
        n += 1
        if n > 50:
            break
    else:
        x = x * n
    return x


@case(2.5)
def while_true(x):
    n = 0
    while True:
        x = x * 0.7
        n += 1
        if x < 0.5:
            break
    return x * n


@case(X, 4)
def loop_variable_after_the_loop(x, n):
    for i in range(n):
        if x[i] > 50.0:
            break
    return x[i] * x[i] + i


@case(X, 4)
def loop_variable_that_is_assigned(x, n):
    s = 0.0
    for i in range(n):
        i = i * 2
        s += x[i] * i
    return s + i


@case(X, 0)
def no_rounds(x, n):
    s = 2.0
    for i in range(n):
        s = s * x[i]
    return s * x[0]


@case(X, 3, 3)
def no_rounds_inside(x, n, m):
    s = 1.0
    for i in range(n):
        for j in range(m, i):
            s = s * x[j]
        s += x[i] * s
    return s


@case(X)
def over_a_tuple(x):
    s = 0.0
    for v in (x[0], x[1] * x[2], 3.0):
        s = s * v + v
    return s


@case(X)
def over_a_tuple_with_continue(x):
    s = 1.0
    for v in (x[0], x[1] * x[2], 3.0, x[4]):
        if v < 0.0:
            continue
        s = s * v + v
        if s > 20.0:
            break
    return s


@case(X, 2)
def continue_in_nested_loops(x, k):
    s = 0.0
    for i in range(x.size):
        if i % k == 0:
            continue
        for j in range(i):
            if x[j] < 0.0:
                continue
            if x[j] > 1.0:
                break
            s += x[i] * x[j]
        s = s * 0.9
    return s


@case(X, 0.2)
def return_from_nested_loops(x, limit):
    s = 1.0
    for i in range(x.size):
        for j in range(i):
            s += x[i] * x[j]
            if s < -limit:
                return s * s
            if s > 3.0:
                return s * limit
        s *= 1.1
    return s


@case(X, 7.0)
def return_from_a_while_in_a_for(x, limit):
    s = 1.0
    for v in x:
        k = 0
        while k < 3:
            s = s * 1.2 + v
            if s > limit:
                if k == 1:
                    return s * v
                break
            k += 1
        if s < -limit:
            return s
    return s * limit


@case(X, 1)
def return_in_every_branch(x, k):
    if k == 0:
        return x[0]
    elif k == 1:
        for v in x:
            if v < 0.0:
                return v * v
        return 3.0 * x[1]
    else:
        return x[2]


@case(X)
def return_in_else_of_a_loop(x):
    for v in x:
        if v > 100.0:
            break
    else:
        return x[0] * x[1]
    return x[3]


@case(X, 3)
def break_out_of_two_loops(x, n):
    done = False
    s = 0.0
    for i in range(n):
        for j in range(n):
            s += x[i] * x[j]
            if s > 1.5:
                done = True
                break
        if done:
            break
        s = s * 1.5
    return s


@case(X)
def break_after_continue(x):
    s = 0.0
    i = 0
    while i < x.size:
        i += 1
        if x[i - 1] < 0.0:
            continue
        s += x[i - 1] ** 3
        if s > 2.0:
            break
        s *= 1.5
    return s


@case(X, 20)
def collatz_in_integers(x, n):
    s = 0.0
    while n != 1:
        if n % 2 == 0:
            n //= 2
            s += x[n % 9]
            continue
        n = 3 * n + 1
        s *= x[n % 9]
    return s


@case(X)
def passes(x):
    s = 0.0
    for v in x:
        if v > 0.0:
            pass
        else:
            s += v * v
    return s


@case(X.copy(), 2)
def return_in_the_middle_of_writes(x, k):
    for i in range(x.size):
        x[i] = x[i] * x[i]
        if i == k:
            return x[i] * x[0]
        x[i] += 1.0
    return x[0]


@case(X)
def guarded_by_assert(x):
    assert x.size > 3, "too short"
    s = 0.0
    for v in x:
        assert v < 100.0
        s += v * v
    return s


@case(0.4)
def guarded_by_raise(x):
    if x < 0.0:
        raise ValueError(f"negative: {x}")
    if x > 2.0:
        raise ArithmeticError
    return np.sqrt(x)


@case(X)
def with_print(x):
    s = 0.0
    for v in x:
        s += v * v
    if s > 1e6:
        print("large", s)
    return s
