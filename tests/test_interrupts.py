"""An error or Ctrl-C at any moment: what comes next gives right numbers, and nothing stays stuck.

A trace function raises KeyboardInterrupt at a random call, line or return inside of nbgrad, which
is more moments than the interpreter has for a signal.
"""

import gc
import linecache
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbgrad
from nbgrad import GraphError, track
from nbgrad.core import modes
from nbgrad.core.primitive import current_level
from nbgrad.values import gradients

# What is raised in a finalizer, or in a generator that is dropped, Python only warns of.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

MOMENTS = 75
HERE = str(Path(nbgrad.__file__).parent)


def interrupted(work: Callable[[], Any], moment: int) -> int:
    """Run `work` and raise KeyboardInterrupt at its event of that number inside of nbgrad. The
    number of events until the end or the interrupt."""
    seen = 0

    def trace(frame, event, argument):
        nonlocal seen
        if not frame.f_code.co_filename.startswith(HERE):
            return None
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
        if line.strip() in ("with lock:", "with gradients.lock:"):
            return trace  # traced again before the lock's own exit, where no signal can come
        seen += 1
        if seen == moment:
            raise KeyboardInterrupt
        return trace

    outer = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(outer)
    return seen


def moments(work: Callable[[], Any], seed: int) -> list[int]:
    """Random moments of `work`, which has run before."""
    work()
    events = interrupted(work, -1)
    return np.random.default_rng(seed).integers(1, events + 1, MOMENTS).tolist()


def assert_nothing_is_stuck() -> None:
    assert current_level() == 0
    assert not modes.untracked() and not modes.watching() and not modes.active
    x = track(2.0)
    assert (x * x).parents == (x, x)
    free = []
    thread = threading.Thread(target=lambda: free.append(gradients.lock.acquire(timeout=5.0)))
    thread.start()
    thread.join()
    assert free == [True]
    gradients.lock = threading.RLock()


class Lab:
    """A graph with fan-out, indexing and a shared leaf, and its numbers."""

    def __init__(self):
        self.x, self.w = track(np.array([1.0, 2.0])), track(np.array([[1.0, 2.0], [3.0, 4.0]]))
        self.y = self.w @ self.x
        picked = self.w[np.array([0, 0, 1])]
        self.z = np.sum(self.y * self.y) + np.sum(picked * self.x) + np.sum(self.w.T * self.x)

    def expected(self) -> tuple[np.ndarray, np.ndarray]:
        x, w = self.x.data, self.w.data
        x_bar = 2 * w.T @ (w @ x) + 2 * w[0] + w[1] + w.sum(axis=0 + 1)
        w_bar = 2 * np.outer(w @ x, x) + np.array([2 * x, x]) + np.array([x[:1], x[1:]])
        return x_bar - w.sum(axis=1) + w.T.sum(axis=0), _transposed_part(w_bar, x)


