"""Functions of real arrays, extended to complex ones: linear in some arguments, or in two each."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ..complex import has_complex, joined, lifted, parts_of
from ..complex.products import bilinear
from ..core.primitive import shape_of
from ..errors import ComplexError

__all__ = ["linear_in", "product"]


def linear_in(*names: str) -> Callable[[Callable], Callable]:
    """Decorator: a function of real arrays that is linear in the arguments `names` together, of
    complex ones. Raises ComplexError for other arguments that are complex."""

    def extend(function: Callable) -> Callable:
        form = inspect.signature(function)

        @wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            held = form.bind(*args, **options).arguments
            mixed = [name for name, x in held.items() if has_complex(x)]
            if not mixed:
                return function(*args, **options)
            for name in mixed:
                if name not in names:
                    raise ComplexError(
                        f"{function.__name__}: {name} is complex; of complex arguments it takes "
                        f"only {' and '.join(names)}"
                    )
            sides = [
                function(**held | {n: part(held[n]) for n in names if held.get(n) is not None})
                for part in (_real, _imaginary)
            ]
            if isinstance(sides[0], tuple):
                return tuple(joined(a, b) for a, b in zip(*sides, strict=True))
            return joined(*sides)

        return call

    return extend


def _real(x: Any) -> Any:
    return parts_of(x)[0]


def _imaginary(x: Any) -> Any:
    return parts_of(x)[1] if has_complex(x) else np.zeros(shape_of(x))


def product(function: Callable) -> Callable:
    """Decorator: a function of real arrays that is linear in each of its first two arguments, of
    complex ones."""

    @wraps(function)
    def call(in1: Any, in2: Any, *args: Any, **options: Any) -> Any:
        if not (has_complex(in1) or has_complex(in2)):
            return function(in1, in2, *args, **options)
        return bilinear(lambda x, y: function(x, y, *args, **options), lifted(in1), lifted(in2))

    return call
