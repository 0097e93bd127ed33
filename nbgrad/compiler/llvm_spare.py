"""A large block of memory that machine code keeps when it frees it, as LLVM assembly.

glibc gets blocks of 32 MB and more from the system each time, page by page, which takes longer than
many a loop that fills them. So the latest one that was freed is kept for the next buffer or record
that it is large enough for; `nbgrad.trim()` frees it. Threads exchange it in one step. Other
systems keep none.
"""

import ctypes
from collections.abc import Callable
from functools import partial

from llvmlite import binding

from ..runtime.heap import LARGEST, SPARE, keeps_spare, on_trim

__all__ = ["declare_free", "taking"]

binding.add_symbol("nbgrad_spare", ctypes.addressof(SPARE))

_TAKE = """
  %kept = atomicrmw xchg ptr @nbgrad_spare, i64 0 acq_rel
  %place = inttoptr i64 %kept to ptr
  %have = call i64 @malloc_usable_size(ptr %place)"""
_TAKEN = f"""define internal ptr @nbgrad.taken(ptr %old, i64 %size) noinline {{{_TAKE}
  %fits = icmp uge i64 %have, %size
  br i1 %fits, label %copy, label %small
small:
  call void @free(ptr %place)
  ret ptr null
copy:
  %used = call i64 @malloc_usable_size(ptr %old)
  %most = call i64 @llvm.umin.i64(i64 %used, i64 %have)
  call void @llvm.memcpy.p0.p0.i64(ptr %place, ptr %old, i64 %most, i1 false)
  call void @nbgrad.spared(ptr %old)
  ret ptr %place
}}"""
_SPARED = f"""define internal void @nbgrad.spared(ptr %old) noinline {{
  %size = call i64 @malloc_usable_size(ptr %old)
  %most = load i64, ptr getelementptr ([3 x i64], ptr @nbgrad_spare, i64 0, i64 1)
  %large = icmp uge i64 %size, {LARGEST}
  %fits = icmp ule i64 %size, %most
  %kept = and i1 %large, %fits
  br i1 %kept, label %keep, label %drop
keep:
  store i64 %size, ptr getelementptr ([3 x i64], ptr @nbgrad_spare, i64 0, i64 2)
  %new = ptrtoint ptr %old to i64
  %before = atomicrmw xchg ptr @nbgrad_spare, i64 %new acq_rel
  %last = inttoptr i64 %before to ptr
  call void @free(ptr %last)
  ret void
drop:
  call void @free(ptr %old)
  ret void
}}"""
_DECLARED = {
    "nbgrad_spare": "@nbgrad_spare = external global [3 x i64]",
    "malloc_usable_size": "declare i64 @malloc_usable_size(ptr)",
    "free": "declare void @free(ptr)",
}
_MADE = """
  %found.taken = call ptr @nbgrad.taken(ptr %old, i64 %size)
  %is_there = icmp ne ptr %found.taken, null
  br i1 %is_there, label %taken, label %new
taken:
  ret ptr %found.taken"""


def declare_free(declared: dict[str, str]) -> str:
    """Declare the function that frees a block of memory, or keeps it; its name."""
    if not keeps_spare():
        declared["free"] = _DECLARED["free"]
        return "free"
    declared.update(_DECLARED)
    declared["nbgrad.spared"] = _SPARED
    return "nbgrad.spared"


def taking(declared: dict[str, str]) -> str:
    """The start of a block of assembly that needs `%size` bytes in place of `%old`: it returns the
    block that is kept, if that is large enough, and goes on at `%new` otherwise."""
    declare_free(declared)
    if not keeps_spare():
        return "\n  br label %new"
    declared["llvm.umin.i64"] = "declare i64 @llvm.umin.i64(i64, i64)"
    declared["llvm.memcpy"] = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
    declared["nbgrad.taken"] = _TAKEN
    return _MADE


def _drop() -> None:
    """Free the block that is kept."""
    from .machine import machine_code  # which compiles functions with buffers

    if not SPARE[0]:
        return
    lines = [*_DECLARED.values(), f"define void @drop() {{{_TAKE}"]
    text = "\n".join([*lines, "  call void @free(ptr %place)", "  ret void", "}"])
    functions, _ = machine_code("spare", text, partial(_written, text), False)
    ctypes.CFUNCTYPE(None)(functions["drop"])()


def _written(text: str) -> tuple[str, Callable[[], tuple], None]:
    return text, tuple, None


on_trim.append(_drop)
