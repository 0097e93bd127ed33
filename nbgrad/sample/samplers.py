"""`nuts` and `hmc`: chains in threads, and their result."""

import operator
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from threading import Lock
from time import perf_counter
from typing import Any, Literal

import numpy as np

from .. import random
from ..errors import ArgumentError, ArgumentTypeError, SamplingWarning
from ..kernels import nuts as transitions
from ..runtime.kinds import is_a
from ..runtime.lines import level_of_user
from ..runtime.progress import Bar
from ..threads.pool import get_threads
from ..transforms import trees
from .chain import Chain
from .density import Density
from .samples import Samples, Stats

_LATEST = 0.1
"""Seconds between updates of the bar."""


def nuts(
    logdensity: Callable,
    start: Any,
    *,
    draws: int = 1000,
    chains: int = 4,
    warmup: int = 1000,
    seed: int = 0,
    args: tuple = (),
    mass: Literal["diagonal", "dense"] = "diagonal",
    target: float = 0.8,
    max_depth: int = 10,
    spread: float = 0.0,
    compile: bool = True,
    progress: bool = True,
) -> Samples:
    """Sample a density by the no-U-turn sampler, with compiled gradients and chains in threads.

    It is the sampler of Stan: trajectories double until they turn back, by the generalised
    criterion of Betancourt (2017); draws are multinomial; the warm-up adapts the step size by dual
    averaging and estimates the mass matrix in windows that double (Hoffman and Gelman, 2014).

    Arguments:
        logdensity: a function that returns the logarithm of a density, up to a constant, for
            `logdensity(params, *args)`, one number. Parameters are unbounded: write a positive one
            as the exponential of a free one. It returns -inf where the density is zero.
        start: where chains begin: a number, a float array, or nested dicts, lists, tuples and
            dataclasses of them. Integers inside of trees are static.
        draws: the number of draws of each chain after the warm-up.
        chains: the number of chains. They run in threads, as many as `nbgrad.get_threads()`.
        warmup: the number of transitions that adapt the sampler, and are dropped. If it is 0, the
            step size is 1 and the mass matrix the unit matrix.
        seed: an integer. Equal seeds give equal draws, with any number of threads.
        args: a tuple of further arguments of the density, such as data.
        mass: "diagonal", or "dense" for parameters that are strongly correlated.
        target: the mean acceptance that the step size is adapted to. Larger values, such as 0.95,
            give smaller steps and fewer divergences.
        max_depth: a trajectory has up to 2**max_depth - 1 leapfrog steps.
        spread: the standard deviation of normal numbers that are added to the start of each chain.
        compile: False runs the density as Python code, for functions that cannot be compiled.
        progress: show a bar on terminals and in notebooks.

    Returns `Samples`.

    Raises ValueError if the density or its gradient is not finite at the start, or an argument is
    out of bounds; TypeError if start holds no float; the errors of the density and of
    `nbgrad.compile`. Warns with SamplingWarning if transitions diverged after the warm-up.

    >>> ages = np.array([23.0, 31.0, 27.0, 40.0])
    >>> def density(p, ages):
    ...     scale = np.exp(p["log_scale"])
    ...     return np.sum(nbgrad.stats.norm.logpdf(ages, p["mean"], scale)) - p["log_scale"]
    >>> found = nbgrad.sample.nuts(density, {"mean": 30.0, "log_scale": 2.0}, args=(ages,))
    >>> found.draws["mean"].shape, bool(28 < found.draws["mean"].mean() < 33)
    ((4, 1000), True)
    """
    max_depth = _count("max_depth", max_depth, 1, 20)
    given = _Given("nuts", draws, chains, warmup, target, mass, spread, seed, progress)
    return _sampled(given, logdensity, start, args, compile, True, max_depth, 1.0, True)


def hmc(
    logdensity: Callable,
    start: Any,
    *,
    steps: int = 16,
    step_size: float | None = None,
    draws: int = 1000,
    chains: int = 4,
    warmup: int = 1000,
    seed: int = 0,
    args: tuple = (),
    mass: Literal["diagonal", "dense"] = "diagonal",
    target: float = 0.8,
    spread: float = 0.0,
    compile: bool = True,
    progress: bool = True,
) -> Samples:
    """Sample a density by Hamiltonian Monte Carlo with trajectories of a given number of steps.

    Arguments:
        steps: the number of leapfrog steps of a transition. The step size of each is multiplied by
            a random number from 0.8 to 1.2, so that trajectories do not close on themselves.
        step_size: a fixed step size, with the unit matrix as the mass matrix; None adapts both as
            `nuts` does.

    All other arguments are those of `nuts`.

    Returns `Samples`. Raises and warns as `nuts`.

    >>> found = nbgrad.sample.hmc(lambda x: -0.5 * x @ x, np.zeros(3), steps=8)
    >>> bool(abs(found.draws.std() - 1.0) < 0.1)
    True
    """
    steps = _count("steps", steps, 1, 2**31)
    adapts = step_size is None
    if step_size is not None and not (is_a(step_size, (float, int)) and 0 < step_size < np.inf):
        raise ArgumentError(f"hmc: step_size must be positive, or None, not {step_size!r}")
    step = 1.0 if step_size is None else float(step_size)
    given = _Given("hmc", draws, chains, warmup, target, mass, spread, seed, progress)
    return _sampled(given, logdensity, start, args, compile, False, steps, step, adapts)


