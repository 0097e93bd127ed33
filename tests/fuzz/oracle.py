"""What NumPy makes of a program: values, and derivatives by complex steps and differences.

`REFERENCE` stands in the place of nbgrad while a program runs on NumPy: every public function that
programs use, in a line of NumPy or SciPy. `vmap` is a loop, `checkpoint` nothing at all.
"""

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.special

from .programs import Program

STEP = 1e-3


class Unusable(Exception):
    """A program, or a point of it, that says nothing: NumPy cannot run it, or it has a kink."""


class At:
    """`nbgrad.at(x)[i].set(v)` on plain arrays."""

    def __init__(self, x: Any, index: Any = None):
        self.x, self.index = x, index

    def __getitem__(self, index: Any) -> "At":
        return At(self.x, index)

    def _written(self, write: Callable, value: Any) -> Any:
        kind = np.result_type(self.x, value) if np.ndim(value) or hasattr(value, "dtype") else None
        out = np.array(self.x, kind)
        write(out, value)
        return out

    def set(self, value: Any) -> Any:
        def write(out, value):
            out[self.index] = value

        return self._written(write, value)

    def add(self, value: Any) -> Any:
        return self._written(lambda out, value: np.add.at(out, self.index, value), value)

    def multiply(self, value: Any) -> Any:
        return self._written(lambda out, value: np.multiply.at(out, self.index, value), value)


