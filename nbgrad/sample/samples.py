"""`Samples`: the draws of a sampler, their statistics and diagnostics."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..compiler.forks import with_open_properties
from ..errors import MissingExtra
from ..transforms import trees
from ..transforms.flat import Unravel, ravel
from .diagnostics import ess_bulk, ess_mean, ess_tail, rhat
from .table import Summary


@dataclass(frozen=True)
class Stats:
    """Statistics of the transitions of a sampler, arrays of shape (chains, draws).

    `acceptance` is the mean acceptance probability along the trajectory, `steps` the number of
    leapfrog steps, `depth` the number of doublings (0 for `hmc`), `divergent` whether the energy
    was lost, `energy` that of the draw with its momentum, and `log_density` that of the draw.
    `step_size` has the shape (chains,): the size after the warm-up.

    >>> found = nbgrad.sample.nuts(lambda x: -0.5 * x @ x, np.zeros(2), draws=50, warmup=50)
    >>> found.stats.depth.shape, found.stats.step_size.shape
    ((4, 50), (4,))
    """

    acceptance: np.ndarray
    steps: np.ndarray
    depth: np.ndarray
    divergent: np.ndarray
    energy: np.ndarray
    log_density: np.ndarray
    step_size: np.ndarray


@with_open_properties
@dataclass(frozen=True)
class Samples:
    """The result of `nuts` and `hmc`.

    `draws` nests as the start does; its arrays have two axes more in front, chains and draws.
    `stats` are statistics of the transitions, and `seconds` the duration of the sampling, without
    compilation. `flat` has the draws as vectors, of shape (chains, draws, n).

    >>> found = nbgrad.sample.nuts(lambda p: -0.5 * p["a"] ** 2, {"a": 0.0}, draws=100)
    >>> found.draws["a"].shape
    (4, 100)
    """

    draws: Any
    stats: Stats
    flat: np.ndarray
    unravel: Unravel
    seconds: float

    def __getstate__(self) -> dict[str, Any]:
        # A tree in place of `unravel`, which is made of it.
        state = {key: getattr(self, key) for key in ("draws", "stats", "flat", "seconds")}
        return state | {"tree": self.unravel(self.flat[0, 0])}

    def __setstate__(self, state: dict[str, Any]) -> None:
        tree = state.pop("tree")
        self.__dict__.update(state, unravel=ravel(tree)[1])

    @property
    def divergences(self) -> int:
        """The number of divergent transitions after the warm-up."""
        return int(self.stats.divergent.sum())

    @cached_property
    def rhat(self) -> Any:
        """R-hat of each parameter, nested as the start (see `nbgrad.sample.rhat`)."""
        return self.unravel(rhat(self.flat))

    @cached_property
    def ess_bulk(self) -> Any:
        """The effective number of draws in the bulk of each parameter, nested as the start."""
        return self.unravel(ess_bulk(self.flat))

    @cached_property
    def ess_tail(self) -> Any:
        """The effective number of draws in the tails of each parameter, nested as the start."""
        return self.unravel(ess_tail(self.flat))

    def map(self, f: Callable[[Any], Any]) -> Any:
        """Return `f(params)` for every draw, a tree of arrays with chains and draws in front.

        >>> found = nbgrad.sample.nuts(lambda p: -0.5 * p["a"] ** 2, {"a": 0.0}, draws=100)
        >>> found.map(lambda p: {"scale": np.exp(p["a"])})["scale"].shape
        (4, 100)
        """
        vectors = self.flat.reshape(-1, self.flat.shape[2])
        found = [trees.flatten(f(self.unravel(vector))) for vector in vectors]
        rebuild = found[0][1]
        columns = zip(*(leaves for leaves, _ in found), strict=True)
        shape = self.flat.shape[:2]
        stacked = [np.stack([np.asarray(x) for x in column]) for column in columns]
        return rebuild([x.reshape(*shape, *x.shape[1:]) for x in stacked])

    def summary(self, quantiles: tuple[float, ...] = (0.05, 0.5, 0.95)) -> Summary:
        """Return a table of the parameters: mean, standard deviation, quantiles, the standard error
        of the mean, effective numbers of draws, and R-hat. It prints itself, also in notebooks.

        >>> found = nbgrad.sample.nuts(lambda p: -0.5 * p["a"] ** 2, {"a": 0.0}, draws=500)
        >>> list(found.summary().columns)
        ['mean', 'sd', '5%', '50%', '95%', 'error', 'ess_bulk', 'ess_tail', 'rhat']
        """
        x = self.flat
        deviation = x.std(axis=(0, 1), ddof=1)
        columns = {"mean": x.mean(axis=(0, 1)), "sd": deviation}
        for q in quantiles:
            columns[f"{100 * q:g}%"] = np.quantile(x, q, axis=(0, 1))
        columns["error"] = deviation / np.sqrt(ess_mean(x))
        columns |= {"ess_bulk": ess_bulk(x), "ess_tail": ess_tail(x), "rhat": rhat(x)}
        return Summary(self.unravel.names, columns, self._title(), self.divergences)

    def to_arviz(self) -> Any:
        """Return the draws and statistics as ArviZ's data. Raises MissingExtra without arviz."""
        try:
            import arviz  # pyright: ignore[reportMissingImports]
        except ImportError as error:
            raise MissingExtra(
                f"to_arviz needs arviz ({error}): install it with pip install arviz"
            ) from None
        leaves, _ = trees.flatten(self.draws)
        paths = [path or "x" for path in trees.paths(self.draws)]
        posterior = {
            path: np.asarray(leaf)
            for path, leaf in zip(paths, leaves, strict=True)
            if trees.is_differentiable(leaf)
        }
        stats = self.stats
        facts = {
            "acceptance_rate": stats.acceptance, "n_steps": stats.steps, "lp": stats.log_density,
            "tree_depth": stats.depth, "diverging": stats.divergent, "energy": stats.energy,
            "step_size": np.broadcast_to(stats.step_size[:, None], stats.depth.shape),
        }  # fmt: skip
        if int(arviz.__version__.partition(".")[0]) < 1:
            return arviz.from_dict(posterior=posterior, sample_stats=facts)
        return arviz.from_dict({"posterior": posterior, "sample_stats": facts})

    def _title(self) -> str:
        chains, draws, n = self.flat.shape
        return (
            f"{chains} {'chain' if chains == 1 else 'chains'} of {draws:,} draws of "
            f"{n:,} {'number' if n == 1 else 'numbers'} in {self.seconds:.3g} s"
        )

    def __repr__(self) -> str:
        return f"<Samples: {self._title()}, {self.divergences} divergent>"

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()
