"""The static tier: a recorded function as one Numba function."""

from .function import StaticFunction, compile

__all__ = ["StaticFunction", "compile"]
