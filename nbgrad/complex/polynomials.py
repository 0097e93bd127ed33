"""NumPy's functions of polynomials with complex coefficients or roots, highest first."""

from typing import Any

import numpy as np

from ..core.primitive import shape_of
from ..errors import ArgumentError, NoRuleError
from ..kernels import shapes
from ..rules.layout import given
from ..rules.surface.polynomials import nonzero_range
from .calls import complexly, has_complex
from .elementary import multiply
from .layout import by_parts
from .pair import ComplexArray, parts_of
from .products import bilinear
from .stacked import whole

for _function in (np.polyder, np.polyint):
    complexly(_function)(by_parts(_function))
complexly(np.polymul)(lambda a1, a2: bilinear(np.convolve, a1, a2))


def _coefficients(p: Any, op: str) -> Any:
    p = whole(p) if has_complex(p) else given(p)
    if len(shape_of(p)) > 1:
        raise NoRuleError(f"{op}: coefficients of shape {shape_of(p)}; they have one axis")
    return np.reshape(p, -1)


def _padded(p: Any, n: int) -> Any:
    return np.pad(p, (n - shape_of(p)[0], 0))


@complexly(np.polyadd)
def polyadd(a1, a2):
    a1, a2 = _coefficients(a1, "polyadd"), _coefficients(a2, "polyadd")
    n = max(shape_of(a1)[0], shape_of(a2)[0])
    return _padded(a1, n) + _padded(a2, n)


@complexly(np.polysub)
def polysub(a1, a2):
    return polyadd(a1, np.negative(_coefficients(a2, "polysub")))


@complexly(np.polyval)
def polyval(p, x):
    """By Horner's rule."""
    p, x = _coefficients(p, "polyval"), whole(x) if has_complex(x) else given(x)
    out = ComplexArray(np.zeros(shape_of(x)), np.zeros(shape_of(x)))
    for i in range(shape_of(p)[0]):
        out = out * x + p[i] if i else out + p[0]
    return out


@complexly(np.vander)
def vander(x, N=None, increasing=False):
    """Columns of powers of x, highest first."""
    x = whole(x)
    if x.ndim != 1:
        raise ArgumentError("x must be a one-dimensional array or sequence.")
    n = x.shape[0] if N is None else shapes.whole(N, "vander: N")
    columns = [ComplexArray(np.ones_like(x.real), np.zeros_like(x.imag))]
    while len(columns) < n:
        columns.append(multiply(columns[-1], x))
    if not n:
        return ComplexArray(*(np.zeros((x.shape[0], 0), x.real.dtype) for _ in range(2)))
    return np.stack(columns if increasing else columns[::-1], axis=1)


@complexly(np.poly)
def poly(seq_of_zeros):
    """The coefficients of the polynomial with these roots, or of the characteristic polynomial of a
    matrix, which is real for a real one."""
    zeros = seq_of_zeros
    is_real = not has_complex(zeros)
    zeros = given(zeros) if is_real else whole(zeros)
    if len(shape_of(zeros)) == 2 and shape_of(zeros)[0] == shape_of(zeros)[1] != 0:
        zeros = np.linalg.eigvals(zeros)
    zeros = np.reshape(zeros, -1)
    out: Any = np.ones(1)
    for i in range(shape_of(zeros)[0]):
        out = np.pad(out, (0, 1)) - np.multiply(np.pad(out, (1, 0)), zeros[i])
    return np.real(out) if is_real else whole(out)


@complexly(np.roots)
def roots(p):
    """The roots, as eigenvalues of the companion matrix; multiple ones have no derivative. Those of
    real coefficients come here if one is complex."""
    p = _coefficients(p, "roots")
    first, end = nonzero_range(*parts_of(p))
    if first == end:
        return np.zeros(0)
    behind = shape_of(p)[0] - end
    p = p[first:end]
    n = shape_of(p)[0] - 1
    if not n:
        return np.zeros(behind, p.dtype)
    below = np.eye(n, k=-1)[1:]
    found = np.linalg.eigvals(np.concatenate([np.reshape(-p[1:] / p[0], (1, n)), below]))
    return np.concatenate([found, np.zeros(behind)]) if behind else found