class _Given:
    """The arguments of both samplers, checked."""

    def __init__(
        self, op: str, draws: int, chains: int, warmup: int, target: float, mass: str,
        spread: float, seed: int, progress: bool,
    ):  # fmt: skip
        self.op, self.progress = op, progress
        self.draws, self.warmup = _count("draws", draws, 1), _count("warmup", warmup, 0)
        self.chains = _count("chains", chains, 1, 2**15)
        if not (is_a(target, (float, int)) and 0.0 < target < 1.0):
            raise ArgumentError(
                f"{op}: target={target!r} must lie between 0 and 1: the mean acceptance, such as "
                "0.8"
            )
        if mass not in ("diagonal", "dense"):
            raise ArgumentError(f'{op}: mass must be "diagonal" or "dense", not {mass!r}')
        if not (is_a(spread, (float, int)) and 0.0 <= spread < np.inf):
            raise ArgumentError(f"{op}: spread={spread!r} must be a number of at least 0")
        self.target, self.dense = float(target), mass == "dense"
        self.spread, self.key = float(spread), random.key(seed)


def _count(name: str, n: Any, least: int, most: int = 2**62) -> int:
    try:
        n = operator.index(n)
    except TypeError:
        raise ArgumentTypeError(
            f"nbgrad.sample: {name} must be an integer, not {n!r}", code="NB-INTEGER"
        ) from None
    if not least <= n <= most:
        upper = f" and at most {most:,}" if most < 2**62 else ""
        raise ArgumentError(f"nbgrad.sample: {name} must be at least {least}{upper}, not {n}")
    return n


def _sampled(
    given: _Given, f: Callable, start: Any, args: Any, compile: bool, is_nuts: bool, length: int,
    step: float, adapts: bool,
) -> Samples:  # fmt: skip
    trees.require_function(f"nbgrad.sample.{given.op}", f)
    density = Density(f, start, args if is_a(args, tuple) else (args,), compile)
    made = [
        Chain(density, given.key, i, is_nuts, length, given.target, given.dense, step)
        for i in range(given.chains)
    ]
    for chain in made:
        _begin(given, density, chain)
    started = perf_counter()
    found = _run(given, made, adapts)
    seconds = perf_counter() - started
    flat = np.stack([rows for _, _, rows, _ in found])
    told = np.stack([facts for *_, facts in found])
    samples = Samples(density.unravel.rows(flat), _stats(told), flat, density.unravel, seconds)
    if samples.divergences:
        warnings.warn(
            f"{given.op}: {samples.divergences} of {told[..., 0].size} transitions diverged: the "
            "draws miss parts of the density where it bends sharply. Increase target=, to 0.95, or "
            "write the density with other parameters, such as a scale times a standard normal one",
            SamplingWarning,
            stacklevel=level_of_user(),
        )
    return samples


def _begin(given: _Given, density: Density, chain: Chain) -> None:
    """Put a chain at its start. Raises ArgumentError if the density is not finite there."""
    q = density.vector
    if given.spread:
        noise = np.random.default_rng([int(given.key[0]) % 2**63, chain.number])
        q = q + given.spread * noise.normal(size=q.shape)
    value = chain.begin(q)
    chain.require_whole()
    slope = chain.gradient
    if np.isfinite(value) and np.isfinite(slope).all():
        return
    if np.isfinite(value):
        at = int(np.flatnonzero(~np.isfinite(slope))[0])
        what = f"the gradient of the log density is {slope[at]} for element {at} of the parameters"
    else:
        what = f"the log density is {density.value(q)}"
    raise ArgumentError(
        f"{given.op}: {what} at the start of chain {chain.number}: choose a start inside of the "
        "density's support" + (", or a smaller spread" if given.spread else "")
    )


def _run(given: _Given, chains: list[Chain], adapts: bool) -> list[Any]:
    """Run the chains in threads. An exception, such as KeyboardInterrupt, ends all of them."""
    total, lock, done = len(chains) * (given.warmup + given.draws), Lock(), [0]

    def tell(count: int) -> None:
        with lock:
            done[0] += count

    with Bar(total, given.progress) as bar, _pool(given, chains) as pool:
        futures = [
            pool.submit(chain.run, given.warmup, given.draws, adapts, tell) for chain in chains
        ]
        left: set[Future] = set(futures)
        while left:
            finished, left = wait(left, timeout=_LATEST, return_when="FIRST_EXCEPTION")
            for future in finished:
                future.result()  # or its exception
            bar.update(done[0], f"{len(chains)} chains")
    for chain in chains:
        chain.require_whole()
    return [future.result() for future in futures]


@contextmanager
def _pool(given: _Given, chains: list[Chain]) -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(min(get_threads(), len(chains)), "nbgrad-chain") as pool:
        try:
            yield pool
        except BaseException:
            for chain in chains:
                chain.stop()
            pool.shutdown(cancel_futures=True)
            raise


def _stats(told: np.ndarray) -> Stats:
    return Stats(
        acceptance=told[..., transitions.ACCEPTED],
        steps=told[..., transitions.LEAPS].astype(np.int64),
        depth=told[..., transitions.DEPTH].astype(np.int64),
        divergent=told[..., transitions.DIVERGED] != 0.0,
        energy=told[..., transitions.ENERGY],
        log_density=told[..., transitions.VALUE],
        step_size=told[:, -1, transitions.WIDTH],
    )
