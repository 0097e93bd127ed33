"""First-order optimisers.

`init(parameters)` returns the initial state, and `update(state, gradients, parameters)` the next
state and parameters. A state is a dict of trees like the parameters, and "step" is the number of
updates. In formulas, g is the gradient, w a parameter, and t the number of the update, from 1.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.primitive import shape_of
from .leaves import each, like, zeros_like
from .schedules import Rate, rate_at

State = dict[str, Any]


@dataclass(frozen=True)
class SGD:
    """Gradient descent: w = w - rate * g.

    With momentum, v = momentum * v + g and w = w - rate * v; with Nesterov's momentum,
    w = w - rate * (g + momentum * v) with the new v.

    >>> optimiser = nbgrad.optim.SGD(0.1)
    >>> state, w = optimiser.update(optimiser.init(1.0), 2.0, 1.0)
    >>> round(float(w), 6)
    0.8
    """

    rate: Rate
    momentum: float = 0.0
    nesterov: bool = False

    def init(self, parameters: Any) -> State:
        state: State = {"step": 0}
        if self.momentum:
            state["velocity"] = zeros_like(parameters)
        return state

    def update(self, state: State, gradients: Any, parameters: Any) -> tuple[State, Any]:
        rate, momentum = rate_at(self.rate, state["step"]), self.momentum
        after: State = {"step": state["step"] + 1}
        if not momentum:
            move = lambda g, w: (w - like(rate, w) * g,)  # noqa: E731
            (parameters,) = each("SGD", move, gradients, parameters)
            return after, parameters

        def step(g: Any, w: Any, v: Any) -> tuple:
            v = momentum * v + g
            return w - like(rate, w) * (g + momentum * v if self.nesterov else v), v

        parameters, after["velocity"] = each("SGD", step, gradients, parameters, state["velocity"])
        return after, parameters


@dataclass(frozen=True)
class RMSProp:
    """RMSProp (Hinton, 2012).

    s = decay * s + (1 - decay) * g * g, w = w - rate * g / (sqrt(s) + epsilon).

    >>> optimiser = nbgrad.optim.RMSProp(0.1)
    >>> state, w = optimiser.update(optimiser.init(1.0), 2.0, 1.0)
    >>> round(float(w), 6)
    0.0
    """

    rate: Rate = 0.01
    decay: float = 0.99
    epsilon: float = 1e-8

    def init(self, parameters: Any) -> State:
        return {"step": 0, "square": zeros_like(parameters)}

    def update(self, state: State, gradients: Any, parameters: Any) -> tuple[State, Any]:
        rate = rate_at(self.rate, state["step"])

        def step(g: Any, w: Any, s: Any) -> tuple:
            s = self.decay * s + (1.0 - self.decay) * (g * g)
            return w - like(rate, w) * g / (np.sqrt(s) + self.epsilon), s

        parameters, square = each("RMSProp", step, gradients, parameters, state["square"])
        return {"step": state["step"] + 1, "square": square}, parameters


@dataclass(frozen=True)
class Adam:
    """Adam (Kingma and Ba, 2015).

    m = beta1 * m + (1 - beta1) * g, s = beta2 * s + (1 - beta2) * g * g,
    w = w - rate * (m / (1 - beta1**t)) / (sqrt(s / (1 - beta2**t)) + epsilon).

    >>> optimiser = nbgrad.optim.Adam(0.1)
    >>> state, w = optimiser.update(optimiser.init(1.0), 2.0, 1.0)
    >>> round(float(w), 6)
    0.9
    """

    rate: Rate = 0.001
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8

    def init(self, parameters: Any) -> State:
        return {"step": 0, "mean": zeros_like(parameters), "square": zeros_like(parameters)}

    def update(self, state: State, gradients: Any, parameters: Any) -> tuple[State, Any]:
        rate, t = rate_at(self.rate, state["step"]), state["step"] + 1
        mean_share, square_share = 1.0 - self.beta1**t, 1.0 - self.beta2**t

        def step(g: Any, w: Any, m: Any, s: Any) -> tuple:
            m = self.beta1 * m + (1.0 - self.beta1) * g
            s = self.beta2 * s + (1.0 - self.beta2) * (g * g)
            root = np.sqrt(s / like(square_share, w)) + self.epsilon
            moved = w - like(rate, w) * (m / like(mean_share, w)) / root
            return moved - self._decay(rate, w), m, s

        parameters, mean, square = each(
            "Adam", step, gradients, parameters, state["mean"], state["square"]
        )
        return {"step": t, "mean": mean, "square": square}, parameters

    def _decay(self, rate: Any, w: Any) -> Any:
        return 0.0


@dataclass(frozen=True)
class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019).

    Subtracts rate * decay * w from arrays with at least two axes, so that biases, scales and
    running statistics do not decay.

    >>> optimiser = nbgrad.optim.AdamW(0.1)
    >>> state, w = optimiser.update(optimiser.init(1.0), 2.0, 1.0)
    >>> round(float(w), 6)
    0.9
    """

    decay: float = 0.01

    def _decay(self, rate: Any, w: Any) -> Any:
        return like(rate * self.decay, w) * w if len(shape_of(w)) > 1 else 0.0
