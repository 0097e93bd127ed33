"""Rows in terms of the values of `values.py`, by subject."""

from . import indexing, layout, matrices, reductions, softmax
from .table import forms

__all__ = ["forms", "indexing", "layout", "matrices", "reductions", "softmax"]
