"""Plain arrays that tracked values can be put into: what `nbgrad.numpy.zeros` and its kin make.

A `Fillable` is an ndarray of NumPy until a tracked value is written to it. Then it becomes a
`Filled`, which stands for an array of nbgrad, `held`: everything that is read, called or written is
forwarded to that. Views share this: they become views of the held array, by the step `Strided`. The
plain memory is set to nan, and its dtype to one that no function computes with, as code in C may
still look at it.

A write of a value of an inner transformation lifts the held array to the level of that value first,
so the array may come from outside of the transformation.
"""

from functools import cache
from typing import Any, cast
from weakref import ref

import numpy as np

from ..capi.gate import is_tracing
from ..compiler import njit_arguments
from ..errors import UntrackedError
from ..runtime.lines import user_line
from . import leaks, memory
from .array import Array
from .flat import Flat
from .functions import functions, mapped
from .primitive import StandIn, Tracer
from .steps import Strided

_get, _set = np.ndarray.__getitem__, np.ndarray.__setitem__
_PLAIN = frozenset(
    [float, int, bool, str, type(None), np.ndarray, np.float64, np.float32, np.int64, np.bool_]
)
_kind = cast(Any, object.__dict__["__class__"])
_dtype = cast(Any, np.ndarray.__dict__["dtype"])
_SMALL = 4096
"""Arrays of fewer bytes are copied sooner than compared."""
_WRITING = frozenset(["fill", "partition", "put", "sort"])


class Fillable(np.ndarray):
    """An ndarray that becomes a `Filled` where a tracked value is written to it."""

    __slots__ = ("body", "copied", "held", "kin", "memory")
    body: int  # the level of the body of a loop that it was made in, of a Traced
    copied: Any
    held: Array
    memory: Array
    kin: list[Any]

    def __array_finalize__(self, x: Any) -> None:
        if issubclass(type(self.base), Fillable):
            owner = _owner(self)
            try:
                kin = owner.kin
            except AttributeError:
                kin = owner.kin = [16]
            kin.append(ref(self))
            if len(kin) > kin[0]:
                kin[1:] = [view for view in kin[1:] if view() is not None]
                kin[0] = 2 * len(kin) + 16

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        if return_scalar:
            return array[()]
        return array if array.dtype.kind == "b" else array.view(type(self))

    def __setitem__(self, index: Any, value: Any) -> None:
        if type(value) in _PLAIN and type(index) in _PLAIN:
            return _set(self, index, value)
        top = highest(index, value)
        if top is None:
            return _set(self, index, value)
        self.take_in(top)[index] = value

    def __reduce__(self) -> Any:
        return np.asarray(self).__reduce__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return np.asarray(self).__reduce_ex__(protocol)

    def __repr__(self) -> str:
        return repr(np.asarray(self))

    @property
    def flat(self) -> Any:
        """The elements, row by row, to be read and written."""
        return Flat(self)

    @flat.setter
    def flat(self, values: Any) -> None:
        Flat(self)[...] = values

    def take_in(self, value: Any) -> Array:
        """The array that this one stands for from now on, of the level of a tracked value at least.
        Raises UntrackedError for an array of integers or bools, and a value of another kind."""
        owner = _owner(self)
        if not np.can_cast(value.dtype, owner.dtype, "same_kind"):
            raise UntrackedError(
                f"assignment into an array of dtype {owner.dtype}, which cannot hold tracked "
                f"values without losing their derivatives: make it with dtype=float{user_line()}"
            )
        if getattr(owner, "body", 0) < memory.bodies.level:
            raise memory.from_outside("y[...] = ...")
        if type(owner) is not Filled:
            owner._become_filled(value)
        elif leaks.over(owner.held):
            raise leaks.of_level(owner.held)
        elif owner.held.level < value.level:
            owner._hold(functions["as_kind"](value, owner.memory))
        return self.held

    def now(self) -> np.ndarray:
        """A plain array of what this one holds now, for an op, which may read it later on. Several
        ops get one array, as long as nothing is written here."""
        if self.nbytes < _SMALL:
            return np.array(self)
        try:
            known = self.copied()
        except AttributeError:
            known = None
        if known is None or not np.array_equal(known, self, equal_nan=True):
            known = np.array(self)
            self.copied = ref(known)
        return known

    def _become_filled(self, value: Any) -> None:
        # In the order of memory, in which views are strided.
        axes = range(self.ndim)
        in_c = self.flags.c_contiguous
        order = list(axes) if in_c else sorted(axes, key=lambda i: -self.strides[i])
        held = functions["as_kind"](value, np.array(np.transpose(self, order), order="C"))
        views = [view() for view in getattr(self, "kin", (0,))[1:]]
        steps = [(view, Strided(view, self)) for view in views if view is not None]
        self.kin = [order, *((ref(view), step) for view, step in steps)]
        if self.dtype.kind == "f":
            _set(self, ..., np.nan)
        unreadable = _unreadable(self.itemsize)
        for view, _ in ((self, None), *steps):
            _dtype.__set__(view, unreadable)
            _kind.__set__(view, Filled)
        self._hold(held)

    def _hold(self, held: Array) -> None:
        """Stand for another array, given in the order of memory, and let the views stand for its
        views."""
        order, *kin = self.kin
        self.memory = held
        back = sorted(range(len(order)), key=order.__getitem__)
        in_order = order == back == list(range(len(order)))
        self.held = held if in_order else cast(Array, np.transpose(held, back))
        for reference, step in kin:
            view = reference()
            if view is not None:
                view.held = memory.view(held, step.apply(held), step)


