"""Explanations of errors by their codes. `nbgrad explain` prints them, docs/guide/errors.md lists
them; imported by those only."""

from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import NamedTuple

from . import NbgradError, NbgradWarning

__all__ = ["PAGE", "Explanation", "explanations", "kinds_of", "near"]

PAGE = "docs/guide/errors.md"
GROUPS = {
    "Tracked values": "of_values",
    "Compiled functions and loops": "of_programs",
    "Arguments and results": "of_arguments",
    "Training, processes and installation": "of_processes",
}
"""Titles of groups, and the modules with their explanations."""


class Explanation(NamedTuple):
    """A code, what happened, an example that raises it, and the remedy."""

    code: str
    title: str
    happened: str
    example: str
    remedy: str
    is_alone: bool = False
    """Whether the example is the first code of a process."""

    @property
    def link(self) -> str:
        """The section of the page."""
        return f"{PAGE}#{self.code.lower()}"


@cache
def groups() -> dict[str, tuple[Explanation, ...]]:
    """The explanations by the titles of their groups."""
    return {
        title: import_module(f"{__package__}.{name}").EXPLANATIONS for title, name in GROUPS.items()
    }


def explanations() -> dict[str, Explanation]:
    """The explanations by code."""
    return {each.code: each for group in groups().values() for each in group}


def kinds_of(code: str) -> list[type]:
    """The exceptions and warnings with a code of their own that is this one."""
    return [kind for kind in _all((NbgradError, NbgradWarning)) if vars(kind)["code"] == code]


def near(code: str) -> list[str]:
    """The codes that are similar to what somebody wrote, by their letters or in their titles."""
    word = code.upper().removeprefix("NB-")
    found = get_close_matches(f"NB-{word}", explanations(), n=3, cutoff=0.6)
    named = [e.code for e in explanations().values() if word and word.lower() in e.title.lower()]
    return [*found, *(code for code in named if code not in found)][:4]


def _all(kinds: Iterable[type]) -> list[type]:
    """Classes of this package and those below them."""
    below = [_all(kind.__subclasses__()) for kind in kinds]
    ours = [kind for kind in kinds if kind.__module__ == __package__]
    return [*ours, *(kind for each in below for kind in each)]
