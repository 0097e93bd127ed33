"""Programs about variables, types and calls: functions and arguments."""

# pyright: reportPossiblyUnboundVariable=false, reportOperatorIssue=false

# ruff: noqa: B007, F821, F841, RUF005

import math
from collections import namedtuple

import numba
import numpy as np

from nbgrad import njit

from .control import X, Y

CASES = []
PLAIN = []  # those which call functions that Numba does not take: Python has the values


def case(*args, plain=False):
    """Decorator: a case, with its arguments."""

    def noted(function):
        (PLAIN if plain else CASES).append((function, args))
        return function

    return noted


# -- types of variables ---------------------------------------------------------------------------


@case(X)
def integer_that_becomes_a_float(x):
    s = 0
    for v in x:
        s += v * v
    return s


@case(X)
def integer_in_three_loops(x):
    s = 0
    for i in range(3):
        for j in range(2):
            for k in range(2):
                s = s / 2 + x[i + j + k]
    return s


@case(X)
def integer_before_it_is_a_float(x):
    s = 7
    half = s // 2
    for v in x:
        s = s * 0.5 + v
    return s * half


@case(X, 1)
def float_in_one_branch(x, k):
    v = 3
    if k > 0:
        v = x[0] * 2.0
    return v * x[1]


@case(X, 0)
def integer_in_one_branch(x, k):
    if k > 0:
        v = x[0]
    else:
        v = 2
    return v * x[1]


@case(X)
def temporary_of_two_types(x):
    s = 0.0
    for i in range(4):
        t = i * 2
        s += x[t % 5]
        t = x[i] * 0.5
        s *= t
    return s


@case(X)
def temporary_of_two_types_in_two_loops(x):
    s = 0.0
    for i in range(3):
        t = i + 1
        s += x[t]
    for i in range(3):
        t = x[i] * x[i]
        s += t
    return s


@case(X)
def float_at_a_break(x):
    best = 0
    for v in x:
        if v > 0.3:
            best = v * v
            break
    return best + x[0]


@case(X)
def float_at_a_continue(x):
    last = 1
    s = 0.0
    for v in x:
        s += last * v
        if v > 0.0:
            last = v
            continue
        last = 2
    return s


@case(X, 2)
def results_of_two_types(x, n):
    if n > 5:
        return 1
    return x[n] * x[0]


@case(X, 3)
def results_of_two_types_in_a_tuple(x, n):
    for i in range(n):
        if x[i] > 90.0:
            return i, 1
    return x[0] * 0.5, x[1] ** 2


@case(X, np.float32(0.7))
def narrow_float(x, k):
    s = k * 2
    for v in x:
        s = s + v * k
    return s


@case(X, 4, plain=True)
def assigned_in_the_round_before(x, n):
    s = 0.0
    for i in range(n):
        if i > 0:
            s += before * x[i]
        before = x[i] * x[i]
    return s


@case(X, 4, plain=True)
def assigned_in_the_outer_round_before(x, n):
    s = 0.0
    for i in range(n):
        for j in range(2):
            if i > 0:
                s += before * x[j]
        before = x[i] * i
    return s


@case(X, 3)
def assigned_in_one_branch(x, n):
    if n > 1:
        v = x[0] * x[1]
    s = 1.0
    if n > 1:
        s += v * v
    return s


@case(X, 3)
def assigned_in_a_loop(x, n):
    for i in range(n):
        v = x[i] * 2.0
    return v * i


@case(X)
def shadowed_builtin_names(x):
    sum = 0.0
    max = x[0]
    for abs in x:
        sum += abs * max
    len = sum * 2
    return len


@case(X)
def argument_that_is_assigned(x):
    y = x[0]
    x0 = y
    y = y * y
    y += x0
    return y * x0


@case(2.0, 3.0)
def swaps(a, b):
    for _ in range(3):
        a, b = b, a + b * a * 0.1
    return a * 2.0 - b


@case(1.5, 0.5)
def chained_assignment(a, b):
    u = v = a * b
    u += a
    w, z = t = (u, v * b)
    return w * z + t[0] * t[1]


@case(1.5, 0.5, 0.2)
def rotation_of_three(a, b, c):
    for i in range(4):
        a, b, c = b * 1.1, c + a * 0.1, a
    return a * b + c


@case(X)
def annotated(x):
    s: float = 0.0
    n: int
    n = 3
    for i in range(n):
        s += x[i] * x[i]
    return s


@case(2.5, plain=True)
def walrus(x):
    s = 0.0
    while (y := x * x) > 1.0:
        s += y
        x *= 0.8
    if (z := s * 2.0) > 1.0:
        s = z * z
    return s + y


# -- expressions ----------------------------------------------------------------------------------


@case(0.7, 1.2, 3)
def conditional_expressions(a, b, n):
    u = a if a > b else b * b
    v = 1 if n > 2 else a
    return u * (a if n > 5 else (b if n == 3 else 2.0)) + v


@case(0.4, 1.2, 3)
def values_of_and_and_or(a, b, n):
    return (a or b) * ((n and b) + (b > 1.0 and b * b)) + (a and b) + (b or a)


@case(0.7, 1.2, 3)
def chained_comparisons(a, b, n):
    s = 0.0
    if 0.0 < a < b <= 2.0:
        s += a * b
    if 1 < n < 3 or not a > b:
        s += b
    return s


@case(1.7, 3)
def membership(a, n):
    s = a
    if n in (1, 3, 5):
        s *= a
    if n not in (2, 4) and a not in (1.0, 2.0):
        s += a
    return s


