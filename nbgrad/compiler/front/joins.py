"""Variables where ways of control meet: behind branches, at the heads and at the exits of loops."""

from collections.abc import Callable, Sequence
from functools import partial, reduce

from ...ir.statements import Statement
from .emit import FunctionBuilder
from .rebinding import ArraySlot, array_buffers
from .slots import Conflict, Slot, State, Unassigned, Variable, is_same
from .variables import Variables

__all__ = ["Frame", "join", "looped"]


def join(
    emit: FunctionBuilder, variables: Variables, ends: Sequence[tuple[State, list[Statement]]]
) -> None:
    """Behind a branch: `ends` are the states at the ends of its parts that do not leave it, with
    the statements of the part, to which conversions are added."""
    if len(ends) == 1:
        variables.restore(ends[0][0])
        return
    known: dict[str, Variable] = {}
    copies: dict[int, list] = {id(body): [] for _, body in ends}
    for name in dict.fromkeys(name for state, _ in ends for name in state.known):
        there = [(s.known[name], body) for s, body in ends if name in s.known]
        target = reduce(partial(variables.merged, name), (each for each, _ in there))
        if any(not is_same(target, each) for each, _ in there) and _is_viewed(target, name, ends):
            target = variables.fresh(target)
        if len(there) < len(ends):
            target = variables.behind(target, name)
        known[name] = target
        for source, body in there:
            with emit.block() as added:
                variables.convert(target, source)
                copies[id(body)] += variables.copies.taken()
            body += added
    for state, body in ends:
        with emit.block() as added:
            variables.copies.make(state.known, copies[id(body)])
        body += added
    unsure = frozenset().union(*(state.unsure for state, _ in ends))
    missing = {name for name in known for state, _ in ends if name not in state.known}
    variables.restore(State(known, unsure | missing))


def _is_viewed(variable: Variable, name: str, ends: Sequence[tuple[State, object]]) -> bool:
    """Whether another variable stands for the array of a variable, or for a view of it."""
    return isinstance(variable, ArraySlot) and any(
        variable.buffer in array_buffers(each)
        for state, _ in ends for other, each in state.known.items() if other != name
    )  # fmt: skip


