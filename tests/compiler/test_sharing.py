"""Equal programs are one machine code: what a process compiles again costs it nothing."""

import gc
import sys

import numpy as np
import pytest
from helpers.children import run

import nbgrad
from nbgrad.compiler.kernel import kernel_from_source


def made(k: float = 2.0):
    return nbgrad.compile(nbgrad.value_and_grad(lambda x: np.sum(np.sin(x * k) * x)))


def test_the_same_program_again_compiles_and_loads_nothing():
    x = np.linspace(0.1, 1.0, 5)
    first = made()(x)
    before, modules = nbgrad.stats(), len(sys.modules)
    for _ in range(3):
        value, slope = made()(x)
        assert value == first[0] and slope.tolist() == first[1].tolist()
    after = nbgrad.stats()
    assert (after["compiled"], after["loaded"]) == (before["compiled"], before["loaded"])
    assert len(sys.modules) == modules


def test_programs_that_differ_in_a_constant_or_in_what_they_close_over_differ():
    x = np.linspace(0.1, 1.0, 5)
    for k in (2.0, 3.0):
        np.testing.assert_allclose(made(k)(x)[0], np.sum(np.sin(x * k) * x), rtol=1e-13)
    for c in (np.ones(5), np.arange(5.0)):
        f = nbgrad.compile(lambda x, c=c: c * x)
        np.testing.assert_array_equal(f(x), c * x)
        np.testing.assert_array_equal(f.njit(x), c * x)
        np.testing.assert_array_equal(f.njit_into(x, out := np.empty(5)) or out, c * x)


def test_c_functions_of_equal_programs_read_their_own_arrays():
    import ctypes

    x = np.linspace(0.1, 1.0, 5)
    found = []
    for c in (np.ones(5), np.arange(5.0)):
        f = nbgrad.compile(lambda x, c=c: c * x).variant(x)
        out = np.empty(5)
        table = [ctypes.c_void_p(a.ctypes.data) for a in (x, out)]
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(f.address)
        call(ctypes.byref(table[0]), ctypes.byref(table[1]))
        found.append(out.tolist())
    assert found == [x.tolist(), (np.arange(5.0) * x).tolist()]


def test_kernels_of_one_text_are_one():
    text = "def twice(xs, outs):\n    for k in range(xs.size): outs[k] = 2.0 * xs[k]\n"
    assert kernel_from_source("twice", text) is kernel_from_source("twice", text)
    assert kernel_from_source("twice", text + "\n") is not kernel_from_source("twice", text)


GROWING = """
import gc
def size():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 2**20
def once(k):
    f = nbgrad.compile(nbgrad.value_and_grad(lambda x: np.sum(np.sin(x) * x)))
    x = np.linspace(0.1, 1.0, 2 + k % SHAPES)
    assert abs(f(x)[0] - np.sum(np.sin(x) * x)) < 1e-9
first = size()
for k in range(30): once(k)  # functions that are called often are C functions by then
begun = size()
for k in range(30, SHAPES): once(k)
before = size()
for k in range(COUNT): once(k)
result = [first, begun, before, size()]
"""


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="reads its memory from /proc")
@pytest.mark.parametrize(
    ("count", "shapes"), [(100, 50), pytest.param(9_750, 250, marks=pytest.mark.full)]
)
def test_compiling_takes_little_memory_and_compiling_again_none(tmp_path, count, shapes):
    """LLVM keeps 0.2 MiB of each compilation and machine code is never freed; what Numba and LLVM
    need while they compile, 1 MiB more, is."""
    code = f"COUNT, SHAPES = {count}, {shapes}\n{GROWING}"
    cold = run(code, NBGRAD_CACHE_DIR=tmp_path)
    warm = run(code, NBGRAD_CACHE_DIR=tmp_path)
    assert (cold.compiled, warm.compiled, warm.loaded) == (shapes, 0, shapes)
    for session, most in ((cold, 0.6), (warm, 0.2)):
        _, begun, before, after = session.result
        assert (before - begun) / (shapes - 30) < most, "MiB"
        assert after - before < 8.0
        assert after < 300.0


def test_functions_that_are_dropped_are_collected():
    from weakref import ref

    x = np.ones(3)
    f = made(4.0)
    f(x)
    variant = ref(f.variant(x))
    del f
    gc.collect()
    assert variant() is None
