"""Compiled functions inside of transformations: an op whose value, derivatives and batches are
compiled functions, too.

A call with arrays that a transformation made is taken apart by the highest level among them. Below
it a function that is derived from the user's is called: its `jvp` for dual values, its `vmap` for
samples, and for tracked arrays the value with residuals, from which a second program computes the
cotangents (`residuals.py`). A derived function is compiled as any other is, and called with arrays
of lower levels it is taken apart likewise: so transformations nest.

A derived function that cannot be compiled runs as it is.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import modes
from ..core.array import Array
from ..core.memory import Argument
from ..core.primitive import Primitive, Unplanned, bind, new_level
from ..core.symbols import is_recorded, recording
from ..errors import GraphError
from ..transforms import trees
from ..transforms.forward import dual_argument, primal_of
from ..transforms.transformed import transformed
from ..values.batched import Batched
from ..values.dual import Dual
from ..values.nested import nested_result
from ..values.operands import aval_of
from ..values.tracked import TrackedArray, below
from .arguments import marked, order_of, unmarked
from .derived import Derived, Uncompiled
from .entry.flatten import is_dynamic
from .residuals import Forward, Halves, cotangents, differentiated, with_residuals

if TYPE_CHECKING:
    from .function import StaticFunction

_OP = "the compiled function"
_PLAIN = (np.ndarray, float, int)


def call(fn: "StaticFunction", args: tuple, options: dict) -> Any:
    """A call with arrays of transformations among the arguments, by compiled functions.

    The function itself is called where it is being recorded, where a mode looks at each op
    (`no_tracking`, `detect_nan`, `detect_changes`), and where its derivative cannot be compiled.
    """
    if recording.recorder is None and not modes.active:
        nesting, leaves = nesting_of(fn, args, options)
        arrays = [x for x in leaves if isinstance(x, Array)]
        top = max(arrays, key=_level_of)
        fits = not any(isinstance(leaves[i], Array) for i in nesting.static)
        if fits and not any(type(x) is not TrackedArray and is_recorded(x) for x in arrays):
            level = top.level
            moving = tuple([i for i, x in enumerate(leaves) if isinstance(x, Array) and x.level == level])
            try:
                return _rule_of(top)(nesting, leaves, moving, level)
            except Uncompiled:
                pass
    return fn.function(*args, **options)


def _level_of(x: Array) -> int:
    return x.level


def _rule_of(x: Array) -> Callable:
    return _tracked if isinstance(x, TrackedArray) else _dual if isinstance(x, Dual) else _batched


class Nesting:
    """A compiled function as one of the leaves of its arguments, for one structure of them; those
    at the positions `static` are part of programs. It keeps what is derived from the function."""

    def __init__(self, fn: Callable, rebuild: Callable | None, static: frozenset[int]):
        self.fn, self.rebuild, self.static = fn, rebuild, static
        f = fn.function
        self.f = f if rebuild is None else of_leaves(f, rebuild)
        self._derived: dict[tuple, Derived] = {}

    def __call__(self, leaves: Sequence) -> Any:
        """The compiled function itself."""
        if self.rebuild is None:
            return self.fn(*leaves)
        args, options = self.rebuild(leaves)
        return self.fn(*args, **options)

    def derived(self, make: Callable, count: int, *options: Any, kind: type = Derived) -> Any:
        """The compiled function `make(f, *options)`, whose leaves stand behind `count` others."""
        key = (make, *options)
        known = self._derived.get(key)
        if known is None:
            static = {count + i for i in self.static}
            known = self._derived.setdefault(key, kind(make(self.f, *options), static))
        return known


def nesting_of(fn: "StaticFunction", args: tuple, options: dict) -> tuple[Nesting, list]:
    """The nesting of arguments, and their leaves."""
    static = fn.static
    if not options and not static and all(isinstance(x, (Array, *_PLAIN)) and type(x) is not bool for x in args):
        key, leaves, rebuild, fixed = len(args), list(args), None, ()
    else:
        tree = marked(args, options, static)
        leaves, rebuild = trees.flatten(tree)
        fixed = [i for i, x in enumerate(leaves) if not (isinstance(x, Array) or is_dynamic(x))]
        leaves = [*map(unmarked, leaves)]
        key = (trees.structure(tree), order_of(tree), tuple(fixed))
    known = fn.nestings.get(key)
    if known is None:
        known = fn.nestings.setdefault(key, Nesting(fn, rebuild, frozenset(fixed)))
    return known, leaves


def of_leaves(f: Callable, rebuild: Callable) -> Callable:
    """A function of arguments as one of their leaves."""

    @transformed(of_leaves, f, rebuild)
    def flat(*leaves: Any) -> Any:
        args, options = rebuild(leaves)
        return f(*args, **options)

    return flat


# -- forward mode ---------------------------------------------------------------------------------


def pushed(f: Callable, moving: tuple[int, ...]) -> Callable:
    """Of tangents and leaves: the value, and the tangents of its leaves, None for constants."""

    @transformed(pushed, f, moving)
    def push(*given: Any) -> tuple[Any, list]:
        leaves = list(given[len(moving) :])
        with new_level(None, "compile", f, derives=True) as level:
            for i, tangent in zip(moving, given, strict=False):
                leaves[i] = dual_argument(_OP, leaves[i], tangent, level)
            outputs, rebuild = trees.flatten(f(*leaves))
            results = [below(x, level) for x in outputs]
            moves = [isinstance(x, Dual) and x.level == level for x in results]
            values = rebuild([primal_of(x, level) for x in results])
            pairs = zip(results, moves, strict=True)
            return values, [trees.released(x.tangent, level) if has else None for x, has in pairs]

    return push


def _dual(nesting: Nesting, leaves: list, moving: tuple[int, ...], level: Any) -> Any:
    duals: list[Any] = [leaves[i]._snapshot() for i in moving]
    for i, x in zip(moving, duals, strict=True):
        leaves[i] = x.primal
    push = nesting.derived(pushed, len(moving), moving)
    value, tangents = push(*(x.tangent for x in duals), *leaves)
    outputs, rebuild = trees.flatten(value)
    return rebuild([
        x if dot is None else Dual(_array(x), _array(dot), level)
        for x, dot in zip(outputs, tangents, strict=True)
    ])  # fmt: skip


def _array(x: Any) -> Any:
    return x if isinstance(x, Array) else np.asarray(x)


# -- samples --------------------------------------------------------------------------------------


def batched(f: Callable, moving: tuple[int, ...]) -> Callable:
    """Of leaves, those at the positions `moving` with an axis of samples: the value for all
    samples, and for each of its leaves whether it has such an axis, as a word or None."""

    @transformed(batched, f, moving)
    def over_samples(*given: Any) -> tuple[Any, list]:
        leaves = list(given)
        with new_level(None, "compile", f) as level:
            for i in moving:
                leaves[i] = samples = Batched(leaves[i], level)
                if samples.shape:
                    samples.origin = Argument(_OP, GraphError)
            outputs, rebuild = trees.flatten(f(*leaves))
            results = [below(x, level) for x in outputs]
            has = [isinstance(x, Batched) and x.level == level for x in results]
            rows = [_rows(x) if split else x for x, split in zip(results, has, strict=True)]
            return rebuild(rows), ["samples" if split else None for split in has]

    return over_samples


def _rows(x: Batched) -> Any:
    return x.value._fresh() if isinstance(x.value, Array) else x.value


def _batched(nesting: Nesting, leaves: list, moving: tuple[int, ...], level: Any) -> Any:
    for i in moving:
        leaves[i] = leaves[i]._snapshot().value
    value, has = nesting.derived(batched, 0, moving)(*leaves)
    outputs, rebuild = trees.flatten(value)
    return rebuild([
        x if split is None else Batched(x, level) for x, split in zip(outputs, has, strict=True)
    ])  # fmt: skip


# -- reverse mode ---------------------------------------------------------------------------------


def pulled(f: Callable, moving: tuple[int, ...], moved: tuple[int, ...]) -> Callable:
    """Of cotangents of the result's leaves at `moved`, and of leaves: the cotangents of those at
    `moving`. The function is run once more."""

    @transformed(pulled, f, moving, moved)
    def pull(*given: Any) -> list:
        run = differentiated(f, given[len(moved) :], moving)
        outputs, _ = trees.flatten(run.result)
        return cotangents(run, [outputs[i] for i in moved], given[: len(moved)])

    return pull


class _Call:
    """A call at a level of tracked arrays: its leaves, and what its pullback needs."""

    def __init__(self, nesting: Nesting, leaves: list, moving: tuple[int, ...]):
        self.nesting, self.leaves, self.moving = nesting, leaves, moving
        self.moved: tuple[int, ...] = ()
        self.avals: list[Any] = []
        self.halves: Halves | None = None
        self.residuals: list = []
        self.outputs: Any = None

    def filled(self, args: Sequence) -> list:
        leaves = list(self.leaves)
        for i, x in zip(self.moving, args, strict=True):
            leaves[i] = x
        return leaves

    def joined(self) -> Any:
        values = [_array(self.outputs[i]) for i in self.moved]
        self.avals = [aval_of(x) for x in values]
        if len(values) == 1:
            return values[0]
        dtype = np.result_type(*(x.dtype for x in values))
        flat = [np.reshape(x, -1) for x in values]
        return np.concatenate([x if x.dtype == dtype else x.astype(dtype) for x in flat])

    def parts(self, flat: Any) -> list:
        if len(self.avals) == 1:
            return [flat]
        parts, at = [], 0
        for aval in self.avals:
            part = np.reshape(flat[at : at + aval.size], aval.shape)
            parts.append(part if part.dtype == aval.dtype else part.astype(aval.dtype))
            at += aval.size
        return parts


class _Compiled(Primitive):
    """A call of a compiled function with tracked arrays."""

    registered = False
    inlines = True  # floating point errors are those of compiled functions: ignored

    def evaluate(self, *args: Any, **params: Any) -> np.ndarray:
        return params["call"].joined()

    def pullback(self, ct, out, args, need, **params):
        call: _Call = params["call"]
        cts = call.parts(ct)
        if call.halves is not None and not any(isinstance(x, Array) for x in (ct, *args)):
            return call.halves.pull(call.residuals, cts)
        pull = call.nesting.derived(pulled, len(cts), call.moving, call.moved)
        return pull(*cts, *call.filled(args))


compiled = _Compiled("compiled")
compiled.plans = Unplanned()


def _tracked(nesting: Nesting, leaves: list, moving: tuple[int, ...], level: Any) -> Any:
    tracked: list[Any] = [leaves[i] for i in moving]
    for i, x in zip(moving, tracked, strict=True):
        leaves[i] = x.node.value
    call = _Call(nesting, leaves, moving)
    if any(isinstance(x, Array) for x in leaves):
        outputs, rebuild = trees.flatten(nesting(leaves))
        call.moved = tuple([i for i, x in enumerate(outputs) if trees.is_differentiable(x)])
    else:
        forward = nesting.derived(with_residuals, 0, moving, kind=Forward)
        results, call.halves = forward(*leaves)
        call.moved, rebuild = call.halves.moved, call.halves.rebuild
        call.residuals = call.halves.residuals(leaves, results)
        outputs = [results[k] if type(k) is int else k for k in call.halves.leaves]
    if not call.moved:
        return rebuild(outputs)
    call.outputs, call.leaves = outputs, list(leaves)
    for i in moving:  # they are the op's own
        call.leaves[i] = None
    if call.halves is None:
        kinds = tuple([x.aval for x in tracked])
        nodes, values = tuple([x.node for x in tracked]), tuple([leaves[i] for i in moving])
        flat = nested_result(compiled, kinds, nodes, values, {"call": call}, call.joined(), level)
    else:
        flat = bind(compiled, *tracked, call=call)
    call.outputs = None
    for i, part in zip(call.moved, call.parts(flat), strict=True):
        outputs[i] = part
    return rebuild(outputs)
