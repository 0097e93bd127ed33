"""Code as data: scalar expressions, loops over buffers, and what reads them.

`scalar` holds what happens to one element, `functions` what is known of the functions in it,
`statements` the statements of a kernel, `core` those of a program. `numba` prints them for Numba,
`interpret` runs them in plain Python, by what `meaning` says of each statement: neither knows the
other. `show` prints them for people, `check` tests them.
"""
