"""Optimisers as pure functions of state, gradients and parameters, which are trees.

>>> w = np.array([3.0])
>>> optimiser = nbgrad.optim.SGD(0.25)
>>> state = optimiser.init(w)
>>> state, w = optimiser.update(state, 2.0 * w, w)
>>> w, state["step"]
(array([1.5]), 1)

`nbgrad.compile` can compile a whole step with loss, gradient and update. A learning rate is a
number or a schedule, a function of the number of updates. Leaves without a gradient, such as
integers, do not change.
"""

from .clipping import Clipped, clip, norm
from .first_order import SGD, Adam, AdamW, RMSProp
from .quasi_newton import lbfgs
from .schedules import constant, cosine, exponential, stepwise, warmup

__all__ = [
    "SGD",
    "Adam",
    "AdamW",
    "Clipped",
    "RMSProp",
    "clip",
    "constant",
    "cosine",
    "exponential",
    "lbfgs",
    "norm",
    "stepwise",
    "warmup",
]
