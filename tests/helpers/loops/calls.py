"""Calls of the kernels that `nbgrad.loops.maker` makes, and differences."""

from dataclasses import replace
from typing import Any

import numpy as np

from nbgrad.compiler.front.functions import ArrayType
from nbgrad.loops.maker import Forward, Reverse


class Exact(Reverse):
    """Reverse mode without contraction of products and sums, as Numba compiles them."""

    _mode = "exact_vjp"

    def _derived(self, primal, wrt, lengths):
        made = super()._derived(primal, wrt, lengths)
        return replace(made, attributes=made.attributes | {"exact"})


def kinds(args):
    return tuple(
        ArrayType(x.dtype, x.ndim) if isinstance(x, np.ndarray) else np.dtype(type(x)) for x in args
    )


def copied(args):
    return [x.copy() if isinstance(x, np.ndarray) else x for x in args]


def called(maker, args):
    """The results of a kernel as a list; arrays of `args` are changed in place."""
    given = [
        x if isinstance(x, np.ndarray) else kind.type(x)
        for x, kind in zip(args, maker.types.values(), strict=True)
    ]
    out = maker.kernel()(*given)
    return list(out) if isinstance(out, tuple) else [] if out is None else [out]


def is_array(x):
    return isinstance(x, np.ndarray)


class Pushed:
    """Forward mode: `results`, their tangents `dots`, arrays at the end by place and their
    tangents. Directions that are not given are 0."""

    def __init__(self, maker: Forward, args: Any, directions: dict[int, Any]):
        self.arrays = dict(enumerate(args := copied(args)))
        zero = {i: np.zeros_like(args[i]) for i in maker.shadows}
        given = zero | {i: np.array(directions[i], x.dtype) for i, x in zero.items()
                        if i in directions}  # fmt: skip
        numbers = [directions.get(i, 0.0) for i in sorted(maker.wrt) if not is_array(args[i])]
        out = called(maker, [*args, *given.values(), *numbers])
        count = len(maker.primal[0].results)
        self.results, self.dots, self.array_dots = out[:count], out[count:], given


class Pulled:
    """Reverse mode: `results`, and cotangents of the arguments at the places `wrt`. `cotangents`
    are those of arrays at the end, by place."""

    def __init__(self, maker: Reverse, args: Any, seeds: Any = (1.0,), cotangents: Any = None):
        self.args = copied(args)
        self.shadows = [
            np.array((cotangents or {}).get(i, np.zeros_like(args[i])), args[i].dtype)
            for i in maker.shadows
        ]
        out = called(maker, [*self.args, *self.shadows, *seeds])
        count = len(maker.primal[0].results)
        self.results, numbers = out[:count], iter(out[count:])
        arrays = dict(zip(maker.shadows, self.shadows, strict=True))
        self.gradient = {i: arrays[i] if is_array(args[i]) else next(numbers) for i in maker.wrt}


class Bent:
    """Forward over reverse for a function of one result: `gradient` and its tangent `product`."""

    def __init__(self, maker: Forward, args: Any, directions: dict[int, Any]):
        inner = maker.function
        assert isinstance(inner, Reverse)
        shadows = [np.zeros_like(args[i]) for i in inner.shadows]
        pushed = Pushed(maker, [*args, *shadows, 1.0], directions)
        n = len(args)
        places = dict(zip(inner.shadows, range(n, n + len(shadows)), strict=True))
        count = len(inner.primal[0].results)
        numbers, dots = iter(pushed.results[count:]), iter(pushed.dots[count:])
        self.slope = pushed.dots[0]
        self.gradient, self.product = {}, {}
        for i in inner.wrt:
            if is_array(args[i]):
                self.gradient[i] = pushed.arrays[places[i]]
                self.product[i] = pushed.array_dots.get(places[i], np.zeros_like(args[i]))
            else:
                self.gradient[i], self.product[i] = next(numbers), next(dots)


def directions(args, wrt, seed=0):
    """A random direction for each argument at places `wrt`, of its dtype."""
    random = np.random.default_rng(seed)
    return {
        i: random.normal(size=args[i].shape).astype(args[i].dtype)
        if is_array(args[i]) else float(random.normal())
        for i in wrt
    }  # fmt: skip


def moved(args, by, factor):
    args = copied(args)
    for i, direction in by.items():
        args[i] = args[i] + factor * direction
    return args


def dotted(x, y):
    """The inner product of two dicts of arrays and numbers."""
    return sum(float(np.sum(np.multiply(x[i], y[i], dtype=float))) for i in x)
