"""Optimisers with autograd's interface: `adam(grad, x0)`, where `grad(x, i)` is the gradient in
step i. `nbgrad.optim` has optimisers with schedules and explicit states.

>>> adam(lambda x, i: 2 * (x - 3.0), np.zeros(1), num_iters=200, step_size=0.1).round(2)
array([3.])
"""

from collections.abc import Callable
from typing import Any

from .. import optim
from ..transforms import trees

__all__ = ["adam", "rmsprop", "sgd"]


def sgd(
    grad: Callable,
    x0: Any,
    callback: Callable | None = None,
    num_iters: int = 200,
    step_size: float = 0.1,
    mass: float = 0.9,
) -> Any:
    """Gradient descent with momentum: v = mass * v - (1 - mass) * g, x = x + step_size * v."""
    rule = optim.SGD(step_size * (1.0 - mass), mass)
    return _descend(rule, rule.init(x0), grad, x0, callback, num_iters)


def rmsprop(
    grad: Callable,
    x0: Any,
    callback: Callable | None = None,
    num_iters: int = 100,
    step_size: float = 0.1,
    gamma: float = 0.9,
    eps: float = 1e-8,
) -> Any:
    """RMSProp: steps divided by the root of the running mean square, whose initial value is 1."""
    rule = optim.RMSProp(step_size, gamma, eps)
    state = rule.init(x0)
    leaves, rebuild = trees.flatten(state["square"])
    state["square"] = rebuild([x if x is None else x + 1.0 for x in leaves])
    return _descend(rule, state, grad, x0, callback, num_iters)


def adam(
    grad: Callable,
    x0: Any,
    callback: Callable | None = None,
    num_iters: int = 100,
    step_size: float = 0.001,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
) -> Any:
    """Adam (Kingma and Ba, 2015)."""
    rule = optim.Adam(step_size, b1, b2, eps)
    return _descend(rule, rule.init(x0), grad, x0, callback, num_iters)


def _descend(
    rule: Any, state: dict, grad: Callable, x: Any, callback: Callable | None, num_iters: int
) -> Any:
    """Return x after `num_iters` steps. `callback(x, i, g)` is called before each step."""
    for i in range(num_iters):
        g = grad(x, i)
        if callback:
            callback(x, i, g)
        state, x = rule.update(state, g, x)
    return x
