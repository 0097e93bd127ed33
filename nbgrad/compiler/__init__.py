"""From Python functions and from the kernel IR to machine code: front end, Numba's boundary, the
disk cache."""

from . import sources as sources  # first of all: it hashes the modules that are imported next
