"""Tables of public functions of NumPy and SciPy, and how each is supported."""
