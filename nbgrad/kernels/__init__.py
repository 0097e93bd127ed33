"""The ground floor: Numba kernels on contiguous arrays.

Kernels know arrays, not graphs. They write into outputs that the caller gives and allocate
nothing. The functions beside them prepare arrays for a kernel and give it its output.
"""

from .jit import sources as sources  # first of all: it hashes the modules that are imported next
