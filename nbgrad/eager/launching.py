"""Launchers in place of plans' functions that are called often."""

from functools import partial
from typing import Any

from ..capi.launch import Launch, launcher
from ..capi.replaceable import replace_when_hot


def launched(plan: Any, name: str, count: int, launch: Launch) -> None:
    """Replace a plan's function of `count` arguments by a launcher once it is called often."""
    replace_when_hot(plan, name, partial(launcher, launch, count))
