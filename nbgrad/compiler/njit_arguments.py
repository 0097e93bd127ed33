"""Arguments of users' functions under Numba's `@njit`: tracked values are refused by name."""

import numpy as np

from ..errors import UntrackedError
from .numba_api import typeof_impl

__all__ = ["refuse"]


def refuse(kind: type) -> None:
    """Have Numba refuse values of this class, whichever class of NumPy they answer to."""
    for face in (np.ndarray, np.generic, object):
        before = typeof_impl.dispatch(face)

        def type_of(value, context, before=before):
            if issubclass(type(value), kind):
                raise UntrackedError(
                    "a function under @njit takes plain arrays, and a tracked one would lose its "
                    "derivative: call the Python function f.py_func, or give the function a rule "
                    "by nbgrad.custom_rule"
                )
            return before(value, context)

        typeof_impl.register(face)(type_of)
