"""Examples of docstrings, `>>> f(x)` and what it prints, as blocks of code of reference pages."""

import re
from typing import Any

from griffe import Extension, Object

_CODE = re.compile(r"(`[^`]*`|^>>> .*?(?=\n[ \t]*\n|\Z))", re.S | re.M)
_POWER = re.compile(r"(?<=[\w)])\*\*(?=[\w(])")
"""The operator `**` in formulas, which is not bold text."""
_EXAMPLE = re.compile(r"^>>> .*?(?=\n[ \t]*\n|\Z)", re.S | re.M)


class Examples(Extension):
    """Put examples between fences, as griffe reads them as text where no heading precedes them."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            parts = _CODE.split(obj.docstring.value)  # every other one is code
            parts[::2] = [_POWER.sub(r"\\*\\*", part) for part in parts[::2]]
            obj.docstring.value = _EXAMPLE.sub(
                lambda found: f"```pycon\n{found[0].rstrip()}\n```", "".join(parts)
            )
