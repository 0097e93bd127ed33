"""Steps of Hamiltonian Monte Carlo: momenta, leapfrog steps, and the adaptation of the step size.

A chain is a few arrays. `work` has rows of n numbers, of which the first four are the point that
moves: its position, momentum, velocity and gradient of the log density. The density is machine code
`i32 run(words, numbers)`: `words` hold the addresses of the position and of the gradient, which are
rows of `work`, and of all that the density reads; `numbers` gets the log density.
"""

import ctypes
import math

import numpy as np

from ..compiler.instruction import instruction
from ..compiler.kernel import device
from ..compiler.pointers import move, shift
from .random import block, fill_normal, unit
from .scalar import exp, log, radd

__all__ = ["adapted", "at_rest", "found_step", "kinetic", "leaped", "momentum", "uniform_draw"]

POSITION, MOMENTUM, VELOCITY, GRADIENT = range(4)
"""Rows of the point that moves."""
CODE, SIZE, DENSE, LENGTH, KIND, ADAPTS, FAILED, STOPPED = range(8)
"""Integers of a chain: the address of the density, n, whether the mass matrix is dense, the largest
depth of a tree or the number of leapfrog steps, the sampler, whether the step size is adapted, the
status of the density where it raised, and whether the chain must stop."""
STEP, MEAN, ERROR, GOAL, ROUNDS, TARGET, HERE = range(7)
"""Floats of a chain: the step size, the average of its logarithms, the average of the errors of
acceptance, the value that the logarithm shrinks to, the number of adaptations, the acceptance to
reach, and the log density of the chain's position."""

_SCALE, _DELAY, _POWER = 0.05, 10.0, 0.75


@instruction(row=("c_function", "", np.dtype(np.int32)))
def called(code, words, numbers):
    """Call the machine code at an address."""
    function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(int(code))
    return function(words.ctypes.data, numbers.ctypes.data)


@device
def evaluated(chain, words, numbers):
    """The log density of the position, and its gradient in place; -inf for nan."""
    status = called(chain[CODE], words, numbers)
    if status != 0:
        chain[FAILED] = status
        return -math.inf
    value = numbers[0]
    if value != value:
        return -math.inf
    return value


@device
def uniform_draw(random):
    """A number in [0, 1)."""
    bits = block(np.uint64(random[0]), np.uint64(random[1]))[0]
    random[1] += 1
    return unit(bits)


@device
def multiplied(matrix, x, out, n):
    """out = matrix @ x."""
    for i in range(n):
        total = 0.0
        for j in range(n):
            total = radd(total, matrix[i * n + j] * x[j])
        out[i] = total


@device
def velocity(chain, inverse, p, out):
    """The product of the inverse mass matrix with a momentum."""
    n = chain[SIZE]
    if chain[DENSE] != 0:
        multiplied(inverse, p, out, n)
    else:
        for i in range(n):
            out[i] = inverse[i] * p[i]


@device
def momentum(chain, random, inverse, factor, point):
    """Draw the momentum of the point, and set its velocity; `factor` times its transpose is the
    mass matrix. The velocity's row holds the normal numbers before."""
    n = chain[SIZE]
    p, v = shift(point, MOMENTUM * n), shift(point, VELOCITY * n)
    fill_normal(random, v, n, 0.0, 1.0)
    random[1] += (n + 1) // 2
    if chain[DENSE] != 0:
        multiplied(factor, v, p, n)
    else:
        for i in range(n):
            p[i] = factor[i] * v[i]
    velocity(chain, inverse, p, v)


@device
def kinetic(point, n):
    """The kinetic energy of the point."""
    p, v = shift(point, MOMENTUM * n), shift(point, VELOCITY * n)
    total = 0.0
    for i in range(n):
        total = radd(total, p[i] * v[i])
    return 0.5 * total


@device
def leaped(chain, words, numbers, inverse, point, step):
    """Move the point by one leapfrog step; the log density there."""
    n = chain[SIZE]
    q, p, v = point, shift(point, MOMENTUM * n), shift(point, VELOCITY * n)
    g = shift(point, GRADIENT * n)
    half = 0.5 * step
    for i in range(n):
        p[i] += half * g[i]
    velocity(chain, inverse, p, v)
    for i in range(n):
        q[i] += step * v[i]
    value = evaluated(chain, words, numbers)
    for i in range(n):
        p[i] += half * g[i]
    velocity(chain, inverse, p, v)
    return value


@device
def at_rest(chain, point, kept):
    """Put the point at the chain's position, of which `kept` has the position and the gradient."""
    n = chain[SIZE]
    move(point, kept, n)
    move(shift(point, GRADIENT * n), shift(kept, n), n)


@device
def found_step(chain, floats, random, words, numbers, inverse, factor, point, kept):
    """Find a step size by doubling or halving, until one step changes the acceptance past 0.8
    (Hoffman and Gelman, 2014, algorithm 4), and start its adaptation there."""
    step, direction, goes_on = floats[STEP], 0, True
    while goes_on and chain[FAILED] == 0 and 1e-300 < step and step < 1e300:
        at_rest(chain, point, kept)
        momentum(chain, random, inverse, factor, point)
        n = chain[SIZE]
        before = kinetic(point, n) - floats[HERE]
        value = leaped(chain, words, numbers, inverse, point, step)
        change = before - (kinetic(point, n) - value)
        wanted = 1 if change > -0.22314355131420976 else -1  # log 0.8
        if direction == 0:
            direction = wanted
        goes_on = direction == wanted
        if goes_on:
            step = 2.0 * step if direction == 1 else 0.5 * step
    floats[STEP] = step
    floats[GOAL], floats[MEAN] = log(10.0 * step), 0.0
    floats[ERROR], floats[ROUNDS] = 0.0, 0.0


@device
def adapted(floats, acceptance):
    """Adapt the step size by dual averaging (Hoffman and Gelman, 2014, section 3.2)."""
    floats[ROUNDS] += 1.0
    rounds = floats[ROUNDS]
    share = 1.0 / (rounds + _DELAY)
    floats[ERROR] = (1.0 - share) * floats[ERROR] + share * (floats[TARGET] - acceptance)
    wanted = floats[GOAL] - floats[ERROR] * math.sqrt(rounds) / _SCALE
    share = exp(-_POWER * log(rounds))
    floats[MEAN] = (1.0 - share) * floats[MEAN] + share * wanted
    floats[STEP] = exp(wanted)
