"""The op of a computed array without parents: a constant that takes assignment."""

from typing import Any

import numpy as np

from ..core.primitive import Aval, Primitive
from ..core.symbols import full
from ..runtime.kinds import is_a


class _Constant(Primitive):
    """A plain array or one of a lower level, as an op without arguments."""

    registered = False
    has_plain_params = True
    differentiable = False

    def evaluate(self, *args, **params):
        return params["value"]

    def infer(self, *avals, **params) -> Aval:
        return Aval.of(params["value"].shape, params["value"].dtype)

    def pullback(self, ct, out, args, need, **params):
        return []


constant = _Constant("constant")


def constant_op(value: Any) -> tuple[Primitive, dict[str, Any]]:
    """The op and the parameters of a constant; the op is `full` if `value` is one number that was
    broadcast."""
    if not is_a(value, np.ndarray) or any(value.strides) or not value.size:
        return constant, {"value": value}
    number = value.flat[0].item()
    return full, {"number": number, "shape": value.shape, "dtype": value.dtype.name}
