"""Gates: C functions that call a NumPy function, and its replacement in nbgrad for tracked values.

A wrapper in Python takes some 100 ns per call, as long as NumPy takes for a short array; a gate
takes 10 ns. It finds out from the reference count of one object, `alive`, whether anything is
tracked.
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
from ..runtime.vectorcall import FASTCALL, Definition
from .builtin import compiled, slots
from .emitter import ARRAY, INT, VOID, WORD, Emitter, word

__all__ = ["gate", "is_tracing", "is_tracking", "plain_of"]


alive: Any = object()
"""Every leaf and every running transformation has a reference to this object."""


traced: Any = object()
"""Every call that runs a function on symbols or on samples has a reference to this object."""


def is_tracking() -> bool:
    """Whether there is a leaf or a running transformation, in any thread."""
    return sys.getrefcount(alive) > _least


def is_tracing() -> bool:
    """Whether a function is being recorded or mapped by `vmap`, in any thread."""
    return sys.getrefcount(traced) > _least


_least = sys.getrefcount(alive)


def gate(plain: Callable, own: Callable, made: Callable | None, home: str) -> Callable:
    """A function that calls `plain`, and then `own` if that raises TypeError or ValueError.

    While anything is tracked, an array that `plain` returns is passed through `made`; if `made` is
    None, `own` is called in place of `plain`. `home` is the name of the module that has the
    function as an attribute.
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
    """NumPy's function of a gate; None for any other function."""
    home = getattr(function, "__self__", None)
    return home.own[0] if type(home) is _Home else getattr(function, "__wrapped__", None)


class _Home(ModuleType):
    """The `self` of the C function. It is a module, as functions of a module are pickled by
    name."""

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
    """The definition of a gate, in Python."""

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
    """The type of a gate in functions that Numba compiles: that of NumPy's function."""
    plain = plain_of(function)
    if plain is None:
        return _type_before(function, context)

    return cast(Any, cpu_target).typing_context.resolve_value_type(plain)


def _described(function: Callable) -> str:
    """The docstring of a C function, which begins with its signature in CPython's form."""
    text = function.__doc__ or ""
    try:
        signature = re.sub(r"<[^>]*>", "None", str(inspect.signature(function)))
    except (TypeError, ValueError):
        return text
    return f"{function.__name__}{signature}\n--\n\n{text}"
