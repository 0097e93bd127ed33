"""Every way of calling a compiled function, trees, and what a call allocates."""

import ctypes
import dataclasses
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from helpers.calls import Pair, allocations, close, table
from helpers.children import environment
from helpers.rows import PLAIN_PYTHON
from helpers.static.kinds import RTOL, by_kind, mapped, prepared

import nbgrad
from nbgrad.errors import TraceError
from nbgrad.transforms import trees


def leaves_of(tree: Any) -> list:
    return trees.flatten(tree)[0]


# -- every way of calling -------------------------------------------------------------------------


def called_from_python(f, arguments):
    return f(*arguments)


def called_again(f, arguments):
    f(*arguments)
    return f(*arguments)


def called_with_out(f, arguments):
    out = mapped(np.zeros_like, f(*arguments))
    first = f(*arguments, out=out)
    for leaf in leaves_of(first[1]):
        leaf[...] = 0.0
    return f(*arguments, out=out)


def called_by_njit(f, arguments):
    function = f.variant(*arguments).njit
    leaves = leaves_of(arguments)
    return numba.njit(lambda *leaves: function(*leaves))(*leaves)


def called_by_njit_into(f, arguments):
    function = f.variant(*arguments).njit_into
    leaves = leaves_of(arguments)
    results = [np.empty_like(leaf) for leaf in leaves_of(arguments[0])]
    return function(*leaves, *results), *results


def called_by_address(f, arguments):
    variant = f.variant(*arguments)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(variant.address)
    results = [np.empty(())]
    results += [np.empty_like(leaf) for leaf in leaves_of(arguments[0])]
    call(table([np.asarray(x) for x in leaves_of(arguments)]), table(results))
    return results


WAYS = {
    "Python": called_from_python, "again": called_again, "out=": called_with_out,
    "njit": called_by_njit, "njit_into": called_by_njit_into, "address": called_by_address,
}  # fmt: skip


C_ONLY = pytest.mark.skipif(PLAIN_PYTHON, reason="C functions are compiled")


@by_kind
@pytest.mark.parametrize(
    "way", [pytest.param(w, marks=C_ONLY) if w == "address" else w for w in WAYS]
)
def test_every_way_of_calling(rng, kind, way):
    f, both, arguments = prepared(kind, rng)
    close(WAYS[way](f, arguments), both(*arguments), RTOL)


@pytest.mark.full
@pytest.mark.skipif(PLAIN_PYTHON, reason="starts itself")
def test_every_way_of_calling_in_plain_python():
    answer = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", "-k",
         "way_of_calling or trees", str(Path(__file__))],
        env=environment({"NUMBA_DISABLE_JIT": 1}), capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stdout[-3000:]
    assert "passed" in answer.stdout


# -- trees ----------------------------------------------------------------------------------------


@dataclasses.dataclass
class Layer:
    weight: Any
    bias: Any


@nbgrad.register
class Scaled:
    """A class of the user's."""

    def __init__(self, layer, factor):
        self.layer, self.factor = layer, factor


def test_trees_of_classes_in_and_out(rng):
    w, b = rng.normal(size=(4, 3)), rng.normal(size=3)

    def f(model, x):
        h = np.tanh(x @ model.layer.weight + model.layer.bias)
        return np.sum(h) * model.factor

    both = nbgrad.value_and_grad(f)
    compiled = nbgrad.compile(both)
    x = rng.normal(size=(5, 4))
    out = (0.0, Scaled(Layer(np.empty((4, 3)), np.empty(3)), 0.0))
    for factor in (0.5, 1.5):
        model = Scaled(Layer(w, b), factor)
        for options in ({}, {}, {"out": out}, {"out": out}):
            value, gradient = compiled(model, x, **options)
            close([value, gradient], both(model, x))
            assert type(gradient) is Scaled and type(gradient.layer) is Layer
    assert gradient.layer.weight is out[1].layer.weight


def test_named_tuples_take_the_generated_way(rng):
    def f(p, q):
        return np.sum(np.tanh(p.w) * q[0].b), Pair(p.w * 2.0, q[0])

    compiled = nbgrad.compile(f)
    p, q = Pair(rng.normal(size=3), 2.0), [Pair(None, rng.normal(size=3))]
    expected = f(p, q)
    close(compiled(p, q), expected)
    assert compiled.func.__code__.co_filename == "<nbgrad caller>"
    found = compiled.func(p, q)
    close(found, expected)
    assert type(found[1]) is Pair and found[1].b.w is None
    out = (0.0, Pair(np.empty(3), Pair(None, np.empty(3))))
    for _ in range(2):
        found = compiled(p, q, out=out)
        close(found, expected)
        assert found[1].w is out[1].w
    assert compiled.func.__code__.co_filename == "<nbgrad caller>"


def scaled(x, y=2.0, n=3):
    return x * y**n


def summed(*xs):
    return sum(k * x for k, x in enumerate(xs, 1))


def named_alike(_p0, k0, s0, r0):
    return (_p0 - k0) * s0 + r0


def by_name_only(x, *, y=2.0):
    return x - y


