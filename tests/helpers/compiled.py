"""Comparison of compiled rows and their derivatives with eager mode."""

from collections.abc import Callable

import numpy as np
from checkers.lowered import check_values

import nbgrad
from helpers import rows
from helpers.rows import F64, Case, Point
from nbgrad.static.lower import lower


def functions_of(case: Case, point: Point) -> tuple[list[Callable], list]:
    """Return functions of a case, and their arguments: the value, the gradient of its product with
    the cotangent, and the derivative of that along the directions."""
    kinds = (np.ndarray, float) if case.dtype == F64 else (np.ndarray,)
    given = [i for i, arg in enumerate(point.args) if isinstance(arg, kinds)]

    def value(*xs):
        args = list(point.args)
        for i, x in zip(given, xs, strict=True):
            args[i] = x
        return case(*args)

    nums = tuple(k for k, i in enumerate(given) if i in case.positions)
    if not nums:
        return [value], [point.args[i] for i in given]
    gradients = nbgrad.grad(lambda *xs: np.sum(value(*xs) * point.ct), nums)

    def product(*xs):
        def along(*moved):
            args = list(xs)
            for k, x in zip(nums, moved, strict=True):
                args[k] = x
            pairs = zip(gradients(*args), point.directions.values(), strict=True)
            return sum(np.sum(slope * direction) for slope, direction in pairs)

        every = tuple(range(len(nums)))
        return nbgrad.grad(along, every)(*(xs[k] for k in nums))

    every = [value, gradients, product] if case.dtype == F64 else [value, gradients]
    return every, [point.args[i] for i in given]


def assert_compiled(case: Case, functions: list[Callable], args: list) -> None:
    """Compare compiled functions with eager calls, and check all stages of the compiler."""
    for f in functions:
        with np.errstate(all="ignore"):
            expected = f(*args)
            compiled = nbgrad.compile(f)
            variant = compiled.variant(*args)
            variant.program.check()
            graph, outputs = lower(variant.program)
            check_values([*outputs, *(ok for ok, _ in graph.checks)])
            found = compiled(*args)
        if not isinstance(expected, tuple):
            found, expected = (found,), (expected,)
        for mine, theirs in zip(found, expected, strict=True):
            theirs = np.asarray(theirs)
            tolerance = 1e-12 if case.dtype == F64 else 1e-5
            rows.assert_close(np.asarray(mine), theirs, tolerance, theirs.dtype)
