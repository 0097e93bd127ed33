"""Compiled programs under strain: threads, forks, many arrays, plain Python, what they allocate."""

import concurrent.futures
import ctypes
import dataclasses
import os
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from calls import Pair, allocations, close, energy, table
from children import environment, run
from rows import PLAIN_PYTHON

import nbgrad
from nbgrad.transforms import trees


def net(params, x, s):
    """Of so many arrays that they go in a table."""
    for w, b in params:
        x = np.tanh(x @ w + b)
    return np.sum(x) * s


def net_arguments(rng):
    params = [(rng.normal(size=(4, 4)) / 2, rng.normal(size=4)) for _ in range(13)]
    return params, rng.normal(size=(3, 4)), 2.0


def wide(x):
    """Scratch far beyond the stack's share."""
    y = np.cumsum(np.exp(-x))
    return np.sum(np.cumsum(y * x) * np.cumsum(np.tanh(x)) / y) / 1e6


FUNCTIONS: dict[str, tuple[Callable, Callable]] = {
    "small": (energy, lambda rng: (rng.normal(size=50),)),
    "large scratch": (wide, lambda rng: (rng.uniform(size=20_000),)),
    "many arrays": (net, net_arguments),
}
by_kind = pytest.mark.parametrize("kind", FUNCTIONS)
RTOL = 1e-9


def leaves_of(tree: Any) -> list:
    return trees.flatten(tree)[0]


def mapped(f: Callable, tree: Any) -> Any:
    leaves, rebuild = trees.flatten(tree)
    return rebuild([f(leaf) for leaf in leaves])


def prepared(kind: str, rng) -> tuple[Any, Callable, tuple]:
    """The compiled value and gradient, the eager ones, and arguments."""
    f, arguments = FUNCTIONS[kind]
    both = nbgrad.value_and_grad(f)
    return nbgrad.compile(both), both, arguments(rng)


def together(count: int, work: Callable[[int], Any]) -> None:
    """Run `work` in so many threads that start at once."""
    barrier = threading.Barrier(count)

    def started(i: int) -> None:
        barrier.wait()
        work(i)

    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        list(pool.map(started, range(count)))


# -- threads --------------------------------------------------------------------------------------


@by_kind
def test_eight_threads_compile_one_function_at_once(rng, kind):
    f, both, arguments = prepared(kind, rng)
    expected = both(*arguments)
    together(8, lambda i: close(f(*arguments), expected, RTOL))
    assert len(f._variants) == 1


@by_kind
def test_eight_threads_call_one_function_300_times(rng, kind):
    f, both, _ = prepared(kind, rng)
    every = [FUNCTIONS[kind][1](rng) for _ in range(8)]
    expected = [both(*arguments) for arguments in every]
    f(*every[0])
    outs = [mapped(np.empty_like, e) for e in expected]

    def work(i):
        for call in range(300):
            out = (0.0, outs[i][1]) if call % 2 else None
            found = f(*every[i], out=out) if out else f(*every[i])
            if call % 30 < 2:
                close(found, expected[i], RTOL)

    together(8, work)


def test_threads_of_different_shapes(rng):
    f = nbgrad.compile(nbgrad.value_and_grad(energy))
    xs = [rng.normal(size=n) for n in range(1, 7)]

    def work(i):
        for _ in range(50):
            close(f(xs[i]), nbgrad.value_and_grad(energy)(xs[i]))

    together(6, work)


@pytest.mark.skipif(PLAIN_PYTHON, reason="nothing is compiled")
def test_threads_that_bring_other_layouts_at_once(rng):
    """Each read-only array is another type for Numba, and compiles; so does none unforeseen."""
    f = nbgrad.compile(lambda x, y, z: np.sum(np.sin(x) * y) + z)
    given = rng.normal(size=(3, 5))
    expected = f(*given)

    def work(i):
        rows = [row.copy() for row in given]
        for k, row in enumerate(rows):
            row.flags.writeable = not (i + 1) >> k & 1
        for _ in range(3):
            close(f(*rows), expected)

    together(7, work)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@by_kind
