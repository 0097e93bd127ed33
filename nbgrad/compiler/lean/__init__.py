"""A front end for kernels: from Python's syntax tree to LLVM code in one walk.

Numba reads bytecode, infers types over the whole of a function and lowers what it found: some 50
times the time that LLVM takes for it. Kernels are written in a small part of Python, with types
that follow from those of their arguments line by line, so one walk does for them. Whatever it has
no words for, it leaves to Numba: both mean the same.
"""
