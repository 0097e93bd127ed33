"""Transformations of functions: `grad`, `vjp`, `jvp`, `vmap`, `jacobian`, `hessian` and others."""

from .batching import map, vmap
from .checkpoint import checkpoint, stop_gradient
from .custom import CustomRule, custom_rule
from .forward import jvp, pushforward
from .jacobians import hessian, hvp, jacobian
from .linear import LinearMap, linear_transpose, linearize
from .pullbacks import pullback, rrule
from .reverse import elementwise_grad, grad, gradient, value_and_grad, vjp
from .seeded import accum, reset
from .solutions import implicit
from .trees import register

__all__ = [
    "CustomRule",
    "LinearMap",
    "accum",
    "checkpoint",
    "custom_rule",
    "elementwise_grad",
    "grad",
    "gradient",
    "hessian",
    "hvp",
    "implicit",
    "jacobian",
    "jvp",
    "linear_transpose",
    "linearize",
    "map",
    "pullback",
    "pushforward",
    "register",
    "reset",
    "rrule",
    "stop_gradient",
    "value_and_grad",
    "vjp",
    "vmap",
]
