"""Ops whose code has no derivative in loops, those of LAPACK, as constants with terms that have it.

A row knows its pushforward L(y, x) for y = f(x). So f(c) + L(f(c), c) (x - c), where c is x as a
constant, has the value and the first derivatives of f: the second term is 0. It has the second ones
if L is taken in the middle of c and x, as in the midpoint rule for dy = L(y, x) dx. Third ones are
refused by name.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..complex import cholesky as of_cholesky
from ..complex import matrices as of_complex
from ..complex import spectra
from ..complex.stacked import apart, together
from ..core.primitive import Aval, Primitive, bind
from ..core.symbols import Symbol, symbol_of
from ..errors import NoRuleError
from ..ir.naming import tagged
from ..ir.sizes import is_dynamic
from ..rules.families.samples import Interval
from ..rules.families.scalar import Elementwise
from ..rules.linalg import cholesky, decompositions, matrices, singular
from ..rules.linalg.triangular import triangular_row
from ..rules.nondiff import stop_row
from ..static.trace.record import Recorder

__all__ = ["Expanding"]


_ROWS = {
    decompositions.eigh_row, decompositions.eig_row, singular.svd_row, matrices.pinv_row,
    matrices.inv_row, matrices.det_row, matrices.logabsdet_row, matrices.detsign_row,
    spectra.eigh_row, spectra.eig_row, spectra.svd_row, of_complex.inv_row, of_complex.det_row,
    of_complex.slogdet_row, cholesky.cholesky_row, of_cholesky.cholesky_row,
    decompositions.qr_row, of_complex.qr_row,
}  # fmt: skip
"""Rows whose compiled form calls a kernel of `library.py: CONSTANTS`, but for solutions."""


class _Gate(Elementwise):
    registered = False


def _gate(name: str, body: str, slope: Callable) -> _Gate:
    return _Gate(None, body, [slope], name=name, domains=[Interval(-np.inf, np.inf)])


def _refuse(u: Any, x: Any) -> Any:
    raise NoRuleError(
        "a third derivative of a function that LAPACK computes, such as np.linalg.eigh, in a "
        "function with loops: differentiate the plain Python function"
    )


# x, its derivative 1 and the derivative 0 of this, whose own one is refused.
_nothing = _gate("twice_differentiable_0", "0.0 * x", _refuse)
_one = _gate("twice_differentiable_1", "1.0 + 0.0 * x", lambda u, x: bind(_nothing, x))
_itself = _gate("twice_differentiable", "x", lambda u, x: bind(_one, x))


class Expanding(Recorder):
    """A recorder of programs for functions with loops."""

    def apply(self, primitive: Primitive, args: Sequence, params: dict) -> Any:
        if primitive is matrices.solve_row:
            return symbol_of(np.linalg.inv(args[0]) @ args[1])
        if primitive is triangular_row:
            reference: Any = primitive.reference
            return symbol_of(reference(*args, **params))
        if primitive is of_complex.solve_row:
            inverse = bind(of_complex.inv_row, args[0])
            return symbol_of(together(apart(inverse) @ apart(args[1])))
        if primitive not in _ROWS or _is_constant(args[0]):
            return super().apply(primitive, args, params)
        return symbol_of(_expanded(primitive, args[0], params))

    def capture(self, array: np.ndarray) -> Symbol:
        """One number is part of the program, as it is in those recorded for other lengths."""
        one = np.asarray(array)
        if one.size == 1 and one.dtype.kind != "c" and not is_dynamic(tagged(one.item())):
            return self.full(one.item(), Aval.of(one.shape, one.dtype))
        return super().capture(array)


def _is_constant(x: Any) -> bool:
    return not isinstance(x, Symbol) or x.primitive is stop_row


def _expanded(primitive: Any, x: Symbol, params: dict) -> Any:
    constant = bind(stop_row, x)
    out = bind(primitive, constant, **params)
    if not primitive.differentiable:
        return out
    half = 0.5 * (bind(_itself, x) - constant)

    def moved(y: Any, at: Any, change: Any) -> Any:
        return out + primitive.pushforward([change], y, [at], **params)

    return moved(moved(out, constant, half), constant + half, 2.0 * half)
