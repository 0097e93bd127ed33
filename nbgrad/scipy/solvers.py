"""`minimize`, `least_squares` and `root`: SciPy's, with trees in place of vectors and derivatives
in place of differences."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize

from ..transforms import trees
from .flat import Unravel, ravel
from .functions import Flat, Joined, Objective, Residuals

_WITHOUT_GRADIENT = ("nelder-mead", "powell", "cobyla", "cobyqa")
_WITH_PRODUCTS = ("newton-cg", "trust-ncg", "trust-krylov", "trust-constr")
_WITH_HESSIAN = ("dogleg", "trust-exact")


def objective(f: Callable, params: Any, args: Any = (), *, compile: bool = False) -> Objective:
    """`f` and its derivatives as functions of flat vectors, for any optimiser.

    Arguments:
        f: gives one number for `f(params, *args)`. One that `nbgrad.compile` made stays compiled.
        params: where to start: an array, a sequence of numbers, which SciPy takes as an array, or
            nested dicts, lists, tuples and dataclasses of arrays.
        args: further arguments of f, a tuple.
        compile: compile f and what is derived from it, at the first use of each.

    Returns an object with `fun(x)`, a float, `jac(x)` of shape (n,), `hess(x)` of shape (n, n) and
    `hessp(x, v)` of shape (n,), all of float64 vectors of shape (n,); the vector `x0` to start
    from, and `unravel`, from a vector to the tree. `fun` and `jac` share one forward pass at the
    same point.

    They raise TypeError where params hold no float or f gives no number, DimensionMismatch where it
    gives an array of more than one element.

    >>> parts = nbgrad.scipy.objective(lambda p: p["a"] ** 2 + p["b"], {"a": 3.0, "b": 1.0})
    >>> parts.fun(parts.x0), parts.jac(parts.x0)
    (10.0, array([6., 1.]))
    """
    trees.require_function("objective", f)
    x0, unravel = _start("objective", params)
    return Objective(Flat(f, unravel, _tuple(args), {}), x0, compile)


def minimize(
    f: Callable,
    x0: Any,
    args: Any = (),
    method: str | Callable | None = None,
    *,
    compile: bool = False,
    **settings,
) -> scipy.optimize.OptimizeResult:
    """`scipy.optimize.minimize` with derivatives made from `f`, for arrays and for trees.

    Arguments: f, x0, args and compile as for `objective`; method and all other settings (bounds,
        constraints, tol, callback, options) are SciPy's. The method gets the derivatives that it
        uses: the gradient, products with the Hessian, or the Hessian.

    Returns SciPy's result; where x0 is a tree, `result.x` is one like it, while `jac`, `hess_inv`
    and the rest stay flat, in the order of `ravel`. A callback and the functions of constraints get
    the tree too, and constraints their Jacobians; bounds may be a pair (lower, upper) of numbers or
    trees like x0.

    Raises as `objective` does, and what SciPy raises.

    >>> fit = lambda p: (p["a"] - 1.0) ** 2 + np.sum((p["b"] - p["a"]) ** 2)
    >>> found = nbgrad.scipy.minimize(fit, {"a": 0.0, "b": np.zeros(2)})
    >>> round(float(found.x["a"]), 4), found.x["b"].round(4)
    (1.0, array([1., 1.]))
    """
    trees.require_function("minimize", f)
    start, unravel = _start("minimize", x0)
    parts = Objective(Flat(f, unravel, _tuple(args), {}), start, compile)
    name = method.lower() if isinstance(method, str) else method
    fun = parts.fun
    if name in _WITHOUT_GRADIENT:
        fun = parts.value
    else:
        settings.setdefault("jac", parts.jac)
    if name in _WITH_PRODUCTS:
        settings.setdefault("hessp", parts.hessp)
    elif name in _WITH_HESSIAN:
        settings.setdefault("hess", parts.hess)
    found = scipy.optimize.minimize(fun, start, method=method, **settings)
    found.x = unravel(found.x)
    return found


def least_squares(
    f: Callable, x0: Any, *, args: Any = (), kwargs: Any = None, compile: bool = False, **settings
) -> scipy.optimize.OptimizeResult:
    trees.require_function("least_squares", f)
    start, unravel = _start("least_squares", x0)
    parts = Residuals(Joined(f, unravel, _tuple(args), dict(kwargs or {})), start, compile)
    settings.setdefault("jac", parts.jac)
    found = scipy.optimize.least_squares(parts.fun, start, **settings)
    found.x = unravel(found.x)
    return found


def root(
    f: Callable, x0: Any, args: Any = (), method: str = "hybr", *, compile: bool = False, **settings
) -> scipy.optimize.OptimizeResult:
    trees.require_function("root", f)
    start, unravel = _start("root", x0)
    parts = Residuals(Joined(f, unravel, _tuple(args), {}), start, compile)
    if isinstance(method, str) and method.lower() in ("hybr", "lm"):
        settings.setdefault("jac", parts.jac)
    found = scipy.optimize.root(parts.fun, start, method=method, **settings)
    found.x = unravel(found.x)
    return found


def _start(op: str, x0: Any) -> tuple[np.ndarray, Unravel]:
    """The vector to start from, float64, and how to build what `f` gets.

    As for SciPy, numbers and flat sequences of numbers are vectors, of integers too.
    """
    if _is_vector(x0):
        x0 = np.atleast_1d(np.asarray(x0))
        x0 = x0.astype(np.float64) if x0.dtype.kind in "iub" else x0
    vector, unravel = ravel(x0)
    return np.asarray(vector, np.float64), unravel


def _is_vector(x0: Any) -> bool:
    if type(x0) in (list, tuple):
        return bool(x0) and all(isinstance(x, (float, int, np.number)) for x in x0)
    return isinstance(x0, (float, int, np.number, np.ndarray))


def _tuple(args: Any) -> tuple:
    return args if isinstance(args, tuple) else (args,)
