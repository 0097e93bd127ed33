"""Gradients for people who write NumPy and Numba."""

from .errors import (
    CacheWarning,
    DimensionMismatch,
    GraphError,
    NbgradError,
    NoRuleError,
    TraceError,
    UntrackedError,
)
from .kernels._jit import stats
from .rules.elementwise import abs2_of as abs2
from .rules.elementwise import relu, sigmoid
from .rules.layout import hcat
from .rules.loss import logit_cross_entropy, logsoftmax, logsumexp, mse, softmax
from .transforms import grad, gradient, jvp, value_and_grad
from .tracked import TrackedArray, accum, reset, track
from .static import compile

__version__ = "0.1.0"