def test_fork_after_use(rng, kind):
    f, _, arguments = prepared(kind, rng)
    expected = f(*arguments)
    child = os.fork()
    if child == 0:
        try:
            close(f(*arguments), expected, RTOL)
            close(nbgrad.compile(np.tanh)(0.5), np.tanh(0.5))  # and compiles
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    close(f(*arguments), expected, RTOL)


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
    assert compiled._front is not None
    found = compiled._front(p, q)
    close(found, expected)
    assert type(found[1]) is Pair and found[1].b.w is None
    out = (0.0, Pair(np.empty(3), Pair(None, np.empty(3))))
    for _ in range(2):
        found = compiled(p, q, out=out)
        close(found, expected)
        assert found[1].w is out[1].w
    assert compiled._writing_front is not None


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


@numba.njit
def nothing(*arguments):
    """What Numba counts for arguments, if nothing is done with them."""
    return 0.0


def counted(call: Callable[[], Any]) -> float:
    call()
    before = allocations()
    for _ in range(10):
        call()
    return (allocations() - before) / 10


@pytest.mark.skipif(PLAIN_PYTHON, reason="Numba counts")
@by_kind
def test_steady_state_allocates_results_only(rng, kind):
    f, _, arguments = prepared(kind, rng)
    value, gradient = f(*arguments)
    f(*arguments, out=(value, gradient))
    variant = f.variant(*arguments)
    assert variant.signature.large == (kind == "large scratch")
    assert variant.packed == (kind == "many arrays")
    leaves = [*leaves_of(arguments), *variant.captured]
    results = leaves_of(gradient)
    if variant.packed:
        arrays = [x.ravel() for x in [*leaves, *results] if isinstance(x, np.ndarray)]
        arrays += arrays[:1] * (-len(arrays) % 8)
        table = np.zeros(len(arrays), np.int64)
        eights = [(table, *arrays[i : i + 8]) for i in range(0, len(arrays), 8)]
        given, checks = [*eights, (table,)], [(table, table)]
    else:
        work = [np.zeros(9, np.uint8)] * variant.signature.large
        given, checks = [(*leaves, *results, *work)], []
    usual = sum(counted(lambda g=g: nothing(*g)) for g in given)
    assert counted(lambda: f(*arguments)) == usual
    usual += sum(counted(lambda g=g: nothing(*g)) for g in checks)
    assert counted(lambda: f(*arguments, out=(value, gradient))) == usual


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


# -- interruptions ---------------------------------------------------------------------------------


@pytest.mark.skipif(PLAIN_PYTHON, reason="nothing is compiled")
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, RuntimeError])
def test_after_an_error_while_the_cache_is_written_the_next_call_is_right(rng, monkeypatch, error):
    def failing(self, sig, data):
        raise error

    x = rng.normal(size=5)
    both = nbgrad.value_and_grad(lambda x: np.sum(np.tanh(x) * len(error.__name__)))
    f = nbgrad.compile(both)
    with monkeypatch.context() as patched:
        patched.setattr("nbgrad.kernels.jit.cache.KernelCache.save_overload", failing)
        with pytest.raises(error):
            f(x)
    close(f(x), both(x))


# -- small stacks ---------------------------------------------------------------------------------


@pytest.mark.skipif(PLAIN_PYTHON, reason="scratch is an array")
@pytest.mark.parametrize("n", [90, 400, 1500])
def test_threads_with_a_stack_of_64_kib(n):
    """In a child process: what fails here ends it. With 90 scratch still lies on the stack."""
    code = f"""
import threading
n = {n}

def f(x):
    rows = nbgrad.softmax(np.exp(x[:, None] - x[None, : n // 50 + 1]), axis=1)
    y = nbgrad.loop(3, lambda i, s: np.cumsum(s * 0.5) + rows[:, 0], x)
    return np.sum(np.cumsum(np.tanh(y)) * x) + np.sum((rows.T @ rows) ** 2)

compiled = nbgrad.compile(nbgrad.value_and_grad(f))
x = np.linspace(0.0, 1.0, n)
value, slope = compiled(x)
found = []
threading.stack_size(65536)
thread = threading.Thread(target=lambda: found.append(compiled(x)))
thread.start()
thread.join()
same = found[0][0] == value and bool((found[0][1] == slope).all())
result = [same, compiled.only_variant("plan").signature.memory.size]
"""
    same, scratch = run(code).result
    assert same
    assert 10_000 < scratch < 32_768 if n == 90 else scratch > 100_000
