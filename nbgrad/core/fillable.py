"""Plain arrays that tracked values can be put into: what `nbgrad.numpy.zeros` and its kin make.

A `Fillable` is an ndarray of NumPy, with NumPy's speed, until a tracked value is written to it.
Then it becomes a `Filled`, which stands for an array of nbgrad, `held`: whatever is read, called or
written goes there. Views share this: they become views of the held array, by the step `Strided`.

A write of a value of an inner transformation lifts the held array to the level of that value first,
so the array may come from outside of the transformation.
"""

from typing import Any, cast
from weakref import ref

import numpy as np

from ..errors import UntrackedError
from . import memory
from .array import Array
from .functions import functions, items_of
from .primitive import Tracer
from .steps import Step

_set = np.ndarray.__setitem__
_PLAIN = frozenset([float, int, bool, np.ndarray, np.float64, np.float32, np.int64, np.bool_])
_kind = cast(Any, object.__dict__["__class__"])


class Fillable(np.ndarray):
    """An ndarray that becomes a `Filled` where a tracked value is written to it."""

    __slots__ = ("held", "kin")
    held: Array
    kin: list[Any]

    def __array_finalize__(self, x: Any) -> None:
        if self.base is not None and isinstance(self.base, Fillable):
            owner = _owner(self)
            try:
                owner.kin.append(ref(self))
            except AttributeError:
                owner.kin = [ref(self)]

    def __setitem__(self, index: Any, value: Any) -> None:
        if type(value) in _PLAIN and type(index) in _PLAIN:
            return _set(self, index, value)
        top = highest(index, value)
        if top is None:
            return _set(self, index, value)
        self.take_in(top)[index] = value

    def __reduce__(self) -> Any:
        return np.asarray(self).__reduce__()

    def __repr__(self) -> str:
        return repr(np.asarray(self))

    def take_in(self, value: Any) -> Array:
        """The array that this one stands for from now on, of the level of a tracked value at least.
        Raises UntrackedError for an array of integers or bools."""
        owner = _owner(self)
        if self.dtype.kind != "f":
            raise UntrackedError(
                f"assignment into an array of dtype {self.dtype}, which cannot hold tracked values "
                "without losing their derivatives: make it with dtype=float"
            )
        if type(owner) is Filled:
            if owner.held.level < value.level:
                owner._hold(functions["as_kind"](value, owner.held))
        else:
            owner._become_filled(functions["as_kind"](value, np.array(owner)))
        return self.held

    def _become_filled(self, held: Array) -> None:
        views = [view() for view in getattr(self, "kin", ())]
        self.kin = [(ref(view), Strided.between(view, self)) for view in views if view is not None]
        _set(self, ..., np.nan)
        for view in (self, *views):
            if view is not None:
                _kind.__set__(view, Filled)
        self._hold(held)

    def _hold(self, held: Array) -> None:
        """Stand for another array, and let the views stand for its views."""
        self.held = held
        for reference, step in self.kin:
            view = reference()
            if view is not None:
                view.held = memory.view(held, step.apply(held), step)


def highest(*values: Any) -> Any:
    """The tracked value of the highest level among values and what nested lists of them hold; None
    where there is none."""
    tracers = [x for x in items_of(values) if isinstance(x, Tracer)]
    return max(tracers, key=lambda x: x.level, default=None)


def _owner(x: Any) -> Fillable:
    while isinstance(x.base, Fillable):
        x = x.base
    return x


class Strided(Step):
    """The view of an array that begins at an element, counted row by row, and goes on by strides,
    which are counted in elements, too."""

    __slots__ = ("shape", "start", "strides")

    def __init__(self, start: int, shape: tuple[int, ...], strides: tuple[int, ...]):
        self.start, self.shape, self.strides = start, shape, strides

    @classmethod
    def between(cls, view: np.ndarray, owner: np.ndarray) -> "Strided":
        """The step from the owner of some memory to a view of it."""
        size = owner.itemsize
        start = _address(view) - _address(owner)
        return cls(start // size, view.shape, tuple([stride // size for stride in view.strides]))

    def apply(self, x: Any) -> Any:
        flat = np.reshape(x, -1)
        if isinstance(x, Tracer):
            return flat[self.places()]
        strides = [stride * x.itemsize for stride in self.strides]
        return np.lib.stride_tricks.as_strided(flat[self.start :], self.shape, strides)

    def inverse(self, x: Any, part: Any) -> Any:
        flat = functions["at"](np.reshape(x, -1))
        return np.reshape(flat[self.places()].set(part), np.shape(x))

    def places(self) -> np.ndarray:
        """The places of the elements in the flat array."""
        places = np.full(self.shape, self.start)
        for axis, (length, stride) in enumerate(zip(self.shape, self.strides, strict=True)):
            places += np.arange(length).reshape(-1, *(1,) * (len(self.shape) - axis - 1)) * stride
        return places


def _address(x: np.ndarray) -> int:
    return x.__array_interface__["data"][0]


class Filled(Fillable):
    """A Fillable that tracked values were written to: it stands for the array that it holds."""

    __slots__ = ()

    def __getattribute__(self, name: str) -> Any:
        if name in _OWN:
            return object.__getattribute__(self, name)
        return getattr(_held(self), name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _OWN:
            object.__setattr__(self, name, value)
        else:
            setattr(self.held, name, value)

    def __array_finalize__(self, x: Any) -> None:
        pass

    def __setitem__(self, index: Any, value: Any) -> None:
        top = highest(index, value)
        held = self.held if top is None else self.take_in(top)
        held[index] = value


_OWN = frozenset(["held", "kin", "take_in", "base", "_hold"])
_held = Fillable.held.__get__


def _forwarded(name: str) -> Any:
    def method(self, *args, **options):
        found = getattr(_held(self), name)(*args, **options)
        return self if found is _held(self) else found

    method.__name__ = name
    return method


for _name in {name for kind in Array.__mro__[:-1] for name in vars(kind)} | {
    "__repr__", "__str__", "__format__", "__bool__", "__index__", "__reduce_ex__", "__reduce__",
}:  # fmt: skip
    if _name.startswith("__") and callable(getattr(Array, _name, None)):
        if _name not in (
            "__init_subclass__",
            "__new__",
            "__init__",
            "__class__",
            "__getattr__",
            "__setitem__",
        ):
            setattr(Filled, _name, _forwarded(_name))
