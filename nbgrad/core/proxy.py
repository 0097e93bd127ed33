"""The hook by which ops see through proxies of tracked arrays, which `fillable.py` defines."""

from collections.abc import Callable
from typing import Any, ClassVar


class Proxy:
    """`kind` is the class of proxies. `value_of` returns the array behind a proxy, a copy of an
    array that may become a proxy, and anything else as it is. `memory` does the same without
    copying, for recorders, which notice later writes."""

    kind: ClassVar[Any] = None
    value_of: ClassVar[Callable[[Any], Any]]
    memory: ClassVar[Callable[[Any], Any]]
