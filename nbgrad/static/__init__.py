"""The static tier: a recorded function as one Numba function.

Stages, each with data of its own: `trace` (equations of primitives), `lower` (about fifteen kinds
of values), `schedule` (what has a buffer, what shares a loop nest), `loops` (kernels, cores,
memory), `entry` (text and ways in), `inspect` (what a compiled program does).
"""

from .function import StaticFunction, compile

__all__ = ["StaticFunction", "compile"]
