"""Transitions of Hamiltonian Monte Carlo and of the no-U-turn sampler.

The no-U-turn sampler is that of Stan: Hoffman and Gelman (2014) with multinomial sampling and the
generalised criterion of Betancourt (A conceptual introduction to Hamiltonian Monte Carlo, 2017,
appendix A). A trajectory doubles by a subtree of 2**depth points; instead of by recursion, subtrees
of equal size are joined as the digits of a binary counter carry.
"""

import math

from ..compiler.kernel import device, kernel
from ..compiler.pointers import move, pointer, shift
from .hamiltonian import (
    ADAPTS,
    FAILED,
    GRADIENT,
    HERE,
    KIND,
    LENGTH,
    MOMENTUM,
    SIZE,
    STEP,
    STOPPED,
    adapted,
    at_rest,
    evaluated,
    found_step,
    kinetic,
    leaped,
    momentum,
    uniform_draw,
)
from .scalar import exp, log1p, radd

__all__ = [
    "ACCEPTED", "DEPTH", "DIVERGED", "ENERGY", "LEAPS", "STATS", "VALUE", "WIDTH",
    "begin", "length_of_work", "stride", "walk",
]  # fmt: skip

ACCEPTED, LEAPS, DEPTH, DIVERGED, ENERGY, VALUE, WIDTH, STATS = range(8)
"""Statistics of a transition, and their number."""
# Rows of `work` behind the point that moves: the chain's position and gradient; both ends of the
# trajectory, each as the point; the sum of momenta; the momentum and the velocity where the last
# subtree was joined; subtrees.
_KEPT, _ENDS, _SUM, _JOINT, _TREES = 4, 6, 14, 15, 17
# Rows of a subtree: momentum and velocity at its beginning and its end, the sum of its momenta, and
# the position and the gradient that it proposes. A last row has the logarithm of its weight and the
# log density and the energy of the proposal.
_END, _TOTAL, _PROPOSED, _NUMBERS = 2, 4, 5, 7
_LARGEST = 1000.0
"""A transition is divergent if the energy grows by more."""


def length_of_work(n: int, depth: int) -> int:
    """The length of `work` for trees of this depth."""
    return _TREES * n + (depth + 1) * (_NUMBERS * n + 3)


@device
def added_logs(x, y):
    """log(exp(x) + exp(y))."""
    if x == -math.inf:
        return y
    if y == -math.inf:
        return x
    return x + log1p(exp(y - x)) if x > y else y + log1p(exp(x - y))


@device
def persists(far, rho, near, next_rho, next_near, next_far, n):
    """Whether two trajectories, one behind the other, make no U-turn, together or across their
    joint. A pointer to an end is one to its momentum, and its velocity follows."""
    v, w = shift(far, n), shift(next_far, n)
    inner, next_inner = shift(near, n), shift(next_near, n)
    a, b, c, d, e, f = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        total = rho[i] + next_rho[i]
        first, second = rho[i] + next_near[i], next_rho[i] + near[i]
        a = radd(a, v[i] * total)
        b = radd(b, w[i] * total)
        c = radd(c, v[i] * first)
        d = radd(d, next_inner[i] * first)
        e = radd(e, inner[i] * second)
        f = radd(f, w[i] * second)
    return a > 0.0 and b > 0.0 and c > 0.0 and d > 0.0 and e > 0.0 and f > 0.0


@device
def leaf(point, tree, n, weight, value, energy):
    """Make a subtree of one point."""
    p = shift(point, MOMENTUM * n)
    move(tree, p, 2 * n)  # the momentum, and behind it the velocity
    move(shift(tree, _END * n), p, 2 * n)
    move(shift(tree, _TOTAL * n), p, n)
    move(shift(tree, _PROPOSED * n), point, n)
    move(shift(tree, (_PROPOSED + 1) * n), shift(point, GRADIENT * n), n)
    numbers = shift(tree, _NUMBERS * n)
    numbers[0], numbers[1], numbers[2] = weight, value, energy


@device
def propose(tree, source, n):
    """Take over what another subtree proposes."""
    move(shift(tree, _PROPOSED * n), shift(source, _PROPOSED * n), 2 * n)
    numbers, others = shift(tree, _NUMBERS * n), shift(source, _NUMBERS * n)
    numbers[1], numbers[2] = others[1], others[2]


@device
def joined(random, tree, other, n):
    """Join a subtree with the next one; whether there is no U-turn."""
    rho, more = shift(tree, _TOTAL * n), shift(other, _TOTAL * n)
    near, end = shift(tree, _END * n), shift(other, _END * n)
    goes_on = persists(tree, rho, near, more, other, end, n)
    numbers, others = shift(tree, _NUMBERS * n), shift(other, _NUMBERS * n)
    weight = added_logs(numbers[0], others[0])
    if uniform_draw(random) < exp(others[0] - weight):
        propose(tree, other, n)
    numbers[0] = weight
    for i in range(n):
        rho[i] += more[i]
    move(near, end, 2 * n)
    return goes_on


@device
def grown(chain, floats, random, words, numbers, inverse, point, trees, depth, step, start, told):
    """Extend the trajectory from the point by a subtree of 2**depth points, the first of `trees`;
    whether it is complete: no divergence, and no U-turn. `told` has the sum of the acceptances, the
    number of steps, and whether one diverged."""
    n = chain[SIZE]
    size = _NUMBERS * n + 3
    for i in range(1 << depth):
        value = leaped(chain, words, numbers, inverse, point, step)
        energy = kinetic(point, n) - value
        change = start - energy if energy == energy else -math.inf
        told[LEAPS] += 1.0
        told[ACCEPTED] += exp(min(change, 0.0))
        if not -change < _LARGEST:
            told[DIVERGED] = 1.0
            return False
        if chain[STOPPED] != 0:
            return False
        last = 0
        bits = i
        while bits > 0:
            last += bits & 1
            bits >>= 1
        leaf(point, shift(trees, last * size), n, change, value, energy)
        bits = i
        while bits & 1 == 1:
            if not joined(random, shift(trees, (last - 1) * size), shift(trees, last * size), n):
                return False
            last -= 1
            bits >>= 1
    return True


