"""`reached`: which results of a loop depend on given arguments."""

from collections.abc import Iterable

from ...core.symbols import Symbol, topological
from .body import Body


def reached(body: Body, places: Iterable[int]) -> set[int]:
    """Return the outputs of the step that depend on the arguments at `places`, in any iteration.

    The first outputs are the new states, which are arguments of the next iteration.
    """
    c, s = body.constants, body.states
    program, given = body.program, {*places}
    order = topological([x for x in program.outputs if isinstance(x, Symbol)])
    while True:
        known = {program.inputs[1 + k] for k in given}
        for symbol in order:
            if any(isinstance(arg, Symbol) and arg in known for arg in symbol.args):
                known.add(symbol)
        found = {k for k, x in enumerate(program.outputs) if x in known}
        states = {c + k for k in found if k < s}
        if states <= given:
            # A state that is given, and set to what is not, depends on the argument at first.
            return found | {k - c for k in given if c <= k < c + s}
        given |= states
