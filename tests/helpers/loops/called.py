"""Programs that call functions, define functions, and build lists: functions and arguments."""

# ruff: noqa: B007

import math
from collections import namedtuple
from functools import partial
from typing import Any

import numba
import numpy as np

from nbgrad import njit

from .arrays.table import program
from .control import A, X, Y

CASES: list[Any] = []
PLAIN: list[Any] = []  # those that call functions that Numba does not take: Python has the values
case = partial(program, CASES)
plain_case = partial(program, PLAIN)


# -- calls ----------------------------------------------------------------------------------------


def plain(x, y=2.0):
    return x * y + 1.0


@numba.njit
def compiled(x, scale, *, shift=0.5):
    return math.sin(x) * scale + shift


@njit
def ours(x, n):
    s = 0.0
    for _ in range(n):
        s = s * 0.5 + x * x
    return s


def early(x, limit):
    for i in range(5):
        if x > limit:
            return x * x
        x = x * 1.3
    return x


def summed(start, *rest):
    for r in rest:
        start += r * r
    return start


def applied(f, x, *args):
    return f(x, *args)


def optional(x, scale=None, mode="double"):
    if scale is None:
        return x * 3.0
    if mode == "double":
        return x * scale * 2.0
    return x * scale


def made(factor):
    def inner(x):
        return factor * x * x

    return inner


cubic = made(3.0)
FUNCTIONS = (plain, early)
Point = namedtuple("Point", "x y")


def both(p):
    return p[0] * p[1], p


def moved(point, by):
    return Point(point.x + by, y=point.y * by)


def filled(x, value):
    for i in range(x.size):
        x[i] = x[i] * value


@plain_case(0.3, 2.6)
def calls_with_keywords_and_defaults(a, b):
    return (
        plain(a)
        + plain(a, y=b)
        + plain(y=a, x=b)
        + (compiled(a, b, shift=1.0) + compiled(scale=a, x=b, shift=a))
    )


@plain_case(0.3, 4)
def calls_of_compiled_functions(a, n):
    return ours(a, n) + ours(a * 2, 2) + numba_sum(a, n)


@numba.njit(fastmath=False)
def numba_sum(a, n):
    return n * a + ours(a, 1)


@plain_case(0.3, 1.1)
def calls_that_return_early(a, limit):
    s = 0.0
    for i in range(4):
        s += early(a + i * 0.2, limit) * early(s, limit)
    return s


@plain_case(0.3, 1.1)
def calls_with_starred_arguments(a, b):
    t = (a, b)
    return summed(a) + summed(a, b) + summed(*t, a * b) + plain(*t)


@plain_case(0.3, 1.1)
def functions_as_arguments(a, b):
    return applied(plain, a) + applied(plain, a, b) + applied(early, a, b) + applied(cubic, b)


@plain_case(0.3, 1.1)
def functions_in_a_tuple(a, b):
    s = FUNCTIONS[0](a, b) * FUNCTIONS[1](a, b)
    return s + cubic(a)


@plain_case(0.3, 1.1)
def optional_arguments(a, b):
    return optional(a) + optional(a, b) + optional(a, scale=b, mode="single") + optional(b, None)


@plain_case(0.3, 1.1)
def nested_tuples(a, b):
    (u, (v, w)), t = both((a, b)), (a, (b, a * b))
    return u * v + w + t[1][1] * t[1][0] + both((b, a))[1][1]


@plain_case(0.3, 1.1)
def named_tuples(a, b):
    p = Point(a, b)
    for _ in range(3):
        p = moved(p, by=p.y)
    q = p if a > 5.0 else Point(x=b, y=p.x)
    return p.x * p.y + q.y * q[0]


@plain_case(X.copy(), 1.3)
def calls_that_write(x, value):
    filled(x, value)
    filled(value=x[0], x=x)
    return x[0] * x[1] + x[2]


@plain_case(X, Y)
def calls_with_arrays_that_return_early(x, y):
    return first_above(x, 0.1) * first_above(y, 0.9)


def first_above(x, limit):
    for i, v in enumerate(x):
        if v > limit:
            return v * i
    return -1


def in_three_ways(x):
    if x > 1.0:
        return x * 2.0
    if x < -1.0:
        return x * 3.0
    return x


def when_large(x, n):
    for _ in range(n):
        if x > 1.0:
            return x * 2.0
        x = x * 1.5
    return x


@plain_case(7.3, -2.1)
def two_calls_with_several_exits(a, b):
    return in_three_ways(a) + in_three_ways(b)


@plain_case(1.3, -0.5)
def calls_that_return_early_at_times(a, b):
    s = 0.0
    for i in range(4):
        s += when_large(a + b * i, i) * in_three_ways(s)
        s += when_large(b * i, 3) + in_three_ways(a - i)
    return s


# -- functions inside of functions ----------------------------------------------------------------


@numba.njit
def steps_of_euler(f, y, n):
    for i in range(n):
        y = y + 0.1 * f(y)
    return y


@case(X, 1.3)
def functions_inside(x, y):
    scale = 1.0
    total = 0.0

    def part(i, factor=2.0):
        if i > 2:
            return total * y
        return total + x[i] * factor

    def scaled(v):
        return v * scale

    square = lambda t: t * t  # noqa: E731
    for i in range(4):
        total = part(i) + square(y) * (lambda t, s: t - s * y)(x[0], 0.5)
    scale = y * 3.0
    return scaled(total) + np.sum(scaled(x)) + steps_of_euler(lambda t: -t * t, y, 3)


def closed_over(factor, vector):
    return lambda v, *more: (
        v * factor + (vector[1] * more[0] * (lambda t: t * factor)(v))
    )  # whose brackets close here


@case(1.3, 0.4)
def lambda_expressions(x, y):
    return first(x) * second(x, y)


first, second = (lambda v: v * v + 1.0, closed_over(2.0, np.arange(3.0)))
first, second = numba.njit(first), numba.njit(second)


# -- lists that become arrays ---------------------------------------------------------------------


@case(X, 1.3, 4)
def comprehensions(x, y, n):
    powers = np.array([y**i for i in range(n)])
    large = np.array([v * v for v in x if v > 0.6])
    total = sum([v for v in x if v > 0.3]) + max(x) * min(powers) + sum(powers, 2)
    for w in [v * y for v in large]:
        total += w
    empty = np.array([v for v in x if v > 1e9])
    return total + large.size + empty.size + len([k for k in range(n)])


@plain_case(X)
def generators(x):
    i = 2.0
    table = np.array([[x[k] * v for v in x] for k in range(x.size - 1)])
    return sum(v * i for i, v in enumerate(x)) * i + table[1, 2] * np.sum(table)


# -- indices of arrays ---------------------------------------------------------------------------


@case(A)
def over_indices(a):
    s = 0.0
    for i, j in np.ndindex(a.shape):
        s += a[i, j] * (i - 2 * j)
    for k in np.ndindex(2, 3):
        if a[k] > 1.0:
            continue
        a[k] *= a[k[1], k[0]]
    for (i,) in np.ndindex(3):
        if i == 2:
            break
        s += a[i, i]
    return s + np.sum(a)


@case(A)
def over_indices_and_elements(a):
    s = 0.0
    for (i, j), x in np.ndenumerate(a):
        s += x * x * (i - j)
    for n, (i, x) in enumerate(np.ndenumerate(a.T[::2])):
        s += x * n * i[1]
    return s
