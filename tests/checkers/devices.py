"""Device functions in plain Python: what the interpreter runs in place of machine code.

A compiled function of ours is Python: it runs as it reads, with all that it calls in plain Python
too. Instructions have a function that means the same.
"""

import types
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from checkers.blocks import Pointer
from nbgrad.compiler.pointers import move
from nbgrad.ir.core import Device

_OURS = "nbgrad."


@cache
def plain(function: Callable) -> Callable:
    """The definition of a function of ours in plain Python."""
    function = getattr(function, "twin", None) or getattr(function, "py_func", function)
    if not isinstance(function, types.FunctionType) or not function.__module__.startswith(_OURS):
        return function
    scope = dict(function.__globals__)
    for name in {*function.__code__.co_names} & scope.keys():
        if callable(scope[name]):
            scope[name] = plain(scope[name])
    return types.FunctionType(
        function.__code__, scope, argdefs=function.__defaults__, closure=function.__closure__
    )


def written(device: Device) -> int:
    """Which pointer a device function writes through; it reads through the others."""
    return 0 if device.function is move else len(device.extents) - 1


def run_device(device: Device, pointers: list[Pointer], numbers: list[Any]) -> None:
    """Run a device function on arrays of all that lies behind its pointers."""
    places = [np.arange(extent) for extent in device.extents]
    result, arrays = written(device), []
    for i, (pointer, place) in enumerate(zip(pointers, places, strict=True)):
        arrays.append(np.empty(len(place), pointer.dtype) if i == result else pointer.load(place))
    plain(device.function)(*arrays, *(number.item() for number in numbers))
    pointers[result].store(places[result], arrays[result])


__all__ = ["plain", "run_device", "written"]
