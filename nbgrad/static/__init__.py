"""The static tier: a recorded function as one Numba function."""

from . import drawing as drawing
from . import loopform as loopform
from .function import StaticFunction, compile

__all__ = ["StaticFunction", "compile"]
