"""A walk over the code of a function, which finds the places that it reads besides its arguments.

The walk starts at a function and follows the names that its code reads: globals, variables of its
closure, defaults, items of the dicts and lists there, and functions that it can call, whose code is
walked alike. Of an object, a class or a module those attributes are looked at that any walked code
names, whatever object it reads them from: more than is read, and no less.

Functions of Python, NumPy, this package and other installed packages are taken to stay as they are.
"""

import array
import contextlib
import functools
import gc
import operator
import sys
import types
import weakref
from collections import deque
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...compiler.numba_api import CPUDispatcher
from ...core.array import Array
from ...core.primitive import Primitive
from ...core.remade import Remade, Wrapper
from ...core.symbols import static_key
from ...values.tracked import TrackedArray
from . import kinds
from .library import is_library, is_ours
from .uses import Keys, Uses, merge, uses

_VALUES = (int, float, complex, str, bytes, type(None), np.generic)
_LEAVES = (
    np.ndarray, Array, types.BuiltinFunctionType, np.ufunc, np.random.Generator, slice, range,
    type(Ellipsis), np.dtype, CPUDispatcher,
)  # fmt: skip
# A function that reaches more is not walked any further; longer containers are not looked into.
_MOST, _LONGEST = 50_000, 4096
# Functions that read attributes without naming them.
_READERS = ("__dict__", "asdict", "astuple", "attrgetter", "copy", "fields", "replace", "vars")


class Reads:
    """The places that functions read, and `key`, which is equal where what they read is: numbers by
    their value, functions by their code, arrays and objects by identity."""

    def __init__(self, roots: Iterable[object]):
        roots = list(roots)
        names = _Names()
        while True:
            walk = _Walk(roots, names)
            if not walk.is_behind:
                break
        self.places: list[Any] = walk.places
        self.key = tuple(walk.key)

    def is_same(self) -> bool:
        """Whether every place holds the very objects that it held."""
        return all(place.is_same() for place in self.places)


class _Names:
    """The attributes that walked code names."""

    def __init__(self) -> None:
        self.attributes: dict[str, Keys] = {}
        self.words: set[str] = set()

    def add(self, found: Uses) -> bool:
        """Take in what a code uses; whether any of it is new."""
        before = dict(self.attributes), len(self.words)
        for name, keys in found.attributes.items():
            merge(self.attributes, name, keys)
        self.words |= found.words | ({*_READERS, "getattr"} & found.globals.keys())
        if "getattr" in found.globals and found.makes_texts:
            self.words.add(_READERS[0])
        return before != (self.attributes, len(self.words))

    @property
    def are_hidden(self) -> bool:
        """Whether attributes may be read that no code names."""
        return any(name in self.attributes or name in self.words for name in _READERS)

    def keys(self, name: str) -> Keys:
        return None if name in self.words else self.attributes.get(name)

    def __contains__(self, name: object) -> bool:
        return name in self.attributes or name in self.words


class _Same:
    """An object as part of a key: by identity."""

    __slots__ = ("_x",)

    def __init__(self, x: object):
        self._x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self._x is other._x

    def __hash__(self) -> int:
        return id(self._x)


