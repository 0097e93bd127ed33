"""Ordinary differential equations whose solutions have derivatives."""

from .solution import Solution
from .solving import solve

__all__ = ["Solution", "solve"]
