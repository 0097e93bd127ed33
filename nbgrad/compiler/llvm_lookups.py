"""Calls of functions whose addresses code asks Python for, as LLVM assembly."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .llvm_ops import Value, llvm_type

__all__ = ["foreign", "of_scipy"]

_FINDER = """
@cell.{label} = internal global i64 0
@module.{label} = internal constant [{m} x i8] c"{module}\\00"
@name.{label} = internal constant [{n} x i8] c"{name}\\00"
define internal double @vain.{label}({doubles}i32) {{
  ret double 0x7FF8000000000000
}}
define internal i64 @asked.{label}() noinline cold {{
entry:
  %none = ptrtoint ptr @vain.{label} to i64
  %lock = call i32 @PyGILState_Ensure()
  %home = call ptr @PyImport_ImportModule(ptr @module.{label})
  %no.home = icmp eq ptr %home, null
  br i1 %no.home, label %failed, label %found
found:
  %answer = call ptr (ptr, ptr, ptr, ...) @PyObject_CallMethod(
    ptr %home, ptr @address.nbgrad, ptr @form.nbgrad, ptr @name.{label})
  call void @Py_DecRef(ptr %home)
  %no.answer = icmp eq ptr %answer, null
  br i1 %no.answer, label %failed, label %answered
answered:
  %place = call i64 @PyLong_AsUnsignedLongLong(ptr %answer)
  call void @Py_DecRef(ptr %answer)
  br label %done
failed:
  call void @PyErr_Print()
  br label %done
done:
  %out = phi i64 [%place, %answered], [%none, %failed]
  call void @PyGILState_Release(i32 %lock)
  ret i64 %out
}}
define internal ptr @found.{label}() {{
entry:
  %word = load atomic i64, ptr @cell.{label} monotonic, align 8
  %unknown = icmp eq i64 %word, 0
  br i1 %unknown, label %ask, label %done
ask:
  %new = call i64 @asked.{label}()
  store atomic i64 %new, ptr @cell.{label} monotonic, align 8
  br label %done
done:
  %known = phi i64 [%word, %entry], [%new, %ask]
  %out = inttoptr i64 %known to ptr
  ret ptr %out
}}"""
_OF_PYTHON = """
@address.nbgrad = internal constant [8 x i8] c"address\\00"
@form.nbgrad = internal constant [2 x i8] c"s\\00"
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare ptr @PyImport_ImportModule(ptr)
declare ptr @PyObject_CallMethod(ptr, ptr, ptr, ...)
declare i64 @PyLong_AsUnsignedLongLong(ptr)
declare void @Py_DecRef(ptr)
declare void @PyErr_Print()"""
_DOUBLE = np.dtype(np.float64)
_ADDRESSES = "nbgrad.kernels.scalar.library"  # whose function `address` finds those of SciPy


def of_scipy(writer: Any, name: str, given: Sequence[Value], results: Any) -> list[Value]:
    """A function of SciPy, whose last argument is an integer."""
    return _asked(writer, name, given, "i32 1")


def foreign(writer: Any, name: str, given: Sequence[Any], results: Any) -> list[Value]:
    """A C function of users, of numbers and pointers, which gives a double or nothing."""
    return _asked(writer, name, given, "", results)


def _asked(
    writer: Any, name: str, given: Sequence[Any], last: str, results: Any = (_DOUBLE,)
) -> list[Value]:
    """A C function. Code asks Python for its address at the first call and keeps it; where that
    fails, the error is printed, and the result is nan."""
    label, texts = name.replace(" ", "."), writer.module.intrinsics
    texts["scipy"] = _OF_PYTHON
    texts[f"scipy {label}"] = _FINDER.format(
        label=label, name=name, n=len(name) + 1, module=_ADDRESSES, m=len(_ADDRESSES) + 1,
        doubles="double, " * len(given),
    )  # fmt: skip
    pointer = writer.emit(f"call ptr @found.{label}()")
    kinds = [f"ptr {x}" if isinstance(x, str) else f"{llvm_type(x.dtype)} {x.text}" for x in given]
    text = ", ".join([*kinds, *filter(None, [last])])
    if not results:
        writer.add(f"call void {pointer}({text})")
        return []
    return [Value(writer.emit(f"call double {pointer}({text})"), _DOUBLE)]
