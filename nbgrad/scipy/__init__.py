"""SciPy's solvers with exact derivatives, over trees of arrays.

Loaded at the first use of `nbgrad.scipy`, and SciPy with it.
"""

from .flat import ravel
from .functions import Objective
from .solvers import least_squares, minimize, objective, root

__all__ = ["Objective", "least_squares", "minimize", "objective", "ravel", "root"]
