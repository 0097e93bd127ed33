"""The programs of this package by name."""

from collections.abc import Callable

REGRESSIONS: dict[str, Callable] = {}


def regression(make: Callable) -> Callable:
    REGRESSIONS[make.__name__] = make
    return make
