"""C functions, written against the interfaces of CPython and NumPy: see docs/c_functions.md."""
