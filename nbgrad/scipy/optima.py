"""`root`, `minimize` and `least_squares` for tracked arguments.

Each solution is that of equations: f = 0, or a gradient of zero. With bounds, the equations are
x = clip(x - slope, lower, upper), so an element at an active bound is a constant.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import Bounds

from ..control import newton
from ..control.carried import name_of
from ..control.descent import bfgs
from ..core.primitive import shape_of
from ..errors import EagerOnlyError, NoRuleError
from ..runtime.lines import user_line
from ..transforms import grad
from ..transforms.flat import ravel
from .constrained import Constraints
from .found import Solved
from .settings import Start, as_vector
from .tracked import LARGE, Runs, flat, require_plain, solved

_NEAR = 1e-6  # an element this near to a bound is at the bound
_CONSTANT = "pass it as a plain array"


def root(f: Callable, x0: Any, args: tuple, plain: Callable, settings: dict) -> Solved:
    """Return a root as a function of `args`. `plain(f, x0, args)` calls SciPy."""
    require_plain("root", settings, _CONSTANT)
    vector, unravel = ravel(as_vector(x0))

    def conditions(v: Any, args: tuple) -> Any:
        return f(unravel(v), *args)

    def run(v: Any, args: tuple) -> tuple[Any, bool, str]:
        found = plain(f, unravel(v), args)
        runs.results.append(found)
        return ravel(found.x)[0], bool(found.success), str(found.message)

    runs = Runs()
    op = f"root: {name_of(f, 'f')}"
    traced = lambda v, args: newton(conditions, v, (args,))  # noqa: E731
    x = unravel(solved(op, conditions, run, traced, vector, args))
    return runs.found(x=x, fun=flat(f(x, *args)))


def minimize(
    f: Callable, x0: Any, args: tuple, plain: Callable, method: Any, settings: dict
) -> Solved:
    """Return a minimum as a function of `args`. `plain(f, x0, args, **settings)` calls SciPy."""
    settings = dict(settings)
    constraints = settings.pop("constraints", None)
    require_plain("minimize", settings, _CONSTANT)
    bounds = settings.get("bounds")

    def compiled(op: str, cost: Callable, v: Any) -> Any:
        known: dict[str, Any] = {"bounds": bounds, "constraints": constraints} | settings
        tol, options = known.pop("tol", None), dict(known.pop("options", None) or {})
        tol, most = options.pop("gtol", tol), options.pop("maxiter", None)
        if not (method is None or (isinstance(method, str) and method.lower() == "bfgs")):
            known["method"] = method
        _require_bfgs("minimize", known | options, "tol and the options gtol and maxiter")
        return _by_bfgs(op, cost, v, 1e-5 if tol is None else tol, most)

    x, runs = _stationary(
        "minimize", f, f, x0, args, plain, bounds, _of_pairs, compiled, constraints or ()
    )
    return runs.found(x=x, fun=f(x, *args))


def least_squares(
    f: Callable, x0: Any, args: tuple, options: dict, plain: Callable, settings: dict
) -> Solved:
    """Return a fit as a function of `args` and `options`. `plain(f, x0, args)` calls SciPy, where
    `args` is the pair of both."""
    require_plain("least_squares", settings, _CONSTANT)
    loss, scale = settings.get("loss") or "linear", settings.get("f_scale") or 1.0
    if loss not in _LOSSES:
        raise NoRuleError(
            f"least_squares: loss={loss!r} and tracked arguments: the derivative is known for "
            f"{', '.join(map(repr, _LOSSES))}; for others use minimize"
        )
    rho = _LOSSES[loss]

    def cost(x: Any, args: Any, options: Any) -> Any:
        rest = flat(f(x, *args, **options)) / scale
        return 0.5 * scale**2 * np.sum(rho(rest * rest))

    bounds, both = settings.get("bounds"), (args, options)

    def compiled(op: str, cost: Callable, v: Any) -> Any:
        known = {name: x for name, x in settings.items() if name not in ("loss", "f_scale")}
        options = {name: known.pop(name) for name in ("gtol", "max_nfev") if name in known}
        _require_bfgs("least_squares", known, "gtol and max_nfev")
        return _by_bfgs(op, cost, v, options.get("gtol") or 1e-8, options.get("max_nfev"))

    x, runs = _stationary("least_squares", f, cost, x0, both, plain, bounds, _of_sides, compiled)
    return runs.found(x=x, fun=flat(f(x, *args, **options)), cost=cost(x, args, options))


_LOSSES: dict[Any, Callable] = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2.0 * (np.sqrt(1.0 + z) - 1.0),
    "huber": lambda z: np.where(z <= 1.0, z, 2.0 * np.sqrt(np.maximum(z, 1.0)) - 1.0),
    "cauchy": lambda z: np.log1p(z),
    "arctan": lambda z: np.arctan(z),
}


def _stationary(
    op: str, f: Callable, objective: Callable, x0: Any, args: tuple, plain: Callable, bounds: Any,
    sides: Callable, compiled: Callable, constraints: Any = (),
) -> tuple[Any, Runs]:  # fmt: skip
    """Return the point where the gradient of `objective(x, *args)` is zero, inside of bounds and
    under constraints. `compiled(op, cost, x)` computes a point near to it in compiled programs."""
    vector, unravel = ravel(as_vector(x0))
    n = vector.shape[0]
    limits = None if bounds is None else sides(Start(unravel(np.zeros(n))).bounds(bounds), n)
    held = Constraints(constraints, unravel, vector) if constraints else None

    def project(v: Any, slope: Any) -> Any:
        return slope if limits is None else v - np.clip(v - slope, *limits)

    def conditions(z: Any, given: tuple) -> Any:
        args, own = given
        cost = lambda v: objective(unravel(v), *args)  # noqa: E731
        if held is None:
            return project(z, grad(cost)(z))
        return held.conditions(cost, project, z, own)

    def run(z: Any, given: tuple) -> tuple[Any, bool, str]:
        args, own = given
        v = z[:n]
        more = {} if held is None else {"constraints": held.plain(own)}
        found = plain(f, unravel(v), args, **more)
        runs.results.append(found)
        v = ravel(found.x)[0]
        if held is not None:
            near = _NEAR * (1.0 + np.abs(v))
            free = np.ones(n, bool)
            if limits is not None:
                free = (v > limits[0] + near) & (v < limits[1] - near)
            slope = grad(lambda v: objective(unravel(v), *args))(v)
            v = held.with_multipliers(slope, free, v, own)
        return v, bool(found.success), str(found.message)

    def traced(z: Any, given: tuple) -> Any:
        near = compiled(op, lambda v: objective(unravel(v), *given[0]), z)
        return newton(conditions, near, (given,))

    runs = Runs()
    symmetric = limits is None and held is None
    solve = None if n <= LARGE else "cg" if symmetric else "gmres"
    start, own = vector, ()
    if held is not None:
        start, own = np.concatenate([vector, np.zeros(sum(held.counts))]), held.args
    op = f"{op}: {name_of(f, 'f')}"
    return unravel(solved(op, conditions, run, traced, start, (args, own), solve)[:n]), runs


def _require_bfgs(op: str, settings: dict, known: str) -> None:
    """Raise EagerOnlyError for settings that a compiled program does not know."""
    others = [f"{name}={value!r}" if isinstance(value, str) else name
              for name, value in sorted(settings.items()) if value is not None]  # fmt: skip
    if others:
        raise EagerOnlyError(
            f"{op}: {', '.join(others)} cannot be part of a compiled program, where the method is "
            f"BFGS with {known}: leave it out, compile the function alone by compile=True, or find "
            "the zero of its gradient with nbgrad.newton" + user_line()
        )


def _by_bfgs(op: str, cost: Callable, v: Any, tol: float, most: int | None) -> Any:
    return bfgs(op, cost, v, float(tol), int(most or 200 * shape_of(v)[0]))


def _of_pairs(bounds: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the bounds of `minimize` as arrays."""
    if isinstance(bounds, Bounds):
        return _of_sides(bounds, n)
    none = lambda side, missing: missing if side is None else side  # noqa: E731
    lower = [none(low, -np.inf) for low, _ in bounds]
    return np.array(lower, float), np.array([none(high, np.inf) for _, high in bounds], float)


def _of_sides(bounds: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the bounds of `least_squares` as arrays."""
    pair = (bounds.lb, bounds.ub) if isinstance(bounds, Bounds) else bounds
    lower, upper = (np.array(np.broadcast_to(np.asarray(side, float), (n,))) for side in pair)
    return lower, upper
