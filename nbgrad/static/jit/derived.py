"""Functions derived from a compiled one, such as its jvp, which are compiled themselves."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...core.array import Array
from ...errors import GraphError, NoRuleError, TraceError, UntrackedError
from ..arguments import Arguments
from ..function import StaticFunction
from ..specs import LeafSpecs, Spec

REFUSALS = (TraceError, UntrackedError, GraphError, NoRuleError)
"""Errors of a recording for which the uncompiled function runs instead, where it may succeed:

* TraceError: the program would depend on values, or contain an op that is eager only.
* UntrackedError: a conversion such as `x.item()`, which a leaf outside of transformations allows.
* GraphError: a write to an argument. The program has arguments of its own; eager code may write to
  the caller's array.
* NoRuleError: an op without a pullback, which is an error in eager code only if it is needed.

All other errors are raised: they are the user's or ours.
"""


class Uncompiled(Exception):
    """Raised with the reason if a derived function cannot be compiled: the uncompiled function runs
    instead."""


class Derived(StaticFunction):
    """A compiled function of leaves, with static ones at the positions `static`. If it is refused
    (`REFUSALS`), its Python function runs from then on, and `root`, the user's compiled function,
    lists the reason in its `fallbacks`."""

    def __init__(
        self,
        f: Callable,
        static: Iterable[int],
        specs: Sequence[Spec | None],
        root: StaticFunction,
    ):
        super().__init__(f)
        self.static: set[int | str] = set(static)
        self.reasons = root.reasons
        if any(spec is not None and any(spec) for spec in specs):
            self.specs = LeafSpecs(specs)

    def _find(self, args: tuple, options: dict) -> Any:
        try:
            arguments = Arguments(args, options, self.static)
        except TypeError as error:  # no argument of a program, such as a static list
            raise Uncompiled(_told(error)) from error
        try:
            return self._find_for(arguments)
        except REFUSALS as error:
            raise Uncompiled(_told(error)) from error

    def _call(self, args: tuple, options: dict) -> Any:
        try:
            return super()._call(args, options)
        except Uncompiled as error:
            f = self.function
            result = f(*args, **options)
            # The function itself raises no error, so it runs uncompiled from now on.
            self._general = lambda args, options: f(*args, **options)
            self._answer(f)
            self.note_fallback(error)
            return result


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def require_below(results: Iterable[Any], level: int) -> None:
    """Raise Uncompiled if results are arrays of this level or above, which the user's function
    closes over."""
    if any(isinstance(x, Array) and x.level >= level for x in results):
        raise Uncompiled("the function closes over an array of the same transformation")
