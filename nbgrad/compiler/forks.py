"""Locks that are safe with `os.fork`.

The child of a fork has one thread. A lock that another thread of the parent held would stay locked
in the child for ever, and the data that it protects may be inconsistent. So a fork waits until no
thread compiles, and all locks are open in the child.
"""

import os
import weakref
from functools import cached_property
from typing import Any, TypeVar

from .numba_api import ffi, global_compiler_lock

__all__ = ["fork_safe", "with_open_properties"]

_Lock = TypeVar("_Lock")
_Class = TypeVar("_Class", bound=type)
# A fork does not wait for ever: the thread that compiles might wait for the one that forks.
_PATIENCE = 60.0
_locks: weakref.WeakSet[Any] = weakref.WeakSet()
_compiler_locks: list[Any] = []


def fork_safe(lock: _Lock) -> _Lock:
    """Register a lock to be open in every child process; returns it."""
    _locks.add(lock)
    return lock


def with_open_properties(owner: _Class) -> _Class:
    """Class decorator: the locks of cached properties, one for all instances, are open in every
    child process. Python has had none since 3.12."""
    for part in vars(owner).values():
        lock = getattr(part, "lock", None)
        if isinstance(part, cached_property) and lock is not None:
            fork_safe(lock)
    return owner


def _compilers() -> list[Any]:
    """Numba's lock and LLVM's, in the order in which a compilation takes them."""
    owners = (global_compiler_lock, getattr(ffi.lib, "_lock", None))  # pyright: ignore[reportAttributeAccessIssue]
    return [lock for owner in owners if (lock := getattr(owner, "_lock", None)) is not None]


def _before() -> None:
    for lock in _compilers():
        if lock.acquire(timeout=_PATIENCE):
            _compiler_locks.append(lock)


def _release() -> None:
    # Emptied first: another thread that forks waits for the locks, then fills it.
    locks = _compiler_locks.copy()
    _compiler_locks.clear()
    for lock in reversed(locks):
        lock.release()


def _in_child() -> None:
    _release()
    for lock in [*_compilers(), *_locks]:
        if not (hasattr(lock, "_is_owned") and lock._is_owned()):
            lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_release, after_in_child=_in_child)
