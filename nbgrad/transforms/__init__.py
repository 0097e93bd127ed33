"""Transformations of functions: compositions of tracking, walking and duals, with no rule of their
own."""

from .batching import map, vmap
from .forward import jvp, pushforward
from .jacobians import hessian, hvp, jacobian
from .pullbacks import pullback, rrule
from .reverse import elementwise_grad, grad, gradient, value_and_grad, vjp
from .trees import register

__all__ = [
    "elementwise_grad",
    "grad",
    "gradient",
    "hessian",
    "hvp",
    "jacobian",
    "jvp",
    "map",
    "pullback",
    "pushforward",
    "register",
    "rrule",
    "value_and_grad",
    "vjp",
    "vmap",
]
