"""Automatic differentiation for NumPy and Numba.

>>> x, y = nbgrad.track(2.0), nbgrad.track(3.0)
>>> z = x * y + np.sin(x)
>>> z.backward()
>>> float(x.grad), float(y.grad)
(2.5838531634528574, 2.0)
"""

from . import stopping as stopping  # first, to handle Ctrl-C during the imports below

# isort: split

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import MissingAttribute
from .runtime.gc_freeze import into_oldest_generation as _into_oldest_generation
from .runtime.interpreter import require_gil as _require_gil

_require_gil()
with _into_oldest_generation():
    from . import random as random
    from .check import check_grads
    from .complex import ComplexArray
    from .control import cond, fixed_point, loop, newton, scan, while_loop
    from .core.modes import detect_changes, detect_nan, no_tracking
    from .descent import descend, minimize
    from .errors import (
        CacheWarning,
        CheckpointError,
        ConstantWarning,
        DimensionMismatch,
        GraphError,
        LeakedValueError,
        MissingExtra,
        NanError,
        NbgradError,
        NoRuleError,
        TraceError,
        UntrackedError,
        WorkerError,
    )
    from .estimators import TraceEstimate, divergence, trace_estimate
    from .loops.njit import njit
    from .loops.steps import steps
    from .rules.activation import elu, erf, gelu, leaky_relu, relu, sigmoid, softplus
    from .rules.arithmetic import abs2_of as abs2
    from .rules.assign import at
    from .rules.evalpoly import evalpoly
    from .rules.layout import array
    from .rules.loss import cross_entropy, hinge_loss, logit_cross_entropy, mse
    from .rules.softmax import logsoftmax, logsumexp, softmax
    from .rules.surface.joining import c_, hcat, r_
    from .runtime.heap import keep as _keep_memory
    from .runtime.heap import trim
    from .static import StaticFunction, compile
    from .threads.pool import get_threads, set_threads
    from .transforms import (
        accum,
        checkpoint,
        custom_rule,
        elementwise_grad,
        grad,
        gradient,
        hessian,
        hvp,
        implicit,
        jacobian,
        jvp,
        linear_transpose,
        linearize,
        map,
        pullback,
        pushforward,
        register,
        reset,
        rrule,
        stop_gradient,
        value_and_grad,
        vjp,
        vmap,
    )
    from .transforms.elementwise import custom_elementwise
    from .values import creation as creation
    from .values.track import track
    from .values.tracked import TrackedArray
    from .warmup import warmup

if TYPE_CHECKING:
    from . import data as data
    from . import elimination as elimination
    from . import extend as extend
    from . import linalg as linalg
    from . import misc as misc
    from . import nn as nn
    from . import ode as ode
    from . import optim as optim
    from . import parallel as parallel
    from . import sample as sample
    from . import scipy as scipy
    from . import special as special
    from . import train as train
    from .misc.operators import deriv as deriv
    from .misc.operators import grad_and_aux as grad_and_aux
    from .misc.operators import hessian_vector_product as hessian_vector_product
    from .misc.operators import make_hvp as make_hvp
    from .misc.operators import make_jvp as make_jvp
    from .misc.operators import make_vjp as make_vjp
    from .misc.operators import vector_jacobian_product as vector_jacobian_product
    from .profiling.profile import profile as profile
    from .scipy.laplace import laplace as laplace
    from .sparse import sparse_hessian, sparse_jacobian
    from .static.inspect.show import draw, print_tree, show
    from .stats import Room

    stats: Room

__version__ = "0.1.0"

__all__ = [
    "CacheWarning",
    "CheckpointError",
    "ComplexArray",
    "ConstantWarning",
    "DimensionMismatch",
    "GraphError",
    "LeakedValueError",
    "MissingExtra",
    "NanError",
    "NbgradError",
    "NoRuleError",
    "StaticFunction",
    "TraceError",
    "TraceEstimate",
    "TrackedArray",
    "UntrackedError",
    "WorkerError",
    "abs2",
    "accum",
    "array",
    "at",
    "c_",
    "check_grads",
    "checkpoint",
    "compile",
    "cond",
    "cross_entropy",
    "custom_elementwise",
    "custom_rule",
    "descend",
    "detect_changes",
    "detect_nan",
    "divergence",
    "draw",
    "elementwise_grad",
    "elu",
    "erf",
    "evalpoly",
    "fixed_point",
    "gelu",
    "get_threads",
    "grad",
    "gradient",
    "hcat",
    "hessian",
    "hinge_loss",
    "hvp",
    "implicit",
    "jacobian",
    "jvp",
    "laplace",
    "leaky_relu",
    "linear_transpose",
    "linearize",
    "logit_cross_entropy",
    "logsoftmax",
    "logsumexp",
    "loop",
    "map",
    "minimize",
    "mse",
    "newton",
    "njit",
    "no_tracking",
    "print_tree",
    "profile",
    "pullback",
    "pushforward",
    "r_",
    "register",
    "relu",
    "reset",
    "rrule",
    "scan",
    "set_threads",
    "show",
    "sigmoid",
    "softmax",
    "softplus",
    "sparse_hessian",
    "sparse_jacobian",
    "stats",
    "steps",
    "stop_gradient",
    "trace_estimate",
    "track",
    "trim",
    "value_and_grad",
    "vjp",
    "vmap",
    "warmup",
    "while_loop",
]


_keep_memory()

_ROOMS = {
    "data", "elimination", "extend", "linalg", "misc", "nn", "ode", "optim", "parallel", "sample",
    "scipy", "special", "stats", "train",
}  # fmt: skip
_AUTOGRADS = {
    "deriv", "grad_and_aux", "hessian_vector_product", "make_hvp", "make_jvp", "make_vjp",
    "vector_jacobian_product",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import modules on first use: `scipy` imports SciPy, and the others are rarely needed."""
    if name in _ROOMS:
        return import_module(f".{name}", __name__)
    if name in _AUTOGRADS:
        return getattr(import_module(".misc.operators", __name__), name)
    if name == "laplace":
        return import_module(".scipy.laplace", __name__).laplace
    if name == "profile":
        return import_module(".profiling", __name__).profile
    if name in ("sparse_hessian", "sparse_jacobian"):
        return getattr(import_module(".sparse", __name__), name)
    if name in ("draw", "print_tree", "show"):
        return getattr(import_module(".static.inspect.show", __name__), name)
    raise MissingAttribute(f"module {__name__!r} has no attribute {name!r}")
