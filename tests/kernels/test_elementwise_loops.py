"""Kernels of elementwise ops: their text means what the compiled loops do, for arrays of any
strides."""

from copy import deepcopy

import numba
import numpy as np
import pytest
from helpers.rows import F32, F64, PLAIN_PYTHON

from nbgrad.compiler.kernel import readable
from nbgrad.eager.emission import forward_loops, pullback_loops, pullback_of
from nbgrad.kernels.loops import Loops
from nbgrad.kernels.shapes import Pattern
from nbgrad.rules.arithmetic import multiply
from nbgrad.rules.elementary import sin

TRACED = pullback_of(multiply, {}, (True, True), False)
SIZES: dict[Pattern, int] = {"full": 6000, "row": 3000, "column": 2, "number": 1}


def arrays(loops: Loops, dtype: np.dtype, rng: np.random.Generator, step: int = 1) -> list:
    """Arguments of a kernel, with arrays of these strides."""
    given: list = []
    for operand in (*loops.reads, *loops.writes):
        x = np.zeros(SIZES[operand.pattern] * abs(step), dtype)[::step]
        x[:] = rng.normal(size=x.size)
        given.append(x)
    for i, read in enumerate(loops.reads):
        given[i] = float(given[i][0]) if read.pattern == "number" else given[i]
    return given + [2, 3000] * loops.is_nest


@pytest.mark.parametrize("pattern", ["full", "row", "column", "number"])
@pytest.mark.parametrize("dtype", [F64, F32], ids=["f64", "f32"])
def test_the_text_and_the_compiled_loops_agree(pattern, dtype, rng):
    loops = pullback_loops(multiply, TRACED, ("full", pattern), (0, 1))
    given = arrays(loops, dtype, rng)
    expected = deepcopy(given)
    plain = readable(loops.kernel().function)
    plain(*expected)
    loops.kernel()(*given)
    for found, other in zip(given, expected, strict=True):
        np.testing.assert_allclose(found, other, rtol=0, atol=1e4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("step", [3, -2])
@pytest.mark.parametrize("pattern", ["full", "row", "column", "number"])
def test_arrays_with_strides(pattern, step, rng):
    loops = pullback_loops(multiply, TRACED, ("full", pattern), (0, 1))
    given = arrays(loops, F64, rng, step)
    expected = [np.array(x) if isinstance(x, np.ndarray) else x for x in given]
    loops.kernel()(*expected)
    loops.kernel()(*given)
    for found, other in zip(given, expected, strict=True):
        np.testing.assert_allclose(found, other, rtol=1e-12, atol=1e-12)


def test_equal_loops_are_one_kernel():
    one, two = (forward_loops(sin, {}, ("full",)) for _ in range(2))
    assert one.kernel() is two.kernel()
    assert one.kernel() is not forward_loops(sin, {}, ("column",)).kernel()


@pytest.mark.skipif(PLAIN_PYTHON, reason="plain Python writes nothing to a read-only array, too")
def test_a_result_that_is_read_only_is_refused():
    out = np.zeros(3)
    out.flags.writeable = False
    with pytest.raises(numba.TypingError, match="read-only"):
        forward_loops(sin, {}, ("full",)).kernel()(np.ones(3), out)
