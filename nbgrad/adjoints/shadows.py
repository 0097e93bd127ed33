"""Shadows of the buffers that a function makes: as large, and 0 at first."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from ..ir.statements import New
from ..ir.walk import with_inner

__all__ = ["with_shadows"]


def with_shadows(
    body: Sequence[Any], active: Collection[Any], shadow: Callable[[Any], Any]
) -> list[Any]:
    """The statements with a shadow, which `shadow` names, for each new buffer that is active."""
    made: list[Any] = []
    for each in body:
        if isinstance(each, New) and each.target in active:
            made += [each, replace(each, target=shadow(each.target), cleared=True)]
        else:
            made.append(with_inner(each, lambda body: tuple(with_shadows(body, active, shadow))))
    return made
