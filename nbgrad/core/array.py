"""`Array`, the base class of all kinds of arrays: operators, NumPy's protocols, ndarray's methods.

Primitives are looked up by name or by their NumPy function, so this file has no derivatives and
does not depend on transformations. Subclasses may override `bind1` and `bind2`, fast paths of
`bind`.
"""

import operator
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..errors import ArgumentError, ComplexError, MaskedError, MissingAttribute, has_mask, lost_mask
from ..ir.naming import NAMINGS, note_seen
from . import errstate, memory
from .augmented import augmented
from .conversions import Conversions
from .errstate import Asked, checked, entries
from .functions import check_call, functions, in_scipy, name_of, no_rule, views
from .functions import implements as implements
from .methods import Methods, beside, call_ufunc, own, power
from .numpy_class import NumPyClass, Pair, has_axes
from .primitive import Aval, Primitive, Tracer, bind
from .refusals import ELSEWHERE
from .slots import can_iterate, clear_sequence_item, iterate_by_next
from .steps import Path

_registry = Primitive.registry


def _unary(name: str):
    def method(self):
        return self.bind1(_registry[name], self)

    return method


def _binary(name: str):
    """The method of an operator, and the reflected one. One that refuses a complex operand is
    called again in complex numbers."""
    ufunc = getattr(np, name)

    def method(self, other):
        if type(other) is type(self) or isinstance(other, _OPERANDS):
            try:
                return self.bind2(_registry[name], self, other)
            except ComplexError as error:
                return functions["complex"](ufunc, (self, other), {}, error)
        return beside(name, self, other, False)

    def reflected(self, other):
        if isinstance(other, _OPERANDS):
            try:
                return self.bind2(_registry[name], other, self)
            except ComplexError as error:
                return functions["complex"](ufunc, (other, self), {}, error)
        return beside(name, self, other, True)

    return method, reflected


_OPERANDS = (Tracer, float, int, np.ndarray, np.generic, list, tuple, complex)


