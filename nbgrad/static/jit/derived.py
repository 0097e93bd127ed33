"""Functions that are derived from compiled ones, and compiled themselves."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...core.array import Array
from ..function import StaticFunction
from ..named import LeafSpecs, Spec


class Uncompiled(Exception):
    """Raised if a derived function cannot be compiled: the uncompiled function runs instead."""


class Derived(StaticFunction):
    """A compiled function of leaves, with static ones at the positions `static`. It falls back to
    the uncompiled function if it cannot be compiled."""

    def __init__(self, f: Callable, static: Iterable[int], specs: Sequence[Spec | None]):
        super().__init__(f)
        self.static = set(static)
        if any(spec is not None and any(spec) for spec in specs):
            self.specs = LeafSpecs(specs)

    def _find(self, args: tuple, options: dict) -> Any:
        try:
            return super()._find(args, options)
        except Exception as error:
            raise Uncompiled from error

    def _call(self, args: tuple, options: dict) -> Any:
        try:
            return super()._call(args, options)
        except Uncompiled:
            f = self.function
            result = f(*args, **options)
            # The function itself raises no error, so it runs uncompiled from now on.
            self._general = lambda args, options: f(*args, **options)
            self._answer(f)
            return result


def require_below(results: Iterable[Any], level: int) -> None:
    """Raise Uncompiled if results are arrays of this level or above, which the user's function
    closes over."""
    if any(isinstance(x, Array) and x.level >= level for x in results):
        raise Uncompiled