class Traced(Fillable):
    """A Fillable made while numbers may have no value: it takes them for an index, too, for which
    others, whose elements are read sooner, have no method."""

    __slots__ = ()

    def __array_finalize__(self, x: Any) -> None:
        self.body = memory.bodies.level
        super().__array_finalize__(x)

    def __getitem__(self, index: Any) -> Any:
        if type(index) in (int, slice) or highest(index) is None:
            return _get(self, index)
        return functions["at"](self.now())[index].get()


FILLABLE = frozenset([Fillable, Traced])
PLAIN = frozenset([float, np.ndarray, *FILLABLE])


def fillable(x: Any) -> Any:
    """A new plain array as one that tracked values can be written to."""
    if type(x) is np.ndarray and x.dtype.kind in "fiub" and x.flags.writeable:
        return x.view(Traced if is_tracing() else Fillable)
    return x


@cache
def _unreadable(size: int) -> np.dtype:
    """A dtype of a size that functions in C refuse, naming it. Casts of a single field are allowed,
    so there are two where there is room."""
    name = "tracked values, which only functions of nbgrad and nbgrad.numpy take"
    half = size // 2
    return np.dtype([(name, f"V{size - half}"), *([("", f"V{half}")] if half else [])])


def highest(*values: Any) -> Any:
    """The tracked value of the highest level among values and what nested lists of them hold; None
    where there is none."""
    top = None
    for x in values:
        if type(x) in _PLAIN or (type(x) is list and _PLAIN.issuperset(map(type, x))):
            continue
        found = highest(*x) if isinstance(x, (list, tuple)) else x
        if isinstance(found, Tracer) and (top is None or found.level > top.level):
            top = unfilled(found)
    return top


def unfilled(x: Any) -> Any:
    """The array that a Filled stands for; anything else itself."""
    return _held(x) if type(x) is Filled else x


def plain(x: Any) -> Any:
    """A Fillable as an array of NumPy's own class, and the array that a Filled stands for."""
    return x.view(np.ndarray) if type(x) in FILLABLE else unfilled(x)


def _all_unfilled(args: tuple) -> tuple:
    """Arguments with the arrays that Filled ones stand for, in lists and tuples too."""
    for x in args:
        if type(x) is Filled or type(x) is list or type(x) is tuple or type(x) is slice:
            return tuple([_slice(x) if type(x) is slice else mapped(unfilled, x) for x in args])
    return args


def _slice(x: slice) -> slice:
    return slice(*map(unfilled, (x.start, x.stop, x.step)))


def _owner(x: Any) -> Fillable:
    while isinstance(x.base, Fillable):
        x = x.base
    return x


class Filled(Traced):
    """A Fillable that tracked values were written to: it stands for the array that it holds.

    NumPy asks subclasses first: so it answers for functions of both kinds.
    """

    __slots__ = ()

    def __getattribute__(self, name: str) -> Any:
        if name in _OWN:
            return object.__getattribute__(self, name)
        held = _held(self)
        return type(held) if name == "__class__" else getattr(held, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _OWN:
            object.__setattr__(self, name, value)
        else:
            setattr(self.held, name, unfilled(value))

    def __array_finalize__(self, x: Any) -> None:
        pass

    def __setitem__(self, index: Any, value: Any) -> None:
        top = highest(index, value)
        held = self.held if top is None else self.take_in(top)
        index, value = _all_unfilled((index, value))
        held[index] = value


_OWN = frozenset(["body", "memory", "held", "kin", "take_in", "base", "_hold"])
_held = Fillable.held.__get__  # pyright: ignore[reportAttributeAccessIssue]


def _operand(x: Any) -> Any:
    return x.now() if type(x) in FILLABLE else unfilled(x)


StandIn.kind, StandIn.value_of = Filled, staticmethod(_operand)
StandIn.memory = staticmethod(plain)


def _method(name: str) -> Any:
    """The method of ndarray, which takes tracked arguments: those to be written fill the array,
    and beside others it is a constant."""
    of_numpy = getattr(np.ndarray, name)

    def method(self, *args, **options):
        top = highest(*args, *options.values())
        if top is None:
            return of_numpy(self, *args, **options)
        x = self.take_in(top) if name in _WRITING else functions["as_kind"](top, np.array(self))
        args = [functions["given"](arg) if type(arg) is list else arg for arg in args]
        return getattr(x, name)(*args, **options)

    method.__name__, method.__doc__ = name, f"`np.ndarray.{name}`."
    return method


for _name in (*_WRITING, "choose", "clip", "compress", "dot", "searchsorted", "take"):
    setattr(Fillable, _name, _method(_name))


def _forwarded(name: str) -> Any:
    def method(self, *args, **options):
        held = _held(self)
        if options:
            options = dict(zip(options, _all_unfilled(tuple(options.values())), strict=True))
        found = getattr(held, name)(*_all_unfilled(args), **options)
        return self if found is held else found

    method.__name__ = name
    return method


_NOT_FORWARDED = frozenset(
    ["__class__", "__getattr__", "__init__", "__init_subclass__", "__new__", "__setitem__"]
)
for _name in {name for kind in Array.__mro__[:-1] for name in vars(kind)} | {
    "__repr__", "__str__", "__format__", "__bool__", "__index__", "__reduce_ex__", "__reduce__",
}:  # fmt: skip
    if _name.startswith("__") and callable(getattr(Array, _name, None)):
        if _name not in _NOT_FORWARDED:
            setattr(Filled, _name, _forwarded(_name))

njit_arguments.refuse(Filled)
