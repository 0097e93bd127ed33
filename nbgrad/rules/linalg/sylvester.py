"""Sylvester's equation, which is linear in its right-hand side; public in `nbgrad.linalg`."""

from typing import Any

from ...core.primitive import Aval, bind, shape_of
from ...errors import DimensionMismatch
from .. import batching
from ..dtypes import float_type
from ..families import Custom, definite, sample
from ..layout import given
from .matmul import swap
from .matrices import floats, require_square
from .triangular import over_stacks, scipy_function
from .widened import takes_complex

__all__ = ["solve_sylvester"]


def _solve(a, b, q):
    return over_stacks(scipy_function("solve_sylvester"), q.shape[-2:], *map(floats, (a, b, q)))


def _rule(ct, out, args, need):
    a, b, _ = args
    q_bar = bind(sylvester_row, swap(a), swap(b), ct)
    return [
        -q_bar @ swap(out) if need[0] else None,
        -swap(out) @ q_bar if need[1] else None,
        q_bar if need[2] else None,
    ]


def _push(tangents, out, args):
    a, b, _ = args
    a_dot, b_dot, q_dot = tangents
    terms = [] if q_dot is None else [q_dot]
    terms += [] if a_dot is None else [-a_dot @ out]
    terms += [] if b_dot is None else [-out @ b_dot]
    return bind(sylvester_row, a, b, sum(terms[1:], terms[0]))


sylvester_row = Custom(
    "solve_sylvester", _solve, lambda a, b, q: Aval.of(q.shape, float_type(a, b, q)), _rule, _push,
    samples=[sample((2, 2), (2, 2), (2, 2), domain=definite)], reference=_solve,
    batch=batching.along(),
    eager_only="it needs Schur factors, which compiled programs do not compute",
    spelling="`nbgrad.linalg.solve_sylvester`",
)  # fmt: skip


@takes_complex
def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """The matrix X (m, n) with a @ X + X @ b = q, of square matrices a (m, m) and b (n, n).

    It exists if `a` and `-b` have no common eigenvalue. Eager only.

    Raises DimensionMismatch for shapes that do not fit.

    >>> nbgrad.linalg.solve_sylvester(np.eye(2), np.eye(2), np.eye(2))
    array([[0.5, 0. ],
           [0. , 0.5]])
    """
    a, b, q = map(given, (a, b, q))
    require_square("solve_sylvester", a)
    require_square("solve_sylvester", b)
    if shape_of(q) != (shape_of(a)[-1], shape_of(b)[-1]) or a.ndim != 2 or b.ndim != 2:
        raise DimensionMismatch(
            f"solve_sylvester: a, b and q of the shapes {shape_of(a)}, {shape_of(b)} and "
            f"{shape_of(q)} do not fit: give (m, m), (n, n) and (m, n)"
        )
    return bind(sylvester_row, a, b, q)
