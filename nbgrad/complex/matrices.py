"""Systems, inverses, determinants and factors of complex matrices.

Compiled programs solve systems as real ones of twice the size, [[A, -B], [B, A]]. With the parts of
each element side by side, [[a, -b], [b, a]], triangles stay what they are.
"""

import math
from typing import Any

import numpy as np

from ..core.primitive import shape_of
from ..errors import DimensionMismatch, NoRuleError
from ..ir.affine import Axis
from ..kernels.complex_factors import NUMBERS, complex_determinants, complex_reflected
from ..rules.forms.recorded import recorded
from ..rules.linalg.decompositions import QRResult
from ..rules.linalg.matrices import SlogdetResult, require_square
from .calls import complexly
from .pair import ComplexArray
from .stacked import ComplexRow, adjoint, halves, whole

# -- real matrices of twice the size --------------------------------------------------------------


def doubled(z: Any) -> Any:
    """The real matrix [[A, -B], [B, A]], which acts on real and imaginary parts as `z` does."""
    real, imag = z.real, z.imag
    top = np.concatenate([real, -imag], axis=-1)
    return np.concatenate([top, np.concatenate([imag, real], axis=-1)], axis=-2)


def halved(x: Any, rows: int, columns: int) -> ComplexArray:
    """The complex matrices of `doubled` ones, or of their first columns."""
    return ComplexArray(x[..., :rows, :columns] + 0.0, x[..., rows:, :columns] + 0.0)


def woven(z: Any) -> Any:
    """The real matrix with [[a, -b], [b, a]] in place of each element a + i b."""
    *lead, m, n = shape_of(z)
    rows = [np.stack([z.real, -z.imag], axis=-1), np.stack([z.imag, z.real], axis=-1)]
    return np.reshape(np.stack(rows, axis=-3), (*lead, 2 * m, 2 * n))


def rows_of(b: Any) -> Any:
    """Real and imaginary rows side by side: right-hand sides of `woven` matrices."""
    *lead, n, k = shape_of(b)
    return np.reshape(np.stack([b.real, b.imag], axis=-2), (*lead, 2 * n, k))


def of_rows(x: Any) -> ComplexArray:
    """The complex matrices of `rows_of`."""
    return ComplexArray(x[..., ::2, :], x[..., 1::2, :])


def _of_halves(x: Any) -> ComplexArray:
    return ComplexArray(*halves(x))


# -- inverses and systems -------------------------------------------------------------------------


def _inv_form(x: Any) -> Any:
    n = shape_of(x)[-1]
    out = np.linalg.inv(doubled(_of_halves(x)))
    return np.stack([out[..., :n, :n], out[..., n:, :n]], axis=-3)


inv_row = ComplexRow(
    "inv", np.linalg.inv, lambda a: a,
    lambda ct, out, args, need: [-(adjoint(out) @ ct @ adjoint(out))],
    lambda tangents, out, args: -(out @ tangents[0] @ out),
    reads=(), form=recorded(_inv_form),
)  # fmt: skip


@complexly(np.linalg.inv)
def inv(a):
    require_square("inv", a)
    return inv_row(a)


def _solve_form(a: Any, b: Any) -> Any:
    n = shape_of(a)[-1]
    right = np.concatenate(halves(b), axis=-2)
    out = np.linalg.solve(doubled(_of_halves(a)), right)
    return np.stack([out[..., :n, :], out[..., n:, :]], axis=-3)


def _solve_rule(ct: Any, out: Any, args: Any, need: Any) -> list:
    b_bar = np.linalg.solve(adjoint(args[0]), ct)
    return [-(b_bar @ adjoint(out)) if need[0] else None, b_bar]


def _solve_push(tangents: Any, out: Any, args: Any) -> Any:
    a_dot, change = tangents
    if a_dot is not None:
        moved = a_dot @ out
        change = -moved if change is None else change - moved
    return np.linalg.solve(args[0], change)


solve_row = ComplexRow(
    "solve", np.linalg.solve, lambda a, b: b, _solve_rule, _solve_push, reads=(0,),
    form=recorded(_solve_form),
)  # fmt: skip


@complexly(np.linalg.solve)
def solve(a, b):
    require_square("solve", a)
    a, b = whole(a), whole(b)
    rows, given = a.shape[-1], b.shape
    if not given or given[0 if len(given) == 1 else -2] != rows:
        raise DimensionMismatch(
            f"solve: the shapes {a.shape} and {given} do not fit: b must have {rows} rows"
        )
    if len(given) > 1:
        return solve_row(a, b)
    return solve_row(a, b[:, None])[..., 0]


# -- determinants ---------------------------------------------------------------------------------


def _determinant_form(first: int, columns: int) -> Any:
    """The form of numbers that the kernel computes, from one on: real and imaginary parts."""

    def form(graph: Any, symbol: Any, x: Any) -> Any:
        n, count = x.shape[-1], math.prod(x.shape[:-3])
        width = NUMBERS + 2 * n * n
        x = graph.reshape(graph.cast(x, symbol.dtype), (count, 2, n, n))
        out = graph.call((count, width), symbol.dtype, (x,), complex_determinants, (count, n))
        parts = graph.view(out, [Axis(0, 0, 1), Axis(1, first, 1)], (count, 2))
        parts = graph.reshape(parts, (count, 2, 1))
        if columns > 1:
            log = graph.view(out, [Axis(0, 0, 1), Axis(1, NUMBERS - 1, 1)], (count, 1))
            log = graph.pad(graph.reshape(log, (count, 1, 1)), (0, 0, 0), (count, 2, 1))
            parts = graph.concat([parts, log], 2)
        return graph.reshape(parts, symbol.shape)

    return form


