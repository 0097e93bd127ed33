"""`minimize`, `least_squares` and `root`: SciPy's, with trees for vectors and derivatives for
differences."""

from collections.abc import Callable
from typing import Any

import scipy.optimize
from scipy.optimize import OptimizeResult

from ..transforms import trees
from .functions import Flat, Objective
from .settings import Start, with_arguments

_WITHOUT_GRADIENT = ("nelder-mead", "powell", "cobyla", "cobyqa")
_WITH_PRODUCTS = ("newton-cg", "trust-ncg", "trust-krylov", "trust-constr")
_WITH_HESSIAN = ("dogleg", "trust-exact")
_WITH_JACOBIAN = ("hybr", "lm")


def objective(f: Callable, params: Any, args: Any = (), *, compile: bool = False) -> Objective:
    """`f` and its derivatives as functions of flat vectors, for any optimiser.

    Arguments:
        f: gives one number for `f(params, *args)`. One that `nbgrad.compile` made stays compiled.
        params: where to start: an array, a number or a flat sequence of numbers, which are vectors
            as for SciPy, or nested dicts, lists, tuples and dataclasses of float arrays.
        args: further arguments of f, a tuple.
        compile: compile f and what is derived from it, each at its first use.

    Returns an object with `fun(x)`, a float, `jac(x)` of shape (n,), `hess(x)` of shape (n, n) and
    `hessp(x, v)` of shape (n,), for float64 vectors of shape (n,); the vector `x0` to start from,
    and `unravel`, from a vector to the tree. `fun` and `jac` share one forward pass at a point.

    Raises TypeError where params hold no float; the functions raise it where f gives no number,
    and DimensionMismatch where it gives an array of more than one element.

    >>> parts = nbgrad.scipy.objective(lambda p: p["a"] ** 2 + p["b"], {"a": 3.0, "b": 1.0})
    >>> parts.fun(parts.x0), parts.jac(parts.x0)
    (10.0, array([6., 1.]))
    """
    trees.require_function("objective", f)
    return _objective(f, Start(params), args, compile)


def minimize(
    f: Callable,
    x0: Any,
    args: Any = (),
    method: Any = None,
    *,
    compile: bool = False,
    **settings,
) -> OptimizeResult:
    """`scipy.optimize.minimize`, for arrays and for trees, with the derivatives of `f`.

    Arguments: f, x0, args and compile are those of `objective`; `method` and all other settings,
        such as bounds, constraints, tol, callback and options, are SciPy's. A method gets the
        derivatives that it uses: the gradient, products with the Hessian, or the Hessian.

    Returns SciPy's result. For a tree, `result.x` is one like x0, while `jac`, `hess_inv` and the
    rest stay flat, in the order of `ravel`; a callback and the functions of constraints get trees
    too, and bounds may be a pair (lower, upper), each a number, None or a tree like x0 of what
    broadcasts to its leaves. Constraints get their Jacobians, for "trust-constr" their Hessians.

    Derivatives that you give yourself (jac, hess, hessp) take the place of those made; they take
    flat vectors and args. It raises as `objective` does, and what SciPy raises.

    >>> fit = lambda p: (p["a"] - 1.0) ** 2 + np.sum((p["b"] - p["a"]) ** 2)
    >>> found = nbgrad.scipy.minimize(fit, {"a": 0.0, "b": np.zeros(2)})
    >>> round(float(found.x["a"]), 4), found.x["b"].round(4)
    (1.0, array([1., 1.]))
    """
    trees.require_function("minimize", f)
    start = Start(x0)
    parts = _objective(f, start, args, compile)
    name = method.lower() if isinstance(method, str) else method
    if name in _WITHOUT_GRADIENT:
        supplied = {}
    elif callable(name):
        supplied = {"jac": parts.jac, "hess": parts.hess, "hessp": parts.hessp}
    elif name in _WITH_HESSIAN:
        supplied = {"jac": parts.jac, "hess": parts.hess}
    elif name in _WITH_PRODUCTS:
        supplied = {"jac": parts.jac, "hessp": parts.hessp}
    else:
        supplied = {"jac": parts.jac}
    settings = _settled(start, supplied, settings, args, {})
    if "constraints" in settings:
        settings["constraints"] = start.constraints(settings["constraints"], name, compile)
    fun = parts.fun if "jac" in supplied else parts.value
    return start.finished(scipy.optimize.minimize(fun, start.vector, method=method, **settings))


