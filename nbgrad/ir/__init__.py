"""Code as data: scalar expressions, and statements over buffers.

`scalar` has what happens to one element, `functions` the functions in it, `statements` the
statements of a kernel, `core` those of a program. `kernel_text` and `numba_text` write them as
Python, `show` as text for people.
"""
