"""Calls of Numba functions with arrays of transformations among the arguments."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..compiler.kernel import kernel_from_ir
from ..core.array import Array
from ..core.fillable import FILLABLE
from ..core.memory import share
from ..core.primitive import bind, shape_of
from ..core.symbols import Symbol, recording, symbol_of
from ..errors import GraphError, NbgradError, PlainArrayError, TraceError, UntrackedError
from ..runtime.kinds import is_a
from ..runtime.lines import user_line
from .calls import Bound
from .complex_values import written_arrays
from .kernels import shapes_of
from .packed import derivative
from .primitive import derived, parts_of, whole
from .signature import Signature

__all__ = [
    "arguments",
    "call",
    "converted",
    "look",
    "on_copies",
    "require_apart",
    "shapes_of_results",
]


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
            raise PlainArrayError(
                f"{signature.name} writes what depends on tracked values to its argument "
                f"{(label := signature.leaves[lost[0]].label)}, a plain array, which would lose "
                f"their derivative: pass np.array({label}, like=x) or np.zeros_like(x) of a "
                f"tracked x, or make the array in the function{user_line()}"
            )
    require_apart(signature, leaves, is_copying=False)
    if others:
        before = {i: np.array(leaves[i]) for i in others if is_a(leaves[i], np.ndarray)}
        _write_plain(f, bound, sorted(others))
        for i, x in before.items():
            leaves[i] = x
    result, written = _applied(bound, tuple(sorted(taking)))
    for i, value in zip(sorted(taking), written, strict=True):
        if isinstance(leaves[i], Array) and value.level > leaves[i].level:
            label = signature.leaves[i].label
            raise GraphError(
                f"{signature.name} writes values of an inner transformation to its argument "
                f"{label}, an array from outside of it: pass np.array({label}, like=x) of an array "
                f"x of the inner transformation{user_line()}",
                code="NB-WRITE",
            )
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
        outs = tuple(sorted(signature.written))
    result, written = _applied(bound, outs)
    if signature.entry.result is None and written:
        given = dict(zip(outs, written, strict=True))
        return _one_or_all(written_arrays(signature.kinds, given, leaves))
    return result


def _one_or_all(arrays: Sequence[Any]) -> Any:
    return arrays[0] if len(arrays) == 1 else tuple(arrays)


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
        chosen = tuple([*chosen, *(i for i in outs if (kinds[i].kind != "f") == is_whole)])
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
        shapes = shapes_of_results(signature, bound.leaves)
        kinds = [signature.leaves[i].dtype for i in signature.returned]
        found += [np.zeros(shape, kind) for shape, kind in zip(shapes, kinds, strict=True)]
    return found


def shapes_of_results(signature: Signature, leaves: Sequence) -> list[tuple[int, ...]]:
    """The shapes of the arrays that the function returns. Raises TraceError if they depend on
    values that are not known yet."""
    if not signature.returned:
        return []
    maker = shapes_of(signature)
    given: list[Any] = []
    for i, (x, leaf) in enumerate(zip(leaves, signature.arguments, strict=True)):
        value = np.zeros(shape_of(x), leaf.dtype)
        if i in maker.reads:
            value = _plain(x)
            if value is None:
                kind, why = _unknown(x)
                static = "" if kind is UntrackedError else "pass it as a static argument, or "
                raise kind(
                    f"{signature.name}: the shape of its result depends on the value of its "
                    f"argument {leaf.label}, which {why}: {static}let the function write to an "
                    f"array{user_line()}",
                    code="NB-STATIC",
                )
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


def look(f: Callable, args: tuple, options: dict[str, Any]) -> None:
    """Raise GraphError for arguments of a transformation that are written to and share memory."""
    if len(args) + len(options) > 1 or any(isinstance(x, tuple) for x in args):
        bound = Bound(f, args, options)
        require_apart(bound.signature, bound.leaves)


def require_apart(signature: Signature, leaves: Sequence, is_copying: bool = True) -> None:
    """Raise GraphError if an array that the function writes to shares memory with another one."""
    for i in sorted(signature.written):
        for j, other in enumerate(leaves):
            seen = j in signature.written and j <= i
            if seen or not signature.leaves[j].ndim:
                continue
            why = partial(_sharing, signature, i, j)
            if _overlap(leaves[i], other, is_copying, why):
                raise GraphError(why(), code="NB-WRITE")


def _sharing(signature: Signature, i: int, j: int) -> str:
    """The message about an argument that is written and shares memory with another one."""
    a, b = (signature.leaves[k].label for k in sorted((i, j)))
    return (
        f"{signature.name} writes to {signature.leaves[i].label}, and its arguments {a} and {b} "
        f"share memory: pass a copy of one of them{user_line()}"
    )


def _overlap(x: Any, y: Any, is_copying: bool, why: Callable[[], str]) -> bool:
    """Whether arrays share memory. Of two arguments of a compiled function, each call finds out."""
    if type(x) is np.ndarray and type(y) is np.ndarray:
        return np.may_share_memory(x, y) and np.shares_memory(x, y)
    if isinstance(x, Array) and isinstance(y, Array):
        if share(x, y, np.shares_memory):
            return True
        if not is_copying:  # two arrays that are not views have one memory until one is written to
            return False
    x, y = _memory(x), _memory(y)
    if isinstance(x, Symbol) or isinstance(y, Symbol):
        _note_apart(x, y, why)
        return False
    return np.may_share_memory(x, y) and np.shares_memory(x, y)


def _note_apart(x: Any, y: Any, why: Callable[[], str]) -> None:
    """Have each call of the recorded program raise an error if two arguments share memory, or an
    argument and an array that it captures."""
    recorder = recording.recorder
    if recorder is None:
        return
    x, y = (recorder.capture(z) if is_a(z, np.ndarray) else symbol_of(z) for z in (x, y))
    if all(z.builder is recorder and z.primitive is None for z in (x, y)):
        recorder.apart[x, y] = why()


def _memory(x: Any) -> Any:
    """The plain array or the symbol below all transformations."""
    while isinstance(x, Array) and not isinstance(x, Symbol):
        x = x.below
    return x


def _write_plain(f: Callable, bound: Bound, places: Sequence[int]) -> None:
    """Write to the plain arrays among the arguments, whose elements depend on no tracked value, as
    the function does: it is called with copies in place of the other arrays."""
    signature = bound.signature
    values = list(map(_plain, bound.leaves))
    for x, value, leaf in zip(bound.leaves, values, signature.arguments, strict=True):
        if value is None:
            raise PlainArrayError(
                f"{signature.name} writes to its argument {signature.leaves[places[0]].label}, a "
                f"plain array, and its argument {leaf.label} {_unknown(x)[1]}: make the array in "
                f"the function{user_line()}"
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
        written = {i: leaves[i] for i in signature.written}
        return _one_or_all(written_arrays(signature.kinds, written, leaves))
    return result


def _plain(x: Any) -> Any:
    """The numbers of an array below all transformations; None while they are not known, or if they
    differ from sample to sample."""
    while isinstance(x, Array):
        if hasattr(x, "builder"):
            return None
        if x.is_batch:
            rows = _plain(x.below)
            if rows is None or not len(rows):
                return None if rows is None else np.zeros(x.shape, x.dtype)
            return rows[0] if (rows == rows[:1]).all() else None
        x = x.below if hasattr(x, "node") else getattr(x, "primal", None)
    return x


def _unknown(x: Any) -> tuple[type[NbgradError], str]:
    """The error for numbers that are not known, and the reason."""
    while isinstance(x, Array) and not hasattr(x, "builder"):
        if x.is_batch and _plain(x.below) is not None:
            return UntrackedError, "differs from sample to sample"
        x = x.below if hasattr(x, "node") or x.is_batch else getattr(x, "primal", None)
    return TraceError, "is not known while the call is recorded"
