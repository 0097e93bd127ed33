"""`implicit`: derivatives of solutions of equations, by the implicit function theorem.

At a solution of F(x, p) = 0, F_x dx + F_p dp = 0, whatever way led there. A derivative is one
linear system with the Jacobian F_x, or its transpose (Griewank and Walther, Evaluating Derivatives,
2008, chapter 15). The rules are made of differentiable ops, so they have derivatives in turn.
"""

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any, Generic

from ..core.array import Array
from ..core.remade import reduced
from ..errors import ArgumentTypeError
from . import trees
from .equations import Equation, solved
from .state import State
from .systems import Products
from .transformed import Parameters, Result

_FAR = 1e-3  # a longer Newton step from a solution, relative to 1 + |x|, is an error


class Implicit(Generic[Parameters, Result]):
    """A solver with the derivative of its solution, returned by `nbgrad.implicit`."""

    def __init__(
        self,
        f: Callable[Parameters, Result],
        optimality: Callable,
        solve: Any = None,
        tol: float | None = _FAR,
    ):
        update_wrapper(self, f, assigned=("__module__", "__name__", "__doc__"), updated=())
        self.f, self.optimality, self.solve, self.tol = f, optimality, solve, tol

    def __call__(self, *args: Parameters.args, **options: Parameters.kwargs) -> Result:
        name = getattr(self, "__name__", type(self.f).__name__)
        return solution(name, self.optimality, self.f, args, options, self.solve, self.tol)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind a method: the instance is the first argument."""
        if instance is None:
            return self
        call: Any = self
        return lambda *args, **options: call(instance, *args, **options)

    def __reduce__(self) -> Any:
        return reduced(self, Implicit, self.f, self.optimality, self.solve, self.tol)

    @property
    def function(self) -> Callable[Parameters, Result]:
        """The solver without the rule."""
        return self.f


def implicit(
    optimality: Callable, *, solve: Callable | str | None = None, tol: float | None = _FAR
) -> Callable[[Callable[Parameters, Result]], Implicit[Parameters, Result]]:
    """Give a solver the derivatives of its solution, by the implicit function theorem.

    Arguments:
        optimality: a function that is zero at the solution: `optimality(x, *args)` for
            `x = solver(*args)`. It returns as many numbers as x holds floats, in an array or a
            nested container, and is made of functions that nbgrad differentiates.
        solve: the solver of the linear systems with the Jacobian of `optimality`. None makes the
            Jacobian and factorizes it, for up to about a thousand unknowns. "gmres", "bicgstab",
            or "cg" for symmetric positive definite Jacobians, are SciPy's methods, which use
            products only. A function `solve(product, b)` returns x with `product(x) = b`, for
            vectors (n,).
        tol: the first derivative raises if a Newton step from the solution is longer than
            `tol * (1 + max(abs(x)))`: then the solver did not converge. None skips this check.

    Returns a decorator. The solver may be any code: a loop, SciPy, a function compiled by Numba. It
    is called with plain numbers, and its steps are not differentiated. Its arguments may be nested;
    those that `optimality` does not use, such as an initial value, have zero derivatives. Tracked
    values that the functions close over count as arguments. Derivatives have all orders, in reverse
    and forward mode and under `vmap`. A compiled program can contain solvers that it can record:
    see `nbgrad.newton` and `nbgrad.fixed_point`.

    For x with F(x, p) = 0, dx = -F_x^-1 F_p dp, and p_bar = -F_p' F_x'^-1 x_bar.

    Raises, when the solver is called or differentiated:
        DimensionMismatch: `optimality` returns another number of elements than x has.
        NanError: the solution or its residual is not finite.
        MatrixError: the Jacobian at the solution is singular.
        StepsError: the solution does not solve the equation.
        CustomRuleError: a function uses a tracked value that is no argument and in no closure.

    >>> @nbgrad.implicit(lambda x, a: x**2 - a)
    ... def root(a):
    ...     x = 1.0
    ...     for _ in range(30):
    ...         x = 0.5 * (x + a / x)
    ...     return x
    >>> nbgrad.grad(root)(4.0), nbgrad.grad(nbgrad.grad(root))(4.0)
    (np.float64(0.25), np.float64(-0.03125))
    """
    trees.require_function("implicit", optimality)
    if isinstance(solve, str):
        Products.method(solve)
    elif solve is not None:
        trees.require_function("implicit: solve", solve)

    def decorate(f: Callable[Parameters, Result]) -> Implicit[Parameters, Result]:
        trees.require_function("implicit", f)
        return Implicit(f, optimality, solve, tol)

    return decorate


def captured(tree: Any) -> tuple[State | None, list[int]]:
    """Return the state of the functions of a tree, and the places of tracked values among its
    leaves. There is no state of a closure that contains itself."""
    try:
        state = State(tree)
    except ArgumentTypeError:
        return None, []
    return state, [i for i, x in enumerate(state.leaves) if isinstance(x, Array)]


def solution(
    name: str,
    optimality: Callable,
    solver: Callable,
    args: tuple,
    options: dict[str, Any] | None = None,
    solve: Any = None,
    tol: float | None = _FAR,
    records: bool = False,
) -> Any:
    """Return `solver(*args, **options)` with the derivative of the solution of `optimality`.

    `records` tells that the solver consists of ops of nbgrad, which treat samples together.
    """
    options = options or {}
    lifted, places = captured((optimality, solver))
    if lifted is not None and places:
        # Tracked values in closures become arguments.
        def functions(arrays: Sequence) -> tuple:
            leaves = list(lifted.leaves)
            for i, x in zip(places, arrays, strict=True):
                leaves[i] = x
            return lifted.rebuild(leaves)

        def conditions(x: Any, arrays: Sequence, *args: Any, **options: Any) -> Any:
            return functions(arrays)[0](x, *args, **options)

        def found(arrays: Sequence, *args: Any, **options: Any) -> Any:
            return functions(arrays)[1](*args, **options)

        args = ([lifted.leaves[i] for i in places], *args)
        optimality, solver = conditions, found
    return solved(Equation(name, optimality, solver, args, options, solve, tol, records))
