"""Code as data: scalar expressions, loops over buffers, and what reads them.

`scalar` holds what happens to one element, `functions` what is known of the functions in it, `loops`
the statements of a kernel. `numba` prints kernels as text for Numba, `interpret` runs them in plain
Python: neither knows the other.
"""
