"""Matrix products, systems, inverses, factors and functions of matrices."""

# ruff: noqa: F401 - importing a module registers its rows

from . import (
    banded,
    cholesky,
    decompositions,
    einsum,
    matmul,
    matrices,
    matrix_functions,
    products,
    singular,
    sylvester,
    symmetric,
    systems,
    toeplitz,
    triangular,
)
