"""Products of complex arrays: each is bilinear, so that it is four products of real ones.

Where one factor is real it is two.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.primitive import shape_of
from ..kernels import shapes
from ..rules.linalg.matrices import require_square
from .calls import complexly, has_complex
from .elementary import _is_zero, conjugate
from .pair import joined, parts_of


def bilinear(product: Callable, x: Any, y: Any) -> Any:
    """`product(x, y)` by those of the parts."""
    (a, b), (c, d) = parts_of(x), parts_of(y)
    if _is_zero(b):
        return joined(product(a, c), product(a, d))
    if _is_zero(d):
        return joined(product(a, c), product(b, c))
    return joined(product(a, c) - product(b, d), product(a, d) + product(b, c))


def _rule(function: Callable) -> Callable:
    def rule(x: Any, y: Any, *args: Any, **options: Any) -> Any:
        return bilinear(lambda a, b: function(a, b, *args, **options), x, y)

    return rule


for _function in (
    np.matmul, np.dot, np.inner, np.outer, np.tensordot, np.kron, np.cross, np.convolve,
    np.linalg.outer, np.linalg.tensordot, np.linalg.matmul, np.linalg.cross,
):  # fmt: skip
    complexly(_function)(_rule(_function))
complexly((np.multiply, "outer"))(lambda x, y: bilinear(np.multiply.outer, x, y))


@complexly(np.vdot)
def vdot(a, b):
    return np.dot(np.ravel(np.conjugate(a)), np.ravel(b))


@complexly(np.linalg.vecdot, *([np.vecdot] if hasattr(np, "vecdot") else []))
def vecdot(x1, x2, axis=-1):
    return np.sum(np.multiply(np.conjugate(x1), x2), axis=axis)


@complexly(np.correlate)
def correlate(a, v, mode: Any = "valid"):
    """sum_n a[n + k] conj(v[n]), as in NumPy."""
    v = conjugate(v) if has_complex(v) else v
    return bilinear(lambda x, y: np.correlate(x, y, mode), a, v)


@complexly(np.einsum)
def einsum(*operands, **options):
    """Contracted by pairs, so that each contraction is bilinear."""
    spec, *arrays = operands
    if not isinstance(spec, str):
        raise NotImplementedError
    if len(arrays) == 1:
        return joined(*(np.einsum(spec, part, **options) for part in parts_of(arrays[0])))
    if len(arrays) == 2:
        return bilinear(lambda x, y: np.einsum(spec, x, y), *arrays)
    inputs, _, output = spec.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if "." in spec or not _:
        output = output or "".join(sorted(c for c in set(inputs) - {","} if inputs.count(c) == 1))
    kept = sorted(set(terms[0] + terms[1]) & set("".join(terms[2:]) + output))
    first = einsum(f"{terms[0]},{terms[1]}->{''.join(kept)}", *arrays[:2])
    return np.einsum(f"{','.join([''.join(kept), *terms[2:]])}->{output}", first, *arrays[2:])


@complexly(np.linalg.multi_dot)
def multi_dot(arrays, *, out=None):
    first, *rest = arrays
    for array in rest:
        first = np.dot(first, array)
    return first


@complexly(np.linalg.matrix_power)
def matrix_power(a, n):
    n = shapes.whole(n, "matrix_power: n")
    require_square("matrix_power", a)
    if n == 0:
        return np.eye(shape_of(a)[-1]) + 0.0 * a
    power, rest, out = (np.linalg.inv(a), -n, None) if n < 0 else (a, n, None)
    while rest:
        if rest & 1:
            out = power if out is None else np.matmul(out, power)
        rest >>= 1
        power = np.matmul(power, power) if rest else power
    return out
