"""Elementwise rows: NumPy function, scalar body, partials, domains.

Conventions at kinks stand in the row: they are tested and printed in the documentation.
"""

import numpy as np

from ..array import apply, implements
from ..core import Array, bind
from ..kernels import relu as relu_kernels
from .families import elementwise, positive, reals

# -- arithmetic -----------------------------------------------------------------------------------

add = elementwise(
    np.add, "x + y", [lambda x, y, out: 1, lambda x, y, out: 1], domains=[reals, reals]
)
subtract = elementwise(
    np.subtract, "x - y", [lambda x, y, out: 1, lambda x, y, out: -1], domains=[reals, reals]
)
multiply = elementwise(
    np.multiply, "x * y", [lambda x, y, out: y, lambda x, y, out: x], domains=[reals, reals]
)
divide = elementwise(
    np.divide, "x / y", [lambda x, y, out: 1 / y, lambda x, y, out: -out / y],
    domains=[reals, positive],
)  # fmt: skip
floor_divide = elementwise(
    np.floor_divide, "floor_divide(x, y)", [lambda x, y, out: 0, lambda x, y, out: 0],
    domains=[reals, positive], notes="piecewise constant: derivative 0",
)  # fmt: skip
remainder = elementwise(
    np.remainder, "np.remainder(x, y)",
    [lambda x, y, out: 1, lambda x, y, out: -np.floor_divide(x, y)],
    domains=[reals, positive], notes="x - y * floor(x / y): derivative -floor(x / y) in y",
)  # fmt: skip
negative = elementwise(np.negative, "-x", [lambda x, out: -1], domains=[reals])
absolute = elementwise(
    np.absolute, "abs(x)",
    [lambda x, out: np.where(x > 0, 1.0, np.where(x < 0, -1.0, 0.0))],
    domains=[reals], kinks=[((0.0,), (0.0,))], notes="derivative 0 at 0",
)  # fmt: skip
square = elementwise(np.square, "x * x", [lambda x, out: 2 * x], domains=[reals])
abs2 = elementwise(None, "x * x", [lambda x, out: 2 * x], domains=[reals], name="abs2")
rint = elementwise(
    np.rint, "np.rint(x)", [lambda x, out: 0], domains=[reals],
    notes="piecewise constant: derivative 0",
)  # fmt: skip
copy = elementwise(None, "x", [lambda x, out: 1], domains=[reals], name="copy")

# -- powers and elementary functions --------------------------------------------------------------

sqrt = elementwise(
    np.sqrt, "sqrt(x)", [lambda x, out: 0.5 / out], domains=[positive],
    notes="derivative inf at 0; a zero cotangent still gives zero",
)  # fmt: skip
exp = elementwise(np.exp, "exp(x)", [lambda x, out: out], domains=[reals])
log = elementwise(np.log, "log(x)", [lambda x, out: 1 / x], domains=[positive])
sin = elementwise(np.sin, "sin(x)", [lambda x, out: np.cos(x)], domains=[reals])
cos = elementwise(np.cos, "cos(x)", [lambda x, out: -np.sin(x)], domains=[reals])
tanh = elementwise(np.tanh, "tanh(x)", [lambda x, out: 1 - out * out], domains=[reals])


def _log_of_base(x, y, out):
    # 0 ** y is flat in y for y > 0, and a base below zero has no real derivative.
    return np.where(out == 0, 0.0, np.log(np.where(x > 0, x, np.where(x < 0, np.nan, 1.0))) * out)


power = elementwise(
    np.power, "x ** y",
    [lambda x, y, out: np.where(y == 0, 0.0, y * x ** (y - 1)), _log_of_base],
    domains=[positive, reals], kinks=[((0.0, 2.0), (0.0, 0.0)), ((0.0, 0.0), (0.0, 0.0))],
    notes="0 ** y has derivative 0 in y; a base below 0 has derivative nan in y",
)  # fmt: skip


