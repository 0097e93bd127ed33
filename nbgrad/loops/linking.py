"""The recorder of programs for functions with loops.

The code of some ops, those of LAPACK, has no derivative there: their results are constants, to
which the rules of their rows give derivatives (`row_rules.py`).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..complex import cholesky as of_cholesky
from ..complex import matrices as of_complex
from ..complex import spectra
from ..complex.stacked import apart, together
from ..core.primitive import Aval, Primitive, bind
from ..core.symbols import Symbol, symbol_of
from ..ir.naming import tagged
from ..ir.sizes import is_dynamic
from ..rules.linalg import cholesky, decompositions, matrices, singular
from ..rules.linalg.triangular import triangular_row
from ..static.trace.record import Recorder
from .row_rules import linked, rule_of_row

__all__ = ["Linking"]


_ROWS = {
    decompositions.eigh_row, decompositions.eig_row, singular.svd_row, matrices.pinv_row,
    matrices.inv_row, matrices.det_row, matrices.logabsdet_row, matrices.detsign_row,
    spectra.eigh_row, spectra.eig_row, spectra.svd_row, of_complex.inv_row, of_complex.det_row,
    of_complex.slogdet_row, cholesky.cholesky_row, of_cholesky.cholesky_row,
    decompositions.qr_row, of_complex.qr_row,
}  # fmt: skip
"""Rows whose compiled form calls a kernel of `library.py: CONSTANTS`, but for solutions."""


class Linking(Recorder):
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
        found = super().apply(primitive, args, params)
        if primitive not in _ROWS or not primitive.differentiable:
            return found
        out, x = symbol_of(found), symbol_of(args[0])
        return symbol_of(bind(linked, out, x, rule=rule_of_row(primitive, tuple(params.items()))))

    def capture(self, array: np.ndarray) -> Symbol:
        """One number is part of the program, as it is in those recorded for other lengths."""
        one = np.asarray(array)
        if one.size == 1 and one.dtype.kind != "c" and not is_dynamic(tagged(one.item())):
            return self.full(one.item(), Aval.of(one.shape, one.dtype))
        return super().capture(array)
