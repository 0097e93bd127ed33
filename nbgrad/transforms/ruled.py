"""Functions with a `custom_rule` in the bodies of `loop`, `scan`, `while_loop` and `cond`.

These bodies are recorded as programs and differentiated as programs. The ops of such a function are
recorded, and their result is the first argument of the op `ruled`, which returns it unchanged and
has the custom rule as its derivative.
"""

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np

from ..core.array import Array
from ..core.levels import Level
from ..core.primitive import Primitive, Unplanned, bind, new_level, shape_of
from ..errors import TraceError
from ..runtime.lines import user_line
from ..values.batched import Batched
from . import trees
from .calls import CallPrimitive, FunctionCall


class Rule:
    """The custom rule of one call in a recorded body. `others` are the arguments without a
    derivative whose values are known only when the body runs."""

    def __init__(self, primitive: CallPrimitive, call: FunctionCall, args: Sequence):
        level = max(x.level for x in args if isinstance(x, Array))
        for f in (call.rule.pullback, call.rule.pushforward):
            _require_outside(call.name, f, level)
        self.primitive, self.call = primitive, call
        self.places = [
            i for i, x in enumerate(call.leaves) if i not in call.places and isinstance(x, Array)
        ]
        self.others = [call.leaves[i] for i in self.places]

    def _filled(self, args: Sequence) -> tuple[FunctionCall, Sequence]:
        call, count = copy(self.call), len(self.call.places)
        call.leaves = list(call.leaves)
        for i, x in zip(self.places, args[count:], strict=True):
            call.leaves[i] = x
        return call, args[:count]

    def pull(self, ct: Any, out: Any, args: Sequence) -> list:
        call, given = self._filled(args)
        need = [isinstance(self.call.leaves[i], Array) for i in call.places]
        found = self.primitive.pullback(ct, out, given, need, call=call)
        return [*found, *(None for _ in self.places)]

    def push(self, tangents: Sequence, out: Any, args: Sequence) -> Any:
        call, given = self._filled(args)
        return self.primitive.pushforward(tangents[: len(given)], out, given, call=call)


class _OfSamples:
    """A `Rule` under `vmap`: the arguments that are `batched` have an axis of samples."""

    def __init__(self, rule: Any, size: int, batched: Sequence[bool]):
        self.rule, self.size, self.batched = rule, size, tuple(batched)

    def pull(self, ct: Any, out: Any, args: Sequence) -> list:
        with new_level() as level:
            given = self._of_samples(args, level)
            found = self.rule.pull(Batched(ct, level), Batched(out, level), given)
        return [
            None if g is None else self._stacked(g, level, has)
            for g, has in zip(found, self.batched, strict=True)
        ]

    def push(self, tangents: Sequence, out: Any, args: Sequence) -> Any:
        with new_level() as level:
            given = self._of_samples(args, level)
            moved = [
                None if t is None else Batched(t, level) if has else t
                for t, has in zip(tangents, self.batched, strict=True)
            ]
            result = self.rule.push(moved, Batched(out, level), given)
        return self._stacked(result, level, True)

    def _of_samples(self, args: Sequence, level: Level) -> list:
        return [Batched(x, level) if has else x for x, has in zip(args, self.batched, strict=True)]

    def _stacked(self, g: Any, level: int, has: bool) -> Any:
        mine = isinstance(g, Batched) and g.level == level
        rows = g.value if mine else np.broadcast_to(g, (self.size, *shape_of(g)))
        return rows if has else np.sum(rows, axis=0)


class Ruled(Primitive):
    """Return the first argument, which was computed from the others by a function with a custom
    rule."""

    registered = False

    def infer(self, *avals, **params):
        return avals[0]

    def evaluate(self, *args, **params):
        return np.array(args[0])

    def form(self, graph, symbol, *args):
        return args[0]

    def pullback(self, ct, out, args, need, **params):
        return [None, *params["rule"].pull(ct, out, args[1:])]

    def pushforward(self, tangents, out, args, **params):
        if all(t is None for t in tangents[1:]):
            return np.zeros(shape_of(out), out.dtype)
        return params["rule"].push(tangents[1:], out, args[1:])

    def batch(self, size, args, batched, **params):
        value = args[0] if batched[0] else np.broadcast_to(args[0], (size, *shape_of(args[0])))
        rule = _OfSamples(params["rule"], size, batched[1:])
        return bind(self, value, *args[1:], rule=rule)


ruled = Ruled("custom_rule")
ruled.plans = Unplanned()


def _require_outside(name: str, f: Any, level: int) -> None:
    """Raise TraceError for a rule that closes over a value computed in the body: the derivative of
    the body has another symbol for it."""
    names = getattr(getattr(f, "__code__", None), "co_freevars", ())
    for variable, cell in zip(names, getattr(f, "__closure__", None) or (), strict=False):
        leaves = trees.flatten(cell.cell_contents)[0] if variable != "self" else []
        if any(isinstance(x, Array) and x.level >= level for x in leaves):
            raise TraceError(
                f"{name}: a rule of custom_rule closes over {variable}, which is computed inside "
                f"of the step of a loop or a side of a choice: pass it as an argument"
                f"{user_line()}",
                code="NB-CUSTOM",
            )
