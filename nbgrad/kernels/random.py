"""Counter-based random numbers: Philox 4x32-10, and distributions.

Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011). A block of four
32-bit words is a function of a key (64 bits) and of the number of the block, so draws need no
hidden state. Here a state is two int64: the key, and the next block. Each block gives two doubles.

Compiled programs call the `fill` functions, which take pointers. The kernels call them with the
pointers of arrays, so that both return the same bits.
"""

import math
from functools import partial

import numpy as np

from ..compiler.attributes import noinline, wide_vectors
from ..compiler.kernel import device, exact, kernel, of_bits, part
from ..compiler.pointers import pointer
from .scalar.bits import odd, round_even, select, turned
from .scalar.logarithm import log_inside
from .scalar.trig import on_eighth

__all__ = ["fill_integers", "fill_normal", "fill_permutation", "fill_uniform"]

_MASK = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_FIRST, _SECOND = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_KEYS = tuple(
    (np.uint64(i * 0x9E3779B9 % 2**32), np.uint64(i * 0xBB67AE85 % 2**32)) for i in range(10)
)
_UNIT = 2.0**-53


@partial(device, forceinline=True)
def block(key, count):
    """The words of one block, two by two."""
    x0, x1 = count & _MASK, count >> _HALF
    x2, x3 = np.uint64(0), np.uint64(0)
    k0, k1 = key & _MASK, key >> _HALF
    for more0, more1 in _KEYS:  # a tuple: ten rounds without a loop
        first, second = _FIRST * x0, _SECOND * x2
        x0, x1, x2, x3 = (
            (second >> _HALF) ^ x1 ^ ((k0 + more0) & _MASK), second & _MASK,
            (first >> _HALF) ^ x3 ^ ((k1 + more1) & _MASK), first & _MASK,
        )  # fmt: skip
    return (x1 << _HALF) | x0, (x3 << _HALF) | x2


@device
def unit(bits):
    """A double in [0, 1): the upper 53 bits."""
    return np.float64(bits >> np.uint64(11)) * _UNIT


@device
def fill_uniform(state, out, n, low, width):
    """n numbers in [low, low + width)."""
    noinline()
    wide_vectors()
    key, count = np.uint64(state[0]), np.uint64(state[1])
    for i in range(n // 2):
        a, b = block(key, count + np.uint64(i))
        out[2 * i] = low + width * unit(a)
        out[2 * i + 1] = low + width * unit(b)
    if n % 2 == 1:
        out[n - 1] = low + width * unit(block(key, count + np.uint64(n // 2))[0])


@of_bits
def radius(bits):
    """The length of a pair of normal numbers."""
    return math.sqrt(-2.0 * log_inside(1.0 - unit(bits)))


@part
def _quarters(bits):
    """A part of a turn as quarters, and the sine and cosine of the rest."""
    turn = 4.0 * unit(bits)
    q = round_even(turn)
    sine, cosine = on_eighth((turn - q) * 1.5707963267948966)
    return q, sine, cosine


@of_bits
def cosine(bits):
    """The cosine of a part of a turn."""
    q, sine, cosine = _quarters(bits)
    return turned(select(odd(q), sine, cosine), q + 1.0)


@of_bits
def sine(bits):
    """The sine of a part of a turn."""
    q, sine, cosine = _quarters(bits)
    return turned(select(odd(q), cosine, sine), q)


@exact
def fill_normal(state, out, n, mean, std):
    """n normal numbers, by Box and Muller from the two of a block."""
    noinline()
    wide_vectors()
    key, count = np.uint64(state[0]), np.uint64(state[1])
    for i in range(n // 2):
        a, b = block(key, count + np.uint64(i))
        length = radius(a)
        out[2 * i] = mean + std * (length * cosine(b))
        out[2 * i + 1] = mean + std * (length * sine(b))
    if n % 2 == 1:
        a, b = block(key, count + np.uint64(n // 2))
        out[n - 1] = mean + std * (radius(a) * cosine(b))


@device
def below(bits, high):
    """An integer in [0, high): the upper half of bits * high, right to 2**-32 for high < 2**31."""
    low = ((bits & _MASK) * np.uint64(high)) >> _HALF
    return np.int64(((bits >> _HALF) * np.uint64(high) + low) >> _HALF)


@device
def fill_integers(state, out, n, high):
    """n integers in [0, high)."""
    noinline()
    wide_vectors()
    key, count = np.uint64(state[0]), np.uint64(state[1])
    for i in range(n // 2):
        a, b = block(key, count + np.uint64(i))
        out[2 * i] = below(a, high)
        out[2 * i + 1] = below(b, high)
    if n % 2 == 1:
        out[n - 1] = below(block(key, count + np.uint64(n // 2))[0], high)


@device
def fill_permutation(state, out, n):
    """0 ... n-1 in random order (Fisher and Yates)."""
    key, count = np.uint64(state[0]), np.uint64(state[1])
    for i in range(n):
        out[i] = i
    for i in range(n - 1, 0, -1):
        at = below(block(key, count + np.uint64(i))[0], i + 1)
        held = out[i]
        out[i] = out[at]
        out[at] = held


@kernel
def uniform(state, out, low, width):
    """Fill a flat array of float64."""
    fill_uniform(pointer(state), pointer(out), out.size, low, width)


@kernel
def normal(state, out, mean, std):
    """Fill a flat array of float64."""
    fill_normal(pointer(state), pointer(out), out.size, mean, std)


@kernel
def integers(state, out, high):
    """Fill a flat array of int64."""
    fill_integers(pointer(state), pointer(out), out.size, high)


@kernel
def permutation(state, out):
    """Fill a flat array of int64."""
    fill_permutation(pointer(state), pointer(out), out.size)