class Reference:
    """The functions of nbgrad, by their meaning."""

    at = At
    track = staticmethod(np.asarray)
    array = staticmethod(np.asarray)
    relu = staticmethod(lambda x: np.maximum(_float(x), 0))
    sigmoid = staticmethod(lambda x: 1.0 / (1.0 + np.exp(-_float(x))))
    softplus = staticmethod(lambda x: np.logaddexp(_float(x), _zero(_float(x))))
    erf = staticmethod(scipy.special.erf)
    gelu = staticmethod(lambda x: x * scipy.special.ndtr(x))
    abs2 = staticmethod(lambda x: _float(x) * x)
    elu = staticmethod(lambda x, alpha=1.0: np.where(x < 0, alpha * np.expm1(x), x))
    leaky_relu = staticmethod(lambda x, slope=0.01: np.where(x < 0, slope * x, x))
    evalpoly = staticmethod(lambda x, c: sum((a * x**i for i, a in enumerate(c)), 0 * x))
    mse = staticmethod(lambda p, t: np.mean((p - t) ** 2))
    hinge_loss = staticmethod(lambda p, t: np.mean(np.maximum(0, 1 - p * t)))
    checkpoint = staticmethod(lambda f: f)

    def __init__(self) -> None:
        self.frozen: list[Any] = []
        self.replaying: int | None = None

    @staticmethod
    def hcat(*arrays: Any) -> Any:
        return np.concatenate([x if x.ndim > 1 else x[:, None] for x in arrays], axis=1)

    @staticmethod
    def softmax(x: Any, axis: int = -1) -> Any:
        e = np.exp(x - np.max(x.real, axis=axis, keepdims=True))
        return e / np.sum(e, axis=axis, keepdims=True)

    @staticmethod
    def logsoftmax(x: Any, axis: int = -1) -> Any:
        shifted = x - np.max(x.real, axis=axis, keepdims=True)
        return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))

    @staticmethod
    def logsumexp(x: Any, axis: Any = None) -> Any:
        top = np.max(x.real, axis=axis, keepdims=True)
        summed = np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top
        return np.squeeze(summed, axis=axis)

    @classmethod
    def logit_cross_entropy(cls, x: Any, y: Any) -> Any:
        if y.dtype.kind in "iu":
            if np.any(y >= x.shape[-1]) or np.any(y < 0):
                raise IndexError("a label out of range")
            y = np.eye(x.shape[-1], dtype=x.dtype)[y]
        return -np.sum(y * cls.logsoftmax(x)) / x.real.dtype.type(1 if x.ndim == 1 else len(x))

    @staticmethod
    def cross_entropy(p: Any, y: Any) -> Any:
        if y.dtype.kind in "iu":
            y = np.eye(p.shape[-1], dtype=p.dtype)[y]
        return -np.sum(y * np.log(p)) / p.real.dtype.type(1 if p.ndim == 1 else len(p))

    def stop_gradient(self, x: Any) -> Any:
        """The value where the program was first run, wherever it runs again."""
        if self.replaying is None:
            self.frozen.append(np.array(x))
            return x
        self.replaying += 1
        return self.frozen[self.replaying - 1]

    @staticmethod
    def loop(n: int, body: Callable, state: Any) -> Any:
        for i in range(n):
            state = body(i, state)
        return state

    @staticmethod
    def scan(body: Callable, state: Any, xs: Any = None, length: int | None = None) -> Any:
        ys = []
        for x in xs if xs is not None else [None] * (length or 0):
            state, y = body(state, x)
            ys.append(y)
        return state, np.stack(ys)

    @staticmethod
    def vmap(f: Callable, in_axes: Any = 0) -> Callable:
        def over(*args):
            axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
            size = next(len(x) for x, a in zip(args, axes, strict=True) if a is not None)
            rows = [
                f(*(x if a is None else x[i] for x, a in zip(args, axes, strict=True)))
                for i in range(size)
            ]
            return np.stack(rows)

        return over

    @classmethod
    def map(cls, f: Callable, xs: Any) -> Any:
        return cls.vmap(f)(xs)

    @staticmethod
    def custom_rule(f: Callable, **rules: Callable) -> Callable:
        return f

    @staticmethod
    def custom_elementwise(f: Callable, **rules: Any) -> Callable:
        return f

    @staticmethod
    def jvp(f: Callable, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        moved = [x + 1e-30j * t for x, t in zip(primals, tangents, strict=True)]
        return f(*primals), np.imag(f(*moved)) / 1e-30

    @classmethod
    def grad(cls, f: Callable) -> Callable:
        def slope(x):
            x = np.asarray(x)
            steps = np.eye(x.size).reshape(x.size, *x.shape)
            slopes = [cls.jvp(f, (x,), (t,))[1] for t in steps]
            return np.reshape(np.array(slopes, float), x.shape).astype(x.dtype)[()]

        return slope

    @classmethod
    def elementwise_grad(cls, f: Callable) -> Callable:
        return cls.grad(lambda x: np.sum(f(x)))


def _float(x: Any) -> Any:
    """The ops of nbgrad's own give floats of integers."""
    return x * 1.0 if np.asarray(x).dtype.kind in "iub" else x


def _zero(x: Any) -> Any:
    return np.zeros((), getattr(x, "dtype", None))


class Truth(NamedTuple):
    """What a program gives: its values and, along a direction, the tangents of its values; these
    are None at kinks, and where there is nothing to move."""

    values: tuple[Any, ...]
    directions: tuple[Any, ...]
    tangents: tuple[Any, ...] | None
    exact: bool  # by a complex step


def results(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def values(program: Program) -> tuple[Any, ...]:
    """Raises whatever NumPy raises."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return results(program.function(Reference())(*program.make()))


def truth(program: Program, rng: np.random.Generator) -> Truth:
    """Raises Unusable where values are no numbers."""
    args = program.make()
    library = Reference()
    f = program.function(library)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = results(f(*args))
        if not all(np.all(np.isfinite(x)) for x in found):
            raise Unusable("values that are no numbers")
        directions = tuple(
            direction(rng, x) if k in program.floats else None for k, x in enumerate(args)
        )
        wide = all(x.value.dtype == np.float64 if hasattr(x.value, "dtype") else True
                   for x in program.inputs if x.is_float) and "float32" not in program.source  # fmt: skip
        if not program.floats or not wide:
            return Truth(found, directions, None, False)

        def moved(t: complex) -> list[Any]:
            library.replaying = 0
            given = [
                x if u is None else np.asarray(x + t * u)
                for x, u in zip(args, directions, strict=True)
            ]
            return [np.asarray(x) for x in results(f(*given))]

        try:
            tangents = _slopes(moved, [np.asarray(x) for x in found])
        except (ArithmeticError, ValueError, TypeError, IndexError, np.linalg.LinAlgError):
            tangents = None
    return Truth(found, directions, tangents, False)


def direction(rng: np.random.Generator, x: Any) -> Any:
    """Random numbers of the kind of x, none of them small."""
    drawn = rng.uniform(0.5, 1.0, np.shape(x)) * rng.choice([-1.0, 1.0], np.shape(x))
    if not isinstance(x, (np.ndarray, np.generic)):
        return float(drawn)
    return np.asarray(drawn, x.dtype)


def _slopes(moved: Callable[[float], list[Any]], base: list[Any]) -> tuple[Any, ...] | None:
    """Derivatives at 0 by central differences of order 4 with two steps that agree, from values
    that have no kink at 0; None otherwise."""
    at = {k: moved(k * STEP) for k in (-2, -1, -0.5, 0.5, 1, 2)}
    slopes = []
    for i, x in enumerate(base):
        if x.dtype.kind != "f":
            if any(not np.array_equal(x, there[i]) for there in at.values()):
                return None
            slopes.append(None)
            continue
        v = {k: there[i] for k, there in at.items()}
        if any(y.shape != x.shape for y in v.values()):
            return None
        wide = (8 * (v[1] - v[-1]) - (v[2] - v[-2])) / (12 * STEP)
        fine = (8 * (v[0.5] - v[-0.5]) - (v[1] - v[-1])) / (6 * STEP)
        right = (4 * v[0.5] - 3 * x - v[1]) / STEP
        left = -(4 * v[-0.5] - 3 * x - v[-1]) / STEP
        size = float(np.max(np.abs(x), initial=0.0))
        scale = 1e-6 * (1.0 + float(np.max(np.abs(fine), initial=0.0))) + 1e-8 * size
        if not np.all(np.abs(wide - fine) <= scale):
            return None
        if not np.all(np.abs(right - left) <= 1e-3 * (1.0 + np.abs(right) + np.abs(left) + size)):
            return None
        slopes.append(fine)
    return tuple(slopes)


def near(found: Any, expected: Any, rtol: float, scale: float = 1.0) -> bool:
    """Equal up to `rtol` of the largest element and of `scale`; not-a-numbers agree."""
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape:
        return False
    if found.size == 0:
        return True
    if expected.dtype.kind in "iub":
        return bool(np.array_equal(found, expected))
    with np.errstate(all="ignore"):
        top = np.max(np.abs(expected), where=np.isfinite(expected), initial=0.0)
        same = np.abs(found - expected) <= rtol * (scale + top)
        same |= (found == expected) | (np.isnan(found) & np.isnan(expected))
    return bool(np.all(same))


def epsilon(*arrays: Any) -> float:
    """Rounding of the narrowest float among them."""
    kinds = [np.asarray(x).dtype for x in arrays]
    return max((float(np.finfo(k).eps) for k in kinds if k.kind == "f"), default=math.ulp(1.0))
