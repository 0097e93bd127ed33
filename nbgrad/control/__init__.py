"""Steps that repeat, and choices: `loop`, `scan`, `while_loop`, `cond`, the same in both tiers."""

from .conditional import cond
from .repeated import loop, scan
from .until import while_loop

__all__ = ["cond", "loop", "scan", "while_loop"]
