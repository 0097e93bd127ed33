"""Integers that follow from variables of loops: their degree in these, and their values in some
round."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from ..ir.affine import ZERO, Affine
from ..ir.scalar import Apply
from ..ir.statements import Address, Assign, Literal, Operand, Position
from ..ir.walk import walk
from .build import COPY, INT, names_of, operation, renamed

__all__ = ["Integers"]


class Integers:
    """The integers that statements compute. `variables` are names that are assigned again."""

    def __init__(
        self, statements: Sequence[Any], variables: Collection[str],
        new: Callable[[str], str],
    ):  # fmt: skip
        every = walk(statements)
        self._defined = {
            each.target: each
            for each in every
            if isinstance(each, Position)
            or (
                isinstance(each, Assign)
                and each.dtype.kind in "iub"
                and each.target not in variables
            )
        }
        self._unknown = {getattr(each, "target", None) for each in every} - set(self._defined)
        self._new = new

    def degree(self, x: Any, axes: Collection[Any]) -> int | None:
        """The degree of an integer or a position in the variables of loops; None for one that is no
        polynomial, or follows from others."""
        if isinstance(x, (Address, Affine)):
            at = x.at if isinstance(x, Address) else x
            return self._most([name for name, _ in at.terms], axes)
        if not isinstance(x, str):
            return 0
        if x in axes:
            return 1
        if x in self._unknown:
            return None
        match self._defined.get(x):
            case None:
                return 0
            case Position(at=at):
                return self.degree(at, axes)
            case Assign(body=body, operands=operands):
                found = [self.degree(each, axes) for each in operands]
                degrees = [each for each in found if each is not None]
                if len(degrees) < len(found):
                    return None
                if body is COPY or not any(degrees):
                    return max(degrees)
                name = body.function.name if isinstance(body, Apply) else ""
                if name == "multiply":
                    return sum(degrees)
                return max(degrees) if name in ("add", "subtract", "negative") else None
        return None

    def _most(self, names: Iterable[Any], axes: Collection[Any]) -> int | None:
        found = [self.degree(each, axes) for each in names]
        return None if None in found else max((x for x in found if x), default=0)

    def plain(self, x: Any) -> Any:
        """The number x, for max(x, 0)."""
        match self._defined.get(x) if isinstance(x, str) else None:
            case Assign(body=Apply(function=function), operands=(_, Literal(number=0), y)) if (
                function.name == "select"
            ):
                return y
        return x

    def differing(self, condition: Any) -> tuple[Any, ...]:
        """The two numbers of a condition that they are not equal; nothing for another one."""
        match self._defined.get(condition):
            case Assign(body=Apply(function=function), operands=(x,)) if function.name == "invert":
                match self._defined.get(str(x)):
                    case Assign(body=Apply(function=found), operands=pair) if found.name == "equal":
                        return pair
        return ()

    def at(
        self, values: Mapping[str, Operand], wanted: Iterable[Any], made: list[Any]
    ) -> Callable[[Any], Any]:
        """Adds statements that compute integers with values for variables of loops; gives the
        names in these for others. `wanted` are integers and positions."""
        names: dict[str, Operand] = dict(values)

        def defined(name: str) -> Any:
            return names[name]

        def visit(x: Any) -> None:
            for name in sorted(_names(x)):
                if name not in names and (each := self._defined.get(name)) is not None:
                    visit(each)
                    names[name] = self._new(name.strip("."))
                    made.append(renamed(each, value, _same, defined))

        def value(name: str) -> Operand:
            return names.get(name, name)

        def operand(x: Any) -> Any:
            if isinstance(x, Address):
                copied = renamed(Position("", x.at), value, _same, str)
                return Address(x.buffer, copied.at, x.dtype)
            return names.get(x, x) if isinstance(x, str) else x

        for x in wanted:
            visit(x)
        return operand

    def difference(self, x: Any, y: Any, made: list[Any]) -> Operand:
        """Adds statements for y - x, of two integers or of two positions."""
        pair = []
        for each in (y, x):
            if isinstance(each, Address):
                name = self._new("at")
                made.append(Position(name, each.at))
                each = name
            pair.append(each)
        made.append(operation(found := self._new("step"), "subtract", pair, INT))
        return found


def _names(x: Any) -> set[str]:
    if isinstance(x, str):
        return {x}
    if isinstance(x, Address):
        return {name for name, _ in x.at.terms if isinstance(name, str)}
    return names_of(x) if isinstance(x, (Assign, Position)) else set()


def _same(buffer: Any) -> tuple[Any, Affine]:
    return buffer, ZERO
