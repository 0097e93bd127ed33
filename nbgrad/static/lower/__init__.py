"""Lowering: a recorded program in terms of about fifteen kinds of values.

`values` are the kinds, `graph` makes them and rewrites as it does, `algebra` holds the rules for
scalar code, `lowering` walks a program and asks each row for its form, `loop` is that of loops,
`check` tests a result.
"""

from .graph import Graph
from .lowering import lower

__all__ = ["Graph", "lower"]
