"""Arguments of users' functions under Numba's `@njit`: which values Numba refuses by name, and
which calls another function answers."""

from collections.abc import Callable
from inspect import CO_VARARGS
from typing import Any

import numba
import numpy as np
from numba.core import types

from ..errors import UntrackedError
from .numba_api import CPUDispatcher, Signature, typeof_impl

__all__ = ["answer", "given", "is_signature", "is_users", "refuse", "with_numba"]


def refuse(kind: type) -> None:
    """Have Numba refuse values of this class, whichever class of NumPy they answer to."""
    for face in (np.ndarray, np.generic, object):
        before = typeof_impl.dispatch(face)

        def type_of(value, context, before=before):
            if issubclass(type(value), kind):
                raise UntrackedError(
                    "a function under @njit takes plain arrays, and a tracked one would lose its "
                    "derivative: call the Python function f.py_func, or give the function a rule "
                    "by nbgrad.custom_rule",
                    code="NB-NJIT",
                )
            return before(value, context)

        typeof_impl.register(face)(type_of)


def is_users(f: Any) -> bool:
    """Whether f is a function that a user compiled with Numba. Its subclasses are made by
    `nbgrad.njit`, which nbgrad's own functions are not."""
    if type(f) is not CPUDispatcher:
        return isinstance(f, CPUDispatcher)
    return not (f.py_func.__module__ or "").startswith(_OURS)


_OURS = ("nbgrad.", "nbgrad_kernel_")


def is_signature(x: Any) -> bool:
    """Whether `numba.njit` takes x as a type, or as types, in place of a function."""
    return isinstance(x, (types.Type, Signature, str, list, tuple))


def with_numba(f: Callable, signatures: Any, options: dict[str, Any]) -> Any:
    """The function as `numba.njit` compiles it; where Numba is disabled, the function itself."""
    return numba.njit(f, **options) if signatures is None else numba.njit(
        signatures, **options
    )(f)  # fmt: skip


def answer(kinds: tuple[type, ...], call: Callable[[Any, tuple, dict], Any]) -> None:
    """Have calls of users' Numba functions with values of these classes, or tuples of such,
    answered by `call(dispatcher, args, options)`.

    A dispatcher asks the methods that are replaced here only if it has no machine code for the
    types of its arguments, so calls with plain arrays take no more time.
    """
    dispatchers: Any = CPUDispatcher
    typeof_before, compile_before = dispatchers.typeof_pyval, dispatchers._compile_for_args
    explain_before = dispatchers._explain_matching_error

    def holds(value: Any) -> bool:
        return issubclass(type(value), kinds) or (
            isinstance(value, tuple) and any(map(holds, value))
        )

    def typeof_pyval(self: Any, val: Any) -> Any:
        if holds(val) and is_users(self):
            return types.pyobject
        return typeof_before(self, val)

    def _compile_for_args(self: Any, *args: Any, **options: Any) -> Any:
        if any(map(holds, args)) and is_users(self):
            return lambda *args, **options: call(self, given(self, args), options)
        return compile_before(self, *args, **options)

    def _explain_matching_error(self: Any, *args: Any, **options: Any) -> None:
        if any(map(holds, args)) and is_users(self):
            raise UntrackedError(
                f"{self.__name__} was compiled for given signatures, and tracked values have none: "
                f"make it by nbgrad.njit, or wrap it by nbgrad.njit({self.__name__})",
                code="NB-NJIT",
            )
        explain_before(self, *args, **options)

    dispatchers.typeof_pyval = typeof_pyval
    dispatchers._compile_for_args = _compile_for_args
    dispatchers._explain_matching_error = _explain_matching_error


def given(dispatcher: Any, args: tuple) -> tuple:
    """The arguments of a call: Numba wraps defaults that are left out, and passes those of a
    starred parameter as one tuple."""
    if dispatcher.py_func.__code__.co_flags & CO_VARARGS:
        args = (*args[:-1], *args[-1])
    return tuple([x.value if type(x).__name__ == "OmittedArg" else x for x in args])