@case(1.7, 3)
def integer_arithmetic(a, n):
    k = (n // 2 + n % 2 - (-n) // 2 + (-n) % 2) ^ 5
    k = (k << 2) | (k >> 1) & 7
    return a * k + (n > 2) * a + ~n + divmod(n, 2)[1]


@case(1.7, np.int8(100), np.uint8(200))
def narrow_integers(a, m, u):
    return a * (m + u) + a * (m * m) - (u - m) * a + m // np.int8(3) + np.int16(u) % 7


@case(1.7, -0.4, 3, -2)
def powers(a, b, n, m):
    s = a**2 + a**3 * b**-2 + a**n + b**m + a**0.5 + a**b + 2.0**a + n**2
    return s + 2**n + a**0 + (a + 1) ** (n + 1)


@case(7.3, -2.1, 5)
def quotients(a, b, n):
    q, r = divmod(a, 2.0)
    return a % 3.0 + b % 3.0 + a // b + b % a + a % b + n % a + q * r + (-a) // 2.0 + a / n


@case(7.37, 2)
def roundings(a, n):
    return (
        round(a) * a + round(a, 1) * a + int(a) * a + np.floor(a) * a + math.ceil(a) + round(a, n)
    )


@case(1.5, -0.7, 2)
def extremes(a, b, n):
    s = min(a, b) * max(a, b, n) + min((a, 2.0, b)) + np.maximum(a, b) * np.minimum(a, n)
    return s + np.fmax(a, b) + max(n, 3) * a + abs(b) * np.abs(b)


@case(1.5, 2)
def conversions(a, n):
    return float(n) * a + np.float64(n) + int(a) * a + bool(n) * a + np.int32(7) * a


@case(0.3, 0.6)
def constants(a, b):
    return np.pi * a + math.e * b + math.tau + np.e * a + (a if a < math.inf else np.nan)


@case(0.3, 2.6, 3)
def functions_of_numpy_and_math(a, b, n):
    s = math.sin(a) + np.cos(b) + math.exp(a) * np.log(b) + np.tanh(a) + math.atan2(a, b)
    s += np.hypot(a, b) + math.erf(a) + math.lgamma(b) + np.expm1(a) + np.log1p(b) + math.gamma(b)
    s += np.sqrt(n) + math.log(n) + np.square(a) + np.deg2rad(b) + math.degrees(a) + np.sinc(a)
    return s + np.logaddexp(a, b) + np.cbrt(b) + math.pow(b, a) + np.power(b, n) + np.reciprocal(b)


@case(0.3, 2.6)
def functions_that_are_tests(a, b):
    s = a if math.isnan(b) or np.isinf(a) else b
    return (
        s * np.sign(b) + np.signbit(a) * a + math.copysign(a, -b) + (math.isfinite(a) and b > 1.0)
    )


@case(1.5, 2.5, 1)
def tuples(a, b, k):
    t = (a, b, a * b)
    u = t[1:] + (t[0],)
    s = sum(t) * len(t) + t[k] * u[-1] + t[k - 2]
    if t < u and t != u:
        s += u[0]
    (p, q), r = (t[0], t[1]), t[2]
    return s + p * q * r


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


@case(0.3, 2.6, plain=True)
def calls_with_keywords_and_defaults(a, b):
    return (
        plain(a)
        + plain(a, y=b)
        + plain(y=a, x=b)
        + (compiled(a, b, shift=1.0) + compiled(scale=a, x=b, shift=a))
    )


@case(0.3, 4, plain=True)
def calls_of_compiled_functions(a, n):
    return ours(a, n) + ours(a * 2, 2) + numba_sum(a, n)


@numba.njit(fastmath=False)
def numba_sum(a, n):
    return n * a + ours(a, 1)


@case(0.3, 1.1, plain=True)
def calls_that_return_early(a, limit):
    s = 0.0
    for i in range(4):
        s += early(a + i * 0.2, limit) * early(s, limit)
    return s


@case(0.3, 1.1, plain=True)
def calls_with_starred_arguments(a, b):
    t = (a, b)
    return summed(a) + summed(a, b) + summed(*t, a * b) + plain(*t)


@case(0.3, 1.1, plain=True)
def functions_as_arguments(a, b):
    return applied(plain, a) + applied(plain, a, b) + applied(early, a, b) + applied(cubic, b)


@case(0.3, 1.1, plain=True)
def functions_in_a_tuple(a, b):
    s = FUNCTIONS[0](a, b) * FUNCTIONS[1](a, b)
    return s + cubic(a)


@case(0.3, 1.1, plain=True)
def optional_arguments(a, b):
    return optional(a) + optional(a, b) + optional(a, scale=b, mode="single") + optional(b, None)


@case(0.3, 1.1, plain=True)
def nested_tuples(a, b):
    (u, (v, w)), t = both((a, b)), (a, (b, a * b))
    return u * v + w + t[1][1] * t[1][0] + both((b, a))[1][1]


@case(0.3, 1.1, plain=True)
def named_tuples(a, b):
    p = Point(a, b)
    for _ in range(3):
        p = moved(p, by=p.y)
    q = p if a > 5.0 else Point(x=b, y=p.x)
    return p.x * p.y + q.y * q[0]


@case(X.copy(), 1.3, plain=True)
def calls_that_write(x, value):
    filled(x, value)
    filled(value=x[0], x=x)
    return x[0] * x[1] + x[2]


@case(X, Y, plain=True)
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


@case(7.3, -2.1, plain=True)
def two_calls_with_several_exits(a, b):
    return in_three_ways(a) + in_three_ways(b)


@case(1.3, -0.5, plain=True)
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


@case(X, plain=True)
def generators(x):
    i = 2.0
    table = np.array([[x[k] * v for v in x] for k in range(x.size - 1)])
    return sum(v * i for i, v in enumerate(x)) * i + table[1, 2] * np.sum(table)
