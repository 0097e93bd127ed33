"""Ways in: from Python, from `@njit` code and from C into a program's core, and their checks."""
