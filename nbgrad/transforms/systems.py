"""Linear systems with the Jacobian of an equation at its solution, for `implicit`."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.array import Array
from ..core.primitive import shape_of
from ..errors import ArgumentError, MatrixError, NoRuleError, StepsError
from .forward import jvp
from .jacobians import jacobian
from .reverse import vjp

_METHODS = ("bicgstab", "cg", "gmres")
_LEFT = 1e-4  # the residual of a linear solver, relative to the right-hand side, that is an error


def matrix_of(residual: Callable, x: Any) -> Any:
    """Return the Jacobian (n, n) of a function of a vector (n,)."""
    if shape_of(x) == (1,):
        try:
            return np.reshape(jvp(residual, (x,), (np.ones_like(x),))[1], (1, 1))
        except NoRuleError:  # a custom rule without a pushforward
            pass
    return jacobian(residual)(x)


class _System:
    """Linear systems with the Jacobian of `residual(vector, *args)` at a vector x.

    `rest` is the residual there. Subclasses solve the systems.
    """

    def __init__(
        self, name: str, residual: Callable, x: Any, args: Sequence, rest: Any, tol: float | None
    ):
        self.name, self.residual, self.x, self.args = name, residual, x, args
        self.rest, self.tol = rest, tol

    def direct(self, b: Any) -> Any:
        """Return J^-1 @ b."""
        raise NotImplementedError

    def transposed(self, b: Any) -> Any:
        """Return J'^-1 @ b."""
        raise NotImplementedError

    def _step(self, rest: Any) -> Any:
        """Return a Newton step for the residual `rest`."""
        return self.direct(rest)

    def _singular(self) -> MatrixError:
        told = "" if isinstance(self.rest, Array) else f" (residual {_most(self.rest):.3g})"
        return MatrixError(
            f"{self.name}: the Jacobian of the equation at the solution is singular{told}, so the "
            "solution has no derivative there: it is a multiple root, or not isolated"
        )

    def require_solved(self) -> None:
        """Raise StepsError if a Newton step shows that x is far from the solution."""
        rest, x = self.rest, self.x
        if self.tol is None or isinstance(rest, Array) or isinstance(x, Array) or not np.any(rest):
            return
        step = self._step(rest)
        if isinstance(step, Array):
            return
        far, most = np.max(np.abs(step)), self.tol * (1.0 + np.max(np.abs(x)))
        if not far <= most:
            raise StepsError(
                f"{self.name}: the solver did not converge: the residual is {_most(rest):.3g}, and "
                f"a Newton step would move the solution by {far:.3g}: solve with a smaller "
                "tolerance, or from another initial value"
            )


class Dense(_System):
    """Systems with the matrix of the Jacobian."""

    def __init__(self, *parts: Any):
        super().__init__(*parts)
        self.matrix = matrix_of(lambda x: self.residual(x, *self.args), self.x)
        self.require_solved()

    def direct(self, b: Any) -> Any:
        return self._solved(self.matrix, b)

    def transposed(self, b: Any) -> Any:
        return self._solved(np.transpose(self.matrix), b)

    def _solved(self, matrix: Any, b: Any) -> Any:
        try:
            found = np.linalg.solve(matrix, b)
        except np.linalg.LinAlgError:
            raise self._singular() from None
        if not isinstance(found, Array):
            # A bound below the condition number, which needs no decomposition.
            grown = np.max(np.abs(matrix)) * np.max(np.abs(found), initial=0.0)
            if not grown * np.finfo(found.dtype).eps < max(_most(b), np.finfo(found.dtype).tiny):
                raise self._singular()
        return found


class Products(_System):
    """Systems of which only products with the Jacobian are computed.

    The linear solution is itself an implicit function, of the vector x, of the arguments and of the
    right-hand side: `linear(name, optimality, solver, args, solve)` returns it.
    """

    def __init__(self, *parts: Any):
        self.solve, self.linear = parts[-2:]
        super().__init__(*parts[:-2])
        self.require_solved()

    def direct(self, b: Any) -> Any:
        def product(v: Any, x: Any, *args: Any) -> Any:
            return jvp(lambda x: self.residual(x, *args), (x,), (v,))[1]

        return self._solved(product, b)

    def _step(self, rest: Any) -> Any:
        # Without the check of the linear solution, as `rest` may be rounding errors only.
        times = lambda v: jvp(lambda x: self.residual(x, *self.args), (self.x,), (v,))[1]  # noqa: E731
        return self._method(times, rest)

    def transposed(self, b: Any) -> Any:
        def product(v: Any, x: Any, *args: Any) -> Any:
            return vjp(lambda x: self.residual(x, *args), x)[1](v)[0]

        return self._solved(product, b)

    def _solved(self, product: Callable, b: Any) -> Any:
        def optimality(v: Any, b: Any, x: Any, *args: Any) -> Any:
            return product(v, x, *args) - b

        def solver(b: Any, x: Any, *args: Any) -> Any:
            times = lambda v: product(np.reshape(v, shape_of(b)), x, *args)  # noqa: E731
            found = self._method(times, b)
            if not isinstance(found, Array) and not isinstance(b, Array):
                left = _most(times(found) - b)
                if not left <= _LEFT * _most(b):
                    raise StepsError(
                        f"{self.name}: the linear solver left a residual of {left:.3g} for a "
                        f"right-hand side of {_most(b):.3g}: the Jacobian may be singular; else "
                        "use more steps, a preconditioner, or solve=None"
                    )
            return found

        args = b, self.x, *self.args
        return self.linear(f"{self.name}: solve", optimality, solver, args, self.solve)

    def _method(self, times: Callable, b: Any) -> Any:
        if not isinstance(self.solve, str):
            try:
                return self.solve(times, b)
            except np.linalg.LinAlgError:
                raise self._singular() from None
        if isinstance(b, Array):
            raise ArgumentError(
                f"{self.name}: solve={self.solve!r} is SciPy's, which a compiled program cannot "
                "contain: pass a function of products, or None"
            )
        from scipy.sparse.linalg import LinearOperator

        operator = LinearOperator((b.size, b.size), times, dtype=b.dtype)  # pyright: ignore[reportCallIssue]
        return self.method(self.solve)(operator, b, rtol=1e-12, atol=0.0, maxiter=50 * b.size)[0]

    @staticmethod
    def method(name: str) -> Callable:
        """Return SciPy's linear solver of a name. Raises ArgumentError for another name."""
        if name not in _METHODS:
            raise ArgumentError(
                f"implicit: solve={name!r}: pass None, a function, or one of "
                f"{', '.join(map(repr, _METHODS))}"
            )
        import scipy.sparse.linalg

        return getattr(scipy.sparse.linalg, name)


def _most(x: Any) -> float:
    return float(np.max(np.abs(x), initial=0.0))
