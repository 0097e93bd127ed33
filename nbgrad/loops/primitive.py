"""The op of a call of a function with loops, whose value is a vector (`packed.py`).

Derivatives of a derivative are again of the same kinds. `F[d, e]` is the value of a call,
differentiated along directions d and e; `G[d, e]` is the gradient of `sum(c * F[d, e])` with
respect to the leaves. The tangent of each along u is `F[d, e, u]`, `G[d, e, u]`. Derivatives are
symmetric in their directions, so the gradient of `sum(u * G[d, e])` is `G[d, e, u]`, too, and that
with respect to c is `F[d, e, u]`. So forward mode of reverse mode is all that any order takes.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..adjoints.build import INT
from ..core.array import Array
from ..core.primitive import Aval, Primitive, Unplanned, bind, shape_of
from ..ir.affine import Axis
from .kernels import device_of, filled
from .packed import Derivative
from .samples import Samples, samples_of
from .status import error_of

__all__ = ["as_given", "called", "contiguous", "derived", "parts_of", "whole"]


def parts_of(of: Derivative, vector: Any, shapes: Sequence[tuple[int, ...]]) -> list[Any]:
    """The arrays in a vector: numbers for results, and an array of its shape for each leaf."""
    arrays = [shapes[i] for i in of.places]
    numbers = [()] * of.given
    every = [*numbers, *arrays] if of.gives_value else [*arrays, *numbers]
    if of.is_narrow:
        return [*_parts(vector, arrays), vector[-2:].view(np.float64)[0]]
    if len(every) == 1:
        return [np.reshape(vector, every[0])]
    return _parts(vector, every)


def _parts(vector: Any, every: Sequence[tuple[int, ...]]) -> list[Any]:
    found, at = [], 0
    for shape in every:
        size = prod(shape)
        part = vector[at : at + size] if shape else vector[at]
        found.append(part if len(shape) < 2 else np.reshape(part, shape))
        at += size
    return found


class _Given:
    """The arguments of an op by what they are."""

    def __init__(self, of: Derivative, args: Sequence):
        count = len(of.signature.leaves)
        self.leaves = list(args[:count])
        rest = iter(args[count:])
        self.ct = next(rest) if of.takes_cotangent else None
        self.along = [[next(rest) for _ in moving] for moving in of.along]

    def bound(self, of: Derivative, ct: Any, along: Sequence[Sequence]) -> Any:
        """Another derivative at the same leaves."""
        cotangent = (ct,) if of.takes_cotangent else ()
        return bind(derived, *self.leaves, *cotangent, *(x for d in along for x in d), of=of)


class _Derived(Primitive):
    """A `Derivative` as an op: its arguments are the leaves, the cotangent and the directions."""

    registered = False

    def infer(self, *avals, of: Derivative, record: Any = None):
        shapes = [shape_of(x) for x in avals]
        return Aval.of((of.size(shapes),), of.dtype)

    def evaluate(self, *args, of: Derivative, record: Any = None):
        shapes = [shape_of(x) for x in args[: len(of.signature.leaves)]]
        status = record.status if of.half else None
        return filled(of, (of.size(shapes),), as_given(of, args), status)

    def batch(self, size: int, args: Sequence, batched: Sequence[bool], **params):
        from .batching import mapped, whole_mapped  # which know this

        op = whole_mapped if self is whole else mapped
        samples = samples_of(params["of"], (tuple(batched),))
        record = {"record": params["record"]} if "record" in params else {}
        return bind(op, *args, samples=samples, **record)

    def pullback(self, ct, out, args, need, **params):
        of: Derivative = params["of"]
        if (record := params.get("record")) is not None and all(map(_is_plain, (ct, *args))):
            return _from_record(record, ct, args, need)
        given = _Given(of, args)
        count = len(given.leaves)
        shapes = [shape_of(x) for x in given.leaves]
        found: list[Any] = [None] * len(args)
        floats = [i for i in range(count) if need[i]]
        u: list[Any] = []
        # The vector's cotangent as a direction of the leaves `u`, and as one of the value `c`.
        if of.wrt is None:
            terms = [(of, ct, ())]
        else:
            ends = sum(prod(shapes[i]) for i in of.wrt)
            u = parts_of(of, ct, shapes)[: len(of.wrt)]
            c = ct[ends:]
            if width := of.width(shapes) - of.count:
                c = np.concatenate([c, np.zeros(width, of.dtype)])
            terms = [(of, given.ct, [(of.wrt, u)]), (of.changed(is_seeded=False), c, ())]
        for kind, c, more in terms:
            along = [*zip(of.along, given.along, strict=True), *more]
            self._pull(kind, given, c, along, floats, found, shapes, 0)
            at = count + of.takes_cotangent
            for j, moving in enumerate(of.along):
                wanted = [i for i, needs in zip(moving, need[at:], strict=False) if needs]
                others = [*along[:j], *along[j + 1 :]]
                self._pull(kind, given, c, others, wanted, found, shapes, at, moving)
                at += len(moving)
        if of.takes_cotangent and need[count]:
            along = [*of.along, of.wrt]
            value = of.changed(wrt=None, along=tuple(along))
            found[count] = given.bound(value, None, [*given.along, u])
        return found

    @staticmethod
    def _pull(
        of: Derivative, given: _Given, ct: Any, along: Sequence, wrt: Sequence[int], found: list,
        shapes: Sequence, start: int, places: Sequence[int] | None = None,
    ) -> None:  # fmt: skip
        """Add the cotangents of leaves `wrt` to those from position `start` on."""
        if not wrt:
            return
        new = of.changed(wrt=tuple(wrt), along=tuple(moving for moving, _ in along))
        vector = given.bound(new, ct, [d for _, d in along])
        for i, part in zip(wrt, parts_of(new, vector, shapes), strict=False):
            at = start + (i if places is None else places.index(i))
            found[at] = part if found[at] is None else found[at] + part

    def pushforward(self, tangents, out, args, **params):
        of: Derivative = params["of"]
        given = _Given(of, args)
        count = len(given.leaves)
        shapes = [shape_of(x) for x in given.leaves]
        terms = []
        leaves = of.signature.leaves
        moving = tuple(i for i in range(count) if tangents[i] is not None and leaves[i].is_float)
        if moving:
            new = of.changed(along=(*of.along, moving))
            terms.append(given.bound(new, given.ct, [*given.along, [tangents[i] for i in moving]]))
        at = count
        if of.takes_cotangent:
            if tangents[at] is not None:
                vector = given.bound(of, tangents[at], given.along)
                ends = sum(prod(shapes[i]) for i in of.wrt or ())
                terms.append(np.concatenate([vector[:ends], np.zeros(of.count, of.dtype)]))
            at += 1
        for j, its in enumerate(of.along):
            dots = tangents[at : at + len(its)]
            at += len(its)
            if any(x is not None for x in dots):
                moved = [(i, x) for i, x in zip(its, dots, strict=True) if x is not None]
                along = (*of.along[:j], tuple(i for i, _ in moved), *of.along[j + 1 :])
                every = [*given.along]
                every[j] = [x for _, x in moved]
                terms.append(given.bound(of.changed(along=along), given.ct, every))
        if not terms:
            return np.zeros(shape_of(out), of.dtype)
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total

    def form(self, graph, symbol, *args):
        of: Derivative = symbol.params["of"]
        lengths = [n for x in args[: len(of.signature.leaves)] for n in x.shape]
        return called(graph, of, args, lengths, symbol.shape)


def called(
    graph: Any, of: Derivative | Samples, args: Sequence, lengths: Sequence, shape: tuple
) -> Any:  # fmt: skip
    """The value of an op in a compiled program, and the checks for what the function raises."""
    signature = of.signature
    if signature.checked is not None:
        raise signature.refusal("compiled programs do not check indices (boundscheck=True)")
    given = [
        graph.broadcast(graph.cast(x, kind), x.shape or (1,))  # numbers are passed by address
        for x, kind in zip(args, of.dtypes, strict=True)
    ]
    size = prod(shape)
    every = graph.call((size + 1,), of.dtype, given, device_of(of), tuple(lengths))
    status = graph.view(every, [Axis(None, size, 0)], ())
    for i, error in enumerate(signature.errors):
        number = graph.full(i + 1, (), of.dtype)
        holds = graph.map("x != y", (status, number), np.dtype(bool))
        graph.require(holds, *error_of(error))
    return graph.reshape(graph.view(every, [Axis(0, 0, 1)], (size,)), shape)


derived = _Derived("njit")
derived.plans = Unplanned()


def _from_record(record: Any, ct: Any, args: Sequence, need: Sequence[bool]) -> list[Any]:
    """The cotangents of the arguments of a call whose record was kept."""
    of: Derivative = record.of
    vector = bind(derived, *args, ct, of=of, record=record)
    found: list[Any] = [None] * len(args)
    parts = parts_of(of, vector, [shape_of(x) for x in args])
    for i, part in zip(of.wrt or (), parts, strict=True):
        found[i] = part if need[i] else None
    return found


def _is_plain(x: Any) -> bool:
    """Whether an array, or each of a batch, is plain."""
    while isinstance(x, Array) and x.is_batch:
        x = x.below
    return not isinstance(x, Array)


class _Whole(_Derived):
    """The results of a call that are integers and bools."""

    differentiable = False


whole = _Whole("njit")
whole.plans = Unplanned()


def contiguous(x: Any, dtype: np.dtype) -> Any:
    """An array as the kernel takes it."""
    if type(x) is np.ndarray and x.flags.carray and x.dtype == dtype:
        return x
    return np.array(x, dtype, order="C")


def as_given(of: Derivative, args: Sequence) -> list[Any]:
    """The arguments of an op as the kernel takes them."""
    numbers = of.numbers
    return [
        _number(x, kind) if i in numbers else contiguous(x, kind)
        for i, (x, kind) in enumerate(zip(args, of.dtypes, strict=True))
    ]


def _number(x: Any, dtype: np.dtype) -> Any:
    if dtype.kind == "f" and dtype.itemsize == 8:
        return float(x)
    return dtype.type(x) if dtype != INT else int(x)
