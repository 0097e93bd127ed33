"""Products with logarithms, entropies and divergences, Huber losses, and logits."""

from typing import Any

import numpy as np

from ..activation import sigmoid
from ..families import Interval, positive, reals, scaled, scipy_function

# -- products with logarithms ---------------------------------------------------------------------


def _quotient(x, y):
    """x / y, and 0 where x is 0 and y is not nan, with derivative 1 / y there."""
    return np.where(x == 0, np.where(y == y, scaled(x, 1 / y), y), x / y)


@scipy_function(
    "select((x == 0.0) & (y == y), 0.0, x * log(y))", [reals, positive],
    lambda x, y, out: np.log(y), lambda x, y, out: _quotient(x, y),
    kinks=[
        ((0.0, 0.0), (-np.inf, 0.0)), ((0.0, 1.0), (0.0, 0.0)), ((2.0, 0.0), (-np.inf, np.inf)),
    ],
    notes="x * log(y), and 0 where x is 0; derivative log(y) in x, also there, and 0 in y at the "
    "origin",
)  # fmt: skip
def xlogy(x, y) -> Any:
    """x * log(y), elementwise, and 0 where x is 0.

    >>> float(nbgrad.special.xlogy(0.0, 0.0))
    0.0
    """


@scipy_function(
    "select((x == 0.0) & (y == y), 0.0, x * log1p(y))", [reals, Interval(-0.7, 1.5)],
    lambda x, y, out: np.log1p(y), lambda x, y, out: _quotient(x, 1 + y),
    kinks=[((0.0, -1.0), (-np.inf, 0.0)), ((0.0, 0.0), (0.0, 0.0))],
    notes="x * log(1 + y), and 0 where x is 0; derivative log(1 + y) in x, also there",
)  # fmt: skip
def xlog1py(x, y) -> Any:
    """x * log(1 + y), elementwise, and 0 where x is 0.

    >>> round(float(nbgrad.special.xlog1py(2.0, 1.0)), 6)
    1.386294
    """


# -- entropies ------------------------------------------------------------------------------------

# Accurate where x / y is near 1, and where it overflows or underflows.
_LOG = "select((x / y > 1e-300) & (x / y < 1e300), log(x / y), log(x) - log(y))"
_RATIO = f"select(abs(x / y - 1.0) < 0.5, log1p((x - y) / y), {_LOG})"


def _kl_div(x, y):
    """The reference in long doubles, since SciPy's function overflows and underflows."""
    wide, dtype = np.asarray(x, np.longdouble), np.result_type(x, y)
    inside = wide * np.log(wide / y) - wide + y
    out = np.where((x == 0) & (y >= 0), y, np.where((x > 0) & (y > 0), inside, np.inf))
    return np.where(np.isnan(x) | np.isnan(y), np.nan, out).astype(dtype)


@scipy_function(
    "select(x > 0.0, -x * log(x), select(x == 0.0, 0.0, select(x < 0.0, -inf, x)))", positive,
    lambda x, out: -np.log(x) - 1, kinks=[((0.0,), (np.inf,))],
    notes="-x * log(x), 0 at 0 with derivative inf, -inf below",
)  # fmt: skip
def entr(x) -> Any:
    """-x * log(x), elementwise: 0 at 0, and -inf below.

    >>> round(float(nbgrad.special.entr(0.5)), 12)  # log(2) / 2
    0.34657359028
    """


@scipy_function(
    f"select((x > 0.0) & (y > 0.0), x * {_RATIO}, "
    "select((x == 0.0) & (y >= 0.0), 0.0, select((x == x) & (y == y), inf, x + y)))",
    [Interval(0.9, 2.5), Interval(0.3, 2.0)],
    lambda x, y, out: np.log(x) - np.log(y) + 1, lambda x, y, out: -_quotient(x, y),
    kinks=[((0.0, 1.0), (-np.inf, 0.0))],
    notes="x * log(x / y), and 0 where x is 0, with derivative -inf in x; inf outside",
)  # fmt: skip
def rel_entr(x, y) -> Any:
    """x * log(x / y), elementwise: 0 where x is 0, and inf where x or y is below 0.

    >>> float(nbgrad.special.rel_entr(0.0, 0.5))
    0.0
    """


