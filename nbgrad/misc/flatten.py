"""Conversion between trees and vectors, under autograd's names."""

from collections.abc import Callable
from typing import Any

from ..transforms.flat import ravel as flatten

__all__ = ["flatten", "flatten_func"]


def flatten_func(func: Callable, example: Any) -> tuple[Callable, Callable, Any]:
    """Return `func` as a function of vectors, the inverse of `flatten`, and the flat `example`.

    >>> f, unflatten, x = flatten_func(lambda p: {"a": 2 * p["a"]}, {"a": np.ones(2)})
    >>> f(x), unflatten(x)
    (array([2., 2.]), {'a': array([1., 1.])})
    """
    vector, unflatten = flatten(example)
    return lambda x, *args: flatten(func(unflatten(x), *args))[0], unflatten, vector
