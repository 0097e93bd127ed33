"""Functions with loops, compiled by Numba, that have derivatives."""
