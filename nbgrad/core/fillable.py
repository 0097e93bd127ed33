"""Plain arrays that take tracked values: the results of `nbgrad.numpy.zeros`, `ones`, `empty`, ...

A `Fillable` is an ndarray until a tracked value is written to it. Then it becomes a `Filled`, a
proxy of a tracked array, `held`, to which it forwards everything. Its views become views of the
held array, by the step `Strided`. The plain memory is filled with nan and gets a dtype that no
function accepts, as C code may still read it.

A value of an inner transformation lifts the held array to its level before it is written, so the
array may come from outside of the transformation.
"""

from functools import cache
from typing import Any, cast
from weakref import ref

import numpy as np

from ..capi.gate import is_tracing
from ..compiler import njit_arguments
from ..errors import PlainArrayError
from ..runtime.lines import user_line
from . import leaks, memory
from .array import Array
from .flat import Flat
from .functions import functions, mapped
from .numpy_class import Pair
from .primitive import Proxy, Tracer
from .steps import Strided

_get, _set = np.ndarray.__getitem__, np.ndarray.__setitem__
_PLAIN = frozenset(
    [float, int, bool, str, type(None), np.ndarray, np.float64, np.float32, np.int64, np.bool_]
)
_kind = cast(Any, object.__dict__["__class__"])
# Assigning to `dtype` is deprecated since NumPy 2.5, which has this method for its own classes.
_set_dtype: Any = getattr(np.ndarray, "_set_dtype", np.ndarray.__dict__["dtype"].__set__)
_SMALL = 4096
"""Arrays of fewer bytes are copied sooner than compared."""
_WRITING = frozenset(["fill", "partition", "put", "sort"])


class Fillable(np.ndarray):
    """An ndarray that becomes a `Filled` when a tracked value is written to it."""

    __slots__ = ("body", "copied", "held", "kin", "memory")
    body: int  # of a Traced: the level of the loop body in which it was made
    copied: Any
    held: Array
    memory: Array
    kin: list[Any]

    def __array_finalize__(self, x: Any) -> None:
        if issubclass(type(self.base), Fillable):
            owner = _owner(self)
            try:
                views = owner.kin
            except AttributeError:
                views = owner.kin = [memory.FIRST_LIMIT]
            views.append(ref(self))
            if len(views) > views[0]:
                memory.prune(views)

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
        """Become a proxy of a tracked array that can hold `value`, and return that array. Raises
        UntrackedError for an array of integers or bools."""
        owner = _owner(self)
        if not np.can_cast(value.dtype, owner.dtype, "same_kind"):
            raise PlainArrayError(
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
        """A plain copy for an op, which may read it later. Ops share one copy until the array is
        written to."""
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
        # In memory order, to which the strides of views refer.
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
            _set_dtype(view, unreadable)
            _kind.__set__(view, Filled)
        self._hold(held)

    def _hold(self, held: Array) -> None:
        """Become a proxy of another array, given in memory order, and make the views proxies of its
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
    """A Fillable made while a function is recorded or mapped: a recorded number may be its index.
    Others have no `__getitem__`, so that reading elements is faster."""

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
    """View a new plain array as one that tracked values can be written to."""
    if type(x) is np.ndarray and x.dtype.kind in "fiub" and x.flags.writeable:
        return x.view(Traced if is_tracing() else Fillable)
    return x


@cache
def _unreadable(size: int) -> np.dtype:
    """A dtype of a size that C functions refuse by its name. It has two fields if possible, as
    NumPy casts a single one."""
    name = "tracked values, which only functions of nbgrad and nbgrad.numpy take"
    half = size // 2
    return np.dtype([(name, f"V{size - half}"), *([("", f"V{half}")] if half else [])])


def highest(*values: Any) -> Any:
    """The tracked value of the highest level among values and the items of nested lists; None if
    there is none."""
    top = None
    for x in values:
        if type(x) in _PLAIN or (type(x) is list and _PLAIN.issuperset(map(type, x))):
            continue
        x = x.parts if isinstance(x, Pair) else x
        found = highest(*x) if isinstance(x, (list, tuple)) else x
        if isinstance(found, Tracer) and (top is None or found.level > top.level):
            top = unfilled(found)
    return top


def unfilled(x: Any) -> Any:
    """The array behind a Filled; anything else is returned as it is."""
    return _held(x) if type(x) is Filled else x


def plain(x: Any) -> Any:
    """A Fillable as an ndarray; the array behind a Filled."""
    return x.view(np.ndarray) if type(x) in FILLABLE else unfilled(x)


def _all_unfilled(args: tuple) -> tuple:
    """Replace Filled arguments by the arrays behind them, in lists and tuples, too."""
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
    """A Fillable that tracked values were written to: a proxy of `held`.

    It is a subclass, so NumPy's protocols call its methods before those of a Fillable.
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


Proxy.kind, Proxy.value_of = Filled, staticmethod(_operand)
Proxy.memory = staticmethod(plain)


def _method(name: str) -> Any:
    """A method of ndarray that takes tracked arguments. Methods that write make the array a Filled;
    for the others it is a constant."""
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
