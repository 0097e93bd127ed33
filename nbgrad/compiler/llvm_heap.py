"""Memory of the heap for code, as LLVM assembly."""

import sys

__all__ = ["declare_room"]

# Pages of 4 kB cost more than the arithmetic on large buffers that are filled once, and glibc gets
# those from 32 MB on from the system at each call. NumPy asks for huge pages from 4 MB on, too.
_LARGE = 1 << 22
_HUGE_PAGES = 14  # MADV_HUGEPAGE of Linux

_ADVISED = f"""define internal ptr @nbgrad.room(ptr %old, i64 %size) noinline {{
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


def declare_room(declared: dict[str, str]) -> str:
    """Declare the function `ptr(ptr, i64)` that is `realloc`; its name. On Linux it asks for huge
    pages where much memory is needed."""
    declared["realloc"] = "declare ptr @realloc(ptr, i64)"
    if not sys.platform.startswith("linux"):
        return "realloc"
    declared["madvise"] = "declare i32 @madvise(ptr, i64, i32)"
    declared["nbgrad.room"] = _ADVISED
    return "nbgrad.room"
