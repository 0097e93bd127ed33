"""NumPy functions that are refused for tracked arrays, each with the way round, and those that look
at values, shapes or dtypes alone."""

import numpy as np

from ..core.array import Array, functions, implements
from ..core.conversions import NESTED
from ..core.functions import remedies
from ..core.memory import share
from ..core.primitive import shape_of
from . import cholesky, matrix_functions, structured, sylvester, toeplitz, triangular
from .select import on_values
from .shape import roll

_COMPLEX = (
    "its result is complex, and nbgrad computes with real numbers: products with np.cos and np.sin "
    "of the frequencies give the real and imaginary parts"
)
_ARRAY = (
    f"a plain array would lose the derivative: {NESTED}; use x itself, or x.data for the plain "
    "numbers"
)
_FILE = "it writes numbers: give it x.data"
_NUMBERS = "it makes an array of plain numbers: {}"

remedies |= {
    **dict.fromkeys(
        [f"np.fft.{name}" for name in (
            "fft", "fft2", "fftn", "ifft", "ifft2", "ifftn", "rfft", "rfft2", "rfftn", "irfft",
            "irfft2", "irfftn", "hfft", "ihfft",
        )],
        _COMPLEX,
    ),
    "np.sort_complex": "its result is complex: np.sort gives real numbers",
    **dict.fromkeys(
        ["np.asarray_chkfinite", "np.asmatrix", "np.from_dlpack"],
        _ARRAY,
    ),
    "np.bmat": "matrices are not tracked: np.block joins blocks",
    "np.matrix": "matrices are not tracked: use arrays with two axes, and @",
    "np.random": "it draws plain numbers: scale and shift a plain draw, as in mean + std * "
    "np.random.normal(size=n), or take elements at plain positions, x[np.random.permutation(n)]",
    **dict.fromkeys(["np.save", "np.savez", "np.savez_compressed", "np.savetxt"], _FILE),
    "np.histogram_bin_edges": _NUMBERS.format(
        "np.linspace(np.min(x), np.max(x), bins + 1) is tracked"
    ),
    "np.arange": _NUMBERS.format("start + step * np.arange(n) is tracked"),
    "np.kaiser": _NUMBERS.format("np.i0 gives the window of a tracked beta"),
    "np.vectorize": "it calls a Python function on plain numbers: call the function on the whole "
    "array, or nbgrad.vmap(function)",
    "np.frompyfunc": "it calls a Python function on plain numbers: call the function on the whole "
    "array, or nbgrad.vmap(function)",
    "np.ix_": "positions are whole numbers: give it plain ones",
    "np.nested_iters": "it hands out plain numbers: index the array, or use x.data",
}  # fmt: skip

remedies |= {
    "scipy.linalg": "np.linalg and nbgrad.linalg have what takes tracked arrays",
    "scipy.stats": "nbgrad.stats has log densities that take tracked arrays",
    **{
        f"scipy.linalg.{name}": f"nbgrad.linalg.{name} takes tracked arrays"
        for module in (cholesky, matrix_functions, structured, sylvester, toeplitz, triangular)
        for name in module.__all__
    },
}

UNTRACKED = (
    np.spacing, np.isin, np.iscomplex, np.isreal, np.isneginf, np.isposinf, np.lexsort,
    np.format_float_positional, np.format_float_scientific,
)  # fmt: skip
functions |= {function: on_values(function) for function in UNTRACKED}


def _kind(x):
    return x.dtype if isinstance(x, Array) else x


@implements(np.result_type)
def result_type(*arrays_and_dtypes):
    """The dtype that NumPy promotes arrays and dtypes to."""
    return np.result_type(*map(_kind, arrays_and_dtypes))


@implements(np.common_type)
def common_type(*arrays):
    """The float dtype that arrays have in common."""
    kinds = [x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype for x in arrays]
    return np.common_type(*(np.empty(0, kind) for kind in kinds))


@implements(np.isrealobj)
def isrealobj(x):
    """True: there are no complex tracked arrays."""
    return True


def _sharing(asked):
    def shares(a, b, max_work=None):
        return isinstance(a, Array) and isinstance(b, Array) and share(a, b, asked)

    shares.__doc__ = "Whether a write to one array may be seen in the other."
    return shares


functions |= {asked: _sharing(asked) for asked in (np.may_share_memory, np.shares_memory)}


@implements(np.einsum_path)
def einsum_path(*operands, optimize="greedy", einsum_call=False):
    """The order of products, from the shapes of the operands alone."""
    plain = [np.broadcast_to(0.0, shape_of(x)) if isinstance(x, Array) else x for x in operands]
    return np.einsum_path(*plain, optimize=optimize)


def _shifted(x, axes, sign: int):
    shape = shape_of(x)
    axes = range(len(shape)) if axes is None else [axes] if np.ndim(axes) == 0 else axes
    axes = tuple(axes)
    return roll(x, tuple(sign * (shape[i] // 2) for i in axes), axes)


@implements(np.fft.fftshift)
def fftshift(x, axes=None):
    """The zero frequency moved to the middle."""
    return _shifted(x, axes, 1)


@implements(np.fft.ifftshift)
def ifftshift(x, axes=None):
    """The zero frequency moved back to the front."""
    return _shifted(x, axes, -1)
