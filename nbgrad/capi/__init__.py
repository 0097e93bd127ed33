"""C functions, written against the interfaces of CPython and NumPy.

See docs/development/c_functions.md.
"""
