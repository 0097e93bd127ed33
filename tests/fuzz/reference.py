"""What stands in the place of nbgrad while a program runs on NumPy.

Each public function that programs use, in a line of NumPy or SciPy: `vmap` is a loop, `checkpoint`
nothing at all.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.linalg
import scipy.special

from nbgrad.core.array import Array


class At:
    """`nbgrad.at(x)[i].set(v)` on plain arrays."""

    def __init__(self, x: Any, index: Any = None):
        self.x, self.index = x, index

    def __getitem__(self, index: Any) -> "At":
        return At(self.x, index)

    def _written(self, write: Callable, value: Any) -> Any:
        kind = np.result_type(self.x, value) if np.ndim(value) or hasattr(value, "dtype") else None
        out = np.array(self.x, kind)
        # Of the shape of the place: np.add.at goes wrong where values broadcast to two axes.
        write(out, np.array(np.broadcast_to(value, np.shape(out[self.index]))))
        return out

    def set(self, value: Any) -> Any:
        def write(out, value):
            out[self.index] = value

        return self._written(write, value)

    def add(self, value: Any) -> Any:
        return self._written(lambda out, value: np.add.at(out, self.index, value), value)

    def multiply(self, value: Any) -> Any:
        return self._written(lambda out, value: np.multiply.at(out, self.index, value), value)


class Linalg:
    """SciPy's functions of matrices, with one dtype for integers: of matrices of one element SciPy
    makes the narrow floats that np.exp does."""

    expm = staticmethod(lambda x: scipy.linalg.expm(_float(x)))

    def __getattr__(self, name: str) -> Any:
        return getattr(scipy.linalg, name)


class Special:
    """SciPy's special functions; those of plain arrays computed in float64 and rounded to the dtype
    to which NumPy promotes their arguments: up to 1.17 some of SciPy's take numbers of Python's for
    float64, and some give float32 for small integers."""

    def __getattr__(self, name: str) -> Any:
        function = getattr(scipy.special, name)

        def rounded(*args: Any) -> Any:
            if any(isinstance(x, Array) or np.iscomplexobj(x) for x in args):
                return function(*args)
            kind = np.result_type(*args)
            wide = function(*(np.asarray(x, np.float64) for x in args))
            return wide.astype(kind if kind.kind == "f" else np.float64)

        return rounded if isinstance(function, np.ufunc) or name == "zeta" else function


class Reference:
    """The functions of nbgrad, by their meaning."""

    at = At
    track = staticmethod(np.asarray)
    array = staticmethod(np.asarray)
    relu = staticmethod(lambda x: np.maximum(_float(x), 0))
    sigmoid = staticmethod(lambda x: 1.0 / (1.0 + np.exp(-_float(x))))
    softplus = staticmethod(lambda x: np.logaddexp(_float(x), _zero(_float(x))))
    erf = staticmethod(lambda x: scipy.special.erf(_float(x)))
    gelu = staticmethod(lambda x: _float(x) * scipy.special.ndtr(_float(x)))
    abs2 = staticmethod(np.square)
    elu = staticmethod(lambda x, alpha=1.0: np.where(x < 0, alpha * np.expm1(_float(x, alpha)), x))
    leaky_relu = staticmethod(lambda x, slope=0.01: np.where(x < 0, slope * _float(x, slope), x))
    evalpoly = staticmethod(lambda x, c: sum((a * x**i for i, a in enumerate(c)), 0 * x))
    mse = staticmethod(lambda p, t: np.mean((p - t) ** 2))
    hinge_loss = staticmethod(lambda p, t: np.mean(np.maximum(0, 1 - p * t)))
    checkpoint = staticmethod(lambda f: f)
    linalg = Linalg()

    def __init__(self) -> None:
        self.frozen: list[Any] = []
        self.replaying: int | None = None

    @staticmethod
    def hcat(*arrays: Any) -> Any:
        return np.concatenate([x if x.ndim > 1 else x[:, None] for x in arrays], axis=1)

    @staticmethod
    def softmax(x: Any, axis: int = -1) -> Any:
        x = _with_axis(_float(x), axis)
        e = np.exp(x - np.max(x.real, axis=axis, keepdims=True))
        return e / np.sum(e, axis=axis, keepdims=True)

    @staticmethod
    def logsoftmax(x: Any, axis: int = -1) -> Any:
        x = _with_axis(_float(x), axis)
        shifted = x - np.max(x.real, axis=axis, keepdims=True)
        return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))

    @staticmethod
    def logsumexp(x: Any, axis: Any = None) -> Any:
        x = _float(x) if axis is None else _with_axis(_float(x), axis)
        top = np.max(x.real, axis=axis, keepdims=True)
        summed = np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top
        return np.squeeze(summed, axis=axis)

    @classmethod
    def logit_cross_entropy(cls, x: Any, y: Any) -> Any:
        if y.dtype.kind in "iu" and y.ndim < x.ndim:
            if np.any(y >= x.shape[-1]) or np.any(y < 0):
                raise IndexError("a label out of range")
            y = np.eye(x.shape[-1], dtype=x.dtype)[y]
        return -np.sum(y * cls.logsoftmax(x)) / x.real.dtype.type(1 if x.ndim == 1 else len(x))

    @staticmethod
    def cross_entropy(p: Any, y: Any) -> Any:
        if y.dtype.kind in "iu" and y.ndim < p.ndim:
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
    def loop(n: int, body: Callable, state: Any, *, checkpoint: Any = None) -> Any:
        for i in range(n):
            state = body(i, state)
        return state

    @staticmethod
    def while_loop(test: Callable, body: Callable, state: Any, max_steps: int) -> Any:
        while test(state):
            state = body(state)
        return state

    @staticmethod
    def cond(pred: Any, f: Callable, g: Callable, *args: Any) -> Any:
        return f(*args) if pred else g(*args)

    @staticmethod
    def scan(
        body: Callable, state: Any, xs: Any = None, length: int | None = None, *,
        checkpoint: Any = None,
    ) -> Any:  # fmt: skip
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
                f(*(x if a is None else np.asarray(x[i]) for x, a in zip(args, axes, strict=True)))
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
        def of_floats(*args: Any) -> Any:  # ops of one's own compute with floats
            kinds = [np.asarray(x).dtype.kind for x in args]
            return f(*(x * 1.0 if k in "iub" else x for x, k in zip(args, kinds, strict=True)))

        return of_floats

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


def _float(x: Any, *others: Any) -> Any:
    """The ops of nbgrad's own give floats of integers: in the dtype that `others` make of them, or
    float64."""
    if np.asarray(x).dtype.kind not in "iub":
        return x
    kind = np.result_type(x, *others)
    return np.asarray(x, kind if kind.kind in "fc" else np.float64)


def _with_axis(x: Any, axis: int) -> Any:
    """Raises IndexError for an axis that x has not: NumPy's reductions let scalars have one."""
    np.lib.array_utils.normalize_axis_index(axis, np.ndim(x))
    return x


def _zero(x: Any) -> Any:
    return np.zeros((), getattr(x, "dtype", None))