CALLS = {
    "by position": (scaled, [((2.0,), {}), ((2.0, 5.0), {}), ((2.0, 5.0, 2), {})]),
    "by name": (
        scaled,
        [((2.0,), {"n": 2}), ((), {"y": 3.0, "x": 2.0}), ((2.0, 5.0), {"n": 1}), ((1.5,), {})],
    ),
    "any number": (
        summed, [((1.0, 2.0), {}), ((1.0,), {}), ((1.0, 2.0, 3.0), {}), ((4.0, 2.0), {})],
    ),
    "names of the generated code": (
        named_alike, [((5.0, 2.0, 3.0, 4.0), {}), ((5.0, 2.0), {"r0": 1.0, "s0": 2.0})],
    ),
    "only by name": (by_name_only, [((5.0,), {}), ((5.0,), {"y": 3.0})]),
    "other kinds of numbers": (
        scaled, [((x,), {}) for x in (2.0, 2, np.float64(2.0), np.array(2.0), np.int64(2))],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_calls_mean_what_the_function_means(name):
    f, calls = CALLS[name]
    compiled, slope = nbgrad.compile(f), nbgrad.compile(nbgrad.value_and_grad(f))
    for args, options in [*calls, *calls[::-1], *calls]:
        assert compiled(*args, **options) == f(*args, **options)
        if args and type(args[0]) is float:
            value, ct = slope(*args, **options)
            assert value == f(*args, **options) and type(value) is type(ct) is float


def test_calls_that_the_function_does_not_take_are_errors():
    f = nbgrad.compile(scaled)
    for _ in range(2):
        for args, options in [((), {}), ((1.0, 2.0, 3, 4.0), {}), ((1.0,), {"z": 2.0}),
                              ((1.0,), {"x": 2.0})]:  # fmt: skip
            with pytest.raises((TypeError, TraceError)):
                f(*args, **options)
        assert f(2.0, 3.0) == 54.0


def test_results_of_numbers_alone_have_the_nesting_of_the_function():
    trees_of = {
        "one": lambda x, y: x * y,
        "in a tuple": lambda x, y: (x * y,),
        "nested": lambda x, y: ((x, (y * 2.0, x)), x > y),
        "a list": lambda x, y: [x + y, (x - y, None)],
        "a pair": lambda x, y: Pair(x, (y, x * y)),
        "an integer": lambda x, y: (np.floor(x * y).astype(np.int64), x),
    }
    for f in trees_of.values():
        compiled = nbgrad.compile(f)
        expected = f(3.5, 2.0)
        for _ in range(2):
            found = compiled(3.5, 2.0)
            assert found == expected and type(found) is type(expected)


# -- the generated ways in ------------------------------------------------------------------------


@by_kind
def test_generated_ways_refuse_what_they_are_not_for(rng, kind):
    f, both, arguments = prepared(kind, rng)
    out = mapped(np.zeros_like, f(*arguments))
    f(*arguments, out=out)
    changed = {
        "another shape": lambda x: np.concatenate([x, x[:1]])[1:] if x.ndim else x,
        "Fortran": np.asfortranarray,
        "strided": lambda x: np.repeat(x, 2, axis=-1)[..., ::2] if x.ndim else x,
        "big-endian": lambda x: x.astype(">f8"),
        "read-only": frozen,
    }
    for change in changed.values():
        moved = mapped(lambda x, c=change: c(x) if isinstance(x, np.ndarray) else x,
                                arguments)  # fmt: skip
        expected = both(*moved)
        for _ in range(2):
            close(f(*moved), expected, RTOL)
            close(f(*moved, out=out), expected, RTOL)


def frozen(x):
    x = x.copy()
    x.flags.writeable = False
    return x


@by_kind
def test_results_over_arguments_by_the_generated_way(rng, kind):
    f, both, arguments = prepared(kind, rng)
    expected = both(*arguments)
    for _ in range(2):
        given = mapped(np.copy, arguments[0])
        found = f(given, *arguments[1:], out=(0.0, given))
        close(found, expected, RTOL)


# -- what a call allocates ------------------------------------------------------------------------


def counted(call: Callable[[], Any]) -> float:
    call()
    before = allocations()
    for _ in range(10):
        call()
    return (allocations() - before) / 10


@pytest.mark.skipif(PLAIN_PYTHON, reason="Numba counts")
@by_kind
def test_compiled_code_allocates_nothing_in_a_call(rng, kind):
    f, _, arguments = prepared(kind, rng)
    value, gradient = f(*arguments)
    f(*arguments, out=(value, gradient))
    variant = f.variant(*arguments)
    assert variant.signature.large == (kind == "large scratch")
    assert variant.packed == (kind == "many arrays")
    assert counted(lambda: f(*arguments)) == 0
    assert counted(lambda: f(*arguments, out=(value, gradient))) == 0


@by_kind
def test_memory_of_a_call_is_that_of_its_results(rng, kind):
    f, _, arguments = prepared(kind, rng)
    out = f(*arguments)
    f(*arguments, out=out)
    size = sum(x.nbytes for x in leaves_of(out[1]))
    many = 300 * len(leaves_of(out))  # headers of arrays and views
    for options, bound in (({}, size + many), ({"out": out}, many)):
        tracemalloc.start()
        try:
            found = f(*arguments, **options)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak <= bound + 3000, (peak, bound)
        del found
