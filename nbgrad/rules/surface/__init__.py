"""NumPy's functions that are made of other rows, calls of ufuncs, and writes in place."""

# ruff: noqa: F401 - importing a module registers its rows

from . import (
    choices,
    counting,
    definitions,
    diagonals,
    joining,
    moments,
    nan,
    numerics,
    padding,
    parts,
    plain,
    polynomials,
    quantiles,
    sets,
    shape,
    ufunc_calls,
    ufunc_methods,
    writes,
)
