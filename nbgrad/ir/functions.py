"""The functions that scalar code calls: price, spelling, and a value in NumPy.

One table for the eager kernels and the static tier. A function that is not in it cannot be called.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

Constant: TypeAlias = bool | int | float
"""A number that scalar code holds."""
NumPyNumber: TypeAlias = np.number | np.bool_ | bool | int | float
"""An element, as NumPy and Python have it."""


class Function(NamedTuple):
    """A function of numbers.

    `spelling` is what compiled code calls, or the sign of an operator. `price` counts arithmetic
    operations, as a measure for what is worth keeping. `numpy` computes it on NumPy's scalars.
    `exact` says that every implementation rounds alike, so that constants may be folded.
    `near` names a branch-free form, which vectorises, for arguments of which `far` is false.
    """

    name: str
    spelling: str
    price: int
    numpy: Callable[..., NumPyNumber]
    binding: int = 0  # how tightly an operator binds; 0 for a function that is called
    exact: bool = False
    near: str = ""
    far: str = "is_far"


FUNCTIONS: dict[str, Function] = {}


def called() -> list[str]:
    """The names that scalar code may call."""
    return [name for name, function in FUNCTIONS.items() if not function.binding]


def declare(
    name: str, numpy: Callable, price: int, spelling: str = "", binding: int = 0,
    exact: bool = False, near: str = "", far: str = "is_far",
) -> None:  # fmt: skip
    """Let scalar code call a function by its name."""
    FUNCTIONS[name] = Function(name, spelling or name, price, numpy, binding, exact, near, far)


def _select(condition: NumPyNumber, x: NumPyNumber, y: NumPyNumber) -> NumPyNumber:
    return x if condition else y


def _strong(x: NumPyNumber, y: NumPyNumber) -> NumPyNumber:
    return y if x != 0 else type(y)(0)


def _floor_divide(x: NumPyNumber, y: NumPyNumber) -> NumPyNumber:
    return np.floor_divide(x, y)


for _name, _sign, _binding, _price, _function in (
    ("left_shift", "<<", 5, 1, np.left_shift), ("right_shift", ">>", 5, 1, np.right_shift),
    ("or", "|", 2, 1, np.bitwise_or), ("xor", "^", 3, 1, np.bitwise_xor),
    ("and", "&", 4, 1, np.bitwise_and),
    ("less", "<", 1, 1, np.less), ("less_equal", "<=", 1, 1, np.less_equal),
    ("greater", ">", 1, 1, np.greater), ("greater_equal", ">=", 1, 1, np.greater_equal),
    ("equal", "==", 1, 1, np.equal), ("not_equal", "!=", 1, 1, np.not_equal),
    ("add", "+", 6, 1, np.add), ("subtract", "-", 6, 1, np.subtract),
    ("multiply", "*", 7, 1, np.multiply), ("divide", "/", 7, 4, np.divide),
    ("floor_quotient", "//", 7, 4, np.floor_divide), ("modulo", "%", 7, 4, np.remainder),
    ("negative", "-", 8, 1, np.negative), ("invert", "~", 8, 1, np.invert),
    ("power_of", "**", 9, 12, np.power),
):  # fmt: skip
    declare(_name, _function, _price, _sign, binding=_binding, exact=_name != "power_of")
declare("select", _select, 1, exact=True)
declare("strong", _strong, 1, exact=True)  # y, but 0 where x is 0
declare("abs", np.abs, 1, exact=True)
declare("fused", lambda x, y, z: x * y + z, 1)
declare("sqrt", np.sqrt, 6, exact=True)
declare("maximum", np.maximum, 2, exact=True)
declare("minimum", np.minimum, 2, exact=True)
declare("np.isfinite", np.isfinite, 1, exact=True)
for _name in ("rint", "floor", "ceil", "trunc", "signbit", "copysign", "remainder", "fmod", "sign"):
    declare(f"np.{_name}", getattr(np, _name), 12, exact=True)
for _name in (
    "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "cbrt", "cosh", "exp",
    "exp2", "expm1", "fmax", "fmin", "hypot", "log", "log1p", "log2", "log10", "logaddexp",
    "logaddexp2", "sinh", "tanh",
):  # fmt: skip
    declare(_name, getattr(np, _name), 12)
for _name in ("sin", "cos", "tan", "sinc"):  # two polynomials, and a loop for far arguments
    declare(_name, getattr(np, _name), 24, near=f"near_{_name}")
declare("floor_divide", _floor_divide, 12)
declare("power", np.float_power, 12)
declare("rsqrt", lambda x: np.float_power(x, -0.5), 6)
declare("sigmoid", lambda x: 1 / (1 + np.exp(-x)), 12)
declare("sigmoid_slope", lambda x: np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))) ** 2, 12)
