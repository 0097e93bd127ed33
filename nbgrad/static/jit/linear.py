"""`linearize` of a compiled function: one program for the value and residuals, and one that is
linear in the tangents."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.primitive import Aval, Primitive, Unplanned, bind, new_level
from ...transforms import trees
from ...transforms.forward import dual_argument, primal_of
from ...transforms.transformed import transformed
from ...values.batched import Batched
from ...values.dual import Dual
from ...values.tracked import below
from ..trace.record import Recorder
from .forward import pushed
from .residuals import Forward, Halves
from .reverse import Call

if TYPE_CHECKING:
    from .calls import Nesting


def linearized(f: Callable, moving: tuple[int, ...]) -> Callable:
    """Return a function of a recorder and leaves. It returns the leaves of the result, their
    tangents, new symbols for the tangents of the leaves at `moving`, and `Halves`."""

    @transformed(linearized, f, moving)
    def both(recorder: Recorder, leaves: Sequence) -> tuple:
        args, tangents = list(leaves), [recorder.input(leaves[i].aval) for i in moving]
        with new_level(None, "compile", f, derives=True) as level:
            for i, tangent in zip(moving, tangents, strict=True):
                args[i] = dual_argument("compile", leaves[i], recorder.handed(tangent), level)
            outputs, rebuild = trees.flatten(f(*args))
            results = [below(x, level) for x in outputs]
            moved = [i for i, x in enumerate(results) if isinstance(x, Dual) and x.level == level]
            dots = [trees.released(results[i].tangent, level) for i in moved]
            values = [primal_of(x, level) for x in results]
        return values, dots, tangents, Halves(rebuild, tuple(moved))

    return both


class _Tangent(Primitive):
    """The tangents of a compiled function's result, joined, from those of its arguments."""

    registered = False
    linear = True

    def infer(self, *avals: Aval, **params: Any) -> Aval:
        return params["call"].aval

    def evaluate(self, *args, **params):
        return params["call"].push(args)

    def pullback(self, ct, out, args, need, **params):
        call: LinearCall = params["call"]
        found = call.pull_again(call.nesting, ct, call.leaves)
        return [found[i] if needs else None for i, needs in zip(call.moving, need, strict=True)]

    def pushforward(self, tangents, out, args, **params):
        filled = [x.full_like(0.0) if t is None else t for t, x in zip(tangents, args, strict=True)]
        return bind(self, *filled, **params)

    def batch(self, size, args, batched, **params):
        call: LinearCall = params["call"]
        with new_level() as level:
            dots = [Batched(x, level) if has else x for x, has in zip(args, batched, strict=True)]
            push = call.nesting.derived(pushed, call.moving, before=[None for _ in args])
            tangents = push(*dots, *call.leaves)[1]
            flat = below(call.joined(tangents), level)
        return flat.value


tangent = _Tangent("compiled_tangent")
tangent.plans = Unplanned()


class LinearCall(Call):
    """The parameter of the op: a call whose tangents are recorded, with its leaves and
    residuals."""

    def __init__(
        self,
        nesting: "Nesting",
        leaves: list,
        moving: tuple[int, ...],
        results: list,
        halves: Halves,
    ):
        self.outputs = halves.outputs(results)
        super().__init__(nesting, leaves, moving, halves.moved, self.outputs)
        self.nesting, self.halves, self.name = nesting, halves, nesting.fn.name
        self.leaves, self.residuals = leaves, [results[k] for k in halves.kept]
        joined = self.joined(self.outputs)
        self.aval = Aval.of(joined.shape, joined.dtype)

    def __repr__(self) -> str:
        return f"<a call of {self.name}>"

    def push(self, tangents: Sequence) -> np.ndarray:
        """Return the joined tangents of the result, for plain tangents of the arguments."""
        dots = self.halves.pull([*self.leaves, *self.residuals], tangents)
        return self.joined(dict(zip(self.moved, dots, strict=True)))


def linear(
    nesting: "Nesting", leaves: list, moving: tuple[int, ...], tangents: Sequence, level: Any
) -> Any:
    """Return the result for duals of plain leaves whose tangents are recorded."""
    results, halves = nesting.derived(linearized, moving, kind=Forward)(*leaves)
    if not halves.moved:
        return halves.rebuild(halves.outputs(results))
    call = LinearCall(nesting, list(leaves), moving, results, halves)
    dots = call.parts(bind(tangent, *tangents, call=call))
    outputs = list(call.outputs)
    for i, dot in zip(call.moved, dots, strict=True):
        outputs[i] = Dual(np.asarray(outputs[i]), dot, level)
    return halves.rebuild(outputs)