def least_squares(
    f: Callable,
    x0: Any,
    *,
    args: Any = (),
    kwargs: dict | None = None,
    compile: bool = False,
    **settings,
) -> OptimizeResult:
    """`scipy.optimize.least_squares`, for arrays and for trees, with the Jacobian of `f`.

    Arguments:
        f: gives the residuals for `f(x, *args, **kwargs)`: an array of any shape, or a tree of
            arrays. SciPy takes half the sum of their squares, or of `loss` of them.
        x0, args, compile: those of `objective`.
        kwargs: keyword arguments of f.
        settings: SciPy's: bounds (for a tree as `minimize` takes them), method, loss, x_scale, ...

    Returns SciPy's result. For a tree, `result.x` is one like x0; `fun`, `jac` of shape (m, n) and
    the rest are flat. It raises as `minimize` does.

    >>> t = np.linspace(0.0, 1.0, 5)
    >>> decay = lambda p, y: p["a"] * np.exp(-p["b"] * t) - y
    >>> start, y = {"a": 1.0, "b": 1.0}, 2.0 * np.exp(-3.0 * t)
    >>> found = nbgrad.scipy.least_squares(decay, start, args=(y,))
    >>> {name: round(float(x), 6) for name, x in found.x.items()}
    {'a': 2.0, 'b': 3.0}
    """
    trees.require_function("least_squares", f)
    start = Start(x0)
    options = dict(kwargs or {})
    parts = start.residuals(f, _tuple(args), options, compile)
    settings = _settled(start, {"jac": parts.jac}, settings, args, options)
    return start.finished(scipy.optimize.least_squares(parts.fun, start.vector, **settings))


def root(
    f: Callable, x0: Any, args: Any = (), method: str = "hybr", *, compile: bool = False, **settings
) -> OptimizeResult:
    """`scipy.optimize.root`, for arrays and for trees, with the Jacobian of `f`.

    Arguments:
        f: gives as many numbers as x holds for `f(x, *args)`: an array of any shape, or a tree.
        x0, args, compile: those of `objective`.
        method, settings: SciPy's. "hybr" and "lm" get the Jacobian, others use none.

    Returns SciPy's result. For a tree, `result.x` is one like x0; `fun` is flat. It raises as
    `minimize` does.

    >>> both = lambda x: np.stack([x[0] + x[1] - 3.0, x[0] * x[1] - 2.0])
    >>> found = nbgrad.scipy.root(both, [0, 3])
    >>> found.x.round(6)
    array([1., 2.])
    """
    trees.require_function("root", f)
    start = Start(x0)
    parts = start.residuals(f, _tuple(args), {}, compile)
    with_jac = isinstance(method, str) and method.lower() in _WITH_JACOBIAN
    settings = _settled(start, {"jac": parts.jac} if with_jac else {}, settings, args, {})
    return start.finished(scipy.optimize.root(parts.fun, start.vector, method=method, **settings))


def _objective(f: Callable, start: Start, args: Any, compile: bool) -> Objective:
    return Objective(Flat(f, start.unravel, _tuple(args), {}), start.vector, compile)


def _settled(start: Start, supplied: dict, settings: dict, args: Any, options: dict) -> dict:
    """SciPy's settings: the user's, those that speak of trees translated, and the derivatives."""
    chosen = {name: value for name, value in settings.items() if value is not None}
    for name, translated in (("bounds", start.bounds), ("callback", start.callback)):
        if name in chosen:
            chosen[name] = translated(chosen[name])
    for name in ("jac", "hess", "hessp"):
        if callable(chosen.get(name)):
            chosen[name] = with_arguments(chosen[name], _tuple(args), options)
    if chosen.get("jac") is True:  # they come with f: as they do
        del chosen["jac"]
    if "hess" in chosen:
        supplied.pop("hessp", None)
    return supplied | chosen


def _tuple(args: Any) -> tuple:
    return args if isinstance(args, tuple) else (args,)
