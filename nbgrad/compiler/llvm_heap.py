"""Memory of the heap for code, as LLVM assembly."""

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..ir.statements import New
from .llvm_ops import INT, Value

if TYPE_CHECKING:
    from .llvm_function import BodyWriter

__all__ = ["Heap", "declare_room"]

# Pages of 4 kB cost more than the arithmetic on large buffers that are filled once, and glibc gets
# those from 32 MB on from the system at each call. NumPy asks for huge pages from 4 MB on, too.
_LARGE = 1 << 22
_HUGE_PAGES = 14  # MADV_HUGEPAGE of Linux

_ADVISED = f"""define internal noalias ptr @nbgrad.room(ptr %old, i64 %size) noinline {{
  %found = call ptr @realloc(ptr %old, i64 %size)
  %large = icmp sge i64 %size, {_LARGE}
  br i1 %large, label %advise, label %done
advise:
  %address = ptrtoint ptr %found to i64
  %up = add i64 %address, 4095
  %first = and i64 %up, -4096
  %last = add i64 %address, %size
  %length = sub i64 %last, %first
  %start = inttoptr i64 %first to ptr
  %ignored = call i32 @madvise(ptr %start, i64 %length, i32 {_HUGE_PAGES})
  br label %done
done:
  ret ptr %found
}}"""

# A buffer that is large enough is kept. One call, as each branch in a function with many buffers
# costs LLVM time.
_GROWN = """define internal noalias ptr @nbgrad.grown(ptr %old, i64 %before, i64 %size, i1 %cleared)
  noinline {
  %more = icmp sgt i64 %size, %before
  br i1 %more, label %grow, label %kept
kept:
  ret ptr %old
grow:
  %found = call ptr @room(ptr %old, i64 %size)
  %got = icmp ne ptr %found, null
  %clears = and i1 %got, %cleared
  br i1 %clears, label %clear, label %done
clear:
  %start = getelementptr i8, ptr %found, i64 %before
  %length = sub i64 %size, %before
  call void @llvm.memset.p0.i64(ptr %start, i8 0, i64 %length, i1 false)
  br label %done
done:
  ret ptr %found
}"""


def declare_room(declared: dict[str, str]) -> str:
    """Declare the function `ptr(ptr, i64)` that is `realloc`; its name. On Linux it asks for huge
    pages where much memory is needed."""
    declared["realloc"] = "declare ptr @realloc(ptr, i64)"
    if not sys.platform.startswith("linux"):
        return "realloc"
    declared["madvise"] = "declare i32 @madvise(ptr, i64, i32)"
    declared["nbgrad.room"] = _ADVISED
    return "nbgrad.room"


class Heap:
    """The buffers of a function on the heap, which have no memory where it begins.

    LLVM keeps their addresses in registers. A list in memory holds the addresses to be freed, too:
    otherwise a function with many buffers would move all of these registers wherever it may raise.
    """

    def __init__(self, writer: "BodyWriter"):
        self._writer = writer
        self._places: dict[str, tuple[str, str, int]] = {}  # of address and size; in the list
        self._list = ""

    def __contains__(self, buffer: Any) -> bool:
        return buffer in self._places

    def __bool__(self) -> bool:
        return bool(self._places)

    def reserve(self, buffers: Iterable[str]) -> None:
        """Reserve room for the addresses of buffers."""
        names, writer = list(dict.fromkeys(buffers)), self._writer
        if names:
            self._list = writer.allocate("ptr", len(names))
        for i, name in enumerate(names):
            address, size = writer.allocate("ptr"), writer.allocate("i64")
            self._places[name] = address, size, i
            writer.add(f"store ptr null, ptr {address}")
            writer.add(f"store i64 0, ptr {size}")
            writer.add(f"store ptr null, ptr {self._in_list(str(i))}")

    def _in_list(self, i: str) -> str:
        return self._writer.emit(f"getelementptr ptr, ptr {self._list}, i64 {i}")

    def pointer(self, buffer: str) -> str:
        """The address of a buffer."""
        return self._writer.emit(f"load ptr, ptr {self._places[buffer][0]}")

    def make(self, new: New) -> None:
        """Write a statement that makes a buffer, or a larger one."""
        writer, (address, room, i) = self._writer, self._places[new.target]
        emit, add = writer.emit, writer.add
        declared = writer.module.intrinsics
        declared["llvm.memset"] = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
        declared["nbgrad.grown"] = _GROWN.replace("@room", f"@{declare_room(declared)}")
        wanted = emit(f"mul i64 {writer.operand(new.count).text}, {new.dtype.itemsize}")
        before, old = emit(f"load i64, ptr {room}"), emit(f"load ptr, ptr {address}")
        half = emit(f"lshr i64 {before}, 1")
        more = emit(f"icmp sgt i64 {wanted}, {before}")
        total = emit(f"select i1 {more}, i64 {emit(f'add i64 {wanted}, {half}')}, i64 {before}")
        cleared = "true" if new.cleared else "false"
        given = f"ptr {old}, i64 {before}, i64 {total}, i1 {cleared}"
        found = emit(f"call ptr @nbgrad.grown({given})")
        got, failed = map(writer.label, ("got", "failed"))
        lacks, some = emit(f"icmp eq ptr {found}, null"), emit(f"icmp ne i64 {total}, 0")
        writer.branch_if(emit(f"and i1 {lacks}, {some}"), failed, got)
        writer.begin(failed)
        writer.leave("MemoryError", "no memory for an array")
        writer.begin(got)
        add(f"store ptr {found}, ptr {address}")
        add(f"store ptr {found}, ptr {self._in_list(str(i))}")
        add(f"store i64 {total}, ptr {room}")

    def free(self) -> None:
        """Free the buffers."""
        if not self._places:
            return
        writer = self._writer
        writer.module.intrinsics["free"] = "declare void @free(ptr)"
        count = writer.opaque(Value(str(len(self._places)), INT)).text  # LLVM keeps the loop

        def free() -> None:
            place = self._in_list(writer.values["buffer"].text)
            writer.add(f"call void @free(ptr {writer.emit(f'load ptr, ptr {place}')})")

        writer.loop("buffer", "0", count, free)
