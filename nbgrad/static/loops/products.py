"""Products of matrices: by BLAS, or by loops where these are faster."""

import math
from typing import NamedTuple

from ...ir.affine import ZERO, affine_of
from ...ir.reductions import SUM
from ...ir.scalar import parse
from ...ir.statements import Accumulate, Assign, For, Gemm, Kernel, Literal, Load, Store, Variable
from ..lower.buffered import Matmul
from ..lower.values import Reshape, Value, View
from ..schedule.buffers import strides_for_blas
from ..schedule.materialize import BufferPolicy

# Multiply-adds up to which loops beat a call of BLAS (25 ns a call; 12 of them take 6 in loops).
SMALL = 200


class Layout(NamedTuple):
    """Where a matrix begins in its buffer, and its strides.

    `start` moves the pointer, `base` stands in the kernel: a stack that runs backwards reads before
    its first matrix, and a kernel in plain Python, where pointers are slices, must not.
    """

    start: int
    strides: list[int]
    base: int = 0


def operand(value: Value, policy: BufferPolicy) -> tuple[Value, Layout]:
    """The buffer that BLAS reads, and how the matrix lies in it."""
    if isinstance(value, View) and value not in policy:
        layout = strides_for_blas(value)
        if layout is not None:
            start, strides = layout
            backwards = any(stride < 0 for stride in strides)
            layout = Layout(0, strides, start) if backwards else Layout(start, strides)
            return _buffer(value.source, policy), layout
    return _buffer(value, policy), Layout(0, _steps(value.shape))


def _buffer(value: Value, policy: BufferPolicy) -> Value:
    while isinstance(value, Reshape) and value not in policy:
        value = value.source
    return value


def _steps(shape: tuple[int, ...]) -> list[int]:
    """The strides of a contiguous array."""
    steps = [1]
    for n in shape[:0:-1]:
        steps.insert(0, steps[0] * n)
    return steps


def product(value: Matmul, a: Layout, b: Layout) -> Gemm | Kernel:
    """One call of BLAS on buffers 0, 1 and 2, or a kernel for small matrices and for many."""
    m, n = value.shape[-2:]
    k = value.args[0].shape[-1]
    small = m * n * k <= SMALL
    lead = value.shape[:-2]
    steps = _steps(value.shape)
    starts = [
        affine_of(layout.base, {axis: layout.strides[axis] for axis in range(len(lead))})
        for layout in (a, b, Layout(0, steps))
    ]
    if small:
        body = _loops(value, (m, n, k), a.strides, b.strides, starts, len(lead))
    else:
        ta, lda = _orientation(a.strides, value.args[0].shape)
        tb, ldb = _orientation(b.strides, value.args[1].shape)
        x, y, z = enumerate(starts)
        body = Gemm(x, y, z, (m, n, k), (ta, tb), (lda, ldb), value.dtype, math.prod(lead))
        if math.prod(lead) == 1:
            first, second = affine_of(a.base, {}), affine_of(b.base, {})
            return body._replace(a=(0, first), b=(1, second), c=(2, ZERO))
    for axis in range(len(lead) - 1, -1, -1):
        body = For(axis, 0, lead[axis], (body,))
    return Kernel("product", (value.dtype,) * 3, (), (body,))


def _orientation(strides: list[int], shape: tuple) -> tuple[bool, int]:
    """Whether BLAS is to read a matrix as transposed, and the distance of its rows."""
    m, n = strides[-2:]
    columns = shape[-1]
    if (n == 1 or columns == 1) and m >= columns:
        return False, max(m, 1)
    return True, max(n, 1)


def _loops(value: Matmul, sizes, a: list[int], b: list[int], starts, i: int) -> For:
    """Dot products of rows and columns."""
    (m, n, k), dtype, j, inner = sizes, value.dtype, i + 1, i + 2
    at_a = starts[0].plus(affine_of(0, {i: a[-2], inner: a[-1]}))
    at_b = starts[1].plus(affine_of(0, {inner: b[-2], j: b[-1]}))
    at_c = starts[2].plus(affine_of(0, {i: n, j: 1}))
    terms = For(inner, 0, k, (
        Load("x", 0, at_a, dtype), Load("y", 1, at_b, dtype),
        Assign("product", parse("x * y"), ("x", "y"), dtype, dtype),
        Accumulate("total", SUM, "product", dtype),
    ))  # fmt: skip
    element = (Variable("total", Literal(0.0, dtype)), terms, Store(2, at_c, "total", dtype))
    return For(i, 0, m, (For(j, 0, n, element),))
