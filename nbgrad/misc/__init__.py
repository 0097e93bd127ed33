"""Tools by the names that programs for autograd use, over what nbgrad has."""

from .flatten import flatten

__all__ = ["flatten"]
