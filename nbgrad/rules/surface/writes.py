"""NumPy functions that write to an argument or to `out`."""

from typing import Any

import numpy as np

from ...core import memory
from ...core.array import Array, implements
from ...core.conversions import FILL
from ...core.fillable import Fillable, highest
from ...core.functions import functions
from ...core.primitive import shape_of
from ...errors import (
    ArgumentError,
    DimensionMismatch,
    DtypeError,
    EmptyError,
    IndexOutOfBounds,
    PlainArrayError,
    StaticError,
    UntrackedError,
)
from ...runtime.kinds import is_a
from ...runtime.lines import user_line
from ..layout import given


def target_of(name: str, x: Any, *values: Any) -> Any:
    """The array to which tracked values are written. Raises UntrackedError for a plain one."""
    if isinstance(x, Fillable):
        top = highest(*values)
        return np.asarray(x) if top is None and type(x) is Fillable else x.take_in(top)
    if not isinstance(x, Array):
        raise PlainArrayError(
            f"{name} cannot write a tracked array into a plain one: {FILL}{user_line()}"
        )
    return x


def _require_cast(name: str, dtype: np.dtype, target: Array, casting: Any) -> None:
    if not np.can_cast(dtype, target.dtype, casting):
        raise DtypeError(
            f"{name}: cannot cast values of dtype {dtype} to {target.dtype} with casting rule "
            f"{casting!r}" + (": make it with dtype=float" if target.dtype.kind in "iu" else "")
        )


@implements("out")
def into(function: Any, args: tuple, out: Array, **options: Any) -> Array:
    """`function(*args, out=out)` for a NumPy function."""
    owner = getattr(function, "__self__", None)  # the ufunc of a method
    name = f"np.{owner.__name__}." if isinstance(owner, np.ufunc) else "np."
    name += function.__name__
    if not isinstance(out, Fillable):
        memory.require_open(target_of(f"{name}(out=...)", out), f"{name}(out={{}})")
    result = function(*args, **options)
    return put_out(name, result, shape_of(result), out)


def put_out(
    name: str, result: Any, shape: tuple, out: Any, where: Any = True, casting: Any = "same_kind"
) -> Any:
    """Write the result of a function, of this `shape`, to `out` where `where` is true."""
    result = given(result)
    if shape != out.shape:
        raise DimensionMismatch(
            f"{name}: a result of shape {shape_of(result)} does not fit out of shape {out.shape}"
        )
    _require_cast(name, result.dtype, out, casting)
    result = result if where is True else np.where(where, result, out)
    held = out.take_in(result) if isinstance(out, Fillable) else out
    memory.write(held, ..., result, f"{name}(out={{}})")
    return out


@implements(np.copyto)
def copyto(dst, src, casting="same_kind", where: Any = True):
    """Write `src` to `dst` where `where` is true."""
    dst = target_of("np.copyto", dst, src, where)
    if not is_a(src, (int, float)):
        src = given(src)
        _require_cast("np.copyto", src.dtype, dst, casting)
    if where is not True:
        src = np.where(np.broadcast_to(where, dst.shape), src, dst)
    memory.write(dst, ..., src, "np.copyto({}, v)")


def _at(a: Array, places: np.ndarray) -> Any:
    """The index of flat positions."""
    if not a.shape:
        return ...
    return places if len(a.shape) == 1 else np.unravel_index(places, a.shape)


def _repeated(values: Any, size: int) -> Any:
    """`size` values, repeated cyclically."""
    values = memory.copied(np.reshape(given(values), -1))
    length = shape_of(values)[0]
    return values if length == size else values[np.arange(size) % length]


@implements(np.put)
def put(a, ind, v, mode="raise"):
    """Write `v` to flat positions `ind`; too few values are repeated."""
    a = target_of("np.put", a, v)
    places = np.asarray(ind).reshape(-1).astype(np.intp)
    size = a.size
    if mode == "wrap":
        places = places % size
    elif mode == "clip":
        places = places.clip(0, size - 1)
    elif ((places < -size) | (places >= size)).any():
        raise IndexOutOfBounds(f"np.put: an index is out of bounds for an array of {size} elements")
    v = given(v)
    if places.size and v.size:
        values = _repeated(v, places.size)
        values = values if a.shape else values[-1]
        memory.write(a, _at(a, places % size), values, "np.put({}, i, v)")


