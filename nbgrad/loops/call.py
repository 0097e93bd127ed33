"""Calls of Numba functions with arrays of transformations among the arguments."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..compiler.kernel import kernel_from_ir
from ..core.array import Array
from ..core.fillable import FILLABLE
from ..core.primitive import bind, shape_of
from ..errors import GraphError, TraceError, UntrackedError
from ..runtime.kinds import is_a
from ..runtime.lines import user_line
from .calls import Bound
from .kernels import shapes_of
from .packed import derivative
from .primitive import derived, parts_of, whole
from .signature import Signature

__all__ = ["arguments", "call", "converted", "on_copies", "require_apart"]


def call(f: Callable, args: tuple, options: dict[str, Any]) -> Any:
    """Call a Numba function as an op: arrays that it writes to change in place."""
    bound = Bound(f, args, options)
    signature, leaves = bound.signature, bound.leaves
    moving = _moving(signature, leaves)
    taking = [i for i in signature.written if i in moving]
    others = signature.written.difference(taking)
    if others:
        varied = signature.varied(moving)
        fillable = [i for i in others & varied if type(leaves[i]) in FILLABLE]
        taking = sorted([*taking, *fillable])
        others = others.difference(fillable)
        if lost := sorted(others & varied):
            raise UntrackedError(
                f"{signature.name} writes what depends on tracked values to its argument "
                f"{signature.leaves[lost[0]].label}, a plain array, which would lose their "
                "derivative: pass an array made by np.zeros_like(x) of a tracked x, or make it in "
                f"the function{user_line()}"
            )
    require_apart(signature, leaves)
    if others:
        before = {i: np.array(leaves[i]) for i in others}
        _write_plain(f, bound, sorted(others))
        for i, x in before.items():
            leaves[i] = x
    result, written = _applied(bound, tuple(sorted(taking)))
    for i, value in zip(sorted(taking), written, strict=True):
        leaves[i][...] = value
    return result


def on_copies(f: Callable, args: tuple, options: dict[str, Any]) -> Any:
    """Call a Numba function as an op that writes to copies of its arguments. A function without
    results gives the arrays that it wrote to."""
    bound = Bound(f, args, options)
    signature, leaves = bound.signature, bound.leaves
    if not any(isinstance(x, Array) for x in leaves):
        return _on_plain_copies(f, bound)
    require_apart(signature, leaves)
    outs = ()
    if signature.entry.result is None:
        moving = _moving(signature, leaves)
        outs = tuple(sorted(signature.varied(moving) | (signature.written & set(moving))))
    result, written = _applied(bound, outs)
    if signature.entry.result is None and written:
        return written[0] if len(written) == 1 else tuple(written)
    return result


def _moving(signature: Signature, leaves: Sequence) -> list[int]:
    """The places of floats that are arrays of transformations."""
    return [
        i
        for i, (x, leaf) in enumerate(zip(leaves, signature.arguments, strict=True))
        if leaf.is_float and isinstance(x, Array)
    ]


def _applied(bound: Bound, outs: tuple[int, ...]) -> tuple[Any, list[Any]]:
    """The result of a call, and the elements that arrays hold after it."""
    signature, leaves = bound.signature, arguments(bound)
    shapes = [shape_of(x) for x in leaves]
    kinds = [leaf.dtype for leaf in signature.leaves]
    numbers: dict[bool, Iterator[Any]] = {}
    arrays: dict[int, Any] = {}
    for is_whole, op in ((False, derived), (True, whole)):
        chosen = [i for i in signature.returned if (kinds[i].kind != "f") == is_whole]
        chosen = tuple([*chosen, *(() if is_whole else outs)])
        of = derivative(signature, chosen, is_whole=is_whole)
        parts = []
        if of.count or chosen:
            parts = parts_of(of, bind(op, *leaves, of=of), shapes)
        numbers[is_whole] = iter(parts[: of.count])
        arrays |= zip(chosen, parts[of.count :], strict=True)
    arrays = {i: converted(x, kinds[i]) for i, x in arrays.items()}
    result = signature.tree(
        iter([converted(next(numbers[x.kind != "f"]), x) for x in signature.results]),
        iter([arrays[i] for i in signature.returned]),
    )
    return result, [arrays[i] for i in outs]


def arguments(bound: Bound) -> list[Any]:
    """The arguments of the op: Python numbers as arrays of their dtypes; zeros for arrays that the
    function returns."""
    signature = bound.signature
    found = [
        np.array(x, leaf.dtype) if is_a(x, (bool, int, float)) else x
        for x, leaf in zip(bound.leaves, signature.arguments, strict=True)
    ]
    if signature.returned:
        shapes = _shapes(signature, bound.leaves)
        kinds = [signature.leaves[i].dtype for i in signature.returned]
        found += [np.zeros(shape, kind) for shape, kind in zip(shapes, kinds, strict=True)]
    return found


def _shapes(signature: Signature, leaves: Sequence) -> list[tuple[int, ...]]:
    """The shapes of the arrays that the function returns. Raises TraceError if they depend on
    values that are not known yet."""
    maker = shapes_of(signature)
    given: list[Any] = []
    for i, (x, leaf) in enumerate(zip(leaves, signature.arguments, strict=True)):
        value = _plain(x) if i in maker.reads else None
        if value is None:
            if i in maker.reads:
                raise TraceError(
                    f"{signature.name}: the shape of its result depends on the value of its "
                    f"argument {leaf.label}, which is not known while the call is recorded: pass "
                    f"it as a static argument, or let the function write to an array{user_line()}"
                )
            value = np.zeros(shape_of(x), leaf.dtype)
        given.append(
            leaf.dtype.type(value) if leaf.ndim is None
            else np.array(value, leaf.dtype, order="C", copy=i in signature.written or None)
        )  # fmt: skip
    ranks = [signature.leaves[i].ndim or 0 for i in signature.returned]
    lengths = np.zeros(sum(ranks), np.int64)
    kernel_from_ir(maker)(*given, lengths)
    rest = iter(lengths.tolist())
    return [tuple(next(rest) for _ in range(rank)) for rank in ranks]


def converted(x: Any, dtype: np.dtype) -> Any:
    """A part of a vector in the dtype that it stands for."""
    if x.dtype == dtype:
        return x
    return x != 0 if dtype.kind == "b" else x.astype(dtype)


# -- writes ---------------------------------------------------------------------------------------


def require_apart(signature: Signature, leaves: Sequence) -> None:
    """Raise GraphError if an array that the function writes to is an argument twice."""
    for i in signature.written:
        for j, other in enumerate(leaves):
            if i != j and signature.leaves[j].ndim and _overlap(leaves[i], other):
                a, b = (signature.leaves[k].label for k in sorted((i, j)))
                raise GraphError(
                    f"{signature.name} writes to {signature.leaves[i].label}, and its arguments "
                    f"{a} and {b} share memory: pass a copy of one of them{user_line()}"
                )


def _overlap(x: Any, y: Any) -> bool:
    if is_a(x, np.ndarray) and is_a(y, np.ndarray):
        return np.shares_memory(x, y) if np.may_share_memory(x, y) else False
    return x is y or _owner(x) is _owner(y)


def _owner(x: Any) -> Any:
    """The array that a view of an array of a transformation was taken from."""
    while (origin := getattr(x, "origin", None)) is not None:
        if (parent := getattr(origin, "parent", None)) is None:
            break
        x = parent
    return x


def _write_plain(f: Callable, bound: Bound, places: Sequence[int]) -> None:
    """Write to the plain arrays among the arguments, whose elements depend on no tracked value, as
    the function does: it is called with copies in place of the other arrays."""
    signature = bound.signature
    values = list(map(_plain, bound.leaves))
    if any(x is None for x in values):
        raise UntrackedError(
            f"{signature.name} writes to its argument {signature.leaves[places[0]].label}, a plain "
            f"array, while its call is recorded: make the array in the function{user_line()}"
        )
    signature.run(f, [
        x if i in places or i not in signature.written else np.array(x)
        for i, x in enumerate(values)
    ])  # fmt: skip


def _on_plain_copies(f: Callable, bound: Bound) -> Any:
    """Call a function with plain arguments, of which those that it writes to are copies."""
    signature = bound.signature
    leaves = [np.array(x) if i in signature.written else x for i, x in enumerate(bound.leaves)]
    result = signature.run(f, leaves)
    if result is None and signature.written:
        written = [leaves[i] for i in sorted(signature.written)]
        return written[0] if len(written) == 1 else tuple(written)
    return result


def _plain(x: Any) -> Any:
    """The numbers of an array below all transformations; None while they are not known."""
    while isinstance(x, Array):
        if x.is_batch or hasattr(x, "builder"):
            return None
        x = x.below if hasattr(x, "node") else getattr(x, "primal", None)
    return x