class Frame:
    """The variables of one loop. At its head each has one type, that of all values with which a
    round may begin; behind it as well."""

    def __init__(self, emit: FunctionBuilder, variables: Variables):
        self._emit, self._variables = emit, variables
        self._heads: dict[str, Variable] = {}  # of other types than the values before the loop
        self._behind: dict[str, Variable] = {}  # of other types than at the head
        self._start: dict[str, Variable] = {}
        self._exits: dict[str, Variable] = {}
        self._ways: list[State] = []  # the states at the exits
        self.is_done = False
        self.falls_through = False  # whether the loop ends other than by `break`
        self.broken: Slot | None = None  # the flag that `break` sets, if there is one
        self._missing: dict[str, Unassigned] = {}  # read before any assignment
        self._first: set[str] = set()  # variables that a round assigns first
        self._viewed: set[str] = set()  # variables whose arrays others stand for, too

    def miss(self, error: Unassigned) -> None:
        """A statement reads a variable that nothing has assigned yet. A later one in the loop may:
        then the loop is read again."""
        self._missing.setdefault(error.name, error)
        self.is_done = False

    def enter(self, ends_by_itself: bool) -> None:
        """Before the loop; `ends_by_itself` says that it may have no round."""
        variables, state = self._variables, self._variables.state()
        known, unsure = dict(state.known), state.unsure
        self._viewed = {
            name for name, each in known.items()
            if name not in self._heads and _is_viewed(each, name, [(state, None)])
        }  # fmt: skip
        # A round may assign a variable, but none takes a value away.
        unsure |= set(self._heads) - set(known)
        for name, kind in self._heads.items():
            target = variables.fresh(kind)
            if name in known:
                variables.convert(target, known[name])
            known[name] = target
        variables.copies.make(state.known)
        self._start, self._exits = known, {}
        for name, kind in self._behind.items():
            self._exits[name] = target = variables.fresh(kind)
            if ends_by_itself and name in known:
                variables.convert(target, known[name])
        variables.copies.make(known)
        variables.restore(State(known, unsure))
        self._ways = [State(dict(known), unsure)] if ends_by_itself else []
        self.is_done, self.falls_through = True, ends_by_itself

    def next_round(self, ends_by_itself: bool) -> None:
        """At the end of a round."""
        known = self._variables.state().known
        for name, head in self._start.items():
            self._fit(self._heads, name, head, known[name])
        self._copy(known)
        self._heads |= {name: known[name] for name in self._missing if name in known}
        if ends_by_itself:
            self.leave({**known, **self._start})
            return
        self._first |= known.keys() - self._start.keys()
        for name in known.keys() & self._variables.noted - self._start.keys():
            self._heads[name] = self._variables.behind(known[name], name)
            self.is_done = False

    def leave(self, known: dict[str, Variable] | None = None) -> None:
        """At an exit."""
        self._ways.append(self._variables.state())
        known = self._variables.state().known if known is None else known
        for name, here in known.items():
            if name in self._exits:
                self._fit(self._behind, name, self._exits[name], here)
            elif name in self._start:
                self._fit(self._behind, name, self._start[name], here)
            else:
                self._exits[name] = kind = self._variables.behind(here, name)
                if any(array_buffers(kind)) and not is_same(kind, here):
                    self._behind[name] = kind
                    self.is_done = False
        self._copy(known)

    def _copy(self, known: dict[str, Variable]) -> None:
        """Make the copies of arrays, unless the loop is read again."""
        copies = self._variables.copies
        if self.is_done:
            kept = {name for name, each in self._exits.items() if any(array_buffers(each))}
            kept |= self._start.keys()
            copies.make({name: each for name, each in known.items() if name in kept})
        else:
            copies.taken()

    def _fit(self, wanted: dict[str, Variable], name: str, target: Variable, here: Variable):
        if is_same(target, here):
            return
        if name in self._viewed:  # the loop has an array of its own, as others keep the one before
            self._heads[name] = target
            self.is_done = False
            return
        with self._emit.block():  # a type that is wanted is declared anew
            kind = self._variables.merged(name, target, here)
        if is_same(kind, target) or (_kinds(kind) == _kinds(target)):
            self._variables.convert(target, here)
        else:
            wanted[name] = kind
            self.is_done = False

    def check(self) -> None:
        """After a reading. Raises Unassigned for a variable that no statement of it assigns."""
        for name, error in self._missing.items():
            if name not in self._heads:
                raise error
        self._missing.clear()

    def behind(self) -> None:
        """Behind the loop."""
        later = {name: Conflict(name) for name in self._first}  # no exit has them
        known = {**later, **self._start, **self._exits}
        unsure = frozenset().union(*(state.unsure for state in self._ways))
        missing = {name for name in known for state in self._ways if name not in state.known}
        self._variables.restore(State(known, unsure | missing))


def _kinds(variable: Variable) -> object:
    if isinstance(variable, tuple):
        return type(variable), tuple(map(_kinds, variable))
    return getattr(variable, "dtype", None), type(variable)


def looped(
    emit: FunctionBuilder, variables: Variables, read: Callable[[Frame], Statement]
) -> Frame:
    """Read a loop and add it. It is read again while one of its variables needs another type."""
    frame = Frame(emit, variables)
    start, top, mark = variables.state(), len(emit.top), len(emit.body)
    writes = emit.writes.mark()
    while True:
        with emit.writes.loop():
            loop = read(frame)
        frame.check()
        if frame.is_done:
            break
        variables.restore(start)
        del emit.top[top:], emit.body[mark:]
        emit.writes.restore(writes)
    emit.add(loop)
    frame.behind()
    return frame