@implements(np.place)
def place(arr, mask, vals):
    """Write `vals` in order to the elements where the mask is true."""
    arr, vals = target_of("np.place", arr, mask, vals), given(vals)
    if isinstance(mask, Array):
        if vals.size != 1:
            raise StaticError(
                "np.place: the mask depends on the arguments, so only one value can be placed: "
                "write np.copyto(y, np.where(mask, v, y)) with a v of the shape of y"
            )
        memory.write(arr, mask, np.reshape(vals, ()), "np.place({}, mask, v)")
        return
    mask = np.asarray(mask, bool).reshape(arr.shape)
    count = int(mask.sum())
    if not count:
        return
    if not vals.size:
        raise EmptyError("Cannot insert from an empty array!")
    memory.write(arr, mask, _repeated(vals, count), "np.place({}, mask, v)")


@implements(np.putmask)
def putmask(a, mask, values):
    """Write `values` at the same positions to the elements where the mask is true."""
    a, values = target_of("np.putmask", a, mask, values), given(values)
    if values.shape:
        values = np.reshape(_repeated(values, a.size), a.shape)
    what = "np.putmask({}, mask, v)"
    if isinstance(mask, Array):
        return memory.write(a, ..., np.where(mask, values, a), what)
    mask = np.asarray(mask, bool).reshape(a.shape)
    memory.write(a, mask, values[mask] if values.shape else values, what)


@implements(np.put_along_axis)
def put_along_axis(arr, indices, values, axis: int | None = -1):
    """Write values to the positions `indices` along an axis."""
    arr = target_of("np.put_along_axis", arr, indices, values)
    what = "np.put_along_axis({}, i, v)"
    if isinstance(indices, Array):
        if axis is None or indices.shape[axis] != 1:
            raise StaticError(
                "np.put_along_axis: the positions depend on the arguments, so which of them are "
                "equal is not known: write one of them in each row at a time"
            )
        n, after = arr.shape[axis], arr.ndim - range(arr.ndim)[axis] - 1
        places = np.arange(n).reshape(-1, *(1,) * after)
        chosen = np.equal(places, np.where(indices < 0, indices + n, indices))
        memory.write(arr, ..., np.where(chosen, values, arr), what)
        return
    if axis is None:
        index: Any = _at(arr, np.asarray(indices))
    else:
        axis = range(arr.ndim)[axis]
        index = tuple(
            indices if i == axis else np.arange(n).reshape(-1, *(1,) * (arr.ndim - i - 1))
            for i, n in enumerate(arr.shape)
        )
    memory.write(arr, index, values, what)


@implements(np.fill_diagonal)
def fill_diagonal(a, val, wrap: bool = False):
    """Write values to the main diagonal."""
    a, val = target_of("np.fill_diagonal", a, val), given(val)
    if a.ndim < 2:
        raise ArgumentError("array must be at least 2-d")
    end = None
    if a.ndim == 2:
        step = a.shape[1] + 1
        if not wrap:
            end = a.shape[1] * a.shape[1]
    elif len(set(a.shape)) > 1:
        raise ArgumentError("All dimensions of input must be of equal length")
    else:
        step = 1 + sum(a.shape[0] ** i for i in range(1, a.ndim))
    places = np.arange(a.size)[:end:step]
    values = _repeated(val, places.size) if val.shape else val
    memory.write(a, _at(a, places), values, "np.fill_diagonal({}, v)")


@implements("ufunc.at")
def at(ufunc, array, indices, *more):
    """Apply a ufunc in place to the elements at an index; repeated positions accumulate."""
    name = f"np.{ufunc.__name__}.at"
    array = target_of(name, array, indices, *more)
    what = f"{name}({{}}, i, v)"
    entries = indices if isinstance(indices, tuple) else (indices,)
    sign = {np.add: 1.0, np.subtract: -1.0}.get(ufunc)
    if any(isinstance(entry, Array) for entry in entries):
        if sign is None:
            raise UntrackedError(
                f"{name}: the index depends on the arguments: only np.add.at may", code="NB-INTEGER"
            )
        memory.write(array, ..., functions["at"](array)[indices].add(sign * more[0]), what)
        return
    positions = np.arange(array.size).reshape(array.shape)[indices]
    flat = positions.reshape(-1)
    # Copied, since the values may be views of the array.
    operands = [memory.copied(np.reshape(np.broadcast_to(v, positions.shape), -1)) for v in more]
    order = np.argsort(flat, kind="stable")
    first = np.r_[True, np.diff(flat[order]) != 0]
    starts = np.maximum.accumulate(np.where(first, np.arange(flat.size), 0))
    turns = np.empty(flat.size, np.intp)
    turns[order] = np.arange(flat.size) - starts
    if sign is not None and turns.max(initial=0) > 2:
        memory.write(array, ..., functions["at"](array)[indices].add(sign * given(more[0])), what)
        return
    for turn in range(turns.max(initial=-1) + 1):
        chosen = np.flatnonzero(turns == turn)
        index = _at(array, flat[chosen])
        values = [v if chosen.size == flat.size else v[chosen] for v in operands]
        memory.write(array, index, ufunc(array[index], *values), what)
