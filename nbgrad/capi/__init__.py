"""C functions that Python calls, written against the interfaces of CPython and NumPy."""
