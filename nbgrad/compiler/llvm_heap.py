"""Memory of the heap for code, as LLVM assembly."""

import ctypes
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from llvmlite import binding

from ..ir.statements import New
from ..runtime.available import TOTAL
from ..runtime.heap import LARGEST
from .llvm_ops import INT, Value
from .llvm_spare import declare_free, taking

if TYPE_CHECKING:
    from .llvm_function import BodyWriter

__all__ = ["Heap", "declare_room", "freeing"]

# Pages of 4 kB cost more than the arithmetic on large buffers that are filled once, and glibc gets
# those from 32 MB on from the system at each call. NumPy asks for huge pages from 4 MB on, too.
_LARGE = 1 << 22
_HUGE_PAGES = 14  # MADV_HUGEPAGE of Linux

binding.add_symbol("nbgrad_memory", ctypes.addressof(TOTAL))

# Systems hand out memory that the machine does not have. A buffer may be twice as long as needed.
_ROOM = """define internal noalias ptr @nbgrad.room(ptr %old, i64 %size) noinline {{
  %large = icmp sge i64 %size, {large}
  br i1 %large, label %check, label %little
little:
  %small = call ptr @realloc(ptr %old, i64 %size)
  ret ptr %small
check:
  %pages = call i64 @sysconf(i32 {pages})
  %page = call i64 @sysconf(i32 {page})
  %memory = mul i64 %pages, %page
  %half = lshr i64 %size, 1
  %exceeds = icmp ugt i64 %half, %memory
  br i1 %exceeds, label %none, label %make
none:
  ret ptr null
make:
  %huge = icmp sge i64 %size, {huge}
  br i1 %huge, label %take, label %new
take:{taking}
new:
  %found = call ptr @realloc(ptr %old, i64 %size)
  {advise}ret ptr %found
}}"""
_ADVISE = """%address = ptrtoint ptr %found to i64
  %up = add i64 %address, {rest}
  %first = and i64 %up, -{page}
  %last = add i64 %address, %size
  %length = sub i64 %last, %first
  %start = inttoptr i64 %first to ptr
  %ignored = call i32 @madvise(ptr %start, i64 %length, i32 {huge})
  """

# Makes a buffer for so many bytes at least. Its place holds the address and the size; one that is
# large enough is kept. One call, as each branch in a function with many buffers costs LLVM time.
_GROWN = """define internal ptr @nbgrad.grown(ptr %place, i64 %wanted, i1 %cleared)
  noinline {
  %size_at = getelementptr {ptr, i64}, ptr %place, i64 0, i32 1
  %old = load ptr, ptr %place
  %before = load i64, ptr %size_at
  %some = icmp sgt i64 %wanted, 1
  %least = select i1 %some, i64 %wanted, i64 1
  %more = icmp sgt i64 %least, %before
  br i1 %more, label %grow, label %kept
kept:
  ret ptr %old
grow:
  %half = lshr i64 %before, 1
  %size = add i64 %least, %half
  %found = call ptr @room(ptr %old, i64 %size)
  %lacks = icmp eq ptr %found, null
  br i1 %lacks, label %done, label %got
got:
  store ptr %found, ptr %place
  store i64 %size, ptr %size_at
  br i1 %cleared, label %clear, label %done
clear:
  %start = getelementptr i8, ptr %found, i64 %before
  %length = sub i64 %size, %before
  call void @llvm.memset.p0.i64(ptr %start, i8 0, i64 %length, i1 false)
  br label %done
done:
  ret ptr %found
}"""


