"""Numerics: kernels on contiguous arrays, and functions of numbers in `scalar/`.

Kernels know arrays, not graphs. They write into outputs that the caller gives and allocate
nothing. The functions beside them prepare arrays for a kernel and give it its output.
"""
