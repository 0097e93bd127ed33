"""Functions that are derived from compiled ones, and compiled themselves."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...core.array import Array
from ..function import StaticFunction
from ..named import LeafSpecs, Spec


class Uncompiled(Exception):
    """A derived function cannot be compiled: the user's function is to run as it is."""


class Derived(StaticFunction):
    """A compiled function of leaves, of which those at the positions `static` are part of programs.
    It runs as it is where it cannot be compiled."""

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
            # It is no error: from now on the function runs as it is.
            self._general = lambda args, options: f(*args, **options)
            self._answer(f)
            return result


def require_below(results: Iterable[Any], level: int) -> None:
    """Raise Uncompiled where a derived function gave arrays of this level or above, since the
    user's function closes over such."""
    if any(isinstance(x, Array) and x.level >= level for x in results):
        raise Uncompiled
