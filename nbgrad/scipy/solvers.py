"""`minimize`, `least_squares` and `root` of SciPy, with nested parameters and exact derivatives."""

from collections.abc import Callable
from typing import Any

import scipy.optimize
from scipy.optimize import OptimizeResult

from ..errors import ArgumentError
from ..transforms import trees
from . import optima
from .functions import Flat, Objective
from .settings import Start, with_arguments
from .tracked import is_tracked

_WITHOUT_GRADIENT = ("nelder-mead", "powell", "cobyla", "cobyqa")
_WITH_PRODUCTS = ("newton-cg", "trust-ncg", "trust-krylov", "trust-constr")
_WITH_HESSIAN = ("dogleg", "trust-exact")
_WITH_JACOBIAN = ("hybr", "lm")


def objective(f: Callable, params: Any, args: Any = (), *, compile: bool = False) -> Objective:
    """Return `f` and its derivatives as functions of flat vectors, for any optimiser.

    Arguments:
        f: a function that returns one number for `f(params, *args)`. A function compiled by
            `nbgrad.compile` is used as it is.
        params: the initial value: an array, a number or a flat sequence of numbers, which are
            vectors as in SciPy, or nested dicts, lists, tuples and dataclasses of float arrays.
        args: a tuple of further arguments of f.
        compile: compile f and its derivatives, each at its first use.

    Returns an object with `fun(x)`, a float, `jac(x)` of shape (n,), `hess(x)` of shape (n, n) and
    `hessp(x, v)` of shape (n,), for float64 vectors of shape (n,); the initial vector `x0`, and
    `unravel`, which converts a vector to a tree. `fun` and `jac` share a forward pass.

    Raises TypeError if params hold no float. The functions raise TypeError if f does not return a
    number, DimensionMismatch if it returns an array of more than one element.

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
    """Call `scipy.optimize.minimize` with the derivatives of `f`, for arrays and trees.

    Arguments:
        f, x0, args, compile: as for `objective`.
        method, settings: as for SciPy, such as bounds, constraints, tol, callback and options. The
            method receives the derivatives that it uses: the gradient, products with the Hessian,
            or the Hessian.

    Returns SciPy's result. If x0 is a tree, `result.x` is a tree, while `jac`, `hess_inv` and
    others are flat, in the order of `ravel`. Callbacks and constraint functions then receive trees,
    and bounds may be a pair (lower, upper) of numbers, None, or trees whose leaves broadcast.
    Jacobians of constraints are computed, and their Hessians for "trust-constr". With
    `hess="sparse"`, that method gets the Hessian as a sparse matrix, and with `jac="sparse"`, a
    NonlinearConstraint has sparse derivatives: see `nbgrad.sparse_hessian`.

    Derivatives that you pass (jac, hess, hessp) replace the computed ones; they are functions of
    flat vectors and args. Raises the errors of `objective` and of SciPy.

    If args, or values that f closes over, are tracked, `result.x` and `result.fun` are
    differentiable in them, by the implicit function theorem for the gradient of f, as for
    `nbgrad.implicit`; a Newton step brings x to rounding errors. Elements at active bounds are
    constants, and x0 has no derivative. Constraints may depend on tracked values too; the equations
    are then those of Karush, Kuhn and Tucker. `result` has no arrays such as jac. Raises StepsError
    if the method did not converge, MatrixError if the equations are singular at the minimum,
    NoRuleError for tracked bounds and other settings.

    In compiled programs, BFGS is a loop of the program: without bounds and constraints, by the
    method None or "BFGS", with tol and the options gtol and maxiter; others raise EagerOnlyError.

    >>> fit = lambda p: (p["a"] - 1.0) ** 2 + np.sum((p["b"] - p["a"]) ** 2)
    >>> found = nbgrad.scipy.minimize(fit, {"a": 0.0, "b": np.zeros(2)})
    >>> round(float(found.x["a"]), 4), found.x["b"].round(4)
    (1.0, array([1., 1.]))
    """
    trees.require_function("minimize", f)
    if is_tracked(f, x0, args, settings.get("constraints")):

        def plain(f: Callable, x0: Any, args: Any, **more: Any) -> OptimizeResult:
            return minimize(f, x0, args, method, compile=compile, **settings | more)

        return optima.minimize(f, x0, _tuple(args), plain, method, settings)
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
    if _asks(settings, "hess", "minimize", name == "trust-constr", 'method="trust-constr"'):
        del settings["hess"], supplied["hessp"]
        supplied["hess"] = parts.sparse_hess
    _asks(settings, "jac", "minimize", False, "constraints, and for least_squares and root")
    settings = _settled(start, supplied, settings, args, {})
    if "constraints" in settings:
        settings["constraints"] = start.constraints(settings["constraints"], name, compile)
    fun = parts.fun if "jac" in supplied else parts.value
    found = scipy.optimize.minimize(fun, start.vector, method=method, **settings)
    return start.finished(found).with_problem((parts, found.x))


def least_squares(
    f: Callable,
    x0: Any,
    *,
    args: Any = (),
    kwargs: dict | None = None,
    compile: bool = False,
    **settings,
) -> OptimizeResult:
    """Call `scipy.optimize.least_squares` with the Jacobian of `f`, for arrays and trees.

    Arguments:
        f: a function that returns the residuals `f(x, *args, **kwargs)`, an array of any shape or a
            tree of arrays.
        x0, args, compile: as for `objective`.
        kwargs: keyword arguments of f.
        settings: as for SciPy: bounds (for a tree as for `minimize`), method, loss, x_scale, ...
            `jac="sparse"` computes the Jacobian as a sparse matrix, by `nbgrad.sparse_jacobian`,
            for many parameters, of which each residual depends on a few.

    Returns SciPy's result. If x0 is a tree, `result.x` is a tree; `fun`, `jac` of shape (m, n) and
    others are flat. Raises the errors of `minimize`.

    For tracked args, kwargs or closures, `result.x`, `result.fun` and `result.cost` are
    differentiable, as for `minimize`. The loss is then one of SciPy's names. Compiled programs
    find the minimum by BFGS, without bounds, with the settings loss, f_scale, gtol and max_nfev.

    >>> t = np.linspace(0.0, 1.0, 5)
    >>> decay = lambda p, y: p["a"] * np.exp(-p["b"] * t) - y
    >>> start, y = {"a": 1.0, "b": 1.0}, 2.0 * np.exp(-3.0 * t)
    >>> found = nbgrad.scipy.least_squares(decay, start, args=(y,))
    >>> {name: round(float(x), 6) for name, x in found.x.items()}
    {'a': 2.0, 'b': 3.0}
    """
    trees.require_function("least_squares", f)
    options = dict(kwargs or {})
    if is_tracked(f, x0, args, options):
        given = {"compile": compile, **settings}
        plain = lambda f, x0, both: least_squares(f, x0, args=both[0], kwargs=both[1], **given)  # noqa: E731
        return optima.least_squares(f, x0, _tuple(args), options, plain, settings)
    start = Start(x0)
    parts = start.residuals(f, _tuple(args), options, compile)
    jac = parts.jac
    if _asks(settings, "jac", "least_squares", settings.get("method") != "lm", '"trf" or "dogbox"'):
        del settings["jac"]
        jac = parts.sparse_jac
    settings = _settled(start, {"jac": jac}, settings, args, options)
    found = scipy.optimize.least_squares(parts.fun, start.vector, **settings)
    return start.finished(found).with_problem((parts, found.x, settings.get("loss", "linear")))


def root(
    f: Callable, x0: Any, args: Any = (), method: str = "hybr", *, compile: bool = False, **settings
) -> OptimizeResult:
    """Call `scipy.optimize.root` with the Jacobian of `f`, for arrays and trees.

    Arguments:
        f: a function `f(x, *args)` that returns as many numbers as x has: an array or a tree.
        x0, args, compile: as for `objective`.
        method, settings: as for SciPy. Only "hybr" and "lm" use the Jacobian, a dense matrix; with
            `jac="sparse"` it is computed by `nbgrad.sparse_jacobian`, in fewer products.

    Returns SciPy's result. If x0 is a tree, `result.x` is a tree; `fun` is flat. Raises the errors
    of `minimize`. For tracked args or closures, `result.x` is differentiable, as for `minimize`;
    compiled programs find it by `nbgrad.newton`.

    >>> both = lambda x: np.stack([x[0] + x[1] - 3.0, x[0] * x[1] - 2.0])
    >>> found = nbgrad.scipy.root(both, [0, 3])
    >>> found.x.round(6)
    array([1., 2.])
    """
    trees.require_function("root", f)
    if is_tracked(f, x0, args):
        plain = lambda f, x0, args: root(f, x0, args, method, compile=compile, **settings)  # noqa: E731
        return optima.root(f, x0, _tuple(args), plain, settings)
    start = Start(x0)
    parts = start.residuals(f, _tuple(args), {}, compile)
    with_jac = isinstance(method, str) and method.lower() in _WITH_JACOBIAN
    jac: Any = parts.jac
    if _asks(settings, "jac", "root", with_jac, 'method="hybr" or "lm"'):
        del settings["jac"]
        jac = _dense(parts.sparse_jac)
    settings = _settled(start, {"jac": jac} if with_jac else {}, settings, args, {})
    return start.finished(scipy.optimize.root(parts.fun, start.vector, method=method, **settings))


def _objective(f: Callable, start: Start, args: Any, compile: bool) -> Objective:
    return Objective(Flat(f, start.unravel, _tuple(args), {}), start.vector, compile)


def _settled(start: Start, supplied: dict, settings: dict, args: Any, options: dict) -> dict:
    """Return the user's settings, converted from trees to vectors, and the derivatives."""
    chosen = {name: value for name, value in settings.items() if value is not None}
    for name, translated in (("bounds", start.bounds), ("callback", start.callback)):
        if name in chosen:
            chosen[name] = translated(chosen[name])
    for name in ("jac", "hess", "hessp"):
        if callable(chosen.get(name)):
            chosen[name] = with_arguments(chosen[name], _tuple(args), options)
    if chosen.get("jac") is True:  # the derivatives are computed from f
        del chosen["jac"]
    if "hess" in chosen:
        supplied.pop("hessp", None)
    return supplied | chosen


def _asks(settings: dict, name: str, op: str, fits: bool, methods: str) -> bool:
    """Return whether the user asks for a sparse matrix. Raises ArgumentError for a method that
    takes none."""
    if not isinstance(settings.get(name), str) or settings[name] != "sparse":
        return False
    if not fits:
        raise ArgumentError(f'{op}: {name}="sparse" is for {methods}')
    return True


def _dense(jac: Callable) -> Callable:
    return lambda x: jac(x).toarray()


def _tuple(args: Any) -> tuple:
    return args if isinstance(args, tuple) else (args,)
