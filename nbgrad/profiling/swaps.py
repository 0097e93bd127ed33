"""The functions that are replaced by timed ones while a profile is open.

They are the few through which all ops, backward passes, calls of compiled functions and
compilations pass. Nothing else is changed: C versions stay, and are called by the timed functions.
"""

import gc
from collections.abc import Callable, Iterator
from typing import Any

from ..capi import replaceable
from ..capi.replaceable import HotFunction, replaceables
from ..compiler import entry, kernel, kernel_call
from ..core.slots import clear_sequence_item
from ..eager import elementwise, plans
from ..kernels import gemm
from ..loops import njit
from ..loops.primitive import derived
from ..runtime.layout import IS_KNOWN
from ..static import function
from ..static.entry import python_entry
from ..values import backward, batched, dual, nested, tracked
from . import compilations, events

__all__ = ["install", "remove"]

_swapped: list[tuple[Any, str, Any]] = []


def _table() -> Iterator[tuple[Any, str, Callable[[Callable], Any]]]:
    """Owners, names, and what makes a timed function of the one there."""
    array, static = tracked.TrackedArray, function.StaticFunction
    yield array, "bind1", events.bind1
    yield array, "bind2", events.bind2
    yield array, "__getitem__", events.item
    yield tracked, "result", events.result
    for kind in (array, nested.NestedTracked, dual.Dual, batched.Batched):
        yield kind, "process", events.process
    yield nested, "nested_result", events.nested_result
    yield backward, "pulled", events.backward_pass
    yield backward, "sweep", events.backward_pass
    yield backward, "history", events.history
    yield static, "_answer", events.answer
    yield njit.Njit, "__call__", events.call_of_njit
    yield derived, "evaluate", events.derivative
    yield replaceable, "c_function", compilations.often
    yield entry, "entry", compilations.often
    yield static, "_variant", compilations.variant
    yield static, "note_fallback", compilations.fallback
    yield function, "caller", compilations.more
    yield python_entry, "machine_entry", compilations.more
    yield njit.Njit, "_compile_for_args", compilations.of_numba
    yield kernel.Kernel, "code", compilations.kernel
    yield kernel.Kernel, "_dispatcher", compilations.kernel
    yield gemm, "_address", compilations.kernel
    yield kernel_call.Code, "entry", compilations.more
    yield plans, "plan_for", compilations.plan
    yield elementwise.ElementwisePlan, "_pull", compilations.pullback


def install() -> None:
    """Set the timed functions in their places."""
    _settle()
    for owner, name, timed in _table():
        held = vars(owner).get(name)
        _swapped.append((owner, name, held))
        if isinstance(held, staticmethod):
            setattr(owner, name, staticmethod(timed(held.__func__)))
        elif isinstance(held, classmethod):
            setattr(owner, name, classmethod(timed(held.__func__)))
        else:
            new = timed(getattr(owner, name))
            is_static = owner is tracked.TrackedArray and name in ("bind1", "bind2")
            setattr(owner, name, staticmethod(new) if is_static else new)
    _mend()
    for f in _compiled_functions():
        f._answer(f.func)
    backward.observer = events.observer


def remove() -> None:
    """Set the functions that were there before."""
    backward.observer = None
    while _swapped:
        owner, name, held = _swapped.pop()
        if held is None:
            delattr(owner, name)
        else:
            setattr(owner, name, held)
    _mend()
    for f in _compiled_functions():
        f._answer(getattr(f.func, "untimed", f.func))


def _settle() -> None:
    """Compile the C versions that would take the places of the timed functions."""
    for name in ("TrackedArray.bind1", "TrackedArray.bind2", "result"):
        declared = replaceables[f"{tracked.__name__}.{name}"]
        owner, _, last = name.rpartition(".")
        if IS_KNOWN and isinstance(
            getattr(getattr(tracked, owner) if owner else tracked, last), HotFunction
        ):
            declared.install(declared.c_version(declared.definition))


def _mend() -> None:
    """Clear the slots that Python sets again with `__getitem__`."""
    kinds = [tracked.TrackedArray]
    for kind in kinds:  # which grows
        clear_sequence_item(kind)
        kinds += kind.__subclasses__()


def _compiled_functions() -> list[function.StaticFunction]:
    """All compiled functions that there are. The type is asked, since `isinstance` asks objects
    for their class, which dead weak proxies do not have."""
    return [x for x in gc.get_objects() if issubclass(type(x), function.StaticFunction)]
