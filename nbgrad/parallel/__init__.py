"""Data-parallel gradients, on threads, processes, a Dask cluster or MPI.

Each worker computes value and gradient of its own shards with a function that it compiles once. In
each step, the parameters are sent to the workers and one flat buffer of sums is sent back. The
engines are `concurrent.futures`, `dask.distributed` (`pip install "nbgrad[dask]"`) and mpi4py
(`pip install "nbgrad[mpi]"`).

>>> def loss(w, x, y):
...     return np.mean((x @ w - y) ** 2)
>>> x, y = np.ones((5, 2)), np.arange(5.0)
>>> vg = nbgrad.parallel.value_and_grad(loss)
>>> value, slope = vg(np.zeros(2), [(x[:2], y[:2]), (x[2:], y[2:])])
>>> value, slope
(6.0, array([-4., -4.]))
"""

from .gradients import ValueAndGrad, value_and_grad
from .mapping import jacobian, map
from .report import Report
from .stored import Stored, store

__all__ = ["Report", "Stored", "ValueAndGrad", "jacobian", "map", "store", "value_and_grad"]