def _transposed_part(w_bar: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The slope of sum(w.T * x) is x along the columns of w.T, which are the rows of w."""
    return w_bar - np.array([x[:1], x[1:]]) + np.repeat(x[:, None], 2, axis=1)


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_the_numbers_of_the_lab():
    lab = Lab()
    lab.z.backward()
    x_bar, w_bar = lab.expected()
    step = 1e-6

    def value(x, w):
        y = w @ x
        return np.sum(y * y) + np.sum(w[[0, 0, 1]] * x) + np.sum(w.T * x)

    for k in range(2):
        shift = np.zeros(2)
        shift[k] = step
        x, w = lab.x.data, lab.w.data
        slope = (value(x + shift, w) - value(x - shift, w)) / (2 * step)
        np.testing.assert_allclose(x_bar[k], slope, rtol=1e-7)
    close(lab.x.grad, x_bar)
    close(lab.w.grad, w_bar)


def test_a_backward_pass_hands_out_all_gradients_or_none():
    lab = Lab()
    x_bar, w_bar = lab.expected()
    for moment in moments(lambda: Lab().z.backward(keep_graph=True), 0):
        lab.x.grad = lab.w.grad = None
        lab.z.backward(keep_graph=True)
        interrupted(lambda: lab.z.backward(keep_graph=True), moment)
        times = round(float(np.asarray(lab.x.grad)[0] / x_bar[0]))
        assert times in (1, 2)
        close(lab.x.grad, times * x_bar)
        close(lab.w.grad, times * w_bar)
    assert_nothing_is_stuck()


def test_a_graph_walked_by_half_says_so():
    outcomes = {"right": 0, "freed": 0}
    for moment in moments(lambda: Lab().z.backward(), 1):
        lab = Lab()
        interrupted(lambda lab=lab: lab.z.backward(), moment)
        done = lab.x.grad is not None
        assert (lab.w.grad is not None) == done
        try:
            lab.z.backward()
            outcomes["right"] += 1
            x_bar, w_bar = lab.expected()
            close(lab.x.grad, x_bar)
            close(lab.w.grad, w_bar)
        except GraphError:
            outcomes["freed"] += 1
            assert lab.z.node.saved is None
    assert min(outcomes.values()) > 0
    assert_nothing_is_stuck()


def test_accum_gives_right_numbers_after_an_interrupt():
    def work(lab: Lab) -> None:
        lab.z.grad = 1.0
        nbgrad.accum(lab.x)
        nbgrad.accum(lab.w)
        lab.z.grad = 2.0
        nbgrad.accum(lab.w)

    for moment in moments(lambda: work(Lab()), 2):
        lab = Lab()
        x_bar, w_bar = lab.expected()
        interrupted(lambda lab=lab: work(lab), moment)
        lab.z.grad = 3.0
        close(nbgrad.accum(lab.w), 3 * w_bar)
        close(nbgrad.accum(lab.x), 3 * x_bar)
    assert_nothing_is_stuck()


def test_a_reset_is_finished_by_another_one():
    def made() -> Lab:
        lab = Lab()
        lab.z.backward(keep_graph=True, keep_grads=True)
        return lab

    labs = iter([made() for _ in range(MOMENTS + 2)])
    for moment in moments(lambda: nbgrad.reset(next(labs).w), 3):
        lab = next(labs)
        interrupted(lambda lab=lab: nbgrad.reset(lab.w), moment)
        nbgrad.reset(lab.w)
        assert lab.w.grad is None and lab.y.grad is None and lab.z.grad is None
        assert not len(lab.w.children) and not len(lab.y.children)
        with pytest.raises(GraphError, match="freed"):
            lab.z.backward()


def quiet(x):
    with nbgrad.no_tracking():
        nbgrad.value_and_grad(lambda y: y * y)(3.0)
    return x * x * x


TRANSFORMED = {
    "grad of grad": (nbgrad.grad(nbgrad.grad(lambda x: x * x * x)), 12.0),
    "jvp of grad": (lambda x: nbgrad.jvp(nbgrad.grad(lambda x: x * x * x), (x,), (1.0,))[1], 12.0),
    "vmap of grad": (lambda x: nbgrad.vmap(nbgrad.grad(lambda x: x**3))(np.full(2, x))[1], 12.0),
    "linearize": (lambda x: nbgrad.linearize(lambda x: x**3, x)[1].transpose(1.0)[0], 12.0),
    "checkpoint": (nbgrad.grad(nbgrad.checkpoint(lambda x: np.sin(x) * x)),
                   np.sin(2.0) + 2.0 * np.cos(2.0)),
    "tracked inside": (nbgrad.grad(lambda x: track(3.0) * x), 3.0),
    "no_tracking": (nbgrad.grad(quiet), 12.0),
}  # fmt: skip


@pytest.mark.parametrize("name", TRANSFORMED)
def test_transformations_leave_no_level_open(name):
    f, expected = TRANSFORMED[name]
    for moment in moments(lambda: f(2.0), 4):
        interrupted(lambda: f(2.0), moment)
        assert current_level() == 0
        close(f(2.0), expected)
    assert_nothing_is_stuck()


def test_modes_end_with_their_block_however_it_ends():
    x = track(2.0)

    def work() -> None:
        with nbgrad.no_tracking(), nbgrad.detect_nan(), nbgrad.detect_changes():
            x.__mul__(x)

    for moment in moments(work, 5):
        interrupted(work, moment)
        assert (x * x).parents == (x, x)
    gc.collect()
    assert_nothing_is_stuck()


def test_a_step_that_was_interrupted_is_made_or_not():
    """Never by half; where the note of the write is missing, checksums tell of it."""
    outcomes = set()
    for moment in [*range(1, 12), 10**6]:
        w = track(np.array([1.0, 2.0]))
        with nbgrad.detect_changes():
            before = np.sum(w * w)

        def work(w=w) -> None:
            w.data -= 0.5

        interrupted(work, moment)
        made = w.data[0] != 1.0
        changed = w.node.changed  # pyright: ignore[reportAttributeAccessIssue]
        outcomes.add((made, changed > before.node.time))
        close(w.data, [0.5, 1.5] if made else [1.0, 2.0])
        if made:
            with nbgrad.detect_changes(), pytest.raises(GraphError):
                before.backward()
        np.sum(w * w).backward()
        close(w.grad, 2 * w.data)
    assert outcomes >= {(False, False), (True, False), (True, True)}
    assert_nothing_is_stuck()


def test_a_forward_pass_that_was_interrupted_is_not_seen():
    x = track(np.array([0.5, 1.0]))
    keep = []

    def work() -> None:
        keep.append(np.sum(np.tanh(x) * x[np.array([0, 0])]))

    for moment in moments(work, 6):
        keep.clear()
        nbgrad.reset(x)
        interrupted(work, moment)
        keep.clear()
        work()
        keep[-1].grad = 1.0
        t = np.tanh(x.data)
        expected = (1 - t * t) * 0.5 + np.array([t.sum(), 0.0])
        close(nbgrad.accum(x), expected)
