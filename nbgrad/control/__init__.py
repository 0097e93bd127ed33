"""Differentiable control flow for both tiers: `loop`, `scan`, `while_loop`, `cond`."""

from .conditional import cond
from .repeated import loop, scan
from .until import while_loop

__all__ = ["cond", "loop", "scan", "while_loop"]
