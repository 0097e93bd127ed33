"""Functions of SciPy inside of compiled code, by the C pointers of `scipy.special.cython_special`.

Machine code contains no addresses: it looks up that of a function at its first call and stores it,
so it can be cached on disk. SciPy is not imported before that call.
"""

import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types

from ...compiler.kernel import instruction
from ...runtime.kinds import is_a
from ...runtime.layout import prototype
from ...runtime.signals import held_back

__all__ = ["address", "of_scipy"]


def address(name: str) -> int:
    """Return the address of a function of doubles, whose name and number of arguments are given as
    `"jv 2"`. Raises ImportError if SciPy lacks it."""
    with held_back():
        from scipy.special import cython_special  # here, as few programs ask

    label, arity = name.split()
    capsules = cython_special.__pyx_capi__
    signature = f"double ({'double, ' * int(arity)}int __pyx_skip_dispatch)".encode()
    # Of a function for several types there are numbered variants.
    for key in (label, *(f"__pyx_fuse_{i}{label}" for i in range(4))):
        if key in capsules and _signature(capsules[key]) == signature:
            return _pointer(capsules[key], signature)
    raise ImportError(f"scipy.special.cython_special has no {label} of {arity} doubles")


_signature = prototype("PyCapsule_GetName", ctypes.c_char_p, ctypes.py_object)
_pointer = prototype("PyCapsule_GetPointer", ctypes.c_size_t, ctypes.py_object, ctypes.c_char_p)


def _twin(name: str) -> Callable:
    """The function in plain Python, in the dtype of its arguments."""

    def function(*args):
        from scipy import special  # here, as only plain Python asks

        kind = next((type(arg) for arg in args if is_a(arg, np.generic)), float)
        return kind(getattr(special, name)(*map(float, args)))

    return function


def of_scipy(name: str, arity: int = 1) -> Any:
    """The function `name` of so many floats of one dtype; it computes with doubles."""

    def typed(x, *others):
        def codegen(context, builder, signature, args):
            double = context.get_value_type(types.float64)
            doubles = [context.cast(builder, arg, x, types.float64) for arg in args]
            kind = ir.FunctionType(double, [double] * arity + [_INT])
            pointer = builder.call(_finder(context, builder.module, f"{name} {arity}", kind), [])
            result = builder.call(pointer, [*doubles, _INT(1)])
            return context.cast(builder, result, types.float64, x)

        return x(x, *others), codegen

    return instruction(_twin(name), ("scipy", name, arity))(_GENERATORS[arity](typed))


# Numba asks for a generator of so many arguments.
_GENERATORS: dict[int, Callable] = {
    1: lambda typed: lambda typingctx, x: typed(x),
    2: lambda typed: lambda typingctx, x, y: typed(x, y),
    3: lambda typed: lambda typingctx, x, y, z: typed(x, y, z),
}
_INT, _WORD = ir.IntType(32), ir.IntType(64)


def _finder(context: Any, module: ir.Module, name: str, kind: ir.FunctionType) -> ir.Function:
    """The function of a module that gives the pointer: a word that its first call fills."""
    label = f"nbgrad_scipy_{name.replace(' ', '_')}"
    if label in module.globals:
        return module.globals[label]
    cell: Any = cgutils.add_global_variable(module, _WORD, f"{label}_address")
    cell.linkage, cell.initializer = "internal", _WORD(0)
    finder = ir.Function(module, ir.FunctionType(kind.as_pointer(), []), label)
    finder.linkage = "internal"
    builder = ir.IRBuilder(finder.append_basic_block())
    word = builder.load_atomic(cell, "monotonic", 8)
    unknown = builder.icmp_unsigned("==", word, _WORD(0))
    with builder.if_then(unknown, likely=False):
        location = builder.call(_asker(context, module, name, kind), [])
        builder.store_atomic(location, cell, "monotonic", 8)
        builder.ret(builder.inttoptr(location, kind.as_pointer()))
    builder.ret(builder.inttoptr(word, kind.as_pointer()))
    return finder


def _asker(context: Any, module: ir.Module, name: str, kind: ir.FunctionType) -> ir.Function:
    """Return the function of a module that calls `address(name)` in Python. If that fails, the
    error is printed, and the address is that of a function that returns nan."""
    label = f"nbgrad_scipy_{name.replace(' ', '_')}_asked"
    nothing = ir.Function(module, kind, f"{label}_in_vain")
    ir.IRBuilder(nothing.append_basic_block()).ret(ir.Constant(kind.return_type, math.nan))
    asker = ir.Function(module, ir.FunctionType(_WORD, []), label)
    nothing.linkage = asker.linkage = "internal"
    asker.attributes.add("noinline")
    asker.attributes.add("cold")
    builder = ir.IRBuilder(asker.append_basic_block())
    python = context.get_python_api(builder)
    result = cgutils.alloca_once_value(builder, builder.ptrtoint(nothing, _WORD))
    lock = python.gil_ensure()
    texts = (__name__, address.__name__, "s", name)
    home, method, form, said = (context.insert_const_string(module, text) for text in texts)
    home = python.import_module(home)
    with cgutils.if_likely(builder, cgutils.is_not_null(builder, home)):
        text = cgutils.voidptr_t
        calling = ir.FunctionType(python.pyobj, [python.pyobj, text, text], var_arg=True)
        call = cgutils.get_or_insert_function(module, calling, "PyObject_CallMethod")
        answer = builder.call(call, [home, method, form, said])
        with cgutils.if_likely(builder, cgutils.is_not_null(builder, answer)):
            builder.store(python.long_as_ulonglong(answer), result)
            python.decref(answer)
        python.decref(home)
    with builder.if_then(cgutils.is_not_null(builder, python.err_occurred()), likely=False):
        printing = ir.FunctionType(ir.VoidType(), [])
        builder.call(cgutils.get_or_insert_function(module, printing, "PyErr_Print"), [])
    python.gil_release(lock)
    builder.ret(builder.load(result))
    return asker
