"""Lowering: a recorded program in terms of about twenty kinds of values.

`values` and `buffered` are the kinds, `graph` makes and rewrites values, `algebra` has the rewrites
of scalar code, `lowering` calls the form of each row of a program, `loop` and `choice` lower loops
and branches. `tests/checkers/lowered.py` checks the result.
"""

from .graph import Graph
from .lowering import lower

__all__ = ["Graph", "lower"]
