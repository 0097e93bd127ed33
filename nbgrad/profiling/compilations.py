"""Timed versions of the functions that prepare calls: which plan, kernel or program, and why."""

import re
from collections.abc import Callable
from sys import _getframe
from typing import Any

from ..compiler.cache import counts
from ..core.primitive import Aval
from .tally import Compilation, Tally, clock, own, user

__all__ = ["BY_NUMBA", "CHANGED", "DTYPE", "FIRST", "NESTING", "SHAPE", "STATIC", "TYPES"]
__all__ += ["fallback", "kernel", "more", "of_numba", "often", "plan", "pullback", "variant"]

FIRST, SHAPE, DTYPE, TYPES = "first call", "new shape", "new dtype", "new types"
CHANGED, STATIC, NESTING = "a value that it reads changed", "new static value", "new structure"
BY_NUMBA = "njit, by Numba"

Told = Callable[[], tuple[str, str] | None]
"""Gives name and reason after a compilation, the reason "" for a later stage of one; None if there
was nothing to compile."""


def _prepared(tally: Tally, told: Told, run: Callable, /, *args: Any, **options: Any) -> Any:
    """Run a function as a compilation of the line that calls, and of the event that it is in."""
    if tally.compiling:
        return run(*args, **options)
    was_busy, tally.busy, tally.compiling = tally.busy, True, True
    compiled, loaded = counts["compiled"], counts["loaded"]
    began = clock()
    try:
        return run(*args, **options)
    finally:
        spent = clock() - began
        tally.busy, tally.compiling = was_busy, False
        found = told()
        if found is not None:
            tally.inner += spent if was_busy else 0.0
            place, known = user(_getframe(2)), tally.compilations[-1:]
            name, why = found
            is_part = not why and bool(known) and known[0][:2] == (place, name)
            why = known[0].why if is_part else why or FIRST
            numbers = counts["compiled"] - compiled, counts["loaded"] - loaded
            tally.compilations.append(Compilation(place, name, why, is_part, spent, *numbers))


def plan(real: Callable) -> Callable:
    """The plan of an op."""

    def plan_for(primitive: Any, kinds: tuple, params: dict) -> Any:
        known = primitive.plans
        if not isinstance(known, dict):
            return real(primitive, kinds, params)
        count, why = len(known), _why(kinds, list(known)) if kinds not in known else ""

        def told() -> tuple[str, str] | None:
            return (primitive.name, why) if len(known) != count else None

        return _prepared(own(), told, real, primitive, kinds, params)

    return plan_for


def _why(kinds: tuple, others: list[tuple]) -> str:
    """Why there is no plan yet for these kinds of arguments."""
    if not others:
        return FIRST
    dtypes = [_dtypes(other) for other in others]
    return SHAPE if _dtypes(kinds) in dtypes else DTYPE


def _dtypes(kinds: tuple) -> list[Any]:
    avals = [getattr(kind, "aval", kind) for kind in kinds]
    return [aval.dtype for aval in avals if isinstance(aval, Aval)]


def pullback(real: Callable) -> Callable:
    """The pullback of an elementwise op."""

    def _pull(self: Any, *args: Any) -> Any:
        return _prepared(own(), lambda: (self.primitive.name, ""), real, self, *args)

    return _pull


def kernel(real: Callable) -> Callable:
    """The machine code of a kernel, or what calls it."""

    def of_kernel(self: Any, *args: Any) -> Any:
        return _prepared(own(), lambda: (_plain(self.name), ""), real, self, *args)

    return of_kernel


def _plain(name: str) -> str:
    """The op of a kernel, or the function."""
    name = re.sub(r"_(forward|pullback)$", "", name)
    return re.sub(r"_(vjp|jvp|value|forward|backward)\d*(_[0-9a-f]{12})?$", " (njit)", name)


def variant(real: Callable) -> Callable:
    """The program of a compiled function for some arguments."""

    def _variant(self: Any, arguments: Any, named: Any = None) -> Any:
        before = {id(x) for x in _programs(self)}
        keys = list(self._variants)

        def told() -> tuple[str, str] | None:
            if all(id(x) in before for x in _programs(self)):
                return None
            return f"{_name_of(self)} (compiled)", _why_variant(arguments, keys)

        return _prepared(own(), told, real, self, arguments, named)

    return _variant


def _name_of(f: Any) -> str:
    return getattr(f._f, "__name__", type(f._f).__name__)


def _programs(f: Any) -> list[Any]:
    others = [x for each in f._others.values() for x in each]
    return [*f._variants.values(), *others]


def _why_variant(arguments: Any, keys: list[tuple]) -> str:
    """Why none of the programs under these keys is for the arguments."""
    if not keys:
        return FIRST
    alike = [key[1] for key in keys if key[0] == arguments.nesting]
    if not alike:
        return NESTING
    mine = arguments.kinds
    if mine in alike:
        return CHANGED
    for kinds in alike:
        if _static(kinds) == _static(mine):
            return SHAPE if _dtypes(mine) in [_dtypes(x) for x in alike] else DTYPE
    return STATIC


def _static(kinds: tuple) -> list[Any]:
    return [kind for kind in kinds if not isinstance(kind, Aval)]


def more(real: Callable) -> Callable:
    """A later stage of the latest compilation."""

    def stage(*args: Any, **options: Any) -> Any:
        tally = own()

        def told() -> tuple[str, str]:
            latest = tally.compilations[-1:]
            return (latest[0].name, "") if latest else ("entries", "")

        return _prepared(tally, told, real, *args, **options)

    return stage


def often(real: Callable) -> Callable:
    """A C function in place of one in Python that is called often."""

    def made(*args: Any, **options: Any) -> Any:
        told = "C functions of nbgrad", "called often"
        return _prepared(own(), lambda: told, real, *args, **options)

    return made


def fallback(real: Callable) -> Callable:
    """The note that a compiled function ran uncompiled inside of a transformation."""

    def note_fallback(self: Any, reason: object) -> None:
        real(self, reason)
        own().fallbacks.append((user(_getframe(1)), _name_of(self), str(reason)))

    return note_fallback


def of_numba(real: Callable) -> Callable:
    """The machine code of an njit function, by Numba."""

    def _compile_for_args(self: Any, *args: Any, **options: Any) -> Any:
        known = len(self.overloads)

        def told() -> tuple[str, str] | None:
            why = TYPES if known else FIRST
            return (f"{self.__name__} ({BY_NUMBA})", why) if len(self.overloads) > known else None

        return _prepared(own(), told, real, self, *args, **options)

    return _compile_for_args
