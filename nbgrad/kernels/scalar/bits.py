"""Building blocks of scalar functions: LLVM instructions that Numba does not expose, each with an
equivalent in plain Python, and constants and polynomials by dtype.

With them scalar functions are branch-free, so that loops over them vectorise.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types

from ...compiler.kernel import DISABLED, device, instruction, with_twin

# (width of the integer, bits of the mantissa, bias, 1.5 * 2**mantissa, bits of sqrt(1/2))
_LAYOUT = {
    types.float64: (64, 52, 1023, 6755399441055744.0, 0x3FE6A09E667F3BCD),
    types.float32: (32, 23, 127, 12582912.0, 0x3F3504F3),
}


def scalar(twin: Callable, inlined: bool = True) -> Callable[[Callable], Any]:
    """Decorator: a scalar function of either dtype, for which `twin` stands in plain Python.

    However long it is, it is put into its callers: loops do not vectorise over calls. But one with
    a branch is not `inlined`, since its callers do not vectorise with it either.
    """

    def decorate(function: Callable) -> Any:
        return twin if DISABLED else with_twin(device(function, forceinline=inlined), twin)

    return decorate


def _first(double: Any, single: Any, x: Any) -> Any:
    """Return the argument for the dtype of x."""
    return single if getattr(x, "dtype", None) == np.float32 else double


@instruction(lambda x, double, single: type(x)(_first(double, single, x)))
def by_dtype(typingctx, x, double, single):
    """The constant `double` where x is a float64, `single` where it is a float32."""

    def codegen(context, builder, signature, args):
        if x == types.float64:
            return args[1]
        return builder.fptrunc(args[2], context.get_value_type(x))

    return x(x, types.float64, types.float64), codegen


def series(double: tuple[float, ...], single: tuple[float, ...]) -> Any:
    """A polynomial by Horner's rule, with coefficients for float64 and for float32, that of the
    highest power first."""

    @instruction(
        lambda x: type(x)(np.polyval(_first(double, single, x), x)), ("series", double, single)
    )
    def polynomial(typingctx, x):
        def codegen(context, builder, signature, args):
            kind = args[0].type
            first, *rest = double if x == types.float64 else single
            total = ir.Constant(kind, first)
            for number in rest:
                product = builder.fmul(total, args[0], flags=("contract",))
                total = builder.fadd(product, ir.Constant(kind, number), flags=("contract",))
            return total

        return x(x), codegen

    return polynomial


def _times_power_of_two(x, k):
    return type(x)(math.ldexp(x, int(k))) if np.isfinite(k) else x * k


def _split(x):
    m, power = np.frexp(x)
    low = m < math.sqrt(0.5)
    return type(x)(2 * m if low else m), type(x)(power - 1 if low else power)


@instruction(lambda condition, x, y: np.where(condition, x, y)[()])
def select(typingctx, condition, x, y):
    """`x` where `condition` holds, else `y`: no branch, so loops vectorise over it."""
    common = typingctx.unify_types(x, y)

    def codegen(context, builder, signature, args):
        return builder.select(*args)

    return common(types.boolean, common, common), codegen


@instruction(np.add)
def radd(typingctx, total, x):
    """`total + x` with `reassoc` on this one addition, so that a sum vectorises."""

    def codegen(context, builder, signature, args):
        return builder.fadd(*args, flags=("reassoc", "contract"))

    return total(total, total), codegen


@instruction(lambda x, value: type(x)(value))
def like(typingctx, x, value):
    """`value` in the type of `x`: a bare literal would turn float32 into float64."""

    def codegen(context, builder, signature, args):
        return args[1]

    return x(x, x), codegen


@instruction(lambda i: i)
def offset(typingctx, i):
    """`i` as an unsigned index, which Numba does not check for counting from the end."""

    def codegen(context, builder, signature, args):
        return args[0]

    return types.uintp(types.intp), codegen


@instruction(lambda x, y: (x * y, type(x)(0.0)))
def two_product(typingctx, x, y):
    """`x * y`, rounded, and what the rounding lost: their sum is the product without any error."""

    def codegen(context, builder, signature, args):
        product = builder.fmul(*args)  # without `contract`: it is never fused into a sum
        lost = builder.fma(*args, builder.fneg(product))
        return context.make_tuple(builder, signature.return_type, (product, lost))

    return types.UniTuple(x, 2)(x, x), codegen


@instruction(lambda x, y, z: x * y + z)
def fused(typingctx, x, y, z):
    """`x * y + z`, rounded once."""

    def codegen(context, builder, signature, args):
        return builder.fma(*args)

    return x(x, x, x), codegen


@instruction(np.rint)
def round_even(typingctx, x):
    """The nearest whole number, of moderate size: adding a large number rounds."""
    large = _LAYOUT[x][3]

    def codegen(context, builder, signature, args):
        constant = ir.Constant(args[0].type, large)
        # With `contract`, a product before it is fused into this addition.
        return builder.fsub(builder.fadd(args[0], constant, flags=("contract",)), constant)

    return x(x), codegen


@instruction(_times_power_of_two)
def times_power_of_two(typingctx, x, k):
    """`x * 2**k` for a whole k, in two steps, so that the result may be subnormal."""
    width, bits, bias, large, _ = _LAYOUT[x]

    def codegen(context, builder, signature, args):
        value, k = args
        integer = ir.IntType(width)
        # Adding this leaves a biased exponent in the lowest bits; shifted up, it is a power of two.
        constant = ir.Constant(value.type, large + bias)
        half = builder.fmul(k, ir.Constant(value.type, 0.5), flags=("contract",))
        near_half = builder.fadd(half, constant, flags=("contract",))
        rest = builder.fsub(k, builder.fsub(near_half, constant))
        for part in (near_half, builder.fadd(rest, constant)):
            power = builder.shl(builder.bitcast(part, integer), integer(bits))
            value = builder.fmul(value, builder.bitcast(power, value.type))
        return value

    return x(x, x), codegen


@instruction(_times_power_of_two)
def times_normal_power(typingctx, x, k):
    """`x * 2**k` in one step, for a whole k whose power of two is a normal number."""
    width, bits, bias, large, _ = _LAYOUT[x]

    def codegen(context, builder, signature, args):
        value, k = args
        integer = ir.IntType(width)
        moved = builder.fadd(k, ir.Constant(value.type, large + bias))
        power = builder.shl(builder.bitcast(moved, integer), integer(bits))
        return builder.fmul(value, builder.bitcast(power, value.type))

    return x(x, x), codegen


def _shifted(builder, x, kind):
    """The bits of x, and its exponent when the mantissa lies in [sqrt(1/2), sqrt(2))."""
    width, bits, _, _, root = _LAYOUT[kind]
    integer = ir.IntType(width)
    pattern = builder.bitcast(x, integer)
    return pattern, builder.ashr(builder.sub(pattern, integer(root)), integer(bits)), integer


@instruction(lambda x: _split(x)[0])
def mantissa(typingctx, x):
    """m in [sqrt(1/2), sqrt(2)) with x = m * 2**exponent(x), for a normal positive x."""

    def codegen(context, builder, signature, args):
        pattern, power, integer = _shifted(builder, args[0], x)
        shifted = builder.sub(pattern, builder.shl(power, integer(_LAYOUT[x][1])))
        return builder.bitcast(shifted, args[0].type)

    return x(x), codegen


@instruction(lambda x: _split(x)[1])
def exponent(typingctx, x):
    """The power of two that goes with `mantissa(x)`."""

    def codegen(context, builder, signature, args):
        return builder.sitofp(_shifted(builder, args[0], x)[1], args[0].type)

    return x(x), codegen


def _whole(builder, k, kind):
    """The bits of a whole number of moderate size, the lowest ones as integers have them."""
    width, _, _, large, _ = _LAYOUT[kind]
    moved = builder.fadd(k, ir.Constant(k.type, large))
    return builder.bitcast(moved, ir.IntType(width)), ir.IntType(width)


@instruction(lambda k: k % 2 == 1)
def odd(typingctx, k):
    """Whether the whole number k is odd."""

    def codegen(context, builder, signature, args):
        bits, integer = _whole(builder, args[0], k)
        return builder.trunc(builder.and_(bits, integer(1)), ir.IntType(1))

    return types.boolean(k), codegen


@instruction(lambda x, k: -x if k % 4 >= 2 else x)
def turned(typingctx, x, k):
    """`x`, with its sign changed where two quarter turns are left of the whole number k of them."""

    def codegen(context, builder, signature, args):
        value, k = args
        bits, integer = _whole(builder, k, x)
        sign = builder.shl(builder.and_(bits, integer(2)), integer(integer.width - 2))
        return builder.bitcast(builder.xor(builder.bitcast(value, integer), sign), value.type)

    return x(x, x), codegen
