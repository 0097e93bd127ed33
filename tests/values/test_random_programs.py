"""Random programs: the graph walk against brute force over all paths, and against differences."""

import numpy as np
from helpers.chains import run, steps
from hypothesis import given, settings
from hypothesis import strategies as st

import nbgrad
from nbgrad import track
from nbgrad.values.graph import Node


def brute_force(output: Node, ct, leaf: Node):
    """The sum over all paths from `output` to `leaf`, one after the other."""
    if output is leaf:
        return ct
    if output.plan is None:
        return 0.0
    total = 0.0
    for position, parent in enumerate(output.parents):
        if parent is not None:
            need = tuple(i == position for i in range(len(output.parents)))
            if output.plan.need != need and output.parents.count(parent) > 1:
                need = tuple(p is parent for p in output.parents)
                if output.parents.index(parent) != position:
                    continue  # both positions of x * x come in one
                parts = [g for g in output.pull(ct, need) if g is not None]
                total = total + sum(brute_force(parent, g, leaf) for g in parts)
                continue
            total = total + brute_force(parent, output.pull(ct, need)[position], leaf)
    return total


@settings(max_examples=40, deadline=None, derandomize=True)
@given(steps, st.integers(0, 2**31))
def test_the_walks_agree_with_brute_force_and_differences(program, seed):
    rng = np.random.default_rng(seed)
    plain = [rng.uniform(-1, 1, 3) for _ in range(2)]
    ct = rng.uniform(-1, 1, 3)

    def scalar(*inputs):
        return np.sum(run(program, inputs) * ct)

    x, y = map(track, plain)
    z = run(program, (x, y))
    z.backward(ct, keep_graph=True)
    for leaf, other in ((x, y), (y, x)):
        paths = np.zeros(3) + brute_force(z.node, ct, leaf.node)
        swept = np.zeros(3) if leaf.grad is None else leaf.grad
        np.testing.assert_allclose(swept, paths, rtol=1e-10, atol=1e-12)
        leaf.grad = None
        z.grad = ct
        pulled = nbgrad.accum(leaf) if z is not leaf else ct
        np.testing.assert_allclose(0.0 if pulled is None else pulled, swept, rtol=1e-10, atol=1e-12)
        assert other is not leaf
    nbgrad.check_grads(scalar, plain, ("reverse", "forward"))
