"""Gradients for people who write NumPy and Numba.

>>> x, y = nbgrad.track(2.0), nbgrad.track(3.0)
>>> z = x * y + np.sin(x)
>>> z.backward()
>>> float(x.grad), float(y.grad)
(2.5838531634528574, 2.0)
"""

from typing import TYPE_CHECKING

from . import constants as constants
from . import random as random
from .check import check_grads
from .descent import descend, minimize
from .errors import (
    CacheWarning,
    DimensionMismatch,
    GraphError,
    NanError,
    NbgradError,
    NoRuleError,
    TraceError,
    UntrackedError,
)
from .kernels._jit import stats
from .leaves import accum, reset, track
from .loops import loop, scan
from .modes import detect_nan, no_tracking
from .rules.activation import elu, erf, gelu, leaky_relu, relu, sigmoid, softplus
from .rules.elementwise import abs2_of as abs2
from .rules.layout import array, hcat
from .rules.loss import cross_entropy, hinge_loss, logit_cross_entropy, mse
from .rules.polynomial import evalpoly
from .rules.softmax import logsoftmax, logsumexp, softmax
from .show import draw, print_tree, show
from .static import StaticFunction, compile
from .tracked import TrackedArray
from .transforms import grad, gradient, jvp, value_and_grad
from .warmup import warmup

if TYPE_CHECKING:
    from . import elimination as elimination

__version__ = "0.1.0"

__all__ = [
    "CacheWarning",
    "DimensionMismatch",
    "GraphError",
    "NanError",
    "NbgradError",
    "NoRuleError",
    "StaticFunction",
    "TraceError",
    "TrackedArray",
    "UntrackedError",
    "abs2",
    "accum",
    "array",
    "check_grads",
    "compile",
    "cross_entropy",
    "descend",
    "detect_nan",
    "draw",
    "elu",
    "erf",
    "evalpoly",
    "gelu",
    "grad",
    "gradient",
    "hcat",
    "hinge_loss",
    "jvp",
    "leaky_relu",
    "logit_cross_entropy",
    "logsoftmax",
    "logsumexp",
    "loop",
    "minimize",
    "mse",
    "no_tracking",
    "print_tree",
    "relu",
    "reset",
    "scan",
    "show",
    "sigmoid",
    "softmax",
    "softplus",
    "stats",
    "track",
    "value_and_grad",
    "warmup",
]


def __getattr__(name: str):
    """Modules that load on first use."""
    if name == "elimination":
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
