"""Reverse mode of a compiled function: one node of the graph with two programs, one for the value
and the residuals, and one for the pullback.

The arguments of the op are the leaves of the call, constants included, and the residuals. If a
cotangent or an argument is an array of a transformation, the pullback is a compiled function of the
leaves that repeats the forward pass, and can be differentiated again.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.array import Array
from ...core.primitive import Primitive, Unplanned
from ...eager.plans import Plan
from ...transforms import trees
from ...transforms.transformed import transformed
from ...values import tracked as base
from ...values.base import present
from ...values.nested import nested_result
from ...values.operands import aval_of
from ...values.tracked import TrackedArray
from ..named import specs_of_outputs
from ..specs import Spec
from .derived import require_below
from .residuals import Forward, Halves, cotangents, differentiated, with_residuals

if TYPE_CHECKING:
    from .calls import Nesting

_PLAIN = {np.ndarray, float, int}


def pulled(f: Callable, moving: tuple[int, ...], moved: tuple[int, ...]) -> Callable:
    """Return a function of the cotangents of the results at the positions `moved` and of leaves. It
    returns the cotangents of the leaves at the positions `moving`."""

    @transformed(pulled, f, moving, moved)
    def pull(*args: Any) -> list:
        run = differentiated(f, args[len(moved) :], moving)
        outputs, _ = trees.flatten(run.result)
        return cotangents(run, [outputs[i] for i in moved], args[: len(moved)])

    return pull


class Call:
    """The parameter of the op: tracked leaves at the positions `moving` of the arguments,
    differentiated leaves at `moved` of the result. Several of those are joined in one vector."""

    def __init__(
        self,
        nesting: "Nesting",
        leaves: Sequence,
        moving: tuple[int, ...],
        moved: tuple[int, ...],
        outputs: Sequence,
        kept: int = 0,
    ):
        self.moving, self.moved = moving, moved
        self.count = len(leaves)
        self.kept = (None,) * kept
        self.cts, self.specs = _specs(nesting, leaves, moved)
        self.avals = [aval_of(_array(outputs[i])) for i in moved]
        kinds = [aval_of(_array(x)) if i in moving else None for i, x in enumerate(leaves)]
        self.kinds = (*kinds, *self.kept)
        self.need = tuple([kind is not None for kind in self.kinds])

    def joined(self, outputs: Any) -> Any:
        """Return the value of the op, from the leaves of the result by position."""
        values = [_array(outputs[i]) for i in self.moved]
        if len(values) == 1:
            return values[0]
        dtype = np.result_type(*(x.dtype for x in values))
        flat = [np.reshape(x, -1) for x in values]
        return np.concatenate([x if x.dtype == dtype else x.astype(dtype) for x in flat])

    def parts(self, flat: Any) -> list:
        """Split the value of the op, or its cotangent, into the leaves of the result."""
        if len(self.avals) == 1:
            return [flat]
        parts, at = [], 0
        for aval in self.avals:
            part = np.reshape(flat[at : at + aval.size], aval.shape)
            parts.append(part if part.dtype == aval.dtype else part.astype(aval.dtype))
            at += aval.size
        return parts

    def pull(self, halves: Halves, ct: Any, args: Sequence) -> list:
        """Return the cotangents of the arguments of the op, by the program of the pullback."""
        return self._placed(halves.pull(args, self.parts(ct)), len(args))

    def pull_again(self, nesting: "Nesting", ct: Any, args: Sequence) -> list:
        """Return the same for arrays of any kind, by a function that can be differentiated."""
        cts = self.parts(ct)
        pull = nesting.derived(pulled, self.moving, self.moved, before=self.cts, specs=self.specs)
        return self._placed(pull(*cts, *args[: self.count]), len(args))

    def _placed(self, found: Sequence, count: int) -> list:
        bars: list[Any] = [None] * count
        for i, x in zip(self.moving, found, strict=True):
            bars[i] = x if type(x) is np.ndarray or x is None else _array(x)
        return bars


def _specs(
    nesting: "Nesting", leaves: Sequence, moved: tuple[int, ...]
) -> tuple[list, list | None]:
    """Return the named sizes of the cotangents, and of the leaves: no names at all if those of a
    cotangent are unknown."""
    cts: list[Spec | None] = [None for _ in moved]
    if not nesting.has_names:
        return cts, None
    if not any(isinstance(x, Array) for x in leaves):
        variant = nesting.applied(nesting.fn.variant, leaves)
        specs = specs_of_outputs(variant)
        places, _ = trees.flatten(variant.program.rebuild([float(i) for i in range(len(specs))]))
        cts = [specs[int(places[i])] for i in moved]
    return cts, None if all(spec is not None for spec in cts) else [None for _ in leaves]


class _Compiled(Primitive):
    """A call of a compiled function with tracked arrays."""

    registered = False

    def pullback(self, ct, out, args, need, **params):
        call, halves = params["call"], params["halves"]
        if halves is None or any(isinstance(x, Array) for x in (ct, *args)):
            return call.pull_again(params["nesting"], ct, args)
        return call.pull(halves, ct, args)


compiled = _Compiled("compiled")
compiled.plans = Unplanned()


class _Plan(Plan):
    """The plan of the op for plain arrays. Each call has its own: nestings refer to `Halves`, and
    these to calls, but not back, so there is no reference cycle."""

    __slots__ = ()

    def __init__(self, call: Call, nesting: "Nesting", halves: Halves | None = None):
        self.primitive, self.kinds, self.need, self.aval = compiled, call.kinds, call.need, None
        self.params = {"call": call, "nesting": nesting, "halves": halves}
        self.has_plain_params = False  # a call may refer to tracked arrays

    def pull_all(self, ct, out, args):
        params = self.params
        if params["halves"] is None:
            return params["call"].pull_again(params["nesting"], ct, args)
        return params["call"].pull(params["halves"], ct, args)

    def pull(self, ct, out, args, need):
        found = self.pull_all(ct, out, args)
        return [g if needs else None for g, needs in zip(found, need, strict=True)]


def at_base_level(nesting: "Nesting", leaves: list) -> Any:
    """Return the result for tracked arrays of the base level, plain arrays and Python numbers;
    NotImplemented for other leaves."""
    moving, nodes = [], []
    for i, x in enumerate(leaves):
        if type(x) is TrackedArray:
            moving.append(i)
            nodes.append(x.node)
            leaves[i] = x.node.value
        elif type(x) in _PLAIN or i in nesting.constants:
            nodes.append(None)
        else:
            return NotImplemented
    return _of_plain(nesting, leaves, tuple(moving), nodes, 0) if moving else NotImplemented


def tracked(nesting: "Nesting", leaves: list, moving: tuple[int, ...], level: Any) -> Any:
    """Return the result for tracked arrays of one level at the positions `moving`."""
    nodes: list[Any] = [None] * len(leaves)
    for i in moving:
        nodes[i] = leaves[i].node
        leaves[i] = present(nodes[i].value)
    if not nesting.has_names and not any(isinstance(x, Array) for x in leaves):
        return _of_plain(nesting, leaves, moving, nodes, level)
    outputs, rebuild = trees.flatten(nesting(leaves))
    require_below(outputs, level)
    moved = tuple([i for i, x in enumerate(outputs) if trees.is_differentiable(x)])
    if not moved:
        return rebuild(outputs)
    plan = _Plan(Call(nesting, leaves, moving, moved, outputs), nesting)
    return _result(plan, nodes, leaves, outputs, rebuild, level)


def _of_plain(nesting: "Nesting", leaves: list, moving: tuple, nodes: list, level: Any) -> Any:
    """Return the result if the values of all leaves are plain."""
    results, halves = nesting.derived(with_residuals, moving, kind=Forward)(*leaves)
    outputs = halves.outputs(results)
    if not halves.moved:
        return halves.rebuild(outputs)
    if halves.call is None:
        halves.call = Call(nesting, leaves, moving, halves.moved, outputs, len(halves.kept))
    saved = [*leaves, *[results[k] for k in halves.kept]]
    return _result(
        _Plan(halves.call, nesting, halves), nodes, saved, outputs, halves.rebuild, level
    )


def _result(
    plan: _Plan, nodes: list, saved: list, outputs: list, rebuild: Callable, level: Any
) -> Any:
    """Make the node, and return the result, whose differentiated leaves are parts of its value."""
    call: Call = plan.params["call"]
    parents = (*nodes, *call.kept)
    if level:
        flat = nested_result(
            compiled, plan.kinds, parents, tuple(saved), plan.params, call.joined(outputs), level
        )
    else:
        flat = base.result(plan, parents, tuple(saved), call.joined(outputs))
    for i, part in zip(call.moved, call.parts(flat), strict=True):
        outputs[i] = part
    return rebuild(outputs)


def _array(x: Any) -> Any:
    if type(x) is np.ndarray or (type(x) is not float and isinstance(x, Array)):
        return x
    return np.asarray(x)
