"""The methods of ndarray, which call the functions of NumPy."""

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentError, ComplexError, DtypeError, UntrackedError
from ..runtime.lines import user_line
from . import memory
from .errstate import Asked, checked, entries
from .flat import Flat
from .functions import check_call, functions, no_rule, of_ufunc, views
from .primitive import Tracer


def _method(function: Callable):
    """The method of ndarray that calls a NumPy function with the array as its first argument."""

    def method(self, *args, **options):
        try:
            if options and options.get("out") is not None:
                return functions["out"](function, (self, *args), **options)
            out = functions[function](self, *args, **options)
            if function in views or (
                type(out) is type(self) and out.origin is None and out is not self
            ):
                return out
            return own(out, (self,))
        except ComplexError as error:
            return functions["complex"](function, (self, *args), options, error)
        except Asked:
            pass
        with checked(function, (self, *args), options):
            return method(self, *args, **options)

    entries.add(method.__code__)
    method.__name__ = function.__name__
    method.__doc__ = f"`np.{function.__name__}(self, ...)`"
    return method


def power(x, y):
    """`x ** y`, by np.power."""
    try:
        return functions[np.power](x, y)
    except ComplexError as error:
        return functions["complex"](np.power, (x, y), {}, error)
    except Asked:
        pass
    with checked(operator.pow, (x, y), {}):
        return functions[np.power](x, y)


entries.add(power.__code__)


def beside(name: str, x: Any, other: Any, is_reflected: bool) -> Any:
    """An operator beside an object of another library."""
    if name in ("matmul", "multiply") and type(other).__module__.startswith("scipy.sparse."):
        return functions["sparse"](name, x, other, is_reflected)
    return NotImplemented


def require_masks(op: str, *args: Any) -> None:
    """Raise TypeError for operands of a logical operator that are not of dtype bool."""
    for x in args:
        dtype = x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype
        if dtype.kind != "b":
            raise DtypeError(
                f"{op} of an array of {dtype}: it takes masks, arrays of bools such as x > 0; "
                "for integers use arithmetic, or compare first"
            )


def _of_masks(op: str, function: Callable):
    """The method of a logical operator, and the reflected method."""

    def method(self, other):
        require_masks(op, self, other)
        return functions[function](self, other)

    def reflected(self, other):
        require_masks(op, self, other)
        return functions[function](other, self)

    return method, reflected