@device
def no_u_turn(chain, floats, random, words, numbers, inverse, factor, work, told):
    """One transition of the no-U-turn sampler."""
    n = chain[SIZE]
    kept, ends = shift(work, _KEPT * n), shift(work, _ENDS * n)
    rho, joint = shift(work, _SUM * n), shift(work, _JOINT * n)
    trees = shift(work, _TREES * n)
    at_rest(chain, work, kept)
    momentum(chain, random, inverse, factor, work)
    start = kinetic(work, n) - floats[HERE]
    told[ENERGY] = start
    move(ends, work, 4 * n)
    move(shift(ends, 4 * n), work, 4 * n)
    move(rho, shift(work, MOMENTUM * n), n)
    weight, depth = 0.0, 0
    goes_on = True
    while goes_on and depth < chain[LENGTH]:
        side = 1 if uniform_draw(random) < 0.5 else 0  # 1 is forward in time
        near, far = shift(ends, 4 * n * side), shift(ends, 4 * n * (1 - side))
        move(joint, shift(near, MOMENTUM * n), 2 * n)
        move(work, near, 4 * n)
        step = floats[STEP] * (2 * side - 1)
        goes_on = grown(
            chain, floats, random, words, numbers, inverse, work, trees, depth, step, start, told
        )
        if goes_on:
            depth += 1
            move(near, work, 4 * n)
            others = shift(trees, _NUMBERS * n)
            if uniform_draw(random) < exp(min(others[0] - weight, 0.0)):
                move(kept, shift(trees, _PROPOSED * n), 2 * n)
                floats[HERE] = others[1]
                told[ENERGY] = others[2]
            weight = added_logs(weight, others[0])
            more = shift(trees, _TOTAL * n)
            goes_on = persists(
                shift(far, MOMENTUM * n), rho, joint, more, trees, shift(trees, _END * n), n
            )
            for i in range(n):
                rho[i] += more[i]
    told[DEPTH] = depth
    told[ACCEPTED] /= told[LEAPS]


@device
def path(chain, floats, random, words, numbers, inverse, factor, work, told):
    """One transition with a given number of steps. Their size is random by 20 %, which keeps paths
    from closing on themselves."""
    n = chain[SIZE]
    kept = shift(work, _KEPT * n)
    at_rest(chain, work, kept)
    momentum(chain, random, inverse, factor, work)
    start = kinetic(work, n) - floats[HERE]
    told[ENERGY] = start
    step = floats[STEP] * (0.8 + 0.4 * uniform_draw(random))
    value, energy, i = floats[HERE], start, 0
    while i < chain[LENGTH]:
        value = leaped(chain, words, numbers, inverse, work, step)
        energy = kinetic(work, n) - value
        i += 1
        if not energy - start < _LARGEST:
            told[DIVERGED] = 1.0
            break
    acceptance = 0.0 if told[DIVERGED] == 1.0 else exp(min(start - energy, 0.0))
    told[ACCEPTED], told[LEAPS] = acceptance, i
    if uniform_draw(random) < acceptance:
        move(kept, work, n)
        move(shift(kept, n), shift(work, GRADIENT * n), n)
        floats[HERE], told[ENERGY] = value, energy


@kernel
def begin(chain, floats, words, numbers, work):
    """Evaluate the density at the position of the point, and make it that of the chain."""
    n = chain[SIZE]
    point, kept = pointer(work), shift(pointer(work), _KEPT * n)
    value = evaluated(pointer(chain), pointer(words), pointer(numbers))
    floats[HERE] = value
    move(kept, point, n)
    move(shift(kept, n), shift(point, GRADIENT * n), n)
    return value


@kernel
def stride(chain, floats, random, words, numbers, inverse, factor, work):
    """Find a step size, and start its adaptation."""
    found_step(
        pointer(chain), pointer(floats), pointer(random), pointer(words), pointer(numbers),
        pointer(inverse), pointer(factor), pointer(work), shift(pointer(work), _KEPT * chain[SIZE]),
    )  # fmt: skip


@kernel
def walk(
    chain, floats, random, words, numbers, inverse, factor, work, draws, told, first, budget
):  # fmt: skip
    """Make transitions, from row `first` of `draws` and of their statistics on, until all rows are
    full or the density was evaluated more often than the budget; the number of full rows."""
    n, row, spent = chain[SIZE], first, 0.0
    ints, reals, state = pointer(chain), pointer(floats), pointer(random)
    where, values = pointer(words), pointer(numbers)
    masses, roots, space = pointer(inverse), pointer(factor), pointer(work)
    while row < len(draws) and spent < budget and chain[STOPPED] == 0:
        known = shift(pointer(told), row * STATS)
        for i in range(STATS):
            known[i] = 0.0
        known[WIDTH] = floats[STEP]
        if chain[KIND] == 0:
            no_u_turn(ints, reals, state, where, values, masses, roots, space, known)
        else:
            path(ints, reals, state, where, values, masses, roots, space, known)
        if chain[FAILED] != 0 or chain[STOPPED] != 0:
            return row
        known[VALUE] = floats[HERE]
        move(shift(pointer(draws), row * n), shift(space, _KEPT * n), n)
        if chain[ADAPTS] != 0:
            adapted(reals, known[ACCEPTED])
        spent += known[LEAPS]
        row += 1
    return row