def _one(x: Any) -> Any:
    return x[..., None, None]


def _trace(a: Any, b: Any) -> Any:
    """The traces of products, with the axes of matrices."""
    return np.sum(np.swapaxes(a, -1, -2) * b, axis=(-2, -1), keepdims=True)


det_row = ComplexRow(
    "det", lambda a: _one(np.asarray(np.linalg.det(a))), lambda a: (1, 1),
    lambda ct, out, args, need: [ct * np.conjugate(out) * adjoint(np.linalg.inv(args[0]))],
    lambda tangents, out, args: out * _trace(np.linalg.inv(args[0]), tangents[0]),
    form=_determinant_form(0, 1),
)  # fmt: skip


@complexly(np.linalg.det)
def det(a):
    """Pullback: ct * conj(det) * inv(a).conj().T."""
    require_square("det", a)
    return det_row(a)[..., 0, 0]


def _slogdet(a: Any) -> Any:
    sign, log = np.linalg.slogdet(a)
    return np.stack([_one(np.asarray(sign)), _one(np.asarray(log, a.dtype))], axis=-1)[..., 0, :]


def _even(z: Any) -> Any:
    """The real part, as a complex number."""
    return 0.5 * (z + np.conjugate(z))


def _odd(z: Any) -> Any:
    """The imaginary part times i."""
    return 0.5 * (z - np.conjugate(z))


def _slogdet_rule(ct: Any, out: Any, args: Any, need: Any) -> list:
    """The logarithm of the determinant moves by trace(inv(a) @ a_dot): its real part is that of the
    size, its imaginary part the angle of the phase."""
    sign_bar, sign = ct[..., :1], out[..., :1]
    log_bar = _even(ct[..., 1:]) + _odd(sign_bar * np.conjugate(sign))
    return [log_bar * adjoint(np.linalg.inv(args[0]))]


def _slogdet_push(tangents: Any, out: Any, args: Any) -> Any:
    change = _trace(np.linalg.inv(args[0]), tangents[0])
    return np.concatenate([out[..., :1] * _odd(change), _even(change)], axis=-1)


slogdet_row = ComplexRow(
    "slogdet", _slogdet, lambda a: (1, 2), _slogdet_rule, _slogdet_push,
    form=_determinant_form(2, 2),
)  # fmt: skip


@complexly(np.linalg.slogdet)
def slogdet(a):
    """The phases, which are complex and have a derivative, and the logarithms of the sizes."""
    require_square("slogdet", a)
    out = slogdet_row(a)
    return SlogdetResult(out[..., 0, 0], out.real[..., 0, 1])


# -- factors --------------------------------------------------------------------------------------


def _lower(x: Any) -> Any:
    return np.tril(x, -1)


def _diagonal(x: Any) -> Any:
    return np.diagonal(x, 0, -2, -1)[..., None, :] * np.eye(shape_of(x)[-1])


def _qr_rule(ct: Any, out: Any, args: Any, need: Any) -> list:
    m = shape_of(args[0])[-2]
    q_bar, r_bar, q, r = ct[..., :m, :], ct[..., m:, :], out[..., :m, :], out[..., m:, :]
    seen = r @ adjoint(np.triu(r_bar)) - adjoint(q_bar) @ q
    low = _lower(seen)
    # The diagonal of R is real: the phases of the columns of Q move so that it stays real.
    inside = low + adjoint(low) + _even(_diagonal(seen))
    return [adjoint(np.linalg.solve(r, adjoint(q_bar + q @ inside)))]


def _qr_push(tangents: Any, out: Any, args: Any) -> Any:
    m = shape_of(args[0])[-2]
    q, r = out[..., :m, :], out[..., m:, :]
    change = tangents[0] @ np.linalg.inv(r)
    inside = adjoint(q) @ change
    low = _lower(inside)
    odd = low - adjoint(low) + _odd(_diagonal(inside))
    return np.concatenate([change - q @ inside + q @ odd, (inside - odd) @ r], axis=-2)


def _qr_form(graph: Any, symbol: Any, x: Any) -> Any:
    m, n = x.shape[-2:]
    count = math.prod(x.shape[:-3])
    x = graph.reshape(graph.cast(x, symbol.dtype), (count, 2, m, n))
    shape = (count, 2, m + n, n)
    out = graph.call(shape, symbol.dtype, (x,), complex_reflected, (count, m, n))
    return graph.reshape(out, symbol.shape)


qr_row = ComplexRow(
    "qr", lambda a: np.concatenate(np.linalg.qr(a), axis=-2),
    lambda a: (a[0] + a[1], a[1]), _qr_rule, _qr_push, reads=(), form=_qr_form,
)  # fmt: skip


@complexly(np.linalg.qr)
def qr(a, mode="reduced"):
    """Factors with a real diagonal of R, of the signs of LAPACK."""
    a = whole(a)
    if a.ndim < 2:
        raise DimensionMismatch(f"qr: the shape {a.shape} has fewer than two axes")
    *_, m, n = a.shape
    if mode not in ("reduced", "r") and not (mode == "complete" and m <= n):
        raise NoRuleError(f"qr: mode={mode!r} has no derivative rule: give 'reduced' or 'r'")
    packed = qr_row(a[..., :m] if m < n else a)
    q, r = packed[..., :m, :], packed[..., m:, :]
    if m < n:
        r = np.concatenate([r, adjoint(q) @ a[..., m:]], axis=-1)
    return r if mode == "r" else QRResult(q, r)