class _Walk:
    """One walk with the names that are known; `is_behind` where there are others now, after an
    object was looked at."""

    def __init__(self, roots: list[object], names: _Names):
        self.names, self.is_behind = names, False
        self.key: list[Any] = []
        self.places: list[Any] = []
        self._has_objects = False
        self._seen: dict[tuple, int] = {}
        self._kept: list[object] = []  # so that no id is given twice
        self._stack: list[tuple[object, Keys]] = [(root, None) for root in reversed(roots)]
        self._home = _home(roots[0])
        while self._stack and len(self._seen) < _MOST:
            self._visit(*self._stack.pop())

    def _push(self, values: Iterable[object], keys: Keys = None) -> None:
        self._stack += [(value, keys) for value in values]

    def _visit(self, x: Any, keys: Keys) -> None:
        if issubclass(type(x), _VALUES):
            self.key.append(static_key(x))
            if isinstance(x, str) and "getattr" in self.names.words and x.isidentifier():
                self._note(Uses(words={x}))  # getattr(y, x)
            return
        if (place := (id(x), keys)) in self._seen:
            self.key.append(self._seen[place])
            return
        self._seen[place] = len(self._seen)
        self._kept.append(x)
        if type(x) in weakref.ProxyTypes or issubclass(type(x), weakref.ref):
            self._referent(x)
        elif issubclass(type(x), np.ndarray):
            self.key += [_Same(x), x.shape, x.dtype.str]
            self.places.append(kinds.Array(x))
        elif issubclass(type(x), TrackedArray):
            self.key.append(_Same(x))
            node: Any = x.node
            places: list[Any] = [(x, type(x).node), (node, type(node).value)]
            self.places += [kinds.Slots(owner, [member]) for owner, member in places]
            self._push([node.value])
        elif issubclass(type(x), _LEAVES) or (issubclass(type(x), Primitive) and x.registered):
            self.key.append(_Same(x))
            owner = getattr(x, "__self__", None)
            if issubclass(type(x), types.BuiltinFunctionType) and not _is_leaf(owner):
                self._push([owner])
        elif issubclass(type(x), types.FunctionType):
            self._function(x)
        elif issubclass(type(x), (tuple, frozenset, set, list, deque, dict)):
            self._container(x, keys)
        elif issubclass(type(x), Remade):
            self.key.append(type(x))
            self._push([x.make, *x.arguments])
        elif issubclass(type(x), Wrapper):
            self._push([x.function])
        elif issubclass(type(x), functools.partial):
            self.key.append(type(x))
            self._push([x.func, x.args, x.keywords])
        elif issubclass(type(x), types.MethodType):
            self._push([x.__func__, x.__self__])
        elif issubclass(type(x), (staticmethod, classmethod)):
            self._push([x.__func__])
        elif issubclass(type(x), property):
            self._push([x.fget])
        elif issubclass(type(x), (functools.partialmethod, functools.cached_property)):
            self._push([x.func])
        elif issubclass(type(x), (operator.attrgetter, operator.methodcaller)):
            words = [text for text in x.__reduce__()[1] if isinstance(text, str)]
            self._note(Uses(words={part for text in words for part in text.split(".")}))
        elif issubclass(type(x), types.MappingProxyType):
            self._push(gc.get_referents(x)[:1])
        elif issubclass(type(x), (bytearray, array.array)):
            self.key += [type(x), bytes(x)]
            self.places.append(kinds.Buffer(x))
        elif issubclass(type(x), types.ModuleType):
            self.key.append(_Same(x))
            if not is_library(x.__name__, self._home):
                present = {name for name in vars(x) if name in self.names}
                self._items(vars(x), sorted(present | self.names.words))
        elif issubclass(type(x), type):
            self._class(x)
        else:
            self._object(x)

    def _note(self, found: Uses) -> None:
        """Take in names of attributes."""
        if self.names.add(found) and (self._has_objects or "getattr" in found.globals):
            self.is_behind = True

    def _referent(self, x: Any) -> None:
        """Add the referent of a weak reference."""
        self.key.append(_Same(x))
        with contextlib.suppress(AttributeError, ReferenceError):
            self._push([x() if isinstance(x, weakref.ref) else x.__repr__.__self__])

    def _items(self, mapping: dict, keys: list, is_object: bool = False) -> None:
        """Some items of a namespace, by name."""
        self._has_objects = True
        self.places.append(kinds.Items(mapping, keys, is_object))
        for key in keys:
            if key in mapping:
                self.key.append(key)
                self._push([mapping[key]], self.names.keys(key))

    def _function(self, f: types.FunctionType) -> None:
        self.places.append(kinds.Code(f))
        self.key.append(f.__code__)
        self._push([f.__defaults__, f.__kwdefaults__])
        is_fixed = is_library(f.__module__ or "", self._home)
        if is_fixed and not f.__closure__:
            return
        found = uses(f.__code__)
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
            self.places.append(kinds.Cell(cell))
            try:
                self._push([cell.cell_contents], found.cells.get(name, frozenset()))
            except ValueError:  # not filled yet
                self.key.append(name)
        if is_fixed:
            return
        self._note(found)
        named = dict(found.globals)
        if "globals" in named:
            named |= {word: None for word in sorted(found.words)}
        if named:
            self.places.append(kinds.Items(f.__globals__, [*named]))
        for name, keys in named.items():
            if name in f.__globals__:
                self._push([f.__globals__[name]], keys)
            else:
                self.key.append(name)
        self._push([sys.modules[name] for name in sorted(found.modules) if name in sys.modules])
        if vars(f):
            self._items(vars(f), [name for name in vars(f) if name in self.names])

    def _container(self, x: Any, keys: Keys) -> None:
        self.key += [type(x), len(x) if keys is None else None]
        if keys is None and len(x) > _LONGEST:
            self.key.append(_Same(x))
        elif isinstance(x, dict):
            if keys is None:
                self.places.append(kinds.Contents(x))
                self._push(x)
                self._push(x.values())
            else:
                chosen = sorted(keys, key=repr)
                self.places.append(kinds.Items(x, chosen))
                self.key += [(key, key in x) for key in chosen]
                self._push([x[key] for key in chosen if key in x])
        elif keys != frozenset():
            if not isinstance(x, (tuple, frozenset)):
                self.places.append(kinds.Elements(x))
            self.key[-1] = len(x)
            self._push(x)
        if type(x).__module__ not in ("builtins", "collections"):
            self._object(x)

    def _class(self, x: type) -> None:
        self.key += [_Same(x), *map(_Same, x.__mro__)]
        self.places.append(kinds.Bases(x))
        self._push([type(x)])
        kind: Any = type(x)
        classes = [*x.__mro__, *kind.__mro__]
        every = [cls for cls in classes if not is_library(cls.__module__, self._home)]
        defined = [*self.names.words]
        defined += [k for c in every for k in vars(c) if k in self.names or _is_operator(k)]
        for cls in every:  # a name that one has can be hidden by those before it
            (mapping,) = gc.get_referents(cls.__dict__)[:1]
            self._items(mapping, sorted(set(defined)))

    def _object(self, x: Any) -> None:
        """An object: its attributes that code names, and its class."""
        self.key.append(_Same(x))
        if _is_leaf(x):
            return
        known = is_library(type(x).__module__, self._home)
        whole = self.names.are_hidden or any(map(_is_read_whole, type(x).__mro__))
        self.places.append(kinds.Class(x))
        mapping = _namespace(x)
        if mapping is not None:
            inherited = {name for cls in type(x).__mro__ for name in vars(cls)}
            named = [*self.names.attributes, *sorted(self.names.words)]
            chosen = [k for k in mapping if whole or k in self.names]
            chosen += [k for k in named if k not in mapping and (
                k in inherited or k in self.names.words
            )]  # fmt: skip
            self.places += [kinds.Namespace(x), *([kinds.Contents(mapping, True)] if whole else [])]
            self._items(mapping, list(dict.fromkeys(chosen)), True)
        members = [
            member for cls in type(x).__mro__ if "__slots__" in vars(cls)
            for name, member in vars(cls).items()
            if isinstance(member, types.MemberDescriptorType) and (whole or name in self.names)
        ]  # fmt: skip
        if members:
            self._has_objects = True
            self.places.append(kinds.Slots(x, members))
            self._push([kinds.slot(x, member) for member in members])
        if not known:
            self._push([type(x)])
        if isinstance(wrapped := (mapping or {}).get("__wrapped__"), types.FunctionType):
            self._push([wrapped])


