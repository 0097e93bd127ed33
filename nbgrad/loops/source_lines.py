"""The user's lines of a function in the kernel IR."""

from typing import Any

from ..ir.statements import Call, Function, Variable
from ..ir.walk import walk
from .signature import Signature

__all__ = ["Lines"]


class Lines:
    """The user's lines by the names that they define."""

    def __init__(self, signature: Signature):
        self._code = signature.function.__code__
        self._lines = signature.entry.lines
        # Variables are defined in several lines.
        self._variables = {x.target for x in walk(signature.primal.body) if isinstance(x, Variable)}
        # Names of called functions may be those of others.
        self._is_alone = not any(
            isinstance(each, Call) and isinstance(each.function, Function)
            for each in walk(signature.primal.body)
        )

    def get(self, name: Any) -> str:
        """The line that defines a name, "" if it is not known."""
        if not isinstance(name, str) or name.partition("#")[0] in self._variables:
            return ""
        line = self._lines.get(name)
        if line is None and self._is_alone:
            line = self._lines.get(name.partition("#")[0])
        if line is None:
            return ""
        home = "" if line.code is self._code else f"{line.code.co_name}, "
        return f"{home}{line.number}: {line.text}"

    def note(self, *names: Any) -> str:
        """The first line that is known, in brackets."""
        found = next(filter(None, map(self.get, names)), "")
        return f" ({found})" if found else ""
