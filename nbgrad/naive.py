"""Scalar reverse mode, as a baseline for benchmarks and for teaching.

Each number is an object with references to the results computed from it, and an array is a NumPy
object array of such numbers. NumPy's `+`, `@`, `dot`, `sum`, `np.sin`, ... work element by element.
The gradients are the same as nbgrad's. There are no dtypes, kernels or broadcasting rules.

>>> from nbgrad import naive
>>> X, Y = naive.track(np.ones((2, 3))), naive.track(np.ones((3, 2)))
>>> z = np.sum(X @ Y)
>>> z.grad = 1.0
>>> naive.accum(Y)
array([[2., 2.],
       [2., 2.],
       [2., 2.]])
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .errors import ArgumentTypeError
from .runtime.kinds import is_a


class TrackedReal:
    """A tracked float. `children` maps the numbers computed from it to their derivatives.

    Equality is identity, because numbers are keys of `children`.
    """

    __slots__ = ("children", "data", "grad", "name")

    def __init__(self, data: float, name: str = ""):
        self.data = data
        self.grad: float | None = None
        self.children: dict[TrackedReal, float] = {}
        self.name = name

    def __repr__(self) -> str:
        return f"{self.data} (tracked{self.name and f' {self.name}'})"

    # Operators do not share a helper, because this class is benchmarked: a call doubles the time.

    def __add__(self, other):
        if type(other) is TrackedReal:
            z = TrackedReal(self.data + other.data, "+")
            if self is other:
                self.children[z] = 2.0
            else:
                self.children[z] = other.children[z] = 1.0
        else:
            z = TrackedReal(self.data + other, "+")
            self.children[z] = 1.0
        return z

    __radd__ = __add__

    def __sub__(self, other):
        if type(other) is TrackedReal:
            z = TrackedReal(self.data - other.data, "-")
            if self is other:
                self.children[z] = 0.0
            else:
                self.children[z] = 1.0
                other.children[z] = -1.0
        else:
            z = TrackedReal(self.data - other, "-")
            self.children[z] = 1.0
        return z

    def __rsub__(self, other):
        return _unary("-", self, other - self.data, -1.0)

    def __mul__(self, other):
        if type(other) is TrackedReal:
            z = TrackedReal(self.data * other.data, "*")
            if self is other:
                self.children[z] = 2.0 * self.data
            else:
                self.children[z] = other.data
                other.children[z] = self.data
        else:
            z = TrackedReal(self.data * other, "*")
            self.children[z] = other
        return z

    __rmul__ = __mul__

    def __truediv__(self, other):
        if type(other) is TrackedReal:
            out = self.data / other.data
            z = TrackedReal(out, "/")
            if self is other:
                self.children[z] = 0.0
            else:
                self.children[z] = 1.0 / other.data
                other.children[z] = -out / other.data
        else:
            z = TrackedReal(self.data / other, "/")
            self.children[z] = 1.0 / other
        return z

    def __rtruediv__(self, other):
        out = other / self.data
        return _unary("/", self, out, -out / self.data)

    def __pow__(self, other):
        if type(other) is TrackedReal:
            x, y = self.data, other.data
            out = math.pow(x, y)
            z = TrackedReal(out, "**")
            self.children[z] = y * math.pow(x, y - 1.0) if y else 0.0
            # At x = 0 the derivative of x ** y in y is 0, although log(x) is infinite.
            other.children[z] = other.children.get(z, 0.0) + (out * math.log(x) if out else 0.0)
        else:
            x = self.data
            z = TrackedReal(math.pow(x, other), "**")
            self.children[z] = other * math.pow(x, other - 1) if other else 0.0
        return z

    def __rpow__(self, other):
        out = math.pow(other, self.data)
        return _unary("**", self, out, out * math.log(other) if out else 0.0)

    def __neg__(self):
        return _unary("-", self, -self.data, -1.0)

    def __abs__(self):
        return _unary("abs", self, abs(self.data), math.copysign(bool(self.data), self.data))

    def __lt__(self, other):
        return self.data < _data(other)

    def __le__(self, other):
        return self.data <= _data(other)

    def __gt__(self, other):
        return self.data > _data(other)

    def __ge__(self, other):
        return self.data >= _data(other)

    # np.sin of an object array calls the method `sin` of each element.

    def sin(self):
        return _unary("sin", self, math.sin(self.data), math.cos(self.data))

    def cos(self):
        return _unary("cos", self, math.cos(self.data), -math.sin(self.data))

    def exp(self):
        out = math.exp(self.data)
        return _unary("exp", self, out, out)

    def log(self):
        return _unary("log", self, math.log(self.data), 1.0 / self.data)

    def sqrt(self):
        out = math.sqrt(self.data)
        return _unary("sqrt", self, out, 0.5 / out)

    def tanh(self):
        out = math.tanh(self.data)
        return _unary("tanh", self, out, 1.0 - out * out)

    def abs2(self):
        return _unary("abs2", self, self.data * self.data, 2.0 * self.data)

    def sigmoid(self):
        small = math.exp(-abs(self.data))  # exp(abs(x)) would overflow
        out = (1.0 if self.data >= 0 else small) / (1.0 + small)
        return _unary("sigmoid", self, out, out * (1.0 - out))


def track(x: Any, name: str = "") -> Any:
    """Return a tracked number or an array of them. Tracked arguments are returned unchanged.

    >>> from nbgrad import naive
    >>> naive.track(2.0, "x")
    2.0 (tracked x)
    """
    if isinstance(x, TrackedReal) or (is_a(x, np.ndarray) and x.dtype == object):
        return x
    if np.ndim(x) == 0:
        return TrackedReal(float(x), name)
    x = np.asarray(x, dtype=float)
    tracked = np.empty(x.shape, dtype=object)
    tracked.ravel()[:] = [TrackedReal(number, name) for number in x.ravel().tolist()]
    return tracked


abs2 = np.frompyfunc(TrackedReal.abs2, 1, 1)
"""x * x of a tracked number or an array of them."""

sigmoid = np.frompyfunc(TrackedReal.sigmoid, 1, 1)
"""1 / (1 + exp(-x)) of a tracked number or an array of them."""


def accum(x: Any) -> Any:
    """Return the gradient of the seeded numbers (`z.grad = 1.0`) with respect to `x`.

    The gradients of intermediate numbers are stored, and later calls use them.

    >>> from nbgrad import naive
    >>> x, y = naive.track(2.0), naive.track(3.0)
    >>> z = x * y + np.sin(x)
    >>> z.grad = 1.0
    >>> naive.accum(x), y.grad, naive.accum(y)
    (2.5838531634528574, None, 2.0)
    """
    if isinstance(x, TrackedReal):
        return _accum(x)
    return np.array([_accum(number) for number in x.ravel()]).reshape(x.shape)


def reset(x: Any) -> None:
    """Remove the gradients and children of `x` and of everything computed from it."""
    stack = [x] if isinstance(x, TrackedReal) else list(x.ravel())
    while stack:
        number = stack.pop()
        stack.extend(number.children)
        number.grad, number.children = None, {}


def print_tree(x: TrackedReal) -> str:
    """Print the numbers computed from `x`, with values and gradients, and return the text.

    >>> from nbgrad import naive
    >>> x, y = naive.track(2.0, "x"), naive.track(3.0, "y")
    >>> z = x * y + np.sin(x)
    >>> text = naive.print_tree(x)
    x data: 2.0 grad: None
    ├─ * data: 6.0 grad: None
    │  └─ + data: 6.91 grad: None
    └─ sin data: 0.91 grad: None
       └─ + data: 6.91 grad: None
    """
    if not isinstance(x, TrackedReal):
        raise ArgumentTypeError(f"print_tree: x must be a tracked number, not a {type(x).__name__}")
    lines = [f"{x.name} data: {x.data} grad: {x.grad}".strip()]
    stack = _branches(x, "")
    while stack:
        number, indent, last = stack.pop()
        grad = number.grad if number.grad is None else round(number.grad, 2)
        told = f"{number.name} data: {round(number.data, 2)} grad: {grad}".strip()
        lines.append(f"{indent}{'└─' if last else '├─'} {told}")
        stack += _branches(number, indent + ("   " if last else "│  "))
    text = "\n".join(lines)
    print(text)
    return text


def _branches(x: TrackedReal, indent: str) -> list[tuple[TrackedReal, str, bool]]:
    """Return (child, indent, whether it is the last child), in reverse order for a stack."""
    children = list(x.children)
    return [(child, indent, child is children[-1]) for child in reversed(children)]


def gradient(f: Callable, *args) -> tuple:
    """Return the gradient of a scalar function with respect to each argument.

    >>> from nbgrad import naive
    >>> naive.gradient(lambda x, y: x * y + np.sin(x), 2.0, 3.0)
    (2.5838531634528574, 2.0)
    """
    tracked = [track(arg) for arg in args]
    f(*tracked).grad = 1.0
    return tuple(accum(x) for x in tracked)


def _unary(name: str, x: TrackedReal, data: float, derivative: float) -> TrackedReal:
    z = TrackedReal(data, name)
    x.children[z] = derivative
    return z


def _data(x: Any) -> float:
    return x.data if isinstance(x, TrackedReal) else x


def _accum(x: TrackedReal) -> float:
    """Apply the chain rule over the children.

    An explicit stack replaces recursion, because a sum over an array is a long chain.
    """
    if x.grad is not None:
        return x.grad
    stack = [x]
    while stack:
        number, height, total = stack[-1], len(stack), 0.0
        for child, derivative in number.children.items():
            if child.grad is None:
                stack.append(child)
            else:
                total += derivative * child.grad
        if len(stack) == height:
            number.grad = total
            stack.pop()
    return x.grad  # pyright: ignore[reportReturnType]
