"""Sparse Jacobians and Hessians by colouring, and sparse matrices as operands."""

from .matrices import sparse_hessian, sparse_jacobian

__all__ = ["sparse_hessian", "sparse_jacobian"]
