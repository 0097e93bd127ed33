"""Plain arrays that stand for tracked ones: what ops know of those of `fillable.py`."""

from collections.abc import Callable
from typing import Any, ClassVar


class StandIn:
    """The class of such arrays, and a function that gives the array that one stands for, a plain
    array for one that may come to stand for another, and anything else as it is. `memory` gives the
    array itself for those, not a copy: what records ops notes writes to it."""

    kind: ClassVar[Any] = None
    value_of: ClassVar[Callable[[Any], Any]]
    memory: ClassVar[Callable[[Any], Any]]