class Array(Methods, Conversions, NumPyClass, Tracer):
    """Operators, protocols and methods, which apply ops of the registry.

    `origin` is the array of which it is a view, and `views` has references to its own views: see
    `memory`. The slots in `value_slots` hold the value; in a stale view they are unset.
    """

    __slots__ = ("__weakref__", "origin", "views")
    value_slots: ClassVar[tuple[str, ...]] = ()
    aval: Aval
    origin: Any
    views: list[Any] | None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        clear_sequence_item(cls)
        iterate_by_next(cls)

    bind1: Callable = staticmethod(bind)
    bind2: Callable = staticmethod(bind)

    @property
    def below(self) -> Any:
        """The value one level down, which may be plain."""
        raise NotImplementedError

    def _become(self, new: "Array") -> None:
        """Take the value of another array of this kind, shape, dtype and level."""
        for name in self.value_slots:
            setattr(self, name, getattr(new, name))

    def _leave(self) -> None:
        """Prepare for taking another value."""

    def _invalidate(self) -> None:
        """Drop the value, as the array of which this is a view has changed."""
        with suppress(AttributeError):  # it is stale already
            for name in self.value_slots:
                delattr(self, name)

    def _write(self, path: Path, value: Any, what: str) -> None:
        """Write `value` to a part of this array."""
        new = memory.written(self, path, value)
        if type(new) is not type(self) or new.level != self.level or new.dtype != self.dtype:
            raise memory.inner_values(self, what)
        memory.invalidate_views(self)
        self._leave()
        self._become(new)

    @property
    def _is_argument(self) -> bool:
        """Whether it is an argument of a transformation."""
        return type(self.origin) is memory.Argument

    def _require_computed(self, what: str) -> None:
        """Raise GraphError for a leaf, which is read-only."""

    def _snapshot(self) -> "Array":
        """An array that keeps this value when the array is written to."""
        raise NotImplementedError

    def _fresh(self) -> "Array":
        """A new array with this value, which may be written to."""
        return self._snapshot()

    def full_like(self, number: float):
        """An array of this shape and dtype filled with `number`; its derivative is 0."""
        below = self.below
        if isinstance(below, Array):
            return below.full_like(number)
        return np.full(self.shape, number, self.dtype)

    def constant(self, value: Any) -> Any:
        """`value`, a plain array or an array of a lower level, as an array of this kind and level
        with derivative 0."""
        raise NotImplementedError

    # -- attributes ---------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes; read-only."""
        if NAMINGS:
            note_seen()
        return self.aval.shape

    @shape.setter
    def shape(self, _) -> None:
        raise MissingAttribute(
            "the shape of an array in a graph is fixed: use np.reshape(x, shape)"
        )

    @property
    def dtype(self) -> np.dtype:
        """float64 or float32; read-only."""
        return self.aval.dtype

    @dtype.setter
    def dtype(self, _) -> None:
        raise MissingAttribute("the dtype of an array in a graph is fixed: use x.astype(dtype)")

    @property
    def ndim(self) -> int:
        return len(self.aval.shape)

    @property
    def size(self) -> int:
        if NAMINGS:
            note_seen()
        return self.aval.size

    if TYPE_CHECKING or not can_iterate():

        def __iter__(self) -> Iterator[Any]:
            return self.__anext__()

    # -- operators ----------------------------------------------------------------------------

    __add__, __radd__ = _binary("add")
    __sub__, __rsub__ = _binary("subtract")
    __mul__, __rmul__ = _binary("multiply")
    __truediv__, __rtruediv__ = _binary("divide")
    __floordiv__, __rfloordiv__ = _binary("floor_divide")
    __mod__, __rmod__ = _binary("remainder")
    __matmul__, __rmatmul__ = _binary("matmul")
    __neg__ = _unary("negative")
    __abs__ = _unary("absolute")
    __lt__ = _binary("less")[0]
    __le__ = _binary("less_equal")[0]
    __gt__ = _binary("greater")[0]
    __ge__ = _binary("greater_equal")[0]
    __eq__ = _binary("equal")[0]  # pyright: ignore[reportAssignmentType]
    __ne__ = _binary("not_equal")[0]  # pyright: ignore[reportAssignmentType]
    __hash__ = Conversions.__hash__

    def __pos__(self):
        return functions[np.copy](self)

    def __pow__(self, exponent):
        if type(exponent) is int and -8 <= exponent <= 8:
            return self.bind1(_registry["integer_power"], self, n=exponent)
        if type(exponent) is float and exponent == 0.5 and self.dtype.kind == "f":
            return self.bind1(_registry["sqrt"], self)
        return power(self, exponent)

    def __rpow__(self, base):
        return power(base, self)

    def __divmod__(self, other):
        return self // other, self % other

    def __rdivmod__(self, other):
        return other // self, other % self

    def __round__(self, ndigits: int = 0):
        return functions[np.round](self, ndigits)

    def __getitem__(self, index):
        return functions["index"](self, index)

    @property
    def at(self):
        """`x.at[i].set(v)`, `.add(v)`, `.max(v)`, ...: new arrays that differ at an index."""
        return functions["at"](self)

    def __setitem__(self, index, value):
        memory.write(self, index, value, "{}[...] = ...")

    __iadd__ = augmented("+=", operator.add)
    __isub__ = augmented("-=", operator.sub)
    __imul__ = augmented("*=", operator.mul)
    __itruediv__ = augmented("/=", operator.truediv)
    __ifloordiv__ = augmented("//=", operator.floordiv)
    __imod__ = augmented("%=", operator.mod)
    __imatmul__ = augmented("@=", operator.matmul)
    __ipow__ = augmented("**=", operator.pow)

    __iand__ = augmented("&=", operator.and_)
    __ior__ = augmented("|=", operator.or_)
    __ixor__ = augmented("^=", operator.xor)

    def __delitem__(self, index):
        raise ArgumentError(
            "cannot delete elements of an array: take the others, as in x[1:]", code="NB-WRITE"
        )

    def __getattr__(self, name: str) -> Any:
        """The value of a stale view, which is taken anew. Raises AttributeError for any other name,
        with a remedy if there is one."""
        if name in type(self).value_slots and type(self.origin) is memory.Origin:
            memory.refresh(self)
            return getattr(self, name)
        if name == "__iter__" and has_axes(self):
            return self.__anext__
        way = ELSEWHERE.get(name)
        if way is None and hasattr(np.ndarray, name):
            way = f"x.data.{name} is that of the plain values, without a derivative"
        raise MissingAttribute(
            f"{in_scipy(sys._getframe(1))}a {type(self).__name__} has no attribute {name!r}: "
            f"{way or 'see dir(x)'}",
            name=name,
            obj=self,
        )

    # -- NumPy's protocols --------------------------------------------------------------------

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        try:
            return call_ufunc(ufunc, method, *inputs, **options)
        except ComplexError as error:
            return functions["complex"](
                ufunc if method == "__call__" else (ufunc, method), inputs, options, error
            )
        except Asked:
            pass
        with checked(getattr(ufunc, method), inputs, options):
            return call_ufunc(ufunc, method, *inputs, **options)

    def __array_function__(self, func, types, args, kwargs):
        rule = functions.get(func)
        if rule is None:
            # A call with like=self.
            maker = functions.get(("like", func))
            if maker is None:
                raise no_rule(name_of(func))
            try:
                return maker(self, *args, **kwargs)
            except Asked:  # creating an array causes no floating-point errors
                with errstate.ignored():
                    return maker(self, *args, **kwargs)
        if len(types) > 1 and func not in _PASSED_ON:
            if any(map(has_mask, types)):
                raise MaskedError(lost_mask(name_of(func)))
            if any(issubclass(kind, Pair) for kind in types):
                return NotImplemented
        try:
            if kwargs and "out" in kwargs:
                if kwargs["out"] is not None:
                    return functions["out"](func, args, **kwargs)
                del kwargs["out"]
            out = rule(*args, **kwargs)
            if type(out) is type(self) and out.origin is None and out is not self:
                return out
            return out if func in views else own(out, args)
        except ComplexError as error:
            return functions["complex"](func, args, kwargs, error)
        except TypeError:
            check_call(name_of(func), rule, args, kwargs)
            raise
        except Asked:
            pass
        with checked(func, args, kwargs):
            return self.__array_function__(func, types, args, kwargs)


entries.update([Array.__array_ufunc__.__code__, Array.__array_function__.__code__])
clear_sequence_item(Array)
iterate_by_next(Array)


def apply(primitive: Primitive, x, *others, **params):
    """`bind(primitive, x, *others, **params)`, by the fast paths of arrays."""
    if not others:
        if isinstance(x, Array):
            return x.bind1(primitive, x, **params)
        return primitive.evaluate(x, **params)
    if len(others) == 1 and not params:
        (y,) = others
        first = x if isinstance(x, Array) else y
        if isinstance(first, Array):
            return first.bind2(primitive, x, y)
    return bind(primitive, x, *others, **params)


# These return masked arrays as they are, or no numbers.
_PASSED_ON = frozenset([
    np.atleast_1d, np.atleast_2d, np.atleast_3d, np.result_type, np.common_type,
    np.shares_memory, np.may_share_memory,
])  # fmt: skip
