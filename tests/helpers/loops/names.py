"""Programs about variables, types and expressions: functions and arguments."""

# pyright: reportPossiblyUnboundVariable=false, reportOperatorIssue=false

# ruff: noqa: B007, F821, F841, RUF005

import math
from functools import partial
from typing import Any

import numpy as np

from .arrays.table import program
from .control import X

CASES: list[Any] = []
PLAIN: list[Any] = []  # those that call functions that Numba does not take: Python has the values
case = partial(program, CASES)
plain_case = partial(program, PLAIN)


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


@plain_case(X, 4)
def assigned_in_the_round_before(x, n):
    s = 0.0
    for i in range(n):
        if i > 0:
            s += before * x[i]
        before = x[i] * x[i]
    return s


@plain_case(X, 4)
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


@plain_case(2.5)
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


@case(X, np.array([[0, 1], [1, 1], [2, 0]]))
def unpacked_arrays(x, edges):
    a, b = x[:2]
    s = a * b
    for i, (p, q) in enumerate(edges):
        s += x[p] * x[q] * i
    for p, q in edges:
        x[p], x[q] = x[1:3] * a
    first, _, last = edges
    return s * x[first[0]] + x[last[0]] * b


@case(np.array([[0.5, 1.0, 2.0], [0.3, 0.4, 0.7], [1.5, 0.2, 0.1]]), 1)
def subscript_of_a_cotangent_that_may_be_0(m, n):
    while True:
        if n:
            break
        for r in range(2, 2):
            m[r - 1, r] = math.atan2(0.5, m[r, r])
    return m[0, 1] * m[0, 2]


@case(X, 1.5)
def dtypes_by_type(x, k):
    T = type(k)
    s = T(1)
    for i in range(x.size):
        s += type(i)(k) * x[i] / T(2)
    return s
