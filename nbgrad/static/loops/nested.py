"""Programs inside of a core: what runs those of loops and choices is given, and the choices."""

from typing import TYPE_CHECKING

from ...compiler.pointers import move
from ...ir.core import CoreStep, Device
from ...ir.statements import Address, Call, If, Literal, Operand, Variable
from ..lower.buffered import Choice, Item
from ..lower.values import BOOL, INT, Value
from ..schedule.buffers import place_of
from ..schedule.fuse import Single

if TYPE_CHECKING:
    from .build import CoreBuilder


class Writer:
    """Writes what runs a program inside of the core `outer`; `items` are its results and rooms."""

    def __init__(self, outer: "CoreBuilder", single: Single):
        self.outer = outer
        self.items = {item.key: item for item in single.items if isinstance(item, Item)}

    def has(self, kind: str) -> bool:
        return any(kind == key[0] for key in self.items)

    def held(self, value: Value) -> Address | Operand:
        """A value that is given as it is."""
        if value.shape == ():
            return self.outer.operand(value)
        return self.outer.pointer(*place_of(value, self.outer.policy))

    @staticmethod
    def copy(source: Address | Operand, to: Address, size: int, where: list) -> None:
        assert isinstance(source, Address)
        where.append(Call(Device(move, (size, size)), (to, source, Literal(size, INT))))


def write_choice(outer: "CoreBuilder", single: Single) -> None:
    """Add a choice to a core, and the cores of its sides to what is compiled."""
    assert isinstance(single.value, Choice)
    writer, choice = Writer(outer, single), single.value
    pred, *operands = choice.args
    targets: list[Address] = []
    returned: list[str] = []
    for k, value in enumerate(choice.sides[0].outputs):
        item = writer.items.get(("y", k)) or writer.items.get(("unread", k))
        if value.shape != ():
            assert item is not None
            targets.append(outer.pointer(item))
        else:
            returned.append(outer.fresh())
            if item is not None:
                outer.known[item] = returned[-1]
    counts = [len(side.graph.checks) for side in choice.sides]
    names = [outer.fresh() for _ in range(sum(counts))]
    for k, name in enumerate(names):
        if ("check", k) in writer.items:
            outer.known[writer.items["check", k]] = name
    lines = (choice.line,) if choice.line else ()
    sides = []
    for side, plan, first in zip(choice.sides, single.inner, (0, counts[0]), strict=True):
        core = outer.inner(plan)
        own = names[first : first + len(side.graph.checks)]
        arguments = [writer.held(operands[place]) for place in side.places]
        work = [outer.pointer(writer.items["work", 0])] if core.takes_scratch else []
        run = Call(core, (*arguments, *targets, *work), (*returned, *own))
        holding = [Variable(name, Literal(True, BOOL)) for name in names if name not in own]
        sides.append(tuple(CoreStep(s, lines) for s in [run, *holding]))
    outer.add(If(outer.operand(pred), *sides), lines)
