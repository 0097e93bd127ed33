"""Scalar functions that kernels call: what one element goes through.

`select`, `radd`, `like` and `offset` become single LLVM instructions or none; each has a
plain-Python twin for `NUMBA_DISABLE_JIT`.
"""

import math

import numpy as np
from numba.core import config, types
from numba.extending import intrinsic

from ._jit import device

if config.DISABLE_JIT:
    exp, log, sin, cos, tanh, sqrt = np.exp, np.log, np.sin, np.cos, np.tanh, np.sqrt

    def select(condition, x, y):
        return x if condition else y

    def radd(total, x):
        return total + x

    def like(x, value):
        return type(x)(value)

    def offset(i):
        return i

else:
    exp, log, sin, cos, tanh = math.exp, math.log, math.sin, math.cos, math.tanh
    sqrt = math.sqrt

    @intrinsic
    def select(typingctx, condition, x, y):
        """`x` where `condition` holds, else `y`: no branch, so loops vectorise over it."""
        common = typingctx.unify_types(x, y)

        def codegen(context, builder, signature, args):
            return builder.select(*args)

        return common(types.boolean, common, common), codegen

    @intrinsic
    def radd(typingctx, total, x):
        """`total + x` with `reassoc` on this one addition, so that a sum vectorises."""

        def codegen(context, builder, signature, args):
            return builder.fadd(*args, flags=("reassoc", "contract"))

        return total(total, total), codegen

    @intrinsic
    def like(typingctx, x, value):
        """`value` in the type of `x`: a bare literal would turn float32 into float64."""

        def codegen(context, builder, signature, args):
            return args[1]

        return x(x, x), codegen

    @intrinsic
    def offset(typingctx, i):
        """`i` as an unsigned index, which Numba does not check for counting from the end."""

        def codegen(context, builder, signature, args):
            return args[0]

        return types.uintp(types.intp), codegen


@device
def maximum(x, y):
    """The larger of two; nan where one is nan."""
    return select(x >= y, x, select(x == x, y, x))


@device
def minimum(x, y):
    """The smaller of two; nan where one is nan."""
    return select(x <= y, x, select(x == x, y, x))


@device
def sigmoid(x):
    """1 / (1 + exp(-x)), without overflow for any finite x."""
    one = like(x, 1.0)
    e = exp(-abs(x))
    return select(x >= like(x, 0.0), one, e) / (one + e)


@device
def floor_divide(x, y):
    """floor(x / y), also where x / y rounds up to the next integer, as NumPy has it."""
    zero, one = like(x, 0.0), like(x, 1.0)
    rest = np.fmod(x, y)
    quotient = (x - rest) / y
    quotient = quotient - select((rest != zero) & ((y < zero) != (rest < zero)), one, zero)
    whole = np.floor(quotient)
    whole = whole + select(quotient - whole > like(x, 0.5), one, zero)
    return select(y == zero, x / y, whole)
