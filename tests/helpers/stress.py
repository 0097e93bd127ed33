"""Stress tests: interrupts, killed processes, threads, long runs.

Run them with `python -m tests.helpers.stress`.

Each test runs in a separate process with a separate cache, compares results with closed forms, and
raises an error for a wrong result or a deadlock.
"""

import argparse
import gc
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import numpy as np

import nbgrad
from nbgrad import grad, no_tracking, track, vmap
from nbgrad.compiler.kernel import kernel, module_of
from nbgrad.core import modes
from nbgrad.core.primitive import current_level

X = np.linspace(0.1, 1.0, 5)
SHAPES = 300
THREADS = 8


def main(argv: list[str] | None = None) -> int:
    made = argparse.ArgumentParser("python -m tests.helpers.stress", description=__doc__)
    made.add_argument("--only", choices=MEASURES, action="append", help="only this; repeatable")
    made.add_argument("--part", type=float, default=1.0, help="this part of each count (1)")
    given = made.parse_args(argv)
    failed = 0
    for name in given.only or MEASURES:
        count = max(1, round(MEASURES[name].many * given.part))
        began = time.monotonic()
        try:
            found = measured(name, count)
        except Exception as error:
            failed, found = failed + 1, f"FAILED: {type(error).__name__}: {error}"
        shown = f"{count:>9,} {MEASURES[name].unit}"
        print(f"{name:<12} {shown:<36} {found}  ({time.monotonic() - began:.0f} s)", flush=True)
    return 1 if failed else 0


def measured(name: str, count: int) -> str:
    """What the measure of that name says after `count` of its kind. Raises what it raises."""
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as cache:
        with ProcessPoolExecutor(1, spawn, initializer=_begin, initargs=(cache,)) as pool:
            return pool.submit(MEASURES[name].run, count).result()


def _begin(cache: str) -> None:
    os.environ["NBGRAD_CACHE_DIR"] = cache


# -- interrupts ------------------------------------------------------------------------------------


@contextmanager
def interrupts() -> Iterator[list[int]]:
    """SIGALRM raises KeyboardInterrupt in what `interrupted` runs in the body. Gives a list of one
    number: how many of them Python swallowed, as it does in finalizers."""
    swallowed = [0]

    def note(caught: "sys.UnraisableHookArgs") -> None:
        if caught.exc_type is not KeyboardInterrupt:
            sys.__unraisablehook__(caught)
        swallowed[0] += 1

    sys.unraisablehook = note
    signal.signal(signal.SIGALRM, ring)
    yield swallowed
    sys.unraisablehook = sys.__unraisablehook__


