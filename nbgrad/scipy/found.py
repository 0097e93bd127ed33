"""`Found`: a result of SciPy's solvers that notebooks show, and that knows its problem."""

from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from ..errors import MissingAttribute
from ..runtime import markup
from ..transforms import trees


class Found(OptimizeResult):
    """SciPy's result; `x` has the structure of the initial value. `problem`, which is no item of
    it, has the functions of the problem, for `nbgrad.laplace`; copies and pickles have none."""

    problem: Any = None

    def with_problem(self, problem: Any) -> "Found":
        """Set `problem` and return the result."""
        object.__setattr__(self, "problem", problem)  # not as an item
        return self

    def __getstate__(self) -> None:
        return None  # functions may have no pickle

    def _repr_html_(self) -> str:
        """What was found and how, for notebooks: the parameters in a table, by their paths."""
        known = [
            (name, self[name]) for name in ("fun", "cost", "nit", "nfev", "njev") if name in self
        ]
        facts = [(name, f"{value:.6g}") for name, value in known if np.ndim(value) == 0]
        leaves, _ = trees.flatten(self.x)
        names = [path or "x" for path in trees.paths(self.x)]
        shown = markup.table(names, [str(leaf) for leaf in leaves])
        return markup.framed(markup.facts([("", str(self.get("message", ""))), *facts]) + shown)


class Solved(Found):
    """A solution for tracked arguments: `x`, `fun` and `cost` are differentiable, and arrays of
    SciPy's that are not differentiable are left out."""

    def __getattr__(self, name: str):
        if name in self:
            return self[name]
        raise MissingAttribute(
            f"a solution for tracked arguments has no {name}, which would be a constant in "
            "derivatives: compute it from x, such as nbgrad.jacobian(f)(found.x, ...), or solve "
            "for plain arguments"
        )
