"""Optimisers as pure functions of states, gradients and parameters, which are trees.

>>> w = np.array([3.0])
>>> optimiser = nbgrad.optim.SGD(0.25)
>>> state = optimiser.init(w)
>>> state, w = optimiser.update(state, 2.0 * w, w)
>>> w, state["step"]
(array([1.5]), 1)

A whole step, the loss and its gradient and the update, is one function that `nbgrad.compile`
takes. A rate is a number or a schedule: a function of how many updates were made. Leaves without
a gradient, such as integers, stay as they are.
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
