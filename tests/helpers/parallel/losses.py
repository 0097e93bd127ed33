"""Losses, data and functions that worker processes import."""

import os
import signal
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import nbgrad
from nbgrad.compiler import cache
from nbgrad.parallel.versions import here

CUTS = {1: [], 2: [11], 3: [5, 29], 7: [3, 4, 11, 17, 18, 30]}
"""Where 37 rows are cut into n shards of unequal size."""


def mean_loss(params: Any, x: Any, y: Any) -> Any:
    return np.mean((np.tanh(x @ params["w"]) * params["scale"] - y) ** 2)


def sum_loss(params: Any, x: Any, y: Any) -> Any:
    return np.sum((np.tanh(x @ params["w"]) * params["scale"] - y) ** 2)


LOSSES = {"mean": mean_loss, "sum": sum_loss}


def problem() -> tuple[dict, np.ndarray, np.ndarray]:
    """Parameters, rows and targets."""
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(37, 4)), rng.normal(size=37)
    return {"w": rng.normal(size=4), "scale": 1.5, "count": 3}, x, y


def cut(n: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """The data of `problem` in n shards."""
    _, x, y = problem()
    return list(zip(np.split(x, CUTS[n]), np.split(y, CUTS[n]), strict=True))


def closed_form(reduce: str) -> tuple[float, dict]:
    """The loss of all the data and its gradient, by hand."""
    params, x, y = problem()
    t = np.tanh(x @ params["w"])
    gap = t * params["scale"] - y
    weight = 1.0 / len(x) if reduce == "mean" else 1.0
    slope = 2.0 * weight * gap
    w = (slope * params["scale"] * (1.0 - t * t)) @ x
    return weight * float(gap @ gap), {"w": w, "scale": slope @ t, "count": None}


def require_right(found: tuple[float, dict], reduce: str = "mean") -> None:
    """Assert that a value and a gradient are those of all the data, to 1e-12 relative."""
    value, slopes = closed_form(reduce)
    np.testing.assert_allclose(found[0], value, rtol=1e-12)
    assert found[1].keys() == slopes.keys() and found[1]["count"] is None
    for name in ("w", "scale"):
        np.testing.assert_allclose(found[1][name], slopes[name], rtol=1e-12)


def bits(found: tuple[float, dict]) -> tuple:
    value, slopes = found
    return value, slopes["w"].tobytes(), float(slopes["scale"])


class Loader:
    """A shard that is loaded where it is needed."""

    def __init__(self, n: int, i: int):
        self.n, self.i = n, i

    def __call__(self) -> tuple[np.ndarray, np.ndarray]:
        return cut(self.n)[self.i]


class DiesOnce:
    """A shard whose worker is killed the first time that it is loaded."""

    def __init__(self, mark: Path, i: int):
        self.mark, self.i = mark, i

    def __call__(self) -> tuple[np.ndarray, np.ndarray]:
        if not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return cut(3)[self.i]


class Fragile:
    """A model whose worker is killed when it is called while there is a file of this name."""

    def __init__(self, mark: Path, caller: int | None = None):
        self.w, self.mark, self.caller = np.zeros(4), str(mark), caller or os.getpid()

    def __call__(self, x: Any) -> Any:
        if os.getpid() != self.caller and self._is_mine():
            os.kill(os.getpid(), signal.SIGKILL)
        return np.tanh(x @ self.w)

    def _is_mine(self) -> bool:
        """Whether this worker took the mark away: two may come to it at once."""
        try:
            os.remove(self.mark)
        except FileNotFoundError:
            return False
        return True


class Slow(Loader):
    """A shard that takes its time."""

    def __call__(self) -> tuple[np.ndarray, np.ndarray]:
        time.sleep(0.5)
        return super().__call__()


def name_the_slow(vg: Any) -> None:
    """Assert that the report of a step names who had the slow one of two shards, once both workers
    are past their start."""
    for _ in range(20):
        vg(problem()[0], [Slow(2, 0), Loader(2, 1)])
        if vg.report.stragglers == [vg.report.seen[0].worker]:
            return
    raise AssertionError(str(vg.report))


def grow_old() -> None:
    """Make this process one of another version of nbgrad."""
    nbgrad.__version__ = "0.0.1"
    here.cache_clear()


def swirl(x: Any) -> Any:
    return np.stack([np.sin(x[0] * x[1]), x[1] * x[2], np.exp(x[0]), x[2] ** 3])


def swirl_jacobian(x: np.ndarray) -> np.ndarray:
    a, b, c = x
    cos = np.cos(a * b)
    return np.array([[b * cos, a * cos, 0], [0, c, b], [np.exp(a), 0, 0], [0, 0, 3 * c * c]])


def root(start: float) -> float:
    """Newton's way from a start to a root of x^2 - 2."""
    x = start
    for _ in range(30):
        x -= (x * x - 2.0) / nbgrad.grad(lambda x: x * x - 2.0)(x)
    return float(x)


def square_or_fail(x: int) -> int:
    if x == 2:
        raise ArithmeticError("two is too many")
    return x * x


def leaves_interrupts() -> bool:
    """Whether this process leaves Ctrl-C to another one."""
    return signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def write_module(folder: Path) -> str:
    """A module that workers which run already do not find."""
    (folder / "of_the_caller.py").write_text(
        "def loss(w, x):\n    return (w * x).sum()\n\n\ndef load():\n    return ([1.0],)\n"
    )
    return "of_the_caller"


def warns_of_the_cache() -> int:
    """The number of warnings of a fault of the cache in this process."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cache.warn_once("a fault of the tests", "compiled kernels cannot be stored")
    return len(caught)
