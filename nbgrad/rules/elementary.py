"""Elementary functions: exponentials, logarithms, trigonometric and hyperbolic ones."""

import math

import numpy as np

from ..core.array import functions, implements
from ..core.primitive import bind
from ..core.symbols import Symbol
from .activation import sech2, sigmoid
from .families import Interval, above_one, elementwise, positive, reals, ufunc_primitives
from .softmax import logsoftmax_row, softmax_row

LOG2 = math.log(2)
inner = Interval(-0.7, 0.7)

# -- exponentials and logarithms ------------------------------------------------------------------


def _of_logarithm(primitive, builder, args):
    """The exponentials of logsoftmax are softmax, which shares its work."""
    (x,) = args
    if isinstance(x, Symbol) and x.primitive is logsoftmax_row:
        return builder.apply(softmax_row, x.args, x.params)
    return None


exp = elementwise(np.exp, "exp(x)", [lambda x, out: out], domains=[reals], simplify=_of_logarithm)
exp2 = elementwise(np.exp2, "exp2(x)", [lambda x, out: LOG2 * out], domains=[reals])
expm1 = elementwise(np.expm1, "expm1(x)", [lambda x, out: np.exp(x)], domains=[reals])
log = elementwise(np.log, "log(x)", [lambda x, out: 1 / x], domains=[positive])
log2 = elementwise(np.log2, "log2(x)", [lambda x, out: 1 / LOG2 / x], domains=[positive])
log10 = elementwise(np.log10, "log10(x)", [lambda x, out: 1 / math.log(10) / x], domains=[positive])
log1p = elementwise(np.log1p, "log1p(x)", [lambda x, out: 1 / (1 + x)], domains=[inner])


def _weight(mine, other, base: float):
    """The share of one of two terms in their sum, from their logarithms; 0 for log(0)."""
    return np.where(mine == -np.inf, 0.0, sigmoid((mine - other) * base))


def _logaddexp(function, domain: Interval, base: float):
    return elementwise(
        function, f"{function.__name__}(x, y)",
        [lambda x, y, out: _weight(x, y, base), lambda x, y, out: _weight(y, x, base)],
        domains=[domain, domain], notes="derivative 0 in an argument that is -inf",
        kinks=[((-np.inf, -np.inf), (0.0, 0.0)), ((-np.inf, 1.0), (0.0, 1.0))],
    )  # fmt: skip


logaddexp = _logaddexp(np.logaddexp, reals, 1.0)
logaddexp2 = _logaddexp(np.logaddexp2, positive, LOG2)

# -- angles ---------------------------------------------------------------------------------------

sin = elementwise(np.sin, "sin(x)", [lambda x, out: np.cos(x)], domains=[reals])
cos = elementwise(np.cos, "cos(x)", [lambda x, out: -np.sin(x)], domains=[reals])
tan = elementwise(np.tan, "tan(x)", [lambda x, out: 1 + out * out], domains=[Interval(-1, 1)])
arcsin = elementwise(
    np.arcsin, "arcsin(x)", [lambda x, out: 1 / np.sqrt((1 - x) * (1 + x))], domains=[inner],
    notes="derivative inf at -1 and 1",
)  # fmt: skip
arccos = elementwise(
    np.arccos, "arccos(x)", [lambda x, out: -1 / np.sqrt((1 - x) * (1 + x))], domains=[inner],
    notes="derivative -inf at -1 and 1",
)  # fmt: skip
arctan = elementwise(np.arctan, "arctan(x)", [lambda x, out: 1 / (1 + x * x)], domains=[reals])


def _over_square(side, x, y):
    """side / (x**2 + y**2) without overflow, and 0 at the origin."""
    radius = np.hypot(x, y)
    return np.where(radius == 0, 0.0, side / radius / radius)


arctan2 = elementwise(
    np.arctan2, "arctan2(x, y)",
    [lambda x, y, out: _over_square(y, x, y), lambda x, y, out: _over_square(-x, x, y)],
    domains=[reals, reals], kinks=[((0.0, 0.0), (0.0, 0.0))], notes="derivative 0 at the origin",
)  # fmt: skip
hypot = elementwise(
    np.hypot, "hypot(x, y)",
    [lambda x, y, out: np.where(out == 0, 0.0, x / out),
     lambda x, y, out: np.where(out == 0, 0.0, y / out)],
    domains=[reals, reals], kinks=[((0.0, 0.0), (0.0, 0.0))], notes="derivative 0 at the origin",
)  # fmt: skip
deg2rad = elementwise(
    np.deg2rad, f"x * {math.pi / 180}", [lambda x, out: math.pi / 180], domains=[reals]
)
rad2deg = elementwise(
    np.rad2deg, f"x * {180 / math.pi}", [lambda x, out: 180 / math.pi], domains=[reals]
)
for alias, ufunc in ((np.radians, np.deg2rad), (np.degrees, np.rad2deg)):
    functions[alias], ufunc_primitives[alias] = functions[ufunc], ufunc_primitives[ufunc]


def _sinc_slope(x, out):
    """(cos(pi x) - sinc(x)) / x; near 0, where that cancels, its series."""
    t = np.square(math.pi * x)
    series = 1.0
    for k in (238, 180, 130, 88, 54, 28, 10):
        series = 1 - t / k * series
    series = -(math.pi**2) / 3 * x * series
    return np.where(abs(x) < 0.2, series, (np.cos(math.pi * x) - out) / x)


sinc = elementwise(
    np.sinc, "sinc(x)", [_sinc_slope], domains=[reals], kinks=[((0.0,), (0.0,))],
    notes="sin(pi x) / (pi x); 1 at 0, with derivative 0",
)  # fmt: skip


@implements(np.sinc)
def sinc_of(x):
    """sin(pi x) / (pi x), elementwise, and 1 at 0: `np.sinc`.

    >>> round(float(nbgrad.special.sinc(0.5)), 6)
    0.63662
    """
    return bind(sinc, x)


# -- hyperbolic functions -------------------------------------------------------------------------

sinh = elementwise(np.sinh, "sinh(x)", [lambda x, out: np.cosh(x)], domains=[reals])
cosh = elementwise(np.cosh, "cosh(x)", [lambda x, out: np.sinh(x)], domains=[reals])
tanh = elementwise(np.tanh, "tanh(x)", [lambda x, out: sech2(x)], domains=[reals])
arcsinh = elementwise(
    np.arcsinh, "arcsinh(x)", [lambda x, out: 1 / np.hypot(x, 1.0)], domains=[reals]
)
arccosh = elementwise(
    np.arccosh, "arccosh(x)", [lambda x, out: 1 / (np.sqrt(x - 1) * np.sqrt(x + 1))],
    domains=[above_one], notes="derivative inf at 1",
)  # fmt: skip
arctanh = elementwise(
    np.arctanh, "arctanh(x)", [lambda x, out: 1 / ((1 - x) * (1 + x))], domains=[inner],
    notes="derivative inf at -1 and 1",
)  # fmt: skip
