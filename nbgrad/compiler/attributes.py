"""Instructions that set LLVM function attributes.

A kernel calls them in its first lines. In plain Python they do nothing.
"""

from .instruction import instruction

__all__ = ["minsize", "noalias", "noinline", "wide_vectors"]


@instruction
def noalias() -> None:
    """No two array arguments overlap. Otherwise LLVM compares addresses before a loop, treats short
    arrays within a few vectors of each other as overlapping, and does not vectorize there: a sum
    would have other bits than elsewhere."""


@instruction
def noinline() -> None:
    """Compile the function once, not once per call site."""


@instruction
def minsize() -> None:
    """`noinline`, and do not vectorize loops: LLVM takes long for it and nothing is gained."""


@instruction
def wide_vectors() -> None:
    """Allow 512-bit vectors, for loops that are limited by computation, not by memory."""
