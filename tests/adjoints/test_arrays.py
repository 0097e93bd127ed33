"""Reverse mode of functions that make arrays, take parts of arrays and combine whole arrays: values
against Numba, gradients against differences."""

import numba
import numpy as np
import pytest
from helpers.loops.arrays import algebra, views
from helpers.loops.calls import Pulled, copied, directions, dotted, is_array, kinds, moved

from nbgrad.loops.maker import Reverse

PROGRAMS = [*views.PROGRAMS, *algebra.PROGRAMS]


def of_floats(args):
    return tuple(
        i
        for i, x in enumerate(args)
        if isinstance(x, float) or (is_array(x) and x.dtype.kind == "f")
    )


def names(programs):
    return [f"{function.__name__}{i}" for i, (function, _) in enumerate(programs)]


@pytest.mark.parametrize(("function", "args"), PROGRAMS, ids=names(PROGRAMS))
def test_gradients_agree_with_differences_and_values_with_numba(function, args):
    wrt = of_floats(args)
    pulled = Pulled(Reverse(function, kinds(args), wrt), args)
    assert pulled.results == pytest.approx([numba.njit(function)(*copied(args))], rel=1e-12)
    by = directions(args, wrt)
    is_single = any(is_array(x) and x.dtype == np.float32 for x in args)
    eps = 1e-3 if is_single else 1e-6
    slope = (function(*moved(args, by, eps)) - function(*moved(args, by, -eps))) / (2 * eps)
    assert dotted(pulled.gradient, by) == pytest.approx(slope, rel=1e-4 if is_single else 1e-6)
