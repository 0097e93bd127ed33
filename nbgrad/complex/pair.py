"""`ComplexArray`: the real and the imaginary part, as two real arrays of one shape and dtype."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.array import Array
from ..core.functions import check_call, functions, items_of, name_of, no_rule, of_ufunc
from ..core.numpy_class import Pair
from ..core.primitive import Aval, shape_of
from ..errors import (
    ArgumentTypeError,
    ComplexError,
    MissingAttribute,
    NoRuleError,
    UntrackedError,
)
from ..rules.linalg.widened import ComplexResult
from ..runtime.kinds import is_a
from ..runtime.lines import user_line

__all__ = ["ComplexArray", "complexly", "has_complex", "is_complex", "joined", "lifted", "parts_of"]

rules: dict[Any, Callable] = {}
"""NumPy's functions and ufuncs, and what they do with complex arrays."""

COMPLEX_OF = {
    np.dtype(np.float64): np.dtype(np.complex128),
    np.dtype(np.float32): np.dtype(np.complex64),
}


def complexly(*targets: Any) -> Callable[[Callable], Callable]:
    """Decorator: calls of NumPy's functions `targets` with a ComplexArray call this function."""

    def register(function: Callable) -> Callable:
        rules.update(dict.fromkeys(targets, function))
        return function

    return register


def is_complex(x: Any) -> bool:
    """Whether x is a complex number or array, plain or not."""
    if type(x) is ComplexArray or type(x) is complex:
        return True
    return is_a(x, (np.ndarray, np.generic)) and x.dtype.kind == "c"


def has_complex(*args: Any) -> bool:
    """Whether an argument, or an item of nested lists and tuples, is complex."""
    return any(map(is_complex, items_of(args)))


def lifted(x: Any) -> Any:
    """A plain complex number or array as a ComplexArray of copies of its parts."""
    if type(x) is ComplexArray or not is_complex(x):
        return x
    if type(x) is not complex:
        x = np.asarray(x)
        if x.dtype.itemsize > 16:
            raise ComplexError(f"an array of dtype {x.dtype}: convert it to complex128")
        x = x.astype(x.dtype.newbyteorder("="), copy=False)
    real, imag = np.array(x.real, order="C"), np.array(x.imag, order="C")
    return ComplexArray(real, imag)


def parts_of(x: Any) -> tuple[Any, Any]:
    """The real and the imaginary part of any operand. Those of Python's numbers are Python's, which
    do not change dtypes; the imaginary part of a real one is 0.0."""
    if type(x) is ComplexArray:
        return x.parts
    if type(x) is complex:
        return x.real, x.imag
    if is_a(x, (list, tuple)):
        x = functions["given"](x) if not has_complex(x) else np.stack([lifted(item) for item in x])
        return parts_of(x)
    if is_complex(x):
        return lifted(x).parts
    return x, 0.0


def joined(real: Any, imag: Any) -> "ComplexArray":
    """The complex array of two operands, broadcast against each other, in their common dtype."""
    if isinstance(real, (float, int)) or isinstance(imag, (float, int)):
        real, imag = _like(real, imag), _like(imag, real)
    if shape_of(real) != shape_of(imag):
        shape = np.broadcast_shapes(shape_of(real), shape_of(imag))
        real, imag = (
            x if shape_of(x) == shape else np.broadcast_to(x, shape) + 0.0 for x in (real, imag)
        )
    if real.dtype != imag.dtype or real.dtype not in COMPLEX_OF:
        dtype = np.result_type(real.dtype, imag.dtype, np.float32)
        real, imag = (x if x.dtype == dtype else x.astype(dtype) for x in (real, imag))
    return ComplexArray(real, imag)


def _like(x: Any, other: Any) -> Any:
    if not isinstance(x, (float, int)) or is_a(x, np.generic) or isinstance(x, Array):
        return x
    shape = shape_of(other)
    dtype = getattr(other, "dtype", np.dtype(np.float64))
    return np.full(shape, x, dtype if dtype in COMPLEX_OF else np.float64)


