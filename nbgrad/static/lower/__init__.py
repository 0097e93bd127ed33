"""Lowering: a recorded program in terms of about fifteen kinds of values.

`values` are the kinds, `graph` makes them and rewrites as it does, `algebra` holds the rules for
scalar code, `forms/` bring each row to values, `lowering` walks a program, `check` tests a result.
"""

from . import forms
from .forms import draws, indexing, layout, loop, matrices, reductions, softmax
from .graph import Graph
from .lowering import has_form, lower

__all__ = [
    "Graph", "draws", "forms", "has_form", "indexing", "layout", "loop", "lower", "matrices",
    "reductions", "softmax",
]  # fmt: skip