@scipy_function(
    "select((x > 0.0) & (y > 0.0), select(abs(y - x) < 0.5 * x, -x * log1p_rest((y - x) / x), "
    f"x * {_LOG} - x + y), "
    "select((x == 0.0) & (y >= 0.0), y, select((x == x) & (y == y), inf, x + y)))",
    [positive, positive],
    lambda x, y, out: np.log(x) - np.log(y), lambda x, y, out: 1 - _quotient(x, y),
    reference=_kl_div, kinks=[((0.0, 1.0), (-np.inf, 1.0))],
    notes="x * log(x / y) - x + y, and y where x is 0, with derivative -inf in x; inf outside",
)  # fmt: skip
def kl_div(x, y) -> Any:
    """x * log(x / y) - x + y, elementwise: y where x is 0, and inf where x or y is below 0.

    >>> round(float(nbgrad.special.kl_div(0.5, 0.25)), 6)
    0.096574
    """


# -- losses ---------------------------------------------------------------------------------------


def _pseudo_huber_in_delta(delta, r, out):
    """delta (root - 1)**2 / root for root = sqrt(1 + (r / delta)**2); abs(r) at 0."""
    length = np.hypot(delta, r)
    safe = np.where(length == 0, 1.0, length)
    excess = r * (r / (safe + delta))  # delta (root - 1)
    return np.where(delta < 0, np.nan, excess * (excess / safe))


def _pseudo_huber_in_r(delta, r, out):
    slope = r / np.hypot(1.0, r / np.where(delta == 0, 1.0, delta))
    return np.where(delta < 0, np.nan, np.where(delta == 0, 0.0, slope))


def _pseudo_huber(delta, r):
    """The reference in long doubles, since SciPy's function is nan for small and large delta."""
    wide, dtype = np.asarray(r, np.longdouble), np.result_type(delta, r)
    inside = wide * wide / (np.sqrt(1 + (wide / delta) ** 2) + 1)
    inside = np.where(np.isinf(wide), np.where(delta == np.inf, np.nan, abs(wide) + delta), inside)
    out = np.where(delta < 0, np.inf, np.where((delta == 0) | (r == 0), 0, inside))
    return out.astype(dtype)


@scipy_function(
    "select(x < 0.0, inf, select(abs(y) <= x, 0.5 * y * y, x * (abs(y) - 0.5 * x)))",
    [positive, reals],
    lambda delta, r, out: np.where(delta < 0, np.nan, np.maximum(abs(r) - delta, 0.0)),
    lambda delta, r, out: np.where(delta < 0, np.nan, np.minimum(np.maximum(r, -delta), delta)),
    notes="inf where delta is below 0, with derivative nan",
)  # fmt: skip
def huber(delta, r) -> Any:
    """r**2 / 2 where abs(r) <= delta, else delta * (abs(r) - delta / 2), elementwise.

    >>> nbgrad.special.huber(1.0, np.array([0.5, 3.0]))
    array([0.125, 2.5  ])
    """


@scipy_function(
    "select(x < 0.0, inf, select((x == 0.0) | (y == 0.0), 0.0, "
    "select(abs(y) < x, y * (y / (hypot(1.0, y / x) + 1.0)), "
    "abs(y) * (x / (hypot(1.0, x / y) + x / abs(y))))))",
    [positive, reals], _pseudo_huber_in_delta, _pseudo_huber_in_r, reference=_pseudo_huber,
    kinks=[((0.0, 1.5), (1.5, 0.0))],
    notes="derivative abs(r) in delta and 0 in r where delta is 0; inf below, with derivative nan",
)  # fmt: skip
def pseudo_huber(delta, r) -> Any:
    """delta**2 * (sqrt(1 + (r / delta)**2) - 1), elementwise.

    >>> round(float(nbgrad.special.pseudo_huber(1.0, 2.0)), 6)
    1.236068
    """


# -- logits ---------------------------------------------------------------------------------------


@scipy_function(
    "select(abs(x - 0.5) < 0.25, log1p((2.0 * x - 1.0) / (1.0 - x)), log(x / (1.0 - x)))",
    Interval(0.1, 0.9), lambda x, out: 1 / (x * (1 - x)), notes="derivative inf at 0 and 1",
)  # fmt: skip
def logit(x) -> Any:
    """log(x / (1 - x)), elementwise: the inverse of `expit`.

    >>> round(float(nbgrad.special.logit(0.75)), 6)
    1.098612
    """


@scipy_function("minimum(x, 0.0) - log1p(exp(-abs(x)))", reals, lambda x, out: sigmoid(-x))
def log_expit(x) -> Any:
    """log(expit(x)), elementwise, accurate where expit(x) is 0.

    >>> float(nbgrad.special.log_expit(-800.0))
    -800.0
    """
