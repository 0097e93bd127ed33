"""Entry points of programs: from Python, from `@njit` code and from C, with argument checks."""
