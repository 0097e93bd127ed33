"""`vmap`, which applies a function to all samples at once, and `map`, which loops over them."""

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from ..capi import gate
from ..core.array import Array
from ..core.levels import Level
from ..core.memory import Argument
from ..core.primitive import new_level, shape_of
from ..errors import ArgumentError, GraphError, SampleMismatch, require_unmasked
from ..values.batched import Batched
from ..values.tracked import below
from . import trees
from .direct import callee
from .run import array_leaves
from .transformed import transformed


def vmap(f: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    """Vectorise `f` over an axis of its arguments.

    Arguments:
        f: a function of one sample, of arrays or nested ones.
        in_axes: the axis of samples, or None for an argument that all samples share; a tuple with
            one entry for each argument, or one entry for all. For a nested argument, the entry may
            be nested, as in `({"w": None, "x": 0},)`.
        out_axes: the axis of samples in the result. It may be nested as the result is.

    The returned function takes and returns arrays with one more axis; results that do not depend on
    a sample are repeated. Each op runs once for all samples, by its batching rule. The function can
    be nested, differentiated and compiled, and `f` may be a gradient. Keyword arguments are shared.

    Raises:
        DimensionMismatch: the numbers of samples differ, or an argument has no axis.
        TypeError: `f` returns no array.
        UntrackedError: `f` needs the value of one sample, such as in `if x > 0`.

    >>> nbgrad.vmap(nbgrad.grad(lambda w, x: np.tanh(w @ x)), in_axes=(None, 0))(
    ...     np.array([1.0, -1.0]), np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 1.0]])
    ... ).round(3)
    array([[0.  , 0.  ],
           [1.  , 1.  ],
           [0.84, 0.42]])
    """
    trees.require_function("vmap", f)
    each = isinstance(in_axes, (tuple, list))
    for name, axes in (("in_axes", in_axes), ("out_axes", out_axes)):
        if any(x is not None and type(x) is not int for x in trees.flatten(axes)[0]):
            raise ArgumentError(
                f"vmap: {name} {axes!r}: pass the axis of samples, an integer, or None for shared "
                "arguments, or these in the structure of the arguments",
                code="NB-SAMPLES",
            )

    @transformed(vmap, f, in_axes, out_axes)
    def over_samples(*args, **options):
        axes = in_axes if each else (in_axes,) * len(args)
        if len(axes) != len(args):
            raise SampleMismatch(
                f"vmap: in_axes names {len(axes)} arguments, and {len(args)} are given"
            )
        flat = [trees.flatten(arg) for arg in args]
        places = [
            _axes_for("in_axes", axis, arg, leaves)
            for axis, arg, (leaves, _) in zip(axes, args, flat, strict=True)
        ]
        flat = [
            ([_first(x, axis) for x, axis in zip(leaves, its, strict=True)], rebuild)
            for (leaves, rebuild), its in zip(flat, places, strict=True)
        ]
        batches = [
            leaf
            for (leaves, _), its in zip(flat, places, strict=True)
            for leaf, axis in zip(leaves, its, strict=True)
            if axis is not None and _is_array(leaf)
        ]
        count, _traced = _count(batches), gate.traced
        with new_level(None, "vmap", f) as level:
            result = callee(f)(
                *(
                    rebuild([_batched(x, axis, level) for x, axis in zip(leaves, its, strict=True)])
                    for (leaves, rebuild), its in zip(flat, places, strict=True)
                ),
                **options,
            )
            outputs, rebuild = array_leaves("vmap", result)
            given = set(builtins.map(id, batches))
            its = _axes_for("out_axes", out_axes, result, outputs)
            rows = [
                _placed(x, axis, level, count, given) for x, axis in zip(outputs, its, strict=True)
            ]
        return rebuild(rows)

    return over_samples


def _axes_for(name: str, axes: Any, tree: Any, leaves: list) -> list[int | None]:
    """Return the axis of each leaf of `tree`; `axes` is a prefix of its structure."""
    if axes is None or type(axes) is int:
        return [axes] * len(leaves)

    def spread(axes: Any, tree: Any) -> Any:
        if axes is None or type(axes) is int:
            leaves, rebuild = trees.flatten(tree)
            return rebuild([float("nan") if axes is None else float(axes)] * len(leaves))
        if isinstance(axes, dict) and isinstance(tree, dict) and axes.keys() == tree.keys():
            return {key: spread(axes[key], part) for key, part in tree.items()}
        listed = isinstance(axes, (tuple, list)) and isinstance(tree, (tuple, list))
        if listed and len(axes) == len(tree):
            parts = [spread(axis, part) for axis, part in zip(axes, tree, strict=True)]
            return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
        raise ArgumentError(
            f"vmap: {name} {axes!r} does not nest as {trees.describe(tree)}: pass one axis for all "
            "of it, or the same structure",
            code="NB-SAMPLES",
        )

    return [None if x != x else int(x) for x in trees.flatten(spread(axes, tree))[0]]


def _first(x: Any, axis: int | None) -> Any:
    """Move the axis of samples of an argument to the front."""
    return np.moveaxis(x, axis, 0) if axis and _is_array(x) else x


def _placed(x: Any, axis: int | None, level: int, count: int, given: set[int]) -> Any:
    """Move the axis of samples of a result into place; None means a result without one."""
    if axis is not None:
        rows = _whole(x, level, count, given)
        return np.moveaxis(rows, 0, axis) if axis and rows is not None else rows
    if isinstance(x := below(x, level), Batched) and x.level == level:
        raise ArgumentError(
            "vmap: out_axes is None for a result that differs from sample to sample: pass the axis "
            "of its samples",
            code="NB-SAMPLES",
        )
    return x


def map(f: Callable[..., Any], *samples: Any) -> Any:
    """Call `f` for each sample along the first axis and stack the results.

    Arguments:
        f: a function of one sample of each argument.
        samples: arrays, or nested ones, that agree in their first axis, or lists of samples.

    Python calls `f` once per sample, so `f` may branch on values; otherwise `vmap` is faster.

    Raises:
        DimensionMismatch: the lengths differ, or are 0.

    >>> nbgrad.map(lambda x: x * x if x > 0 else -x, np.array([-1.0, 2.0]))
    array([1., 4.])
    """
    trees.require_function("map", f)
    flat = [trees.flatten(list_of(sample)) for sample in samples]
    arrays = [x for leaves, _ in flat for x in leaves if _is_array(x)]
    for x in arrays:
        require_unmasked(x, "map: samples")
    count = _count(arrays, "map")
    if not count:
        raise SampleMismatch("map: there is no sample to call the function for")
    results = [
        array_leaves(
            "map",
            f(*(rebuild([x[i] if _is_array(x) else x for x in xs]) for xs, rebuild in flat)),
        )
        for i in range(count)
    ]
    rebuild = results[0][1]
    return rebuild(
        [_stack(list(rows)) for rows in zip(*(leaves for leaves, _ in results), strict=True)]
    )


def list_of(samples: Any) -> Any:
    """Stack a list of samples into an array."""
    if isinstance(samples, list) and builtins.all(builtins.map(_is_array_or_number, samples)):
        return np.stack(samples) if samples else np.zeros(0)
    return samples


def _stack(rows: list) -> Any:
    if rows[0] is None:
        return None
    if any(shape_of(row) != shape_of(rows[0]) for row in rows):
        listed = ", ".join(sorted({str(shape_of(row)) for row in rows}))
        raise SampleMismatch(f"map: the function gave arrays of shapes {listed}; stacked "
                                "arrays need one shape")  # fmt: skip
    return np.stack(rows)


def _is_array(x: Any) -> bool:
    return isinstance(x, (Array, np.ndarray))


def _is_array_or_number(x: Any) -> bool:
    return isinstance(x, (Array, np.ndarray, np.generic, float, int))


def _count(batches: list, op: str = "vmap") -> int:
    if not batches:
        raise SampleMismatch(f"{op}: no argument is an array with an axis of samples")
    if any(not shape_of(x) for x in batches):
        raise SampleMismatch(
            f"{op}: an argument has no axes: pass arrays with one sample for each row"
            + (", and None in in_axes for shared arguments" if op == "vmap" else "")
        )
    counts = {shape_of(x)[0] for x in batches}
    if len(counts) > 1:
        listed = ", ".join(str(shape_of(x)) for x in batches)
        raise SampleMismatch(
            f"{op}: the shapes {listed} differ in their first axis, that of the samples"
        )
    return counts.pop()


def _batched(x: Any, axis: int | None, level: Level) -> Any:
    if axis is None or not _is_array(x):
        return x
    require_unmasked(x, "vmap")
    samples = Batched(x._snapshot() if isinstance(x, Array) else x, level)
    if samples.shape:
        samples.origin = Argument("vmap", GraphError)
    return samples


def _whole(x: Any, level: int, count: int, given: set[int]) -> Any:
    """Return all samples of a result, repeated where it does not depend on them."""
    x = below(x, level)
    if isinstance(x, Batched) and x.level == level:
        value = x.value
        if isinstance(value, Array):
            return value._fresh()
        # A result must not share memory with an argument.
        return np.array(value) if value.base is not None or id(value) in given else value
    if x is None:
        return None
    rows = np.broadcast_to(x, (count, *shape_of(x)))
    return rows if isinstance(x, Array) else np.array(rows, rows.dtype.newbyteorder("="))
