"""A graph of small arrays in plain NumPy, by brute force: what the state machine compares with.

Every value carries its dense Jacobian with respect to every leaf that it was made from, pushed
forward by differences of nothing: each op here is linear or has a slope written beside it. It
shares no code with nbgrad.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(eq=False)
class Value:
    """An array; `parts` says how it depends on what it was computed from: for each of those, a
    matrix of (its size, the size of the other)."""

    array: np.ndarray
    parts: list[tuple["Value", np.ndarray]] = field(default_factory=list)

    def jacobian(self, other: "Value") -> np.ndarray:
        """The derivative with respect to another value: the sum over all paths of products."""
        known: dict[int, np.ndarray] = {}

        def down(value: "Value") -> np.ndarray:
            if value is other:
                return np.eye(other.array.size)
            if id(value) not in known:
                total = np.zeros((value.array.size, other.array.size))
                for parent, matrix in value.parts:
                    total += matrix @ down(parent)
                known[id(value)] = total
            return known[id(value)]

        return down(self)

    def pulled(self, ct: np.ndarray, other: "Value") -> np.ndarray:
        """The gradient of sum(ct * self) with respect to another value."""
        return (ct.ravel() @ self.jacobian(other)).reshape(other.array.shape)

    def depends_on(self, other: "Value") -> bool:
        return self is other or any(parent.depends_on(other) for parent, _ in self.parts)


# One argument: the function, and its slope element by element.
SLOPES: dict[str, tuple[Callable, Callable]] = {
    "tanh": (np.tanh, lambda x: 1 - np.tanh(x) ** 2),
    "sin": (np.sin, np.cos),
    "negative": (np.negative, lambda x: -np.ones_like(x)),
    "half": (lambda x: x * 0.5, lambda x: np.full_like(x, 0.5)),
}
# One argument: linear functions, whose matrix comes from unit vectors.
LINEAR: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "transpose": lambda x: x.T,
    "reverse": lambda x: x[::-1],
    "column": lambda x: x[:, 0],
    "row": lambda x: x[1],
    "rows": lambda x: x[np.array([0, 0, 1])],
    "pairs": lambda x: x[np.array([1, 0, 1]), np.array([0, 1, 0])],
    "total": lambda x: np.sum(x),
    "sums": lambda x: np.sum(x, axis=0, keepdims=True) + np.zeros((2, 1)),
    "moved": lambda x: np.moveaxis(x, 0, 1),
}
# Two arguments of one shape: the function, and its slopes.
PAIRS: dict[str, tuple[Callable, Callable]] = {
    "add": (np.add, lambda x, y: (np.ones_like(x), np.ones_like(x))),
    "subtract": (np.subtract, lambda x, y: (np.ones_like(x), -np.ones_like(x))),
    "multiply": (np.multiply, lambda x, y: (y, x)),
}


def matrix_of(f: Callable[[np.ndarray], np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    """The matrix of a linear function of arrays of a shape."""
    size = int(np.prod(shape, dtype=int))
    columns = [np.ravel(f(unit.reshape(shape))) for unit in np.eye(size)]
    return np.stack(columns, axis=1)


def applied(name: str, *args: Value) -> Value:
    """An op of one of the tables, or a product of matrices, on values."""
    arrays = [x.array for x in args]
    if name in SLOPES:
        f, slope = SLOPES[name]
        return Value(f(*arrays), [(args[0], np.diag(slope(*arrays).ravel()))])
    if name in LINEAR:
        f = LINEAR[name]
        return Value(np.array(f(arrays[0])), [(args[0], matrix_of(f, arrays[0].shape))])
    if name in PAIRS:
        f, slopes = PAIRS[name]
        pairs = zip(args, slopes(*arrays), strict=True)
        return Value(f(*arrays), [(x, np.diag(slope.ravel())) for x, slope in pairs])
    assert name == "matmul"
    a, b = arrays
    return Value(
        a @ b,
        [
            (args[0], matrix_of(lambda x: x @ b, a.shape)),
            (args[1], matrix_of(lambda x: a @ x, b.shape)),
        ],
    )


def assigned(x: Value, index: Any, value: Value) -> Value:
    """`x` with `value` written at an index."""

    def cleared(array: np.ndarray) -> np.ndarray:
        array = array.copy()
        array[index] = 0.0
        return array

    def placed(array: np.ndarray) -> np.ndarray:
        out = np.zeros(x.array.shape)
        out[index] = array
        return out

    return Value(
        cleared(x.array) + placed(value.array),
        [
            (x, matrix_of(cleared, x.array.shape)),
            (value, matrix_of(placed, value.array.shape)),
        ],
    )


def total(parts: Sequence[np.ndarray]) -> np.ndarray | None:
    """The sum of contributions, None where there are none."""
    return sum(parts[1:], parts[0]) if parts else None
