"""Numerics: kernels on contiguous arrays, and functions of numbers in `scalar/`.

Kernels know arrays, not graphs. They write into output arrays of the caller and allocate nothing.
The functions beside them prepare the arguments and allocate the output.
"""
