# ruff: noqa: E501 (one program a line)
"""Small user programs for tests of all transformations.

The figures of those that have `value` or `slopes` are of the texts they come from: a lab on reverse
mode, a series on automatic differentiation in Julia, its small library, and an article on
elementary steps through a network.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

import nbgrad
from helpers.program_functions import (
    babysqrt,
    bracketed,
    branched,
    by_size,
    counted,
    descended,
    determinant_volume,
    distances,
    energy_force,
    factorisation,
    fibonacci,
    field,
    gaussian_process,
    heat,
    huber,
    implicit_euler,
    interpolated,
    kalman,
    keyword,
    leapfrog,
    logistic,
    masked,
    mixture,
    newton_root,
    outputs,
    pendulum,
    poisson,
    portfolio,
    recursive,
    reused,
    rosenbrock,
    sensitivities,
    shifted,
    superfluous,
    tensors,
    written,
)
from helpers.program_models import (
    Chain,
    Polynomial,
    attention,
    batch_norm,
    call,
    character_network,
    chars,
    classified,
    convolution,
    dense,
    dict_network,
    draw,
    fit,
    layer_norm,
    positive,
    recurrent,
    same,
    squares,
    tied,
)
from nbgrad import relu, sigmoid, softmax


@dataclass(frozen=True, eq=False)
class Program:
    """A function and where it is called.

    `value` is what it gives and `slopes` a cotangent for each argument, where they are known, to
    `digits` decimals. They belong to the cotangent `ct`; one is drawn where it is None. `branches`
    says why Python needs values to run it.
    """

    name: str
    f: Callable
    args: tuple[Any, ...]
    value: Any = None
    slopes: Any = None
    ct: Any = None
    digits: int = 14
    branches: str = ""


SAMPLES = np.array([0.0, 1.0, 2.0, 3.0])
TARGET = (15.0, -2.1, 13.9, 1.5)
GRID = np.linspace(-1.5, 1.5, 6)

PROGRAMS = [
    # The lab on reverse mode
    Program("lab", lambda x, y: x * y + np.sin(x), (2.0, 3.0), 6 + np.sin(2.0), (2.5838531634528574, 2.0)),
    Program("surface", lambda x, y: y * y + np.sin(x), (1.0, 1.0), 1 + np.sin(1.0), (np.cos(1.0), 2.0)),
    Program("descended", descended, (1.0, 1.0), 1.1382910542267546),
    Program("babysqrt", babysqrt, (2.0,), np.sqrt(2.0), (np.sqrt(0.125),)),
    Program("products", lambda x, y: np.sum(x @ y), (np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(3, 2) - 2.0), slopes=(np.tile([-3.0, 1.0, 5.0], (2, 1)), np.tile([[3.0], [5.0], [7.0]], (1, 2)))),
    Program("elements", lambda x, y: np.sum(x * y), (draw(2, 3), draw(2, 3))),
    Program("learned surface", lambda model, x, y: squares(model, nbgrad.hcat(x, y), y * y + np.sin(x)), (Chain((dense(2, 3, sigmoid), dense(3, 1, same))), draw(4), draw(4))),
    Program("flower", lambda model, x, y: fit(model, x, y) / 2, (Chain((dense(2, 3, sigmoid), dense(3, 2, same))), draw(3, 2), np.eye(2)[[0, 1, 1]])),
    # Explicit rules
    Program("composed", lambda x: np.sin(np.cos(x)), (0.6,), 0.73477, (-0.38300,), digits=5),
    Program("polynomial", nbgrad.evalpoly, (2.5, [3.0, 2.0, -3.0, 1.0]), 4.875, (5.75, [1.0, 2.5, 6.25, 15.625])),
    Program("polynomial fit", lambda c: nbgrad.mse(nbgrad.evalpoly(GRID, c), nbgrad.evalpoly(GRID, TARGET)), ([1.0, 0.5, -1.0, 2.0],)),
    Program("mapped", lambda c, x: nbgrad.map(lambda t: nbgrad.evalpoly(t, c), x), (draw(3), draw(4))),
    # The small library
    Program("closure", shifted, (2.0, 3.5), 26.5, (19.5, 3.0)),
    Program("quotient", lambda a, b: a / (a + b * b), (2.1, 3.2), 0.17017828200972446),
    Program("sigmoid", sigmoid, (0.5,), 0.6224593312018546, (0.2350037122015945,)),
    Program("tanh", np.tanh, (0.5,), slopes=(0.7864477329659274,)),
    Program("softmax", softmax, (np.array([2.0, -1.0, 0.5]),), np.array([0.7855970345892759, 0.03911257327068745, 0.1752903921400367]), (np.array([-0.04655011041061041, 0.01837295773064898, 0.028177152679961473]),), np.array([0.46, 0.989, 0.68])),
    Program("logsoftmax", nbgrad.logsoftmax, (np.array([2.0, -1.0, 0.5]),), None, (np.array([-1.3567911037678275, 0.8826622801879377, 0.47412882357988995]),), np.ones(3)),
    Program("losses", lambda x, y: (nbgrad.mse(x, y), nbgrad.cross_entropy(softmax(x), y), nbgrad.hinge_loss(x, y)), (draw(3, 2), positive(3, 2))),
    Program("model", call, (Polynomial(3.0, 2.0, -3.0, 1.0), 2.5), 4.875, (Polynomial(1.0, 2.5, 6.25, 15.625), 5.75)),
    Program("chain of functions", lambda x: Chain((np.cos, np.sin))(x), (0.9,), 0.5823, (-0.6368,), digits=4),
    Program("dense", call, (dense(3, 2, same), draw(4, 3)), ct=np.ones((4, 2))),
    Program("superfluous", superfluous, (draw(3), positive(3))),
    Program("keyword", lambda x, w: keyword(x, power=3, weights=w), (draw(3), draw(3))),
    Program("outputs", outputs, (draw(3), draw(3))),
    Program("reused", reused, (0.7,)),
    # A network on moons
    Program("moons", classified, (Chain((dense(2, 3, relu), dense(3, 3, relu), dense(3, 2, relu))), draw(4, 2), np.eye(2)[[0, 1, 1, 0]])),
    # Elementary steps
    Program("two variables", lambda a, b: (a * b) * (b + 1), (2.0, 3.0), 24.0, (12.0, 14.0)),
    Program("characters", character_network, chars()),
    Program("saturated", lambda w, x: np.sum(reduce(lambda y, _: sigmoid(8 * (y @ w)), range(4), x)), (draw(2, 2), draw(3, 2))),
    Program("field", field, (draw(3),)),
    # Control flow
    Program("branched", branched, (draw(3),), branches="an if on a value"),
    Program("by size", by_size, (draw(3),)),
    Program("Newton", newton_root, (2.0,), 2 ** (1 / 3), (2 ** (-2 / 3) / 3,), digits=12, branches="a while on a value"),
    Program("bracketed", bracketed, (0.5,), np.exp(0.5), branches="an if on a value"),
    Program("masked", masked, (draw(6),), branches="a mask has as many elements as the values say"),
    Program("recursive", recursive, (0.4,)),
    Program("fibonacci", fibonacci, (1.0, 1.0), slopes=None),
    Program("written", written, (draw(4), draw(2))),
    Program("counted", counted, (positive(4), np.array([0, 2, 2]), 3)),
    Program("sorted", interpolated, (np.array([0.3, -1.0, 2.0, 0.9]), draw(4))),
    # Models and networks
    Program("dict network", dict_network, ({"in": {"w": draw(2, 3), "b": draw(3)}, "out": {"w": draw(3, 1)}}, draw(4, 2))),
    Program("tied", tied, (draw(3, 2), draw(2, 3))),
    Program("batch norm", batch_norm, (draw(4, 2), positive(2), draw(2))),
    Program("layer norm", layer_norm, (draw(2, 4), positive(4))),
    Program("attention", attention, (draw(3, 2), draw(4, 2), draw(4, 3))),
    Program("recurrent", recurrent, (draw(2, 2), draw(1, 2), draw(2), draw(4, 1))),
    Program("convolution", convolution, (draw(6), draw(3))),
    # Science
    Program("Rosenbrock", rosenbrock, (np.array([-1.2, 1.0]),), 24.2, (np.array([-215.6, -88.0]),), digits=12),
    Program("Rosenbrock of 5", rosenbrock, (draw(5),)),
    Program("pendulum", pendulum, (draw(2), 1.3)),
    Program("leapfrog", leapfrog, (0.5, 0.2, 1.1)),
    Program("implicit Euler", implicit_euler, (draw(3), draw(3, 3))),
    Program("heat", heat, (draw(5), 0.2)),
    Program("Kalman", kalman, (np.array([[1.0, 0.1], [-0.1, 0.9]]), 0.3, draw(3))),
    Program("Gaussian process", gaussian_process, (0.8, 0.4, draw(4), draw(4))),
    Program("determinant", determinant_volume, (draw(3, 3),)),
    Program("logistic", logistic, (draw(2), 0.1, draw(4, 2), np.array([1.0, -1.0, 1.0, -1.0]))),
    Program("Poisson", poisson, (draw(2), draw(4, 2), np.array([2, 0, 1, 3]))),
    Program("factorisation", factorisation, (draw(3, 2), draw(4, 2), draw(3, 4))),
    Program("mixture", mixture, (draw(2), draw(2), positive(2), draw(4))),
    Program("Huber", huber, (draw(2), draw(4, 2), 3 * draw(4))),
    Program("portfolio", portfolio, (draw(3), draw(5, 3))),
    Program("distances", distances, (draw(2, 3), draw(3, 3))),
    Program("tensors", tensors, (draw(2, 3, 2), draw(2, 2), draw(2))),
    Program("energy and force", energy_force, (positive(3),)),
    Program("sensitivities", sensitivities, (draw(3), draw(3))),
]  # fmt: skip
