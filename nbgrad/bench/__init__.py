"""The board: workloads written once for every library, by hand in NumPy and Numba, and measured.

``nbgrad bench`` runs them in processes of their own, checks every result against gradients derived
by hand, and writes what it measured as a page, tables and one picture. `benchmarks/` measures the
same workloads by pytest-benchmark.
"""
