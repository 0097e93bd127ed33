"""Gates: C functions that call NumPy's function, and one in Python where tracked values may come.

A wrapper in Python takes some 100 ns a call, as long as NumPy takes for a short array; a gate takes
ten. Whether anything is tracked is the reference count of one object, `alive`.
"""

import ctypes
import inspect
import re
import sys
from collections.abc import Callable
from functools import cache, wraps
from types import BuiltinFunctionType, ModuleType
from typing import Any, cast

import numpy as np

from ..compiler.numba_api import cpu_target, typeof_impl
from ..runtime.layout import IS_KNOWN, prototype
from .builtin import FASTCALL, Definition, compiled, slots
from .emitter import ARRAY, INT, VOID, WORD, Emitter, word

__all__ = ["gate", "is_tracing", "is_tracking", "plain_of"]


alive: Any = object()
"""Every leaf refers to this object, as does every transformation that runs."""


traced: Any = object()
"""Every call refers to this object that runs a function on symbols, or on samples."""


def is_tracking() -> bool:
    """Whether any leaf is alive, or any transformation runs, in any thread."""
    return sys.getrefcount(alive) > _least


def is_tracing() -> bool:
    """Whether a function is recorded, or `vmap` runs, in any thread: numbers may have no value."""
    return sys.getrefcount(traced) > _least


_least = sys.getrefcount(alive)


def gate(plain: Callable, own: Callable, made: Callable | None, home: str) -> Callable:
    """A function that calls `plain`, and `own` where that raises TypeError or ValueError.

    While anything is tracked, `made` is handed the arrays that `plain` gives,
    and its result is returned; without `made`, `own` is called in the first place. `home` names the
    module that the function is an attribute of.
    """
    if not IS_KNOWN:
        return _general(plain, own, made, home)
    module: Any = _Home(home)
    text = _described(plain).encode()
    address = _code(made is not None)
    definition = Definition(plain.__name__.encode(), address, FASTCALL, text)
    module.own = plain, own, made, definition, text
    kinds = ctypes.c_void_p, ctypes.py_object, ctypes.py_object
    new = prototype("PyCFunction_NewEx", ctypes.py_object, *kinds)
    return new(ctypes.addressof(definition), module, home)


def plain_of(function: Any) -> Callable | None:
    """The function behind a gate; None for a function that is no gate."""
    home = getattr(function, "__self__", None)
    return home.own[0] if type(home) is _Home else getattr(function, "__wrapped__", None)


class _Home(ModuleType):
    """What the C function is handed: functions of a module are pickled by their name in it."""

    __slots__ = ("own",)


@cache
def _code(makes: bool) -> int:
    """The address of the function's code."""
    emit = Emitter(None, keywords=True)
    build, own = emit.build, emit.load(emit.own, slots(_Home, "own")["own"])
    plain, general, made = (emit.item(own, i) for i in range(3))
    given = emit.args, emit.given, emit.keywords
    tracking = build.icmp_signed(">", emit.load(word(id(alive)), kind=INT), INT(1))
    if not makes:
        with build.if_then(tracking, likely=False):
            build.ret(emit.python("PyObject_Vectorcall", WORD, general, *given))
    found = emit.python("PyObject_Vectorcall", WORD, plain, *given)
    with build.if_then(emit.is_set(found), likely=True):
        if makes:
            with build.if_then(tracking, likely=False), build.if_then(emit.is_a(found, ARRAY)):
                emit.owned.append(found)
                new = emit.handed(emit.called(made, found))
                emit.let_go(found)
                build.ret(new)
        build.ret(found)
    of_kind = [
        emit.python("PyErr_ExceptionMatches", INT, emit.constant(kind))
        for kind in (TypeError, ValueError)
    ]
    emit.require(emit.is_set(build.or_(*of_kind)))
    emit.python("PyErr_Clear", VOID)
    build.ret(emit.python("PyObject_Vectorcall", WORD, general, *given))
    return compiled(emit, level=2)


def _general(plain: Callable, own: Callable, made: Callable | None, home: str) -> Callable:
    """The same in Python."""

    @wraps(plain)
    def call(*args, **options):
        if made is None and is_tracking():
            return own(*args, **options)
        try:
            found = plain(*args, **options)
        except (TypeError, ValueError):
            return own(*args, **options)
        return made(found) if made and type(found) is np.ndarray and is_tracking() else found

    call.__module__ = home
    return call


_type_before = typeof_impl.dispatch(BuiltinFunctionType)


@typeof_impl.register(BuiltinFunctionType)
def _type_of(function: Any, context: Any) -> Any:
    """The type that a gate has in functions that Numba compiles: that of NumPy's function."""
    plain = plain_of(function)
    if plain is None:
        return _type_before(function, context)

    return cast(Any, cpu_target).typing_context.resolve_value_type(plain)


def _described(function: Callable) -> str:
    """The text of a C function, which begins with its signature in the form of CPython's."""
    text = function.__doc__ or ""
    try:
        signature = re.sub(r"<[^>]*>", "None", str(inspect.signature(function)))
    except (TypeError, ValueError):
        return text
    return f"{function.__name__}{signature}\n--\n\n{text}"