class Methods:
    """The methods of ndarray for every kind of array."""

    __slots__ = ()

    @property
    def T(self):
        """The array with its axes reversed."""
        return functions[np.transpose](self)

    @property
    def mT(self: Any):
        """The matrices of the last two axes, transposed."""
        if self.ndim < 2:
            raise ArgumentError("matrix transpose with ndim < 2 is undefined")
        return functions[np.swapaxes](self, -1, -2)

    def transpose(self, *axes):
        """Axes permuted; reversed without arguments."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else (axes or None)
        return functions[np.transpose](self, order)

    __and__, __rand__ = _of_masks("&", np.logical_and)
    __or__, __ror__ = _of_masks("|", np.logical_or)
    __xor__, __rxor__ = _of_masks("^", np.logical_xor)

    def __invert__(self):
        require_masks("~", self)
        return functions[np.logical_not](self)

    def reshape(self, *shape, order="C", copy=None):
        """The elements in another shape; one length may be -1."""
        out = functions[np.reshape](self, shape[0] if len(shape) == 1 else shape, order)
        return memory.copied(out, [self]) if copy else out

    def flatten(self, order="C"):
        """A copy of the elements along one axis."""
        return memory.copied(functions[np.ravel](self, order), [self])

    def ravel(self, order="C"):
        """The elements along one axis."""
        return functions[np.ravel](self, order)

    def compress(self, condition, axis=None):
        """`np.compress(condition, self, axis)`."""
        return functions[np.compress](condition, self, axis)

    @property
    def itemsize(self: Any) -> int:
        """The bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self: Any) -> int:
        """The bytes of all elements."""
        return self.size * self.itemsize

    @property
    def strides(self: Any) -> tuple[int, ...]:
        """The bytes between elements along each axis, for an array in C order."""
        shape = self.shape
        return tuple([self.itemsize * math.prod(shape[i + 1 :]) for i in range(len(shape))])

    @property
    def flat(self):
        """The elements in C order, for reading and writing."""
        return Flat(self)

    @flat.setter
    def flat(self, values):
        Flat(self)[...] = values

    @property
    def real(self):
        """A view of the array: its numbers are real."""
        return functions[np.real](self)

    @property
    def imag(self):
        """Zeros: the numbers are real."""
        return functions[np.imag](self)

    def conj(self):
        """The array itself, as in NumPy: its numbers are real."""
        return self

    conjugate = conj

    def dot(self, other):
        """`np.dot(self, other)`."""
        return functions[np.dot](self, other)

    sum = _method(np.sum)
    prod = _method(np.prod)
    mean = _method(np.mean)
    var = _method(np.var)
    std = _method(np.std)
    max = _method(np.max)
    min = _method(np.min)
    cumsum = _method(np.cumsum)
    cumprod = _method(np.cumprod)
    clip = _method(np.clip)
    round = _method(np.round)
    swapaxes = _method(np.swapaxes)
    squeeze = _method(np.squeeze)
    repeat = _method(np.repeat)
    take = _method(np.take)
    choose = _method(np.choose)
    diagonal = _method(np.diagonal)
    trace = _method(np.trace)
    argmax = _method(np.argmax)
    argmin = _method(np.argmin)
    argsort = _method(np.argsort)
    argpartition = _method(np.argpartition)
    nonzero = _method(np.nonzero)
    searchsorted = _method(np.searchsorted)
    any = _method(np.any)
    all = _method(np.all)

    def sort(self, axis=-1):
        """Sort the elements along an axis, in place."""
        memory.write(self, ..., functions[np.sort](self, axis), "{}.sort()")

    def partition(self, kth, axis=-1):
        """`np.partition`, in place."""
        memory.write(self, ..., functions[np.partition](self, kth, axis), "{}.partition()")

    def fill(self, value):
        """Set all elements to one number."""
        memory.write(self, ..., value, "{}.fill(v)")

    put = _method(np.put)

    def copy(self, order="C"):
        """A tracked copy, through which the derivative passes. `order` is ignored."""
        return functions[np.copy](self)

    def view(self: Any, dtype=None, type=None):
        """A view of all elements. Raises UntrackedError for another dtype or class."""
        if dtype is np.ndarray:
            dtype = None
        if type not in (None, np.ndarray) or dtype not in (None, self.dtype):
            raise UntrackedError(
                f"view of a tracked array as {type or dtype} would lose its derivative: use "
                f"x.astype(dtype), or x.data for the plain numbers{user_line()}"
            )
        return self[...] if self.ndim else self

    def __copy__(self):
        """`copy.copy(x)` and `copy.deepcopy(x)` are `np.copy(x)`: the derivative passes through."""
        return self.copy()

    def __deepcopy__(self, memo):
        return self.copy()

    def astype(self, dtype, copy=True):
        """Convert to another dtype. Between float64 and float32 the cotangent is converted back;
        integers and bools have no derivative, and a complex dtype gives a complex array."""
        if np.dtype(dtype).kind == "c":
            return functions["complex"](np.positive, (self,), {}, None).astype(dtype, False)
        out = functions["astype"](self, dtype)
        return self.copy() if out is self and copy else out


def own(out: Any, args: Sequence) -> Any:
    """The result of a function, as one that is neither an argument nor a view."""
    if isinstance(out, Tracer):
        linked = out.origin is not None  # pyright: ignore[reportAttributeAccessIssue]
        return memory.copied(out, args) if linked or id(out) in map(id, args) else out
    return memory.copied(out, args) if isinstance(out, (tuple, list)) else out


def call_ufunc(ufunc, method, *inputs, **options):
    """Call a ufunc, or a method of one."""
    if method != "__call__":
        rule, (out,) = functions[f"ufunc.{method}"], options.pop("out", (None,))
        if out is None:
            return own(rule(ufunc, *inputs, **options), inputs)
        return functions["out"](getattr(ufunc, method), inputs, out, **options)
    if options:
        return functions["ufunc.call"](ufunc, inputs, **options)
    name, function = of_ufunc(ufunc)
    if function is None:
        raise no_rule(name)
    try:
        return own(function(*inputs), inputs)
    except TypeError:
        check_call(name, function, inputs, options)
        raise
