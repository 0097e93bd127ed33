"""`simplified`: the loops of a program as they are compiled."""

from ..trace.program import Program
from .joined import joined
from .looped import Looped, loops_of
from .narrow import narrowed


def simplified(program: Program) -> list[Looped]:
    """The loops of a program: equal ones as one, without what nothing needs."""
    loops = loops_of(program)
    return list(map(narrowed, joined(loops)))
