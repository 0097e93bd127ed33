"""`ComplexArray`: the real and the imaginary part, as two real arrays of one shape and dtype."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.array import Array
from ..core.conversions import NESTED
from ..core.fillable import FILLABLE
from ..core.functions import functions, of_ufunc
from ..core.numpy_class import Pair
from ..core.primitive import Aval, shape_of
from ..errors import ArgumentTypeError, ComplexError, MissingAttribute, NoRuleError
from ..runtime.kinds import is_a
from ..runtime.lines import user_line
from .at import At
from .calls import (
    COMPLEX_OF,
    PLAIN_PART,
    binary,
    call,
    has_complex,
    is_complex,
    method_of,
    plain_join,
)  # fmt: skip

__all__ = ["ComplexArray", "joined", "lifted", "parts_of", "plain_join"]


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
    if is_a(real, (float, int)) or is_a(imag, (float, int)):
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


functions["complex_of"] = joined


def _like(x: Any, other: Any) -> Any:
    if not is_a(x, (float, int)) or is_a(x, np.generic):
        return x
    shape = shape_of(other)
    dtype = getattr(other, "dtype", np.dtype(np.float64))
    return np.full(shape, x, dtype if dtype in COMPLEX_OF else np.float64)


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
    views = origin = None
    is_batch = False

    def __init__(self, real: Any, imag: Any):
        try:
            self.aval = Aval.of(real.shape, COMPLEX_OF[real.dtype])
            if imag.shape != real.shape or imag.dtype != real.dtype:
                raise AttributeError
        except (AttributeError, KeyError, TypeError):
            raise ArgumentTypeError(
                "ComplexArray: the parts are two arrays of floats of one shape and dtype; "
                "nbgrad.track makes one of a complex array, x + 1j * y of two others"
            ) from None
        self.parts = real, imag

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

    def flattened(self) -> tuple:
        """The leaves, as trees are told: the parts, nothing else, and their names."""
        return self.parts, None, ("real", "imag")

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

    __add__, __radd__, __iadd__ = binary(np.add)
    __sub__, __rsub__, __isub__ = binary(np.subtract)
    __mul__, __rmul__, __imul__ = binary(np.multiply)
    __truediv__, __rtruediv__, __itruediv__ = binary(np.divide)
    __mod__, __rmod__, __imod__ = binary(np.remainder)
    __floordiv__, __rfloordiv__, __ifloordiv__ = binary(np.floor_divide)
    __pow__, __rpow__, __ipow__ = binary(np.power)
    __matmul__, __rmatmul__, __imatmul__ = binary(np.matmul)
    __lt__, __le__ = binary(np.less)[0], binary(np.less_equal)[0]
    __gt__, __ge__ = binary(np.greater)[0], binary(np.greater_equal)[0]
    __eq__ = binary(np.equal)[0]  # pyright: ignore[reportAssignmentType]
    __ne__ = binary(np.not_equal)[0]  # pyright: ignore[reportAssignmentType]
    __neg__, __pos__, __abs__ = (
        method_of(np.negative),
        method_of(np.positive),
        method_of(np.absolute),
    )
    conj = conjugate = method_of(np.conjugate)
    sum, prod, mean = method_of(np.sum), method_of(np.prod), method_of(np.mean)
    cumsum, cumprod = method_of(np.cumsum), method_of(np.cumprod)
    var, std, trace = method_of(np.var), method_of(np.std), method_of(np.trace)
    dot, round = method_of(np.dot), method_of(np.round)
    swapaxes, squeeze = method_of(np.swapaxes), method_of(np.squeeze)
    repeat, take, diagonal = method_of(np.repeat), method_of(np.take), method_of(np.diagonal)
    any, all = method_of(np.any), method_of(np.all)
    nonzero, copy = method_of(np.nonzero), method_of(np.copy)
    T = property(method_of(np.transpose), doc="The array with its axes reversed.")

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
        parts = [x[index] for x in self.parts]
        return ComplexArray(*(np.asarray(x) if is_a(x, np.generic) else x for x in parts))

    def __setitem__(self, index: Any, value: Any) -> None:
        for part, new in zip(self.parts, parts_of(value), strict=True):
            if type(part) is np.ndarray and isinstance(new, Array):
                raise ComplexError(f"{PLAIN_PART}{user_line()}", code="NB-CONVERT")
            part[index] = new

    @property
    def at(self) -> At:
        """`z.at[i].set(v)` and `.add(v)`: new arrays that differ at an index."""
        return At(self, parts_of)

    def __bool__(self) -> bool:
        return bool((self.parts[0] != 0) | (self.parts[1] != 0))

    def __complex__(self) -> complex:
        if any(isinstance(x, Array) for x in self.parts):
            raise self._lost("complex")
        return complex(self.data)

    def __float__(self) -> float:
        way = "float(z) of a complex number: take z.real or np.abs(z)"
        raise ComplexError(f"{way}{user_line()}", code="NB-REAL")

    def _lost(self, what: str, way: str = "keep z") -> ComplexError:
        text = f"{what}(z) of a complex array would lose the derivative: {way}, or use z.data for"
        return ComplexError(f"{text} the plain numbers{user_line()}")

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        if all(type(x) is np.ndarray or type(x) in FILLABLE for x in self.parts):
            return np.asarray(self.data, dtype)
        raise self._lost("np.array", f"{NESTED}; keep z")

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

    def __reduce__(self) -> tuple:
        return ComplexArray, self.parts

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
        if options.pop("where", True) is not True:
            raise NoRuleError(f"{of_ufunc(ufunc)[0]}: where= with complex arrays: use np.where")
        dtype = options.pop("dtype", None)
        result = call(ufunc if method == "__call__" else (ufunc, method), inputs, options)
        return result if dtype is None else result.astype(dtype)

    def __array_function__(self, func: Callable, types: Any, args: tuple, kwargs: dict) -> Any:
        return call(func, args, kwargs)
