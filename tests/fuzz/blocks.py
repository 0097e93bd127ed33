"""Eager modes: inside of blocks, and on results that are written to."""

import contextlib

import numpy as np

import nbgrad

from .case import Case, mode, or_zero, plain, tracked
from .first import leaves_and_total
from .oracle import results


@mode
def no_tracking(c: Case) -> None:
    """Values without a graph."""
    args = [tracked(x) if k in c.program.floats else x for k, x in enumerate(c.args)]
    with nbgrad.no_tracking():
        found = [plain(x) for x in results(c.f(*args))]
    c.typed("values without a graph", found, c.point.values)
    c.alike("values without a graph", found, c.point.values)


@mode
def detect_changes(c: Case) -> None:
    """Nothing that a backward pass reads is written to in memory."""
    with nbgrad.detect_changes():
        leaves, total = leaves_and_total(c)
        total.backward()
    c.alike("backward under detect_changes", [or_zero(x.grad, x) for x in leaves], c.gradients)


@mode
def results_written(c: Case) -> None:
    """What is written to results later changes no gradient of what was computed from them."""
    c.require_slopes()
    leaves = [tracked(x) for x in c.moving]
    found = c.of_floats(*leaves)
    parts = [np.sum(x * w) for x, w in zip(found, c.cts, strict=True)]
    total = sum(parts[1:], parts[0])
    for x in found:
        if isinstance(x, nbgrad.TrackedArray) and x.shape:
            with contextlib.suppress(ValueError, nbgrad.GraphError):  # a leaf, or read only
                x[...] = 7.0
    if isinstance(total, nbgrad.TrackedArray):
        with contextlib.suppress(nbgrad.GraphError):  # a constant
            total.backward()
    c.alike("backward after writes", [or_zero(x.grad, x) for x in leaves], c.gradients)
