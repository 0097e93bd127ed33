"""Matrix products, systems, inverses, factors and functions of matrices."""

# ruff: noqa: F401 - importing a module registers its rows

from . import (
    banded,
    cholesky,
    compressed,
    decompositions,
    einsum,
    matmul,
    matrices,
    matrix_functions,
    products,
    singular,
    sparse_operands,
    sparse_systems,
    sylvester,
    symmetric,
    systems,
    toeplitz,
    triangular,
)
