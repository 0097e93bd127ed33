"""Transformations of functions: compositions of tracking, walking and duals, with no rule of their
own."""

from .forward import jvp
from .reverse import grad, gradient, value_and_grad

__all__ = ["grad", "gradient", "jvp", "value_and_grad"]