def _integer_power_body(*, n: int) -> str:
    """Repeated squaring, written out: `x ** 5` is `x * ((x * x) * (x * x))`."""
    product = "1.0"
    factor = "x"
    rest = abs(n)
    while rest:
        if rest & 1:
            product = factor if product == "1.0" else f"{product} * {factor}"
        rest >>= 1
        factor = f"({factor} * {factor})"
    return f"1.0 / ({product})" if n < 0 else product


integer_power = elementwise(
    None, _integer_power_body,
    [lambda x, out, n: n * integer_power_of(x, n - 1) if n else 0],
    domains=[positive], name="integer_power", params=[{"n": n} for n in (-2, -1, 0, 1, 2, 3, 5)],
    notes="x ** n for a Python int n up to 8: repeated multiplication",
)  # fmt: skip


def integer_power_of(x, n: int):
    return bind(integer_power, x, n=n) if isinstance(x, Array) else np.power(x, float(n))


@implements(np.power, np.float_power)
def power_of(x, y):
    """`x ** y`; a small integer exponent becomes repeated multiplication."""
    if type(y) is int and isinstance(x, Array) and -8 <= y <= 8:
        return bind(integer_power, x, n=y)
    return bind(power, x, y)


# -- choices --------------------------------------------------------------------------------------


def _share(mine, other):
    """1 where mine wins, and an even half where both are equal."""
    return np.where(mine > other, 1.0, np.where(mine == other, 0.5, 0.0))


maximum = elementwise(
    np.maximum, "maximum(x, y)", [lambda x, y, out: _share(x, y), lambda x, y, out: _share(y, x)],
    domains=[reals, reals], kinks=[((1.0, 1.0), (0.5, 0.5))],
    notes="ties share the derivative evenly",
)  # fmt: skip
minimum = elementwise(
    np.minimum, "minimum(x, y)", [lambda x, y, out: _share(y, x), lambda x, y, out: _share(x, y)],
    domains=[reals, reals], kinks=[((1.0, 1.0), (0.5, 0.5))],
    notes="ties share the derivative evenly",
)  # fmt: skip
where = elementwise(
    np.where, "select(x, y, z)",
    [None, lambda c, x, y, out: np.where(c, 1.0, 0.0), lambda c, x, y, out: np.where(c, 0.0, 1.0)],
    domains=[reals, reals, reals], conditions=[0], name="where",
    notes="the side that is not chosen gets a zero cotangent",
)  # fmt: skip


@implements(np.where)
def where_of(condition, x, y):
    """`np.where(condition, x, y)`; the condition has no derivative."""
    if not isinstance(condition, Array):
        condition = np.asarray(condition, bool)
    return bind(where, condition, x, y)


# -- activations ----------------------------------------------------------------------------------

relu_row = elementwise(
    None, "select(x < 0.0, 0.0, x)", [lambda x, out: np.where(out > 0, 1.0, 0.0)],
    domains=[reals], name="relu", kinks=[((0.0,), (0.0,))], notes="derivative 0 at 0",
    kernels=(relu_kernels.relu, relu_kernels.relu_pullback),
)  # fmt: skip
sigmoid_row = elementwise(
    None, "sigmoid(x)", [lambda x, out: out * (1 - out)], domains=[reals], name="sigmoid"
)


def relu(x):
    """max(x, 0), with derivative 0 at 0.

    >>> nbgrad.relu(np.array([-1.0, 2.0]))
    array([0., 2.])
    """
    return apply(relu_row, x)


def sigmoid(x):
    """1 / (1 + exp(-x)), stable for any finite x.

    >>> float(nbgrad.sigmoid(0.5))
    0.6224593312018546
    """
    return apply(sigmoid_row, x)


def abs2_of(x):
    """x * x, elementwise."""
    return apply(abs2, x)


@implements(np.copy)
def copy_of(x):
    return bind(copy, x)


@implements(np.positive)
def positive_of(x):
    return x


@implements(np.divmod)
def divmod_of(x, y):
    return np.floor_divide(x, y), np.remainder(x, y)


@implements(np.round)
def round_of(x, decimals: int = 0):
    """`np.round`: to the nearest, ties to even; derivative 0."""
    if decimals == 0:
        return np.rint(x)
    return np.rint(x * 10.0**decimals) / 10.0**decimals
