"""The derivatives of the functions of scalar code.

A row has one text for each argument, "" for one without a derivative: the cotangent of the argument
in terms of the arguments x, y, z, the result `u` and its cotangent `v`. At a kink it is that of the
branch that ran, and 0 where both sides are equal.
"""

from ..ir.scalar import Expr, parse

__all__ = ["pullbacks"]

_ROOT_PI = 1.1283791670955126  # 2 / sqrt(pi)

_TEXTS: dict[str, tuple[str, ...]] = {
    "add": ("v", "v"), "subtract": ("v", "-v"), "multiply": ("v * y", "v * x"),
    "divide": ("v / y", "-(v / y * u)"), "negative": ("-v",), "fused": ("v * y", "v * x", "v"),
    "select": ("", "select(x, v, 0.0)", "select(x, 0.0, v)"),
    "abs": ("v * np.sign(x)",), "sqrt": ("select((v == 0.0) & (u == 0.0), 0.0, v * 0.5 / u)",),
    "maximum": ("select(x >= y, v, 0.0)", "select(x >= y, 0.0, v)"),
    "minimum": ("select(x <= y, v, 0.0)", "select(x <= y, 0.0, v)"),
    "fmax": ("select(x >= y, v, 0.0)", "select(x >= y, 0.0, v)"),
    "fmin": ("select(x <= y, v, 0.0)", "select(x <= y, 0.0, v)"),
    "np.copysign": ("v * np.sign(x) * np.sign(u)", ""), "np.sign": ("",),
    "np.floor": ("",), "np.ceil": ("",), "np.trunc": ("",), "np.rint": ("",),
    "np.fmod": ("v", "-(v * np.trunc(x / y))"),
    "exp": ("v * u",), "expm1": ("v * (u + 1.0)",), "exp2": ("v * u * 0.6931471805599453",),
    "log": ("v / x",), "log1p": ("v / (1.0 + x)",), "log2": ("v * 1.4426950408889634 / x",),
    "log10": ("v * 0.4342944819032518 / x",),
    "sin": ("v * cos(x)",), "cos": ("-(v * sin(x))",), "tan": ("v * (1.0 + u * u)",),
    "arcsin": ("v / sqrt(1.0 - x * x)",), "arccos": ("-(v / sqrt(1.0 - x * x))",),
    "arctan": ("v / (1.0 + x * x)",),
    "arctan2": ("v * y / (x * x + y * y)", "-(v * x / (x * x + y * y))"),
    "sinh": ("v * cosh(x)",), "cosh": ("v * sinh(x)",), "tanh": ("v * (1.0 - u * u)",),
    "arcsinh": ("v / sqrt(x * x + 1.0)",), "arccosh": ("v / sqrt(x * x - 1.0)",),
    "arctanh": ("v / (1.0 - x * x)",), "hypot": ("v * x / u", "v * y / u"),
    "cbrt": ("v * u / (3.0 * x)",),
    "erf": (f"v * {_ROOT_PI} * exp(-(x * x))",), "erfc": (f"-(v * {_ROOT_PI} * exp(-(x * x)))",),
    "sigmoid": ("v * u * (1.0 - u)",),
    "power_of": ("select((x == 0.0) & (y == 0.0), 0.0, v * y * x ** (y - 1.0))",
                 "select(u == 0.0, 0.0, v * u * log(select(x == 0.0, 1.0, x)))"),
}  # fmt: skip
_TEXTS |= dict.fromkeys(("less", "less_equal", "greater", "greater_equal", "equal", "not_equal",
                         "and", "or", "xor", "floor_quotient"), ("", ""))  # fmt: skip
_TEXTS |= dict.fromkeys(("invert", "np.isfinite", "np.signbit"), ("",))
_TEXTS["modulo"] = "v", "-(v * np.floor(x / y))"
_LIBRARY = {
    "pow": "power_of",
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
}
"""Names of the C library for functions of scalar code."""


def pullbacks(name: str) -> tuple[Expr | None, ...] | None:
    """The cotangents of the arguments of a function of scalar code, or of the C library
    ("libm exp"); None for a function without a row."""
    library, _, own = name.partition(" ")
    if library == "libm":
        name = _LIBRARY.get(own, own)
    texts = _TEXTS.get(name)
    return None if texts is None else tuple(parse(text) if text else None for text in texts)