def _binary(ufunc: np.ufunc) -> tuple[Callable, Callable, Callable]:
    """The methods of an operator: itself, reflected and augmented."""

    def method(self: Any, other: Any) -> Any:
        return rules[ufunc](self, other)

    def reflected(self: Any, other: Any) -> Any:
        return rules[ufunc](other, self)

    def augmented(self: Any, other: Any) -> Any:
        result = rules[ufunc](self, other)
        if not self.shape:  # a number
            return result
        self[...] = result
        return self

    return method, reflected, augmented


def _method(function: Callable) -> Callable:
    """The method that calls one of NumPy's functions."""

    def method(self: Any, *args: Any, **options: Any) -> Any:
        return call(function, (self, *args), options)

    method.__doc__ = f"`np.{function.__name__}(self, ...)`"
    return method


class ComplexArray(Pair):
    """A complex array in a graph: made by `nbgrad.track` of a complex array, and by ops on it.

    `real` and `imag` are views of the two real arrays that it consists of, so it works in all modes
    and in compiled programs, and what is written to them is seen here. The gradient of a real
    function with respect to it is complex: dL/d(real) + i dL/d(imag), the direction of steepest
    ascent.

    >>> z = nbgrad.track(np.array([3.0 + 4.0j]))
    >>> np.sum(np.abs(z)).backward()
    >>> z.grad
    array([0.6+0.8j])
    """

    __slots__ = ("__weakref__", "aval", "parts")
    __array_priority__ = 1100.0
    views = None
    origin = None
    is_batch = False

    def __init__(self, real: Any, imag: Any):
        self.parts = real, imag
        self.aval = Aval.of(real.shape, COMPLEX_OF[real.dtype])

    @property
    def real(self) -> Any:
        """The real part; what is written to it is seen here."""
        return self.parts[0]

    @real.setter
    def real(self, value: Any) -> None:
        self.parts[0][...] = value

    @property
    def imag(self) -> Any:
        """The imaginary part; what is written to it is seen here."""
        return self.parts[1]

    @imag.setter
    def imag(self, value: Any) -> None:
        self.parts[1][...] = value

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self.parts[0].shape

    @property
    def dtype(self) -> np.dtype:
        """complex128 or complex64."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        return len(self.aval.shape)

    @property
    def size(self) -> int:
        return self.parts[0].size

    @property
    def data(self) -> Any:
        """The plain complex array, without a derivative."""
        return plain_join(
            *(getattr(x, "data", x) if isinstance(x, Array) else x for x in self.parts)
        )

    # -- the graph ------------------------------------------------------------------------------

    @property
    def grad(self) -> Any:
        """The gradient, a plain complex array; None if there is none. Setting it seeds `accum`."""
        real, imag = (getattr(x, "grad", None) for x in self.parts)
        if real is None and imag is None:
            return None
        zeros = np.zeros(self.shape, self.parts[0].dtype)
        return plain_join(zeros if real is None else real, zeros if imag is None else imag)

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is None:
            real = imag = None
        else:
            value = np.asarray(value)
            real, imag = value.real, np.array(value.imag)
        self.parts[0].grad, self.parts[1].grad = real, imag

    def backward(self, cotangent: Any = None, **options: Any) -> None:
        """Add gradients to all leaves, for a complex `cotangent` of this shape. The gradient is
        that of the real function `sum(real(conj(cotangent) * z))`.

        Raises ComplexError without a cotangent: only real functions have a gradient.
        """
        if cotangent is None:
            raise ComplexError(
                "backward: a complex result has no gradient: compute a real one, such as "
                "np.sum(np.abs(z) ** 2) or z.real, or give a cotangent"
            )
        real, imag = parts_of(cotangent)
        total = np.sum(self.parts[0] * real) + np.sum(self.parts[1] * imag)
        total.backward(**options)

    # -- operators and methods ------------------------------------------------------------------

    __add__, __radd__, __iadd__ = _binary(np.add)
    __sub__, __rsub__, __isub__ = _binary(np.subtract)
    __mul__, __rmul__, __imul__ = _binary(np.multiply)
    __truediv__, __rtruediv__, __itruediv__ = _binary(np.divide)
    __pow__, __rpow__, __ipow__ = _binary(np.power)
    __matmul__, __rmatmul__, __imatmul__ = _binary(np.matmul)
    __lt__, __le__ = _binary(np.less)[0], _binary(np.less_equal)[0]
    __gt__, __ge__ = _binary(np.greater)[0], _binary(np.greater_equal)[0]
    __eq__ = _binary(np.equal)[0]  # pyright: ignore[reportAssignmentType]
    __ne__ = _binary(np.not_equal)[0]  # pyright: ignore[reportAssignmentType]
    __neg__, __pos__, __abs__ = _method(np.negative), _method(np.positive), _method(np.absolute)
    conj = conjugate = _method(np.conjugate)
    sum, prod, mean, cumsum, cumprod = map(
        _method, (np.sum, np.prod, np.mean, np.cumsum, np.cumprod)
    )
    var, std, trace, dot, round = map(_method, (np.var, np.std, np.trace, np.dot, np.round))
    swapaxes, squeeze, repeat, take, diagonal = map(
        _method, (np.swapaxes, np.squeeze, np.repeat, np.take, np.diagonal)
    )
    any, all, nonzero, copy = map(_method, (np.any, np.all, np.nonzero, np.copy))
    T = property(_method(np.transpose), doc="The array with its axes reversed.")

    @property
    def mT(self) -> "ComplexArray":
        """The matrices of the last two axes, transposed."""
        return self.swapaxes(-1, -2)

    def transpose(self, *axes: Any) -> "ComplexArray":
        """Axes permuted; reversed without arguments."""
        return self._by_parts("transpose", *axes)

    def reshape(self, *shape: Any, **options: Any) -> "ComplexArray":
        """The elements in another shape; one length may be -1."""
        return self._by_parts("reshape", *shape, **options)

    def ravel(self, order: str = "C") -> "ComplexArray":
        """The elements along one axis."""
        return self._by_parts("ravel", order)

    def flatten(self, order: str = "C") -> "ComplexArray":
        """A copy of the elements along one axis."""
        return self._by_parts("flatten", order)

    def fill(self, value: Any) -> None:
        """Set all elements to one number."""
        self[...] = value

    def _by_parts(self, method: str, *args: Any, **options: Any) -> "ComplexArray":
        return ComplexArray(*(getattr(x, method)(*args, **options) for x in self.parts))

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        """Convert to complex64 or complex128. Raises ComplexError for real dtypes, which would
        discard the imaginary part."""
        dtype = np.dtype(dtype)
        if dtype.kind != "c":
            raise ComplexError(
                f"astype: {self.dtype} to {dtype} discards the imaginary part: take z.real"
            )
        if dtype == self.dtype and not copy:
            return self
        return self._by_parts("astype", np.float32 if dtype.itemsize == 8 else np.float64)

    def __getitem__(self, index: Any) -> "ComplexArray":
        return ComplexArray(*(_as_array(x[index]) for x in self.parts))

    def __setitem__(self, index: Any, value: Any) -> None:
        for part, new in zip(self.parts, parts_of(value), strict=True):
            part[index] = new

    @property
    def at(self) -> "_At":
        """`z.at[i].set(v)` and `.add(v)`: new arrays that differ at an index."""
        return _At(self)

    def __bool__(self) -> bool:
        return bool((self.parts[0] != 0) | (self.parts[1] != 0))

    def __complex__(self) -> complex:
        raise self._lost("complex")

    def __float__(self) -> float:
        raise ComplexError(
            f"float(z) of a complex number: take z.real or np.abs(z){user_line()}", code="NB-REAL"
        )

    def _lost(self, what: str) -> ComplexError:
        return ComplexError(
            f"{what}(z) of a complex array would lose the derivative: keep z, or use z.data for "
            f"the plain numbers{user_line()}"
        )

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        if all(type(x) is np.ndarray for x in self.parts):
            return np.asarray(self.data, dtype)
        raise self._lost("np.asarray")

    def item(self, *index: int) -> complex:
        """One element as a Python complex number, without a derivative."""
        return complex(*(x.item(*index) for x in self.parts))

    def tolist(self) -> Any:
        """The values as nested lists of Python complex numbers, without a derivative."""
        return self.data.tolist()

    def __repr__(self) -> str:
        try:
            text = str(self.data)
        except Exception:  # the parts have no values, as in a recorded program
            return f"ComplexArray({self.parts[0]!r}, {self.parts[1]!r})"
        return f"{text} (tracked)"

    def __format__(self, spec: str) -> str:
        return format(self.data if spec else str(self), spec)

    def __hash__(self) -> int:
        return id(self)

    def __getattr__(self, name: str) -> Any:
        if name in ("children", "parents"):
            raise MissingAttribute(f"a complex array has no {name}: see those of z.real and z.imag")
        if name == "__iter__" and self.aval.shape:
            return self.__anext__
        raise MissingAttribute(
            f"a ComplexArray has no attribute {name!r}: see dir(z), or the parts z.real and z.imag",
            name=name, obj=self,
        )  # fmt: skip

    # -- NumPy's protocols ----------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        out = options.pop("out", None)
        rule = rules.get(ufunc if method == "__call__" else (ufunc, method))
        if rule is None:
            name = of_ufunc(ufunc)[0] + ("" if method == "__call__" else f".{method}")
            raise no_complex_rule(name)
        where = options.pop("where", True)
        if where is not True:
            raise NoRuleError(f"{of_ufunc(ufunc)[0]}: where= with complex arrays: use np.where")
        dtype = options.pop("dtype", None)
        result = rule(*inputs, **options)
        if dtype is not None:
            result = result.astype(dtype)
        return result if out is None else _written(out, result, ufunc.__name__)

    def __array_function__(self, func: Callable, types: Any, args: tuple, kwargs: dict) -> Any:
        return call(func, args, kwargs)


def call(func: Callable, args: tuple, kwargs: dict) -> Any:
    """A function of NumPy of complex arguments."""
    rule = rules.get(func)
    if rule is None:
        raise no_complex_rule(name_of(func if callable(func) else func[0]))
    out = kwargs.pop("out", None) if kwargs else None
    try:
        result = rule(*args, **kwargs)
    except TypeError as error:
        if isinstance(error, ArgumentTypeError):
            raise
        check_call(name_of(func), rule, args, kwargs)
        raise
    return result if out is None else _written((out,), result, name_of(func))


def no_complex_rule(name: str) -> NoRuleError:
    """The error for a function that has no meaning for complex arrays, or no rule for them."""
    return no_rule(name, "complex numbers")


def _written(out: Any, result: Any, name: str) -> Any:
    (target,) = out if is_a(out, tuple) else (out,)
    if is_a(target, np.ndarray):
        raise UntrackedError(
            f"{name}: out= is a plain array, which would lose the derivative: omit it, or use "
            "nbgrad.numpy's arrays"
        )
    if is_complex(result) and type(target) is not ComplexArray:
        raise ComplexError(f"{name}: a complex result cannot be written to a real array")
    target[...] = result
    return target


def _as_array(x: Any) -> Any:
    return np.asarray(x) if is_a(x, np.generic) else x


def plain_join(real: Any, imag: Any) -> Any:
    """A plain complex array, or a NumPy number, of plain parts."""
    real, imag = np.asarray(real), np.asarray(imag)
    out = np.empty(real.shape, COMPLEX_OF.get(real.dtype, np.dtype(np.complex128)))
    out.real, out.imag = real, imag
    return out if out.shape else out[()]


class _At:
    """The helper of `ComplexArray.at`."""

    def __init__(self, array: ComplexArray, index: Any = ...):
        self.array, self.index = array, index

    def __getitem__(self, index: Any) -> "_At":
        return _At(self.array, index)

    def set(self, value: Any) -> ComplexArray:
        """The array with `value` at the index."""
        return self._of("set", value)

    def add(self, value: Any) -> ComplexArray:
        """The array with `value` added at the index."""
        return self._of("add", value)

    def _of(self, what: str, value: Any) -> ComplexArray:
        pairs = zip(self.array.parts, parts_of(value), strict=True)
        return joined(*(getattr(functions["at"](x)[self.index], what)(v) for x, v in pairs))


def retried(function: Any, args: tuple, kwargs: dict, error: ComplexError | None) -> Any:
    """The call of a function that refused a complex operand beside a real array, in complex
    numbers, or of one whose result is complex. Raises `error` if no operand is complex."""
    if error and type(error) is not ComplexResult:
        if not has_complex(args) and not has_complex(tuple(kwargs.values())):
            raise error
    return call(function, args, kwargs)


functions["complex"] = retried
