"""Checksums of the data in a pickled function, and of the globals that the function reads.

A pickle contains the attributes of an object and their arrays. Importable functions and classes are
pickled by name: their code, the globals that they read and class attributes are those of the
process that loads the pickle. `checksums` covers both, and is the same for equal values in any
process.
"""

import hashlib
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ..kernels.checksum import checksum
from ..runtime.kinds import is_a
from ..static.reads.library import is_library
from ..static.reads.uses import uses

CARRIED = ""
"""The key of the checksum of the data in a pickle."""

_NUMBERS = (type(None), bool, int, float, complex, str, bytes, type(...))


def checksums(x: Any) -> dict[str, bytes]:
    """Return checksums of the data in a pickle of `x` and of the globals that `x` reads.

    The key of the data is CARRIED; the keys of globals and class attributes are their full names.
    Modules of Python, nbgrad and installed packages are skipped.
    """
    reads = _Reads()
    return {CARRIED: reads.of(x)} | reads.named


class _Reads:
    """A walk over an object. Equal objects have equal checksums, identical or not."""

    def __init__(self):
        self.named: dict[str, bytes] = {}
        self._known: dict[int, tuple[bytes, Any]] = {}  # by id; the object is kept alive

    def of(self, x: Any) -> bytes:
        kind = type(x)
        if kind in _NUMBERS:
            return _digest((kind.__name__.encode(), repr(x).encode()))
        if id(x) not in self._known:
            self._known[id(x)] = b"inside of itself", x
            self._known[id(x)] = _digest(self._parts(x, kind)), x
        return self._known[id(x)][0]

    def _all(self, items: Iterable[Any]) -> Iterator[bytes]:
        return map(self.of, items)

    def _parts(self, x: Any, kind: type) -> Iterator[bytes]:
        yield self._name(kind)
        if is_a(x, (np.ndarray, np.generic)):
            yield f"{x.dtype} {x.shape}".encode()
            if x.dtype.hasobject:
                yield from self._all(np.ravel(x).tolist())
            else:
                yield checksum(np.asarray(x)).to_bytes(8)
        elif kind in (list, tuple):
            yield from self._all(x)
        elif kind is dict:
            yield from self._all(part for item in x.items() for part in item)
        elif kind in (set, frozenset):
            yield from sorted(self._all(x))
        elif kind is CodeType:
            yield x.co_code
            yield from self._all((x.co_names, x.co_consts))
        elif isinstance(x, ModuleType):
            yield x.__name__.encode()
        elif isinstance(x, type):
            yield self._name(x)
            if _is_own(x.__module__):
                self._class(x)
        elif kind is FunctionType:
            yield from self._function(x)
        elif kind is MethodType:
            yield from self._all((x.__func__, x.__self__))
        elif isinstance(x, (staticmethod, classmethod)):
            yield self.of(x.__func__)
        elif isinstance(x, property):
            yield from self._all((x.fget, x.fset))
        else:
            found = _reduced(x)
            yield self.of(found)
            if found is None or isinstance(found, str):
                yield self.of(getattr(x, "__wrapped__", None))

    def _name(self, x: Any) -> bytes:
        return f"{_module(x)}.{x.__qualname__}".encode()

    def _function(self, f: FunctionType) -> Iterator[bytes]:
        yield self._name(f)
        yield from self._all((f.__defaults__, f.__kwdefaults__, f.__dict__))
        for cell in f.__closure__ or ():
            try:
                yield self.of(cell.cell_contents)
            except ValueError:
                yield b"an empty cell"
        if _is_own(f.__module__):
            yield self.of(f.__code__)
            self._globals(f)

    def _globals(self, f: FunctionType) -> None:
        found = uses(f.__code__)
        names = {*found.globals, *found.attributes}
        spaces, seen = [(_module(f), f.__globals__)], set()
        while spaces:
            module, space = spaces.pop()
            for name in sorted(names & space.keys()):
                value = space[name]
                if isinstance(value, ModuleType):
                    if _is_own(value.__name__) and value.__name__ not in seen:
                        seen.add(value.__name__)
                        spaces.append((value.__name__, vars(value)))
                    continue
                self._note(f"{module}.{name}", value)

    def _class(self, cls: type) -> None:
        for name, value in vars(cls).items():
            if not name.startswith(("__", "_abc_")) or isinstance(value, FunctionType):
                self._note(f"{_module(cls)}.{cls.__qualname__}.{name}", value)
        for base in cls.__bases__:
            self.of(base)

    def _note(self, name: str, value: Any) -> None:
        if name not in self.named:
            self.named[name] = b""  # ends recursion
            self.named[name] = self.of(value)


def _digest(parts: Iterable[bytes]) -> bytes:
    total = hashlib.blake2b(digest_size=8)
    for part in parts:
        total.update(b"%d:" % len(part))
        total.update(part)
    return total.digest()


def _reduced(x: Any) -> Any:
    """Return the parts of an object that are pickled.

    The result is None for an object that cannot be pickled, such as a lock, and for functions of
    Numba, whose pickles depend on the process.
    """
    if any(kind.__module__.startswith("numba.") for kind in type(x).__mro__):
        return None
    try:
        found = x.__reduce_ex__(4)
    except Exception:
        return None
    if isinstance(found, str):
        return found
    return tuple([list(part) if isinstance(part, Iterator) else part for part in found])


def _module(x: Any) -> str:
    """The module of a function or class. A script has another name where a worker imports it."""
    return "__main__" if x.__module__ == "__mp_main__" else x.__module__


def _is_own(module: str | None) -> bool:
    """Return whether a module belongs to the user, who may change it while a program runs."""
    return not is_library(module or "", "")
