"""Families of primitives, which derive all rules from the arguments of a row.

* `Elementwise`: a scalar body and one partial per argument. The pullback is `scale(ct, partial)`,
  the pushforward the sum of `scale(tangent, partial)`.
* `Linear`: the op and its transpose. The pushforward is the op itself.
* `Bilinear`: the op and the transposes in its left and its right argument.
* `Custom`: an explicit pullback and pushforward, in NumPy terms.
* `Nondifferentiable`, `WithoutDerivative`: values only, such as comparisons and positions.

A partial is a straight-line NumPy expression in the arguments and the output. It is recorded on
symbols for the kernels and for static programs, runs on tracked and dual values for higher order,
and on plain arrays as the reference of the tests.
"""

from ..dtypes import FLOATS, float_type
from .arrays import Bilinear, Custom, Linear, WithoutDerivative, Written, zeros_like
from .functions import elementwise_function, scipy_function
from .samples import (
    Dominant,
    Interval,
    Sample,
    above_one,
    definite,
    in_doubles,
    positive,
    reals,
    sample,
)
from .scalar import (
    Elementwise,
    Nondifferentiable,
    elementwise,
    is_finite,
    nondifferentiable,
    scale,
    scaled,
    ufunc_primitives,
)

__all__ = [
    "FLOATS",
    "Bilinear",
    "Custom",
    "Dominant",
    "Elementwise",
    "Interval",
    "Linear",
    "Nondifferentiable",
    "Sample",
    "WithoutDerivative",
    "Written",
    "above_one",
    "definite",
    "elementwise",
    "elementwise_function",
    "float_type",
    "in_doubles",
    "is_finite",
    "nondifferentiable",
    "positive",
    "reals",
    "sample",
    "scale",
    "scaled",
    "scipy_function",
    "ufunc_primitives",
    "zeros_like",
]
