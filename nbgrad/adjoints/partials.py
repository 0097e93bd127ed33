"""The derivatives of the functions of scalar code.

A row has one text for each argument, "" for one without a derivative: the cotangent of the argument
in terms of the arguments (`OPERANDS`), the result `u` and its cotangent `v`. At a kink it is that
of the branch that ran, and 0 where both sides are equal.
"""

from collections.abc import Callable, Collection
from typing import Any

from ..ir.scalar import Apply, Arg, Expr, ordered, parse
from ..ir.statements import Call

__all__ = [
    "OPERANDS", "called_name", "chooses", "declare_rule", "has_pole", "is_dear", "may_be_infinite",
    "may_drop", "only_computes", "pullbacks", "without_derivative",
]  # fmt: skip

OPERANDS = ("x", "y", "z", "w", "p", "q")
"""The names of arguments in rows."""
_ROOT_PI = 1.1283791670955126  # 2 / sqrt(pi)
# Near 0 the difference of cos and sinc cancels: there the first terms of its series.
_SINC = (
    "v * select(abs(x) < 0.01, "
    "x * (-3.2898681336964524 + x * x * (3.2469697011334144 - 1.1445079400366967 * x * x)), "
    "(cos(3.141592653589793 * x) - u) / select(x == 0.0, 1.0, x))"
)


def _share(power: str) -> str:
    """The cotangent of an argument of logaddexp: half of it where both are the same infinity."""
    share = f"1.0 / (1.0 + {power})"
    return f"v * select(np.isfinite(x), {share}, select(x == y, 0.5, {share}))"


_TEXTS: dict[str, tuple[str, ...]] = {
    "add": ("v", "v"), "subtract": ("v", "-v"), "multiply": ("v * y", "v * x"),
    "divide": ("v / y", "-(v / y * u)"), "reciprocal_of": ("", "-(v * u * u)"),
    "negative": ("-v",), "fused": ("v * y", "v * x", "v"),
    "select": ("", "select(x, v, 0.0)", "select(x, 0.0, v)"),
    "abs": ("v * np.sign(x)",), "sqrt": ("strong(v, v * 0.5 / u)",),
    "maximum": ("select(x >= y, v, 0.0)", "select(x >= y, 0.0, v)"),
    "minimum": ("select(x <= y, v, 0.0)", "select(x <= y, 0.0, v)"),
    "fmax": ("select(x >= y, v, 0.0)", "select(x >= y, 0.0, v)"),
    "fmin": ("select(x <= y, v, 0.0)", "select(x <= y, 0.0, v)"),
    "np.copysign": ("v * np.sign(x) * np.sign(u)", ""), "np.sign": ("",),
    "np.floor": ("",), "np.ceil": ("",), "np.trunc": ("",), "np.rint": ("",),
    "np.fmod": ("v", "-(v * np.trunc(x / y))"),
    "exp": ("v * u",), "expm1": ("v * (u + 1.0)",), "exp2": ("v * u * 0.6931471805599453",),
    "log": ("strong(v, v / x)",), "log1p": ("strong(v, v / (1.0 + x))",),
    "log2": ("strong(v, v * 1.4426950408889634 / x)",),
    "log10": ("strong(v, v * 0.4342944819032518 / x)",),
    "sin": ("v * cos(x)",), "cos": ("-(v * sin(x))",), "tan": ("v * (1.0 + u * u)",),
    "arcsin": ("strong(v, v / sqrt(1.0 - x * x))",),
    "arccos": ("strong(v, -v / sqrt(1.0 - x * x))",),
    "arctan": ("v / (1.0 + x * x)",),
    "arctan2": ("select((x == 0.0) & (y == 0.0), 0.0, v * y / (x * x + y * y))",
                "select((x == 0.0) & (y == 0.0), 0.0, -(v * x / (x * x + y * y)))"),
    "sinh": ("v * cosh(x)",), "cosh": ("v * sinh(x)",), "tanh": ("v * (1.0 - u * u)",),
    "arcsinh": ("v / sqrt(x * x + 1.0)",), "arccosh": ("strong(v, v / sqrt(x * x - 1.0))",),
    "arctanh": ("strong(v, v / (1.0 - x * x))",),
    "hypot": ("select(u == 0.0, 0.0, v * x / u)", "select(u == 0.0, 0.0, v * y / u)"),
    "rsqrt": ("strong(v, v * -0.5 * u / x)",), "cbrt": ("strong(v, v / (3.0 * u * u))",),
    "erf": (f"v * {_ROOT_PI} * exp(-(x * x))",), "erfc": (f"-(v * {_ROOT_PI} * exp(-(x * x)))",),
    "sigmoid": ("v * u * (1.0 - u)",), "sigmoid_slope": ("v * u * (1.0 - 2.0 * sigmoid(x))",),
    "gamma": ("v * u * digamma(x)",), "lgamma": ("v * digamma(x)",),
    "digamma": ("v * whole_hurwitz(2.0, x)",),
    "whole_hurwitz": ("", "-(v * x * whole_hurwitz(x + 1.0, y))"),
    "logaddexp": tuple(map(_share, ("exp(y - x)", "exp(x - y)"))),
    "logaddexp2": tuple(map(_share, ("exp2(y - x)", "exp2(x - y)"))),
    "sinc": (_SINC,),
    "power_of_whole": ("select(y == 0, 0.0, v * power_slope(x, y, u))", ""),
    # The last argument follows from the others.
    "power_slope": ("select(y == 1, 0.0, v * y * (y - 1.0) * x ** (y - 2.0))", "", ""),
    "power_of": ("strong(v, select((x == 0.0) & (y == 0.0), 0.0, v * y * x ** (y - 1.0)))",
                 "select(u == 0.0, 0.0, v * u * log(select(x == 0.0, 1.0, x)))"),
}  # fmt: skip
_TEXTS |= dict.fromkeys(("less", "less_equal", "greater", "greater_equal", "equal", "not_equal",
                         "and", "or", "xor", "floor_quotient", "floor_divide"),
                        ("", ""))  # fmt: skip
