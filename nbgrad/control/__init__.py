"""Differentiable control flow for both tiers: `loop`, `scan`, `while_loop`, `cond`, and the solvers
`newton` and `fixed_point`."""

from .conditional import cond
from .repeated import loop, scan
from .roots import fixed_point, newton
from .until import while_loop

__all__ = ["cond", "fixed_point", "loop", "newton", "scan", "while_loop"]
