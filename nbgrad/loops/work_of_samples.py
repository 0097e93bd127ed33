"""In how many pieces the loop over samples runs: by the work of a sample, as far as it is known
before."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ..adjoints.build import INT, Names, defined_names
from ..adjoints.inline import inlined
from ..adjoints.lengths import shapes_of, with_made
from ..adjoints.positions import Positions
from ..adjoints.simplify import Simplified
from ..adjoints.tree import Loop, tree
from ..adjoints.work import Work
from ..ir.statements import Assign, For, Operand, Pointer
from ..ir.walk import walk
from .packed import Derivative

__all__ = ["pieces_of_samples"]

_BOTH_SWEEPS = 3  # how many times as long value and cotangents take


def pieces_of_samples(
    of: Derivative, count: Operand, given: Mapping[str, Operand], new: Callable[[], str],
    made: list[Any],
) -> Operand:  # fmt: skip
    """The number of pieces of a loop over `count` samples. `given` are the parameters of the
    function that all samples share; `made` receives the statements that compute the number."""
    primal, lengths = of.signature.primal, of.signature.lengths
    parameters = [name for name, _ in primal.parameters]
    names = Names([*parameters, *defined_names(primal.body)])
    flat = inlined(primal, names)
    numbers = {n: k for n, k in primal.parameters if not isinstance(k, Pointer)}
    plain = Simplified(flat.declared, flat.body, flat.results, numbers, lengths, names)
    samples = For(names.new("sample"), 0, count, tuple(plain.body))
    variables = {each.target for each in plain.declared}
    top = tree([samples], variables)
    shapes = with_made(shapes_of(primal, lengths))
    positions = Positions(walk([samples]), shapes, numbers, variables)
    known = _Known(plain, {**given, str(count): count}, new, made)
    work = Work(positions, lambda *_: new(), known)
    factor = (1 if of.wrt is None else _BOTH_SWEEPS) * (1 + len(of.along))
    return work.pieces(top.items[0], factor, (), made)


class _Known:
    """Bounds of loops that are the same for all samples: they are computed from what is `given`."""

    def __init__(
        self, plain: Simplified, given: Mapping[str, Operand], new: Callable[[], str],
        made: list[Any],
    ):  # fmt: skip
        self._given, self._new, self._made = dict(given), new, made
        self._defined = {x.target: x for x in walk(plain.body) if isinstance(x, Assign)}
        for each in plain.declared:
            self._defined.pop(each.target, None)

    def __call__(self, x: Any, loop: Loop) -> Any:
        if not isinstance(x, str) or x in self._given:
            return self._given.get(x, x)
        each = self._defined.get(x)
        if each is None or each.dtype != INT or each.inner != INT:
            return None
        operands = [self(y, loop) for y in each.operands]
        if any(y is None for y in operands):
            return None
        self._given[x] = name = self._new()
        self._made.append(replace(each, target=name, operands=tuple(operands)))
        return name
