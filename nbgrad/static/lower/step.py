"""The step of a loop and the side of a choice in the lowered program: programs of their own."""

from dataclasses import dataclass

from .graph import Graph
from .values import Value


@dataclass(eq=False)
class LoweredSide:
    """One side of a choice: `graph` takes the operands at `places`; `outputs` are its results."""

    graph: Graph
    outputs: list[Value]
    places: tuple[int, ...]


@dataclass(eq=False)
class LoweredStep:
    """The body of a loop of `n` steps: `graph` takes the number of the step, constants, the state
    and the slices of xs; `outputs` are the new state and the ys. The states before every `span`
    steps are the marks; `ending` is that of a `Body`; `moved` are values that the last inputs of
    `graph` stand for, which are computed before the loop; `written` are the states of which a step
    writes parts, `added` those of them that it only adds to."""

    graph: Graph
    outputs: list[Value]
    n: int
    constants: int
    states: int
    xs: int
    reverse: bool
    span: int
    ending: str
    moved: tuple[Value, ...] = ()
    written: frozenset[int] = frozenset()
    added: frozenset[int] = frozenset()

    def olds(self, histories: frozenset[int]) -> dict[Value, Value]:
        """For each new state that nobody keeps, the old one, in whose place it may lie."""
        first = 1 + self.constants
        return {
            value: self.graph.inputs[first + k]
            for k, value in enumerate(self.outputs[: self.states])
            if value.shape != () and k not in histories
        }
