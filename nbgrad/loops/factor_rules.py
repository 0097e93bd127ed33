"""Solutions of linear systems and Cholesky factors with rules, for functions with loops.

Kernels give the values, which count as constants. The rules are code of functions with loops, and
call what they are the rules of, so they have derivatives of any order.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..compiler.front.arrays import fresh, in_memory
from ..compiler.front.calls import call, not_read, record_arrays
from ..compiler.front.emit import FunctionBuilder
from ..compiler.front.values import INT, Array, Value
from ..kernels import systems
from ..kernels.cholesky import choleskied, factor_pulled_back
from .array_rules import link
from .library import add_constant

__all__ = ["cholesky", "solve"]

# -- what is called -------------------------------------------------------------------------------


class _Kernel:
    """A kernel of an array, which is called with the size of its result and two numbers."""

    def __init__(self, kernel: Callable):
        self.kernel, self.__name__ = kernel, kernel.__name__

    def __call__(self, x: Any, size: Any, first: Any, second: Any) -> Any:
        raise NotImplementedError  # calls are read


class _Ruled:
    """A function with a rule, as one with a `custom_rule`."""

    def __init__(self, name: str, value: Callable, pullback: Callable, pushforward: Callable):
        self.value, self.pullback, self.pushforward = value, pullback, pushforward
        self.__name__ = self._name = self.digest = name

    def __call__(self, *args: Any) -> Any:
        raise NotImplementedError  # calls are read


def _row(function: Any, operands: Sequence[Value], named: Mapping[str, Value]) -> Callable | None:
    return {_Kernel: _kernel, _Ruled: _ruled}.get(type(function))


@not_read
def _kernel(
    emit: FunctionBuilder, function: _Kernel, operands: Sequence[Value], named: Mapping[str, Value]
) -> Value:
    x, size, *numbers = (in_memory(emit, x) for x in operands)
    assert isinstance(x, Array)
    found = fresh(emit, [emit.cast(size, INT)], x.place.dtype)
    add_constant(emit, function.kernel, found, x, numbers)
    return found


@not_read
def _ruled(
    emit: FunctionBuilder, function: _Ruled, operands: Sequence[Value], named: Mapping[str, Value]
) -> Value:
    given = tuple(emit.settled(in_memory(emit, x)) for x in operands)
    out = in_memory(emit, call(emit, function.value, given))
    return link(emit, function, {}, given, out)


record_arrays(_row)
_factored, _plain, _transposed, _forward, _backward, _choleskied, _pulled_back = map(
    _Kernel,
    (
        systems.factored, systems.solved_plain, systems.solved_transposed, systems.solved_forward,
        systems.solved_backward, choleskied, factor_pulled_back,
    ),
)  # fmt: skip

# -- systems --------------------------------------------------------------------------------------


def solve(a, b):
    """a^-1 b. Derivatives of all orders use the same factors."""
    return _solve_by(a, _factors(a), b)


def _lu(a):
    n = a.shape[0]
    factors = _factored(a.ravel(), n * (n + 1), 1, n)
    for k in range(n):
        if factors[k * n + k] == 0.0:
            raise np.linalg.LinAlgError("Matrix is singular to machine precision.")
    return factors


def _constant_back(ct, out, a):
    return np.zeros_like(a)


def _constant_forward(tangents, out, a):
    return np.zeros_like(out)


_factors = _Ruled("factors", _lu, _constant_back, _constant_forward)


def _substitution(kernel: Callable) -> Callable:
    def solution(a, factors, b):
        n = a.shape[0]
        found = kernel(np.concatenate((factors, b.ravel())), b.size, n, b.size // n)
        return found.reshape(b.shape)

    return solution


def _outer(x, y):
    return np.outer(x, y) if x.ndim == 1 else x @ y.T


def _plain_back(ct, out, a, factors, b):
    """b_bar = a^-T ct, a_bar = -b_bar out^T"""
    b_bar = _solve_transposed_by(a, factors, ct)
    return -_outer(b_bar, out), np.zeros_like(factors), b_bar


def _plain_forward(tangents, out, a, factors, b):
    """a^-1 (b_dot - a_dot out)"""
    return _solve_by(a, factors, tangents[2] - tangents[0] @ out)


def _transposed_back(ct, out, a, factors, b):
    b_bar = _solve_by(a, factors, ct)
    return -_outer(out, b_bar), np.zeros_like(factors), b_bar


def _transposed_forward(tangents, out, a, factors, b):
    return _solve_transposed_by(a, factors, tangents[2] - tangents[0].T @ out)


_solve_by = _Ruled("solve_by", _substitution(_plain), _plain_back, _plain_forward)
_solve_transposed_by = _Ruled(
    "solve_transposed_by", _substitution(_transposed), _transposed_back, _transposed_forward
)

# -- systems of the lower triangle of a matrix, and of its transpose ------------------------------


def _triangular(kernel: Callable) -> Callable:
    def solution(a, b):
        found = kernel(np.concatenate((a.ravel(), b.ravel())), b.size, a.shape[0], b.shape[1])
        return found.reshape(b.shape)

    return solution


def _lower_back(ct, out, a, b):
    b_bar = _upper_solve(a, ct)
    return -np.tril(b_bar @ out.T), b_bar


def _lower_forward(tangents, out, a, b):
    return _lower_solve(a, tangents[1] - np.tril(tangents[0]) @ out)


def _upper_back(ct, out, a, b):
    b_bar = _lower_solve(a, ct)
    return -np.tril(out @ b_bar.T), b_bar


def _upper_forward(tangents, out, a, b):
    return _upper_solve(a, tangents[1] - np.tril(tangents[0]).T @ out)


_lower_solve = _Ruled("solve_lower", _triangular(_forward), _lower_back, _lower_forward)
_upper_solve = _Ruled("solve_upper", _triangular(_backward), _upper_back, _upper_forward)

# -- Cholesky factors -----------------------------------------------------------------------------


def _factor(a):
    n = a.shape[0]
    found = _choleskied(a.T.ravel(), n * n, 1, n)  # which reads the upper triangle
    for k in range(n):
        if found[k * n + k] != found[k * n + k]:
            raise np.linalg.LinAlgError("Matrix is not positive definite.")
    return found.reshape(a.shape)


def _half(x):
    """The lower triangle, with half of the diagonal."""
    found = np.tril(x)
    for k in range(x.shape[0]):
        found[k, k] *= 0.5
    return found


def _factor_back(ct, out, a):
    return _pullback(ct, out)


def _factor_forward(tangents, out, a):
    """L times the half of L^-1 A_dot L^-T"""
    lower = np.tril(tangents[0], -1)
    change = np.tril(tangents[0]) + lower.T
    found = _lower_solve(out, _lower_solve(out, change).T)
    return out @ _half(found)


cholesky = _Ruled("cholesky", _factor, _factor_back, _factor_forward)

# -- their pullback -------------------------------------------------------------------------------
#
# A_bar = half(S), S = L^-T (P + P^T) L^-1, P = half(L^T L_bar): for the lower triangle of A, which
# is what is read. It is linear in L_bar, and the adjoint of the pushforward.


def _back(ct, factor):
    n = factor.shape[0]
    found = _pulled_back(np.concatenate((factor.ravel(), ct.ravel())), n * n, 1, n)
    return found.reshape(ct.shape)


def _symmetric(x):
    """S, of which x has the lower triangle and half of the diagonal."""
    return x + x.T


def _back_back(ct, out, given, factor):
    """Of W: L half(Q) and given half(Q)^T - S (L^-1 T)^T, T = half(W) + half(W)^T,
    Q = L^-1 T L^-T"""
    first = _lower_solve(factor, _symmetric(_half(ct)))
    half = _half(_lower_solve(factor, first.T))
    change = np.tril(given) @ half.T - _symmetric(out) @ first.T
    return np.tril(factor @ half), np.tril(change)


def _back_forward(tangents, out, given, factor):
    """The pullback of what L^T L_bar changes by, and -half(R + R^T), R = L^-T L_dot^T S"""
    lower = np.tril(tangents[1])
    change = _half(lower.T @ np.tril(given) + factor.T @ np.tril(tangents[0]))
    found = _upper_solve(factor, _upper_solve(factor, change).T)
    found -= _upper_solve(factor, lower.T @ _symmetric(out))
    return _half(_symmetric(found))


_pullback = _Ruled("cholesky_pullback", _back, _back_back, _back_forward)
