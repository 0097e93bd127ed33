"""Derivatives in the plane that two directions span, against finite differences."""

from collections.abc import Callable, Sequence

import numpy as np

import nbgrad


def check_in_a_plane(f: Callable, args: Sequence, rng: np.random.Generator, rtol: float) -> None:
    """First and second derivatives of `f`, forward and reverse, along two directions of each
    argument: far fewer evaluations than element by element, and a wrong element shows as well."""
    ways = [rng.uniform(-1.0, 1.0, (2, *np.shape(x))) for x in args]

    def on_the_plane(*steps):
        moves = zip(args, ways, steps, strict=True)
        return f(*(x + step[0] * way[0] + step[1] * way[1] for x, way, step in moves))

    steps = (np.zeros(2),) * len(args)
    nbgrad.check_grads(on_the_plane, steps, ("forward", "reverse"), order=2, rtol=rtol)
