"""Polynomials by Horner's rule, a block of elements at a time so that loops over them vectorise."""

from ...compiler.kernel import kernel
from . import radd

BLOCK = 512


@kernel
def evalpoly(x, c, out):
    """out = c[0] + c[1] x + c[2] x**2 + ..."""
    for start in range(0, x.size, BLOCK):
        stop = min(start + BLOCK, x.size)
        for i in range(start, stop):
            out[i] = c[c.size - 1]
        for k in range(c.size - 2, -1, -1):
            number = c[k]
            for i in range(start, stop):
                out[i] = out[i] * x[i] + number


@kernel
def evalpoly_pullback(ct, x, c, x_bar, c_bar, power):
    """x_bar = ct times the derivative, and c_bar[k] = the sum of ct x**k.

    `power` is scratch of BLOCK elements.
    """
    for k in range(c.size):
        c_bar[k] = 0.0
    for start in range(0, x.size, BLOCK):
        length = min(BLOCK, x.size - start)
        for i in range(length):
            x_bar[start + i] = 0.0
            power[i] = ct[start + i]
        for k in range(c.size - 1, 0, -1):
            number = c[k] * k
            for i in range(start, start + length):
                x_bar[i] = x_bar[i] * x[i] + number
        for k in range(c.size):
            total = x.dtype.type(0.0)
            for i in range(length):
                total = radd(total, power[i])
                power[i] *= x[start + i]
            c_bar[k] += total
        for i in range(start, start + length):
            x_bar[i] *= ct[i]
