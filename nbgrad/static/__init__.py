"""The static tier: recorded functions, compiled to machine code.

`function` and `variant` run the stages, each of which has its own data: `trace` (equations of
primitives), `lower` (about twenty kinds of values), `schedule` (which values have a buffer, which
share a loop nest), `loops` (kernels, cores, memory) and `entry` (machine code and entry points).
`reads` finds what a function reads besides its arguments, `inspect` prints the stages, and `jit` is
for compiled functions inside of transformations.
"""

from .compiling import compile
from .function import StaticFunction

__all__ = ["StaticFunction", "compile"]
