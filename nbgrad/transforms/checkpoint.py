"""`checkpoint`, which recomputes a function in the backward pass, and `stop_gradient`."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, overload

import numpy as np

from ..core.array import Array
from ..core.levels import new_level, outermost
from ..eager import plans as eager
from ..errors import NoGraphError
from ..rules.families import zeros_like
from ..rules.nondiff import stopped
from ..values import backward, graph, leaked
from ..values.track import leaf_of
from ..values.tracked import TrackedArray, below
from . import trees
from .batching import vmap
from .calls import CallPrimitive, FunctionCall, called
from .direct import callee
from .forward import jvp
from .reverse import vjp
from .state import State
from .transformed import Parameters, Result, transformed

_Tree = TypeVar("_Tree")


@overload
def checkpoint(f: Callable[Parameters, Result]) -> Callable[Parameters, Result]: ...
@overload
def checkpoint(f: Callable[..., Any]) -> Callable[..., Any]: ...
def checkpoint(f: Callable[..., Any]) -> Callable[..., Any]:
    """Recompute `f` in the backward pass instead of keeping its intermediate values.

    Arguments:
        f: a deterministic function of arrays, or of nested containers of them. Arrays that `f`
            captures, or that a model object holds, count as arguments.

    The gradient is the same to the last bit. The intermediate values of `f` are freed after the
    forward pass, at the cost of a second run. It works in every mode, but saves no memory in
    compiled functions, which share equal steps.

    Raises:
        GraphError: `f` uses a tracked array that is neither an argument nor captured.

    >>> layer = nbgrad.checkpoint(lambda w, x: np.tanh(np.tanh(w @ x)))
    >>> nbgrad.grad(lambda w: np.sum(layer(w, np.ones(2))))(np.zeros((2, 2)))
    array([[1., 1.],
           [1., 1.]])
    """
    trees.require_function("checkpoint", f)

    @transformed(checkpoint, f)
    def again(*args, **options):
        if (direct := callee(f)) is not f:  # its pullback keeps the arguments only
            return direct(*args, **options)
        state = State(f)
        if not state.holds_floats:
            return called(checkpointed, FunctionCall("checkpoint", f, args, options))

        def with_state(leaves, *inputs, **keywords):
            return state.rebuild(leaves)(*inputs, **keywords)

        with_state.__name__ = getattr(f, "__name__", type(f).__name__)
        return called(
            checkpointed, FunctionCall("checkpoint", with_state, (state.leaves, *args), options)
        )

    return again


def stop_gradient(tree: _Tree) -> _Tree:
    """Treat nested arrays as constants in every derivative.

    Arguments:
        tree: an array, or nested containers of arrays.

    >>> nbgrad.grad(lambda x: x * nbgrad.stop_gradient(x))(3.0)
    np.float64(3.0)
    """
    leaves, rebuild = trees.flatten(tree)
    return rebuild([trees.scalar(stopped(x)) for x in leaves])


class _Again(eager.FunctionPlan):
    """The plan of a checkpointed call. The backward pass repeats the call and continues through its
    graph, so that cotangents are summed in the same order as without `checkpoint`."""

    __slots__ = ()
    expands = True

    def again(self, args: Sequence) -> Any:
        return self.params["call"].apply(*args)


class _Checkpoint(CallPrimitive):
    """A call of a function that is repeated for its derivatives."""

    def evaluate(self, *args, **params):
        call: FunctionCall = params["call"]
        with outermost():
            started = graph.tick()
            leaves = [leaf_of(x, 0) for x in args]
            nodes = [leaf.node for leaf in leaves]
            out = call.apply(*leaves)
            _require_own(call, out, started)
        value = out.node.value if isinstance(out, TrackedArray) else np.asarray(out)
        del out, leaves
        leaked.end(nodes, call.op, call.f)
        return value

    def pullback(self, ct, out, args, need, **params):
        call: FunctionCall = params["call"]
        if any(isinstance(x, Array) for x in (ct, *args)):
            return vjp(call.apply, *args)[1](ct)
        with outermost():
            return vjp(call.apply, *args)[1](ct)

    def pushforward(self, tangents, out, args, **params):
        call: FunctionCall = params["call"]
        filled = [zeros_like(x) if t is None else t for x, t in zip(args, tangents, strict=True)]
        pushed = FunctionCall(
            call.op, lambda xs, dots: jvp(call.apply, xs, dots)[1], (list(args), filled), {}
        )
        return called(self, pushed)

    def batch(self, size: int, args: Sequence, batched: Sequence[bool], **params):
        call: FunctionCall = params["call"]

        def apply(*arrays):
            # As in `evaluate`: values that depend on the arguments are arrays of this level.
            with new_level() as level:
                return below(call.apply(*(leaf_of(x, level) for x in arrays)), level)

        samples = vmap(apply, in_axes=[0 if has else None for has in batched])
        return called(self, FunctionCall(call.op, samples, tuple(args), {}))


checkpointed = _Checkpoint("checkpoint")
checkpointed.plan_class = _Again


def _require_own(call: FunctionCall, out: Any, started: int) -> None:
    """Raise GraphError if a result was computed from tracked arrays that existed before the call
    and are no arguments."""
    if not isinstance(out, Array):
        return
    nodes = backward.history(out.node) if isinstance(out, TrackedArray) and out.level == 0 else None
    parents = [p for node in nodes or () for p in node.parents if p is not None]
    if nodes is None or any(p.time < started for p in parents):
        raise NoGraphError(
            f"{call.op}: {call.name} uses a tracked array that is neither an argument nor in its "
            "closure, so its gradient would be lost: pass it as an argument"
        )
