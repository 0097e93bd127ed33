"""`brentq`, `newton`, `fixed_point`, `root_scalar` of SciPy, differentiable in their arguments."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize

from ..control import newton as by_steps
from ..control.carried import name_of
from ..control.until import repeated
from ..core.primitive import shape_of
from ..errors import ArgumentError, NoRuleError
from ..transforms import elementwise_grad, jvp, stop_gradient, trees
from ..transforms.run import array_leaves
from .tracked import Runs, is_tracked, require_plain, solved

_CONSTANT = "pass it as a plain value"


def brentq(
    f: Callable[..., Any],
    a: Any,
    b: Any,
    args: Any = (),
    xtol: float = 2e-12,
    rtol: float = 4.0 * np.finfo(float).eps,
    maxiter: int = 100,
    full_output: bool = False,
    disp: bool = True,
) -> Any:
    """Return the root of `f(x, *args)` between a and b, differentiable in args.

    Arguments:
        f: a continuous function of one number.
        a, b: the ends of an interval at which f has different signs. The root has no derivative
            with respect to them.
        args: a tuple of further arguments of f: numbers, arrays or nested containers.
        xtol, rtol, maxiter, full_output, disp: as for `scipy.optimize.brentq`.

    Plain arguments are passed to SciPy. For tracked ones, or values that f closes over, SciPy finds
    the root, and the derivatives are those of the implicit function theorem, as for
    `nbgrad.implicit`. In compiled programs the root is found by Newton's method, and by bisection
    where it leaves the interval.

    Raises ValueError if the signs at a and b are equal, StepsError if the root is not found in
    `maxiter` steps, MatrixError if the slope at the root is 0.

    >>> root = lambda p: nbgrad.scipy.brentq(lambda x, p: x**3 - p, 0.0, 5.0, (p,))
    >>> round(float(root(8.0)), 9), round(float(nbgrad.grad(root)(8.0)), 9)
    (2.0, 0.083333333)
    """
    trees.require_function("brentq", f)
    settings = {"xtol": xtol, "rtol": rtol, "maxiter": maxiter}
    args = _tuple(args)
    if not is_tracked(f, a, b, args):
        return scipy.optimize.brentq(f, a, b, args, **settings, full_output=full_output, disp=disp)
    _no_output("brentq", full_output)
    ends = stop_gradient((_number(a), _number(b)))

    def run(x0: Any, given: Any) -> tuple[Any, bool, str]:
        (a, b), args = given
        x, about = scipy.optimize.brentq(
            _plainly(f), a, b, args, **settings, full_output=True, disp=False
        )
        return x, about.converged, about.flag

    def traced(x0: Any, given: Any) -> Any:
        (a, b), args = given
        return _bracketed(op, lambda x: f(x, *args), a, b, xtol, rtol, maxiter)

    op = f"brentq: {name_of(f, 'f')}"
    return solved(op, _condition(f), run, traced, ends[0], (ends, args))


def newton(
    func: Callable[..., Any],
    x0: Any,
    fprime: Callable[..., Any] | None = None,
    args: Any = (),
    tol: float = 1.48e-8,
    maxiter: int = 50,
    fprime2: Callable[..., Any] | None = None,
    x1: Any = None,
    rtol: float = 0.0,
    full_output: bool = False,
    disp: bool = True,
) -> Any:
    """Return a root of `func(x, *args)` near x0, differentiable in args.

    Arguments:
        func: a function of one number; for an array x0, an elementwise function.
        x0: a number, or an array of initial values for independent roots.
        fprime: the derivative of func; by default it is computed.
        args: a tuple of further arguments: numbers, arrays or nested containers.
        tol, maxiter, fprime2, x1, rtol, full_output, disp: as for `scipy.optimize.newton`.

    Derivatives and compiled programs are as for `brentq`; the root has no derivative with respect
    to x0. For systems of equations see `root` and `nbgrad.newton`.

    Raises StepsError for tracked arguments if a root is not found in `maxiter` steps, MatrixError
    if the slope at a root is 0; for plain arguments the errors of SciPy.

    >>> kepler = lambda E, M, e: E - e * np.sin(E) - M
    >>> anomaly = lambda M: nbgrad.scipy.newton(kepler, M, args=(M, 0.3))
    >>> round(float(anomaly(1.0)), 6), round(float(nbgrad.grad(anomaly)(1.0)), 6)
    (1.288091, 1.091329)
    """
    trees.require_function("newton", func)
    settings = {"tol": tol, "maxiter": maxiter, "fprime2": fprime2, "x1": x1, "rtol": rtol}
    args = _tuple(args)
    if not is_tracked(func, x0, args):
        slope = fprime or (_slope(func) if x1 is None else None)
        return scipy.optimize.newton(
            func, x0, slope, args, **settings, full_output=full_output, disp=disp
        )
    _no_output("newton", full_output)
    require_plain("newton", {"x1": x1, "fprime": fprime, "fprime2": fprime2}, _CONSTANT)
    start = stop_gradient(_number(x0))

    def run(x0: Any, args: tuple) -> tuple[Any, bool, str]:
        plain = _plainly(func)
        x, *about = scipy.optimize.newton(
            plain, x0, fprime or _slope(func), args, **settings, full_output=True, disp=False
        )
        done = np.all(about[0].converged if np.ndim(x0) == 0 else about[0])
        return x, bool(done), f"no convergence in {maxiter} steps"

    def traced(x0: Any, args: tuple) -> Any:
        if not shape_of(x0):
            return by_steps(func, x0, args, tol=max(tol, 1e-10), maxiter=maxiter)
        return _of_elements(op, lambda x: func(x, *args), x0, tol, rtol, maxiter)

    op = f"newton: {name_of(func, 'func')}"
    solve = _diagonal if shape_of(start) else None
    return solved(op, lambda x, args: func(x, *args), run, traced, start, args, solve)


def fixed_point(
    func: Callable[..., Any],
    x0: Any,
    args: Any = (),
    xtol: float = 1e-8,
    maxiter: int = 500,
    method: str = "del2",
) -> Any:
    """Return x with `func(x, *args) = x`, differentiable in args.

    Arguments:
        func: a function of a number or an array that returns another one of its shape.
        x0: the initial value, a number or an array.
        args: a tuple of further arguments: numbers, arrays or nested containers.
        xtol, maxiter, method: as for `scipy.optimize.fixed_point`.

    Derivatives are as for `brentq`; compiled programs use Newton's method for x - func(x). See
    `nbgrad.fixed_point` for nested values and many unknowns.

    Raises StepsError for tracked arguments if there is no convergence, MatrixError if the Jacobian
    of x - func(x) is singular; for plain arguments the errors of SciPy.

    >>> cosine = lambda c: nbgrad.scipy.fixed_point(lambda x, c: c * np.cos(x), 0.5, (c,))
    >>> round(float(cosine(1.0)), 6), round(float(nbgrad.grad(cosine)(1.0)), 6)
    (0.739085, 0.441611)
    """
    trees.require_function("fixed_point", func)
    settings = {"xtol": xtol, "maxiter": maxiter, "method": method}
    args = _tuple(args)
    if not is_tracked(func, x0, args):
        return scipy.optimize.fixed_point(func, x0, args, **settings)
    start = stop_gradient(_number(x0))

    def rest(x: Any, args: tuple) -> Any:
        return x - func(x, *args)

    def run(x0: Any, args: tuple) -> tuple[Any, bool, str]:
        try:
            found: Any = scipy.optimize.fixed_point(func, x0, args, **settings)
        except RuntimeError as error:
            return np.asarray(x0), False, str(error)
        return np.reshape(found, np.shape(x0)), True, ""

    def traced(x0: Any, args: tuple) -> Any:
        return by_steps(rest, x0, (args,), maxiter=maxiter)

    return solved(f"fixed_point: {name_of(func, 'func')}", rest, run, traced, start, args)


def root_scalar(
    f: Callable[..., Any], args: Any = (), method: str | None = None, bracket: Any = None,
    fprime: Any = None, fprime2: Any = None, x0: Any = None, x1: Any = None, **settings: Any,
) -> Any:  # fmt: skip
    """Return a root of `f(x, *args)`, differentiable in args, as a result with `root`.

    Arguments:
        f: a function of one number.
        args: a tuple of further arguments: numbers, arrays or nested containers.
        method, bracket, fprime, fprime2, x0, x1, settings: as for `scipy.optimize.root_scalar`.

    Derivatives, compiled programs and errors are as for `brentq` with a bracket, and as for
    `newton` with x0.

    >>> root = lambda p: nbgrad.scipy.root_scalar(lambda x: x**3 - p, bracket=(0.0, 5.0)).root
    >>> round(float(root(8.0)), 9), round(float(nbgrad.grad(root)(8.0)), 9)
    (2.0, 0.083333333)
    """
    trees.require_function("root_scalar", f)
    args = _tuple(args)
    options = {"method": method, "fprime": fprime, "fprime2": fprime2, "x1": x1, **settings}
    if not is_tracked(f, args, bracket, x0):
        return scipy.optimize.root_scalar(f, args, bracket=bracket, x0=x0, **options)
    require_plain("root_scalar", options, _CONSTANT)
    if bracket is None and x0 is None:
        raise ArgumentError("root_scalar: pass bracket=(a, b) or x0")
    if fprime is True:
        raise NoRuleError("root_scalar: fprime=True and tracked arguments: let f return its value")
    given = stop_gradient(([_number(x) for x in bracket or ()], _number(0.0 if x0 is None else x0)))
    runs = Runs()

    def run(start: Any, given: Any) -> tuple[Any, bool, str]:
        (ends, x0), args = given
        where = {"bracket": ends} if ends else {"x0": x0}
        found = scipy.optimize.root_scalar(_plainly(f), args, **where, **options)
        runs.results.append(found)
        return found.root, found.converged, found.flag

    def traced(start: Any, given: Any) -> Any:
        (ends, x0), args = given
        if not ends:
            return by_steps(f, x0, args, maxiter=settings.get("maxiter") or 50)
        xtol, rtol = settings.get("xtol") or 2e-12, settings.get("rtol") or 1e-15
        steps = settings.get("maxiter") or 100
        return _bracketed(op, lambda x: f(x, *args), ends[0], ends[1], xtol, rtol, steps)

    op = f"root_scalar: {name_of(f, 'f')}"
    start = given[0][0] if given[0] else given[1]
    root = solved(op, _condition(f), run, traced, start, (given, args))
    return runs.found(root=root, converged=True)


def _bracketed(op: str, f: Callable, a: Any, b: Any, xtol: float, rtol: float, maxiter: int) -> Any:
    """Return the root between a and b, by Newton steps that halve the one before, or bisection.

    Press and others, Numerical Recipes, 2007, section 9.4.
    """
    side = np.sign(_value(op, f(a)))

    def step(state: tuple) -> tuple:
        low, high, x, last = state
        value, slope = jvp(lambda x: _value(op, f(x)), (x,), (np.ones_like(x),))
        is_low = np.sign(value) == side
        low, high = np.where(is_low, x, low), np.where(is_low, high, x)
        near = x - value / np.where(slope == 0.0, np.nan, slope)
        inside = (near > np.minimum(low, high)) & (near < np.maximum(low, high))
        quick = inside & (np.abs(near - x) < 0.5 * last)
        new = np.where(value == 0.0, x, np.where(quick, near, 0.5 * (low + high)))
        return low, high, new, np.abs(new - x) + 0.0 * last  # nan remains nan

    def unfinished(state: tuple) -> Any:
        _, _, x, last = state
        return np.logical_not(last <= xtol + rtol * np.abs(x))

    same = side * np.sign(_value(op, f(b))) > 0.0
    start = a + 0.0 * b, b + 0.0 * a, 0.5 * (a + b), np.where(same, np.nan, np.abs(b - a))
    told = (
        f"{op}: no root in maxiter={maxiter} steps: f(a) and f(b) must have different signs; else "
        "increase maxiter or xtol"
    )
    return repeated(unfinished, step, start, max(maxiter, 100), lambda state: told)[2]


def _of_elements(op: str, f: Callable, x0: Any, tol: float, rtol: float, maxiter: int) -> Any:
    """Return the roots of an elementwise function, by Newton's method."""

    def step(state: tuple) -> tuple:
        x, _ = state
        value, slope = jvp(f, (x,), (np.ones_like(x),))
        d = np.where(value == 0.0, 0.0, value / np.where(slope == 0.0, np.nan, slope))
        return x - d, np.max(np.abs(d) / (tol + rtol * np.abs(x)))

    start = x0, np.full((), np.inf, x0.dtype)
    told = f"{op}: no convergence in maxiter={maxiter} steps: start nearer to the roots"
    unfinished = lambda state: np.logical_not(state[1] <= 1.0)  # noqa: E731
    return repeated(unfinished, step, start, maxiter, lambda state: told)[0]


def _diagonal(product: Callable, b: Any) -> Any:
    """Solve a system with a diagonal matrix."""
    slopes = product(np.ones_like(b))
    return np.linalg.solve(slopes[:, None, None], b[:, None, None])[:, 0, 0]


def _condition(f: Callable) -> Callable:
    return lambda x, given: f(x, *given[1])


def _plainly(f: Callable) -> Callable:
    """Return f with a float in place of an array of one element."""
    return lambda x, *args: np.reshape(f(x, *args), np.shape(x))[()]


def _slope(f: Callable) -> Callable:
    return lambda x, *args: elementwise_grad(lambda x: f(x, *args))(x)


def _value(op: str, value: Any) -> Any:
    return np.reshape(array_leaves(op, value)[0][0], ())


def _number(x: Any) -> Any:
    """Convert integers to floats, and sequences to arrays."""
    x = np.asarray(x) if not hasattr(x, "dtype") else x
    return x.astype(np.float64) if x.dtype.kind in "iub" else x


def _no_output(op: str, full_output: bool) -> None:
    if full_output:
        raise NoRuleError(f"{op}: full_output is not supported with tracked values: omit it")


def _tuple(args: Any) -> tuple:
    return args if isinstance(args, tuple) else (args,)
