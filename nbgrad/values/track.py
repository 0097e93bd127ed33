"""`track` and `leaf_of`: leaves of the graph."""

from typing import Any, cast

import numpy as np

from ..complex import ComplexArray, is_complex, lifted
from ..core.array import Array
from ..core.memory import make_mutable
from ..core.primitive import current_level
from ..kernels.shapes import MOST_AXES
from ..rules.families import FLOATS
from . import nested as nested
from . import stale_views as stale_views
from . import tracked
from .graph import ARGUMENT, Leaf
from .operands import float_array
from .tracked import TrackedArray


def track(x: Any, name: str = "", *, copy: bool = True) -> TrackedArray:
    """Make a leaf of the graph: an array with a gradient.

    Arguments:
        x: a number or anything that `np.asarray` takes. Integers and bools become float64, float32
            stays. Of complex numbers it makes a `ComplexArray`, of two leaves. A tracked array is
            returned as it is.
        name: shown by `repr`, `print_tree` and errors.
        copy: False shares the memory of a contiguous float array, at the caller's risk.

    Raises TypeError for objects and strings.

    >>> x = nbgrad.track(2.0, "x")
    >>> x
    2.0 (tracked x)
    """
    Leaf.tracked = True
    if type(x) is np.ndarray and x.dtype in FLOATS and copy:
        return tracked.make_leaf(x.copy(), name, current_level())
    if isinstance(x, (Array, ComplexArray)):
        return cast(TrackedArray, x)
    if is_complex(x):
        return cast(TrackedArray, _complex_leaf(x, name))
    return tracked.make_leaf(float_array(x, copy), name, current_level())


def _complex_leaf(x: Any, name: str) -> ComplexArray:
    """Two leaves, the real and the imaginary part."""
    return ComplexArray(
        *(
            track(part, f"{name}.{which}" if name else "")
            for which, part in zip(("real", "imag"), lifted(x).parts, strict=True)
        )
    )


def leaf_of(x, level: int) -> TrackedArray:
    """Make a leaf at `level` of an argument: a plain value, or an array of a lower level."""
    is_array = type(x) is np.ndarray
    is_plain = is_array and x.dtype in FLOATS and x.flags.carray
    if not is_plain or x.ndim > MOST_AXES:
        x = float_array(x)
    leaf = tracked.make_leaf(x, ARGUMENT, level)
    if is_array and not leaf.shape:
        make_mutable(leaf)
    return leaf
