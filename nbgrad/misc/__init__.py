"""Utilities under the names of `autograd.misc`."""

from .flatten import flatten

__all__ = ["flatten"]