def _is_leaf(x: object) -> bool:
    """Whether nothing of an object can be read that changes."""
    return issubclass(type(x), (*_VALUES, *_LEAVES, types.ModuleType))


def _namespace(x: Any) -> dict | None:
    """The dict that holds the attributes of an object."""
    try:
        found = object.__getattribute__(x, "__dict__")
    except AttributeError:
        return None
    return found if type(found) is dict else None


def _is_operator(name: str) -> bool:
    """Whether a method is called without its name standing in the code."""
    return name[:2] == name[-2:] == "__" and name not in (
        "__dict__", "__doc__", "__module__", "__weakref__", "__annotations__", "__slots__",
    )  # fmt: skip


def _is_read_whole(kind: type) -> bool:
    """Whether attributes of a class are read by code that is not walked."""
    module = kind.__module__.partition(".")[0]
    if kind.__module__.startswith("scipy.sparse."):  # operands of products
        return True
    return is_ours(module) or module in ("collections", "types", "dataclasses")


def _home(f: Any) -> str:
    """The package that a function is of."""
    while isinstance(f, (functools.partial, Wrapper, types.MethodType)):
        if isinstance(f, types.MethodType):
            f = f.__func__
        else:
            f = f.function if isinstance(f, Wrapper) else f.func
    return (getattr(f, "__module__", None) or "").partition(".")[0]
