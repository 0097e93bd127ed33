"""How a call runs on plain arrays when a graph records it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import modes
from ..core.primitive import shape_of
from ..eager.plans import FunctionPlan
from .kept import value_and_record
from .packed import Derivative, derivative
from .primitive import as_given, derived, parts_of

__all__ = ["CallPlan"]


class CallPlan(FunctionPlan):
    """The plan of one call. One that returns a number computes its gradient at once, and the
    pullback multiplies it; others keep the record of their run (`kept.py`) for the pullback."""

    __slots__ = ("_gradient", "_vector")
    _gradient: Derivative | None

    def forward(self, *args):
        of: Derivative = self.params["of"]
        leaves = of.signature.leaves
        wrt = tuple([i for i, leaf in enumerate(leaves) if leaf.is_float and self.need[i]])
        self._gradient = None
        if modes.active and modes.untracked(0):
            return super().forward(*args)
        if not wrt or of.wrt is not None or of.along or of.is_whole:
            return super().forward(*args)
        if of.outs or of.count != 1:
            return self._keeping(of, wrt, args)
        self._gradient = derivative(of.signature, (), wrt, is_seeded=True)
        self._vector = derived.evaluate(*args, of=self._gradient)
        return np.array(self._vector[-1:])

    def _keeping(self, of: Derivative, wrt: tuple[int, ...], args: Sequence) -> np.ndarray:
        found = value_and_record(of, wrt, as_given(of, args))
        if found is None:
            return super().forward(*args)
        vector, record = found
        self.params = {**self.params, "record": record}
        return vector

    def pull(self, ct, out, args, need) -> Sequence:
        of = self._gradient
        if of is None or of.wrt is None:
            return super().pull(ct, out, args, need)
        factor = ct.item()
        found: list[Any] = [None] * len(args)
        parts = parts_of(of, self._vector, [shape_of(x) for x in args])
        for i, part in zip(of.wrt, parts, strict=False):
            if need[i]:
                # A factor of 0 gives 0, as in a run with this cotangent.
                product = part * factor if factor else np.zeros(shape_of(part))
                found[i] = np.asarray(product, of.signature.leaves[i].dtype)
        return found