def declare_room(declared: dict[str, str]) -> str:
    """Declare the function `ptr(ptr, i64)` that is `realloc`; its name. It gives null for more than
    the machine has, and on Linux asks for huge pages where much memory is needed."""
    declared["realloc"] = "declare ptr @realloc(ptr, i64)"
    known = getattr(os, "sysconf_names", {})  # not on Windows
    if "SC_PHYS_PAGES" not in known:
        return "realloc"
    declared["sysconf"] = "declare i64 @sysconf(i32)"
    pages, page = (known[f"SC_{name}"] for name in ("PHYS_PAGES", "PAGE_SIZE"))
    advise = ""
    if sys.platform.startswith("linux"):
        size = os.sysconf("SC_PAGE_SIZE")
        advise = _ADVISE.format(page=size, rest=size - 1, huge=_HUGE_PAGES)
        declared["madvise"] = "declare i32 @madvise(ptr, i64, i32)"
    declared["nbgrad.room"] = _ROOM.format(
        large=_LARGE, pages=pages, page=page, advise=advise, huge=LARGEST, taking=taking(declared)
    )
    return "nbgrad.room"


@cache
def freeing() -> Callable[[int], None]:
    """The function that frees memory at an address which machine code has allocated."""
    address: Any = binding.address_of_symbol("free")
    return ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(address)


class Heap:
    """The buffers of a function on the heap, which have no memory where it begins.

    LLVM keeps their addresses in registers. A list in memory holds them, too, to be freed, and
    their sizes: otherwise a function with many buffers would move all of these registers wherever
    it may raise.
    """

    def __init__(self, writer: "BodyWriter"):
        self._writer = writer
        self._places: dict[str, tuple[str, int]] = {}  # of the address; in the list
        self._list = ""
        self._makers: Counter[str] = Counter()

    def __contains__(self, buffer: Any) -> bool:
        return buffer in self._places

    def __bool__(self) -> bool:
        return bool(self._places)

    def reserve(self, buffers: Iterable[str]) -> None:
        """Reserve room for the addresses of buffers."""
        self._makers, writer = Counter(buffers), self._writer
        names = list(self._makers)
        if not names:
            return
        self._list = writer.allocate("{ptr, i64}", len(names))
        self._declare_memset()
        size = 16 * len(names)
        writer.add(f"call void @llvm.memset.p0.i64(ptr {self._list}, i8 0, i64 {size}, i1 false)")
        for i, name in enumerate(names):
            self._places[name] = address, _ = writer.allocate("ptr"), i
            writer.add(f"store ptr null, ptr {address}")

    def _declare_memset(self) -> None:
        text = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
        self._writer.module.intrinsics["llvm.memset"] = text

    def _in_list(self, i: str) -> str:
        return self._writer.emit(f"getelementptr {{ptr, i64}}, ptr {self._list}, i64 {i}")

    def pointer(self, buffer: str) -> str:
        """The address of a buffer."""
        return self._writer.emit(f"load ptr, ptr {self._places[buffer][0]}")

    def make(self, new: New) -> None:
        """Write a statement that makes a buffer, or a larger one."""
        writer, (address, i) = self._writer, self._places[new.target]
        emit, declared = writer.emit, writer.module.intrinsics
        declared["nbgrad.grown"] = _GROWN.replace("@room", f"@{declare_room(declared)}")
        wanted = emit(f"mul i64 {writer.operand(new.count).text}, {new.dtype.itemsize}")
        given = f"ptr {self._in_list(str(i))}, i64 {wanted}, i1 {str(new.cleared).lower()}"
        # A second statement that makes this buffer returns the same memory: it is not noalias.
        alias = "" if self._makers[new.target] > 1 else "noalias "
        found = emit(f"call {alias}ptr @nbgrad.grown({given})")
        got, failed = map(writer.label, ("got", "failed"))
        writer.branch_if(emit(f"icmp eq ptr {found}, null"), failed, got)
        writer.begin(failed)
        writer.leave("MemoryError", "no memory for an array")
        writer.begin(got)
        writer.add(f"store ptr {found}, ptr {address}")

    def free(self) -> None:
        """Free the buffers."""
        if not self._places:
            return
        writer = self._writer
        released = declare_free(writer.module.intrinsics)
        count = writer.opaque(Value(str(len(self._places)), INT)).text  # LLVM keeps the loop

        def free() -> None:
            place = self._in_list(writer.values["buffer"].text)
            writer.add(f"call void @{released}(ptr {writer.emit(f'load ptr, ptr {place}')})")

        writer.loop("buffer", "0", count, free)
