"""A value inside of a transformation is not pickled: that would drop the derivative in silence."""

import copy
import multiprocessing
import operator
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import cloudpickle
import numpy as np
import pytest

import nbgrad
from nbgrad import TraceError, UntrackedError

X = np.array([1.0, 2.0])
ONES = np.ones(2)
MODES: dict[str, Callable] = {
    "grad": lambda f: nbgrad.grad(f)(X),
    "gradient": lambda f: nbgrad.gradient(f, X),
    "vjp": lambda f: nbgrad.vjp(f, X)[1](1.0),
    "jvp": lambda f: nbgrad.jvp(f, (X,), (ONES,)),
    "linearize": lambda f: nbgrad.linearize(f, X)[1](ONES),
    "forward jacobian": lambda f: nbgrad.jacobian(f, mode="forward")(X),
    "hessian": lambda f: nbgrad.hessian(f)(X),
    "hvp": lambda f: nbgrad.hvp(f)(X, ONES),
    "vmap": lambda f: nbgrad.vmap(f)(np.array([X, X + 1.0])),
    "vmap of grad": lambda f: nbgrad.vmap(nbgrad.grad(f))(np.array([X, X + 1.0])),
    "compile": lambda f: nbgrad.compile(f)(X),
    "compiled grad": lambda f: nbgrad.compile(nbgrad.grad(f))(X),
    "grad of compiled": lambda f: nbgrad.grad(nbgrad.compile(f))(X),
    "checkpoint": lambda f: nbgrad.grad(nbgrad.checkpoint(f))(X),
    "loop": lambda f: nbgrad.grad(lambda v: nbgrad.loop(2, lambda i, s: s + f(v), 0.0))(X),
    "tracked argument": lambda f: nbgrad.grad(f)(nbgrad.track(X)).data,
}
BASE = {**dict.fromkeys(MODES, UntrackedError), "compile": TraceError}
# Where a program is recorded, its values are symbols, or tracked symbols.
BASE |= dict.fromkeys(("compiled grad", "grad of compiled"), (UntrackedError, TraceError))
COPIES = [copy.copy, copy.deepcopy, lambda x: copy.deepcopy({"x": [x]})["x"][0]]
PICKLES = [
    lambda x: pickle.loads(pickle.dumps(x)),
    lambda x: pickle.loads(pickle.dumps({"x": [x]}, protocol=2))["x"][0],
    lambda x: cloudpickle.loads(cloudpickle.dumps(lambda: x))(),
]


@pytest.fixture(scope="module")
def pool():
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        yield pool


def through(way: Callable) -> list[Callable]:
    """Losses that send their argument, and an intermediate value."""
    return [lambda v: np.sum(way(v) * v * v), lambda v: np.sum(way(v * v) * v)]


@pytest.mark.parametrize("mode", MODES)
def test_copies_keep_the_derivative_and_pickles_are_refused(mode):
    expected = MODES[mode](lambda v: np.sum(v * v * v))
    for f in [f for way in COPIES for f in through(way)]:
        for found, right in zip(*map(np.atleast_1d, (MODES[mode](f), expected)), strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-14)
    for f in [f for way in PICKLES for f in through(way)]:
        with pytest.raises(BASE[mode], match=r"cannot be pickled .*: use threads .*nbgrad\.paral"):
            MODES[mode](f)


@pytest.mark.parametrize("mode", ["grad", "jvp", "vmap", "compile", "vmap of grad"])
def test_a_pool_of_processes_is_refused_and_threads_are_right(mode, pool):
    def of(executor):
        return lambda v: sum(executor.map(operator.neg, [v[0] * v[0], v[1] * v[1]]))

    with pytest.raises(BASE[mode], match=r"cannot be pickled .*: use threads"):
        MODES[mode](of(pool))
    with pytest.raises(BASE[mode], match=r"cannot be pickled .*: use threads"):
        MODES[mode](lambda v: sum(nbgrad.parallel.map(operator.neg, [v[0], v[1]], pool)))
    expected = MODES[mode](lambda v: -np.sum(v * v))
    with ThreadPoolExecutor(2) as threads:
        for found, right in zip(
            *map(np.atleast_1d, (MODES[mode](of(threads)), expected)), strict=True
        ):
            np.testing.assert_allclose(found, right, rtol=1e-14)


@pytest.mark.parametrize("mode", ["grad", "jvp", "vmap", "compile"])
def test_joblib_in_processes_is_refused_and_in_threads_is_right(mode):
    joblib = pytest.importorskip("joblib")  # scikit-learn brings it

    def of(**settings):
        parallel = joblib.Parallel(n_jobs=2, **settings)
        return lambda v: sum(parallel(joblib.delayed(operator.neg)(v[i] * v[i]) for i in range(2)))

    with pytest.raises(pickle.PicklingError) as caught:
        MODES[mode](of())
    assert 'use threads (ThreadPoolExecutor, joblib.Parallel(prefer="threads"))' in str(
        caught.value.__cause__
    )
    expected = MODES[mode](lambda v: -np.sum(v * v))
    found = MODES[mode](of(prefer="threads"))
    for one, right in zip(*map(np.atleast_1d, (found, expected)), strict=True):
        np.testing.assert_allclose(one, right, rtol=1e-14)


def test_constants_of_a_transformation_are_pickled():
    """Leaves outside, results, and plain values that are read inside."""
    through = PICKLES[0]
    w = nbgrad.track(2.0, "w")
    assert nbgrad.grad(lambda v: np.sum(v * through(w).data))(X).tolist() == [2.0, 2.0]
    assert nbgrad.grad(lambda v: np.sum(v * through(v.data)))(X).tolist() == [1.0, 2.0]
    assert through(nbgrad.grad(lambda v: np.sum(v * v))(X)).tolist() == [2.0, 4.0]
    slope = nbgrad.grad(lambda v: np.sum(v * v))(nbgrad.track(X))
    assert through(slope).data.tolist() == [2.0, 4.0]
