"""Samplers of densities: the no-U-turn sampler and Hamiltonian Monte Carlo, and diagnostics.

>>> found = nbgrad.sample.nuts(lambda p: -0.5 * np.sum(p["a"] ** 2), {"a": np.zeros(3)})
>>> found.draws["a"].shape
(4, 1000, 3)

The gradient of the density is compiled, and the whole sampler runs as compiled code around it,
chains in threads. This module is imported at the first use of `nbgrad.sample`.
"""

from .diagnostics import ess_bulk, ess_tail, rhat
from .samplers import hmc, nuts
from .samples import Samples, Stats
from .table import Summary

__all__ = ["Samples", "Stats", "Summary", "ess_bulk", "ess_tail", "hmc", "nuts", "rhat"]