def ring(signum: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt if `worked` is running: on a slow machine the timer rings again while
    `interrupted` still handles the interrupt before."""
    while frame is not None:
        if frame.f_code is worked.__code__:
            raise KeyboardInterrupt
        frame = frame.f_back


def worked(work: Callable[[], object]) -> None:
    work()


def interrupted(work: Callable[[], object], most: float) -> bool:
    """Run `work` and interrupt it within `most` seconds; whether that came in time."""
    try:
        # Again and again, for one that comes in a finalizer is swallowed.
        signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-6, most), 0.05 + most)
        worked(work)
    except KeyboardInterrupt:
        return True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return False


def eager_interrupts(count: int) -> str:
    w = track(X.copy())
    cube = grad(grad(lambda x: np.sum(x * x * x)))

    def backward() -> None:
        nbgrad.reset(w)
        loss = np.sum(np.tanh(w) * w[np.array([0, 1, 2, 3, 4])])
        loss.backward()

    def quiet() -> None:
        with no_tracking(), nbgrad.detect_nan():
            np.sum(w * w)

    kinds = [backward, quiet, lambda: vmap(cube)(X), lambda: nbgrad.jvp(np.sin, (X,), (X,))]

    def endless() -> None:
        work = random.choice(kinds)
        while True:
            work()

    def check() -> None:
        assert current_level() == 0, "a level is open"
        assert not modes.active and not modes.untracked(), "a mode is open"
        backward()
        t = np.tanh(X)
        np.testing.assert_allclose(w.grad, t + (1 - t * t) * X, rtol=1e-12)
        np.testing.assert_allclose(vmap(cube)(X), 6 * X, rtol=1e-12)
        assert (w * w).parents == (w, w), "a mode is open"

    for work in (*kinds, check):
        work()
    with interrupts() as swallowed:
        for _ in range(count):
            interrupted(endless, 4e-4)
            check()
    return f"all numbers right after each; {swallowed[0]} swallowed by finalizers"


def scaled(factor: float) -> None:
    """Compile a kernel of its own, or load it, and compare what it gives."""
    text = f"def scaled(xs, outs):\n    for k in range(xs.size): outs[k] = {factor} * xs[k]"
    out = np.empty_like(X)
    kernel(module_of(text).scaled)(X, out)
    np.testing.assert_array_equal(out, factor * X)


def compile_interrupts(count: int) -> str:
    came = tried = 0
    with interrupts():
        while came < count:
            tried += 1
            came += interrupted(lambda k=tried: scaled(k), 0.15)
            scaled(tried)
    return f"{tried:,} kernels right, {leftovers()} files half written"


# -- kills -----------------------------------------------------------------------------------------


def kills(count: int) -> str:
    """Of children that compile and write to the cache; another one then loads what they left."""
    scaled(0.5)  # what Numba prepares at its first compilation
    killed = tried = 0
    while killed < count:
        tried += 1
        for chance in (random.uniform(0.0, 0.3), None):
            pid = child(lambda n=4.0 * tried: [scaled(n + j) for j in range(4)])
            if chance is not None:
                time.sleep(chance)
                os.kill(pid, signal.SIGKILL)
            status = os.waitpid(pid, 0)[1]
            killed += os.WIFSIGNALED(status)
            assert status in (0, signal.SIGKILL if chance is not None else 0), f"status {status}"
    return f"all numbers right after each; {leftovers()} files half written, which pruning takes"


def child(work: Callable[[], object]) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        work()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def leftovers() -> int:
    return len(list(Path(os.environ["NBGRAD_CACHE_DIR"], "kernels").glob("*.tmp")))


# -- threads ---------------------------------------------------------------------------------------


def thread_calls(count: int) -> str:
    """Compiled calls, graphs over a shared leaf, and transformations, all at once."""
    w = track(np.ones(50))
    f = nbgrad.compile(nbgrad.value_and_grad(lambda x: np.sum(np.sin(x) * x)))
    third = grad(grad(grad(lambda x: x**4)))
    each, errors = count // THREADS, []

    def work(k: int) -> None:
        try:
            for i in range(each):
                x = X + i % 7 + k
                value, slope = f(x)
                np.testing.assert_allclose(value, np.sum(np.sin(x) * x), rtol=1e-12)
                np.testing.assert_allclose(slope, np.sin(x) + x * np.cos(x), rtol=1e-10, atol=1e-12)
                np.sum(w * float(k)).backward()
                assert abs(third(2.0) - 48.0) < 1e-9
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    np.testing.assert_array_equal(w.grad, np.full(50, float(each * sum(range(THREADS)))))
    return f"{THREADS} threads, all numbers right"


# -- memory ----------------------------------------------------------------------------------------


def growing(count: int, step: Callable[[int], object], first: int) -> str:
    """MiB of this process before, after `first` steps, and after `count`."""
    start = mebibytes()
    for k in range(min(first, count)):
        step(k)
    begun = mebibytes()
    for k in range(first, count):
        step(k)
    return f"{start:.0f} MiB, {begun:.0f} after the first {first:,}, {mebibytes():.0f} at the end"


def mebibytes() -> float:
    gc.collect()
    if sys.platform == "linux":
        return (
            int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20
        )
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def forward(count: int) -> str:
    x, y = track(X), track(X)
    return growing(count, lambda k: np.tanh(x) * y, 1000)


def backward(count: int) -> str:
    w = track(np.zeros(5))

    def step(k: int) -> None:
        loss = np.sum((w - X) ** 2)
        loss.backward()
        w.data -= 0.1 * w.grad
        nbgrad.reset(w)

    found = growing(count, step, 1000)
    if count > 1000:
        np.testing.assert_allclose(w.data, X, rtol=1e-12)
    return found


def compilations(count: int) -> str:
    def step(k: int) -> None:
        x = np.linspace(0.1, 1.0, 2 + k % SHAPES)
        f = nbgrad.compile(nbgrad.value_and_grad(lambda x: np.sum(np.sin(x) * x)))
        np.testing.assert_allclose(f(x)[0], np.sum(np.sin(x) * x), rtol=1e-12)

    found = growing(count, step, SHAPES)
    return f"{found}; {nbgrad.stats()['compiled']} of them compiled"


class Measure(NamedTuple):
    run: Callable[[int], str]
    many: int
    unit: str


MEASURES = {
    "eager": Measure(eager_interrupts, 100_000, "interrupts of eager code"),
    "compiling": Measure(compile_interrupts, 1_000, "interrupts of compilations"),
    "kills": Measure(kills, 500, "kills while compiling"),
    "threads": Measure(thread_calls, 400_000, "calls by threads"),
    "forward": Measure(forward, 1_000_000, "forward evaluations"),
    "backward": Measure(backward, 100_000, "backward passes"),
    "compile": Measure(compilations, 10_000, f"compilations of {SHAPES} shapes"),
}

if __name__ == "__main__":
    sys.exit(main())