_TEXTS |= dict.fromkeys(("invert", "np.isfinite", "np.signbit"), ("",))
_TEXTS["strong"] = "0.0", "select((x == 0.0) & (y != y), 0.0, v)"
_TEXTS["modulo"] = _TEXTS["np.remainder"] = "v", "-(v * np.floor(x / y))"
_TEXTS["power"] = _TEXTS["power_of"]
_LIBRARY = {
    "pow": "power_of",
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "numba_gamma": "gamma",
}
"""Names of the C library for functions of scalar code."""


def called_name(function: Any) -> str:
    """The name under which a function that is called has a row: "libm exp" for one of the C
    library. A function of the IR has a row if an attribute "rule <name>" says so; "" for others."""
    if isinstance(function, str):
        return function
    rules = (x for x in getattr(function, "attributes", ()) if x.startswith("rule "))
    return next(rules, "").partition(" ")[2]


def without_derivative(name: str) -> str:
    """The message for a function that has no row."""
    if name.startswith("foreign "):
        return "a C function has no derivative: give it one with nbgrad.custom_rule"
    return f"{name} has no derivative in compiled loops"


def only_computes(function: Any) -> bool:
    """Whether a call of a function does nothing but to compute its result."""
    name = called_name(function)
    return name.startswith("libm ") if isinstance(function, str) else bool(name)


_DECLARED: dict[str, Callable[[], tuple]] = {}


def declare_rule(name: str, rule: Callable[[], tuple]) -> None:
    """Give a function of scalar code a row: `rule()` gives what `pullbacks` returns."""
    _DECLARED[name] = rule


_STRONG: dict[str, tuple[str, ...]] = {
    "multiply": ("strong(y, v * y)", "strong(x, v * x)"),
    "abs": ("strong(x, v * np.sign(x))",),
    "power_of_whole": (
        "select(y == 0, 0.0, strong(power_slope(x, y, u), v * power_slope(x, y, u)))", ""
    ),
}  # fmt: skip
"""Rows in which a partial derivative of 0 times an infinite cotangent is 0. With a finite one it
may still have a tangent."""
_POLES = {"sqrt", "cbrt", "power_of", "arcsin", "arccos", "arccosh"}


def has_pole(name: str) -> bool:
    """Whether the derivative of a function is infinite where its value is finite."""
    return _own_name(name) in _POLES


def _own_name(name: str) -> str:
    library, _, own = name.partition(" ")
    return _LIBRARY.get(own, own) if library == "libm" else name


def chooses(name: str) -> bool:
    """Whether the value of a function is one of its arguments."""
    return name in {"select", "maximum", "minimum", "fmax", "fmin"}


def pullbacks(name: str, is_strong: bool = False) -> tuple[Expr | str | None, ...] | None:
    """The cotangents of the arguments of a function of scalar code, or of the C library
    ("libm exp"): None for an argument without a derivative, and the reason where it is refused.
    None for a function without a row. `is_strong`: a partial derivative of 0 gives 0, also for an
    infinite cotangent."""
    if name in _DECLARED:
        return _DECLARED[name]()
    name = _own_name(name)
    texts = _TEXTS.get(name)
    if is_strong:
        texts = _STRONG.get(name, texts)
    return None if texts is None else tuple(parse(text) if text else None for text in texts)


def may_drop(part: Expr) -> bool:
    """Whether a cotangent of a row depends on a condition, so that it may be 0 where `v` is not."""
    return any(isinstance(x, Apply) and x.function.name == "select" for x in ordered(part))


def may_be_infinite(part: Expr, numbers: Collection[str]) -> bool:
    """Whether a cotangent of a row may be inf or nan for a `v` of 0. `numbers` are the arguments
    that are finite numbers, not 0."""
    if isinstance(part, Arg):
        return part.name != "v" and part.name not in numbers
    if not isinstance(part, Apply):
        return False
    match part.function.name, part.args:
        case "select", (_, *sides):
            return any(may_be_infinite(x, numbers) for x in sides)
        case (("multiply" | "negative"), operands):
            return any(may_be_infinite(x, numbers) for x in operands)
        case "divide", (x, Arg(name=name)):
            return name not in numbers or may_be_infinite(x, numbers)
        case "strong", (Arg(name="v"), _):
            return False
    return True


def is_dear(statement: Any) -> bool:
    """Whether a statement takes longer than writing a word of the record and reading it: a call of
    a function such as exp, which takes some 5 ns, and is not vectorised."""
    return isinstance(statement, Call) and only_computes(statement.function)
