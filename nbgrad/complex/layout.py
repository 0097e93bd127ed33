"""Functions that act on the real and the imaginary part alike: shapes, joins, indices, sums."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.functions import mapped, name_of
from ..core.primitive import shape_of
from ..rules.layout import array as nested_array
from ..runtime.kinds import is_a
from .calls import complexly, has_complex, no_complex_rule
from .pair import ComplexArray, joined, parts_of

_ARRAY = (
    np.reshape, np.ravel, np.transpose, np.moveaxis, np.swapaxes, np.rollaxis, np.squeeze,
    np.expand_dims, np.broadcast_to, np.matrix_transpose, np.tile, np.repeat, np.flip, np.fliplr,
    np.flipud, np.rot90, np.roll, np.take, np.take_along_axis, np.diagonal, np.diag, np.diagflat,
    np.trace, np.tril, np.triu, np.delete, np.resize, np.copy, np.round, np.around, np.fix,
    np.sum, np.nansum, np.mean, np.cumsum, np.split, np.array_split, np.hsplit, np.vsplit,
    np.dsplit, np.fft.fftshift, np.fft.ifftshift, np.asarray, np.ascontiguousarray,
    np.atleast_1d, np.atleast_2d, np.atleast_3d, np.trim_zeros,
    *([np.unstack] if hasattr(np, "unstack") else []),
)  # fmt: skip
_ARRAYS = (
    np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack, np.block,
    np.broadcast_arrays,
)  # fmt: skip
_OTHERS = {
    np.diff: ("a", "prepend", "append"), np.ediff1d: ("ary", "to_end", "to_begin"),
    np.append: ("arr", "values"), np.insert: ("arr", "values"), np.compress: ("a",),
    np.extract: ("arr",), np.choose: ("choices",), np.select: ("choicelist", "default"),
    np.average: ("a",), np.trapezoid: ("y",), np.gradient: ("f",), np.apply_along_axis: (),
}  # fmt: skip


def _imaginary(x: Any) -> Any:
    """The imaginary part of an operand, with its shape."""
    if has_complex(x):
        return parts_of(x)[1]
    if is_a(x, (int, float, np.number)):
        return 0.0
    return np.zeros(shape_of(x), getattr(x, "dtype", np.float64))


def _real(x: Any) -> Any:
    return parts_of(x)[0] if has_complex(x) else x


def _joined(real: Any, imag: Any) -> Any:
    if is_a(real, (list, tuple)):
        return type(real)(_joined(a, b) for a, b in zip(real, imag, strict=True))
    return joined(real, imag)


def _parameters_of(function: Callable) -> list[inspect.Parameter]:
    """The parameters of a function. Old versions of NumPy have no signature of np.asarray."""
    try:
        return list(inspect.signature(function).parameters.values())
    except ValueError:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return [inspect.Parameter(name, kind) for name in ("a", "dtype")]


def by_parts(function: Callable, names: tuple[str, ...] | None = None) -> Callable:
    """The function of complex arrays that is `function` of both parts. `names` are its parameters
    that hold numbers; by default the first, and all that are given in its place."""
    parameters = _parameters_of(function)
    first = parameters[0]
    variadic = first.kind is inspect.Parameter.VAR_POSITIONAL

    def rule(*args: Any, **kwargs: Any) -> Any:
        if variadic:
            return _joined(
                function(*map(_real, args), **kwargs), function(*map(_imaginary, args), **kwargs)
            )
        held = dict(zip([x.name for x in parameters], args, strict=False)) | kwargs
        given = names or (first.name,)
        sides = []
        for part in (_real, _imaginary):
            changed = {name: mapped(part, held[name]) for name in given if name in held}
            positional = [changed.get(x.name, a) for x, a in zip(parameters, args, strict=False)]
            named = {name: changed.get(name, x) for name, x in kwargs.items()}
            if has_complex(positional, [*named.values()]):
                raise no_complex_rule(name_of(function))
            sides.append(function(*positional, **named))
        return _joined(*sides)

    return rule


for _function in (*_ARRAY, *_ARRAYS):
    complexly(_function)(by_parts(_function))
for _function, _names in _OTHERS.items():
    if _names:
        complexly(_function)(by_parts(_function, _names))
complexly((np.add, "reduce"))(lambda x, axis=0, **options: np.sum(x, axis=axis, **options))
complexly((np.add, "accumulate"))(lambda x, axis=0: np.cumsum(x, axis=axis))


@complexly(np.pad)
def pad(array, pad_width, mode: Any = "constant", **options):
    values = options.pop("constant_values", None)
    if values is None:
        return by_parts(np.pad)(array, pad_width, mode, **options)
    sides = (
        np.pad(part(array), pad_width, mode, constant_values=mapped(part, values))
        for part in (_real, _imaginary)
    )
    return joined(*sides)


@complexly(np.array)
def array(object, dtype=None, *, copy=True, order="K", subok=False, ndmin=0):
    """A new array from nested lists of numbers and arrays, complex ones among them."""
    value = nested_array(object)
    if value is object and copy:
        value = np.copy(value)
    value = value if dtype is None else value.astype(dtype)
    return np.reshape(value, (1,) * (ndmin - value.ndim) + value.shape)


@complexly(np.zeros_like, np.empty_like)
def zeros_like(a, dtype=None, shape=None, **options):
    if dtype is None and shape is None:
        return joined(np.zeros_like(a.real), np.zeros_like(a.imag))
    return np.zeros(a.shape if shape is None else shape, dtype or a.dtype)


@complexly(np.ones_like)
def ones_like(a, dtype=None, shape=None, **options):
    return np.ones(a.shape if shape is None else shape, dtype or a.dtype)


@complexly(np.shape)
def shape(a):
    return a.shape


@complexly(np.ndim)
def ndim(a):
    return a.ndim


@complexly(np.size)
def size(a, axis=None):
    return a.size if axis is None else a.shape[axis]


for _function in (np.any, np.all, np.nonzero, np.count_nonzero, np.flatnonzero, np.argwhere):

    def _of_mask(a, *args, _function=_function, **options):
        return _function(np.not_equal(a, 0), *args, **options)

    complexly(_function)(_of_mask)


@complexly(np.nan_to_num)
def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    return ComplexArray(*(np.nan_to_num(p, True, nan, posinf, neginf) for p in parts_of(x)))


@complexly(np.result_type)
def result_type(*args):
    return np.result_type(*(x.dtype if hasattr(x, "dtype") else x for x in args))


@complexly(np.allclose, np.isclose)
def isclose(a, b, *args, **options):
    return np.isclose(_plain(a), _plain(b), *args, **options)


def _plain(x: Any) -> Any:
    return x.data if type(x) is ComplexArray else getattr(x, "data", x)


complexly(np.allclose)(lambda *args, **options: bool(np.all(isclose(*args, **options))))


@complexly(np.array_equal)
def array_equal(a1, a2, equal_nan=False):
    return np.array_equal(_plain(a1), _plain(a2), equal_nan)
