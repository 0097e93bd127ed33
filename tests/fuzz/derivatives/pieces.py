"""A program in pieces: the same bits for any number of threads."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numba import prange

import nbgrad
from nbgrad.adjoints import work
from nbgrad.errors import NoRuleError
from nbgrad.loops.call import arguments
from nbgrad.loops.calls import Bound
from nbgrad.loops.packed import Derivative, derivative
from nbgrad.loops.primitive import derived

from .checking import Different, Unsupported, Unusable, check, expected, functions_of
from .drawing import Drawn

__all__ = ["check_in_pieces", "check_threads", "many_pieces"]

_FORCED = ((work, "_LARGE", 0), (work, "_SHIFT", 0), (work, "_SHARE", 1), (work, "_SHORT", 0))


@contextmanager
def many_pieces() -> Iterator[None]:
    """Each independent loop has as many pieces as rounds."""
    before = [getattr(module, name) for module, name, _ in _FORCED]
    for module, name, value in _FORCED:
        setattr(module, name, value)
    try:
        yield
    finally:
        for (module, name, _), value in zip(_FORCED, before, strict=True):
            setattr(module, name, value)


def check_in_pieces(program: Drawn) -> None:
    """`check` with many pieces."""
    with many_pieces():
        check(program)


def check_threads(program: Drawn) -> None:
    """Raise Different where the value, a tangent or a cotangent of a program, with `prange` in its
    loops for odd seeds, depends on the number of threads."""
    expected(program, np.random.default_rng(program.seed + 1))  # it can be used
    text = program.text
    if program.seed % 2:
        text = text.replace(" in range(", " in prange(")
    space = functions_of(text)
    space["prange"] = prange
    with many_pieces():
        try:
            every = _derivatives(space["drawn"], program)
            found = [_bits(every, count) for count in (1, 2, 3)]
        except NoRuleError as refused:
            raise Unsupported(str(refused)) from None
        finally:
            nbgrad.set_threads(None)
    if not found[0] == found[1] == found[2]:
        raise Different(f"the number of threads changes the bits: {found}")


def _derivatives(function: Any, program: Drawn) -> list[tuple[Derivative, list[Any]]]:
    """The value, tangent and cotangents of a program, with their arguments."""
    bound = Bound(function, tuple(program.arguments.values()), {})
    signature, leaves = bound.signature, arguments(bound)
    names = list(program.arguments)
    moving = tuple(names.index(name) for name in program.wrt)
    outs = tuple(i for i in sorted(signature.overwritten) if signature.leaves[i].is_float)
    value = derivative(signature, outs)
    size = value.size([np.shape(x) for x in leaves])
    if not size:
        raise Unusable("it gives no float")
    dots = [np.ones_like(leaves[i]) for i in moving]
    return [
        (value, leaves),
        (value.changed(along=(moving,)), [*leaves, *dots]),
        (value.changed(wrt=moving), [*leaves, np.ones(size, value.dtype)]),
    ]


def _bits(every: list[tuple[Derivative, list[Any]]], count: int) -> list[Any]:
    """Their results with a number of threads, as bytes, or an error."""
    nbgrad.set_threads(count)
    found: list[Any] = []
    for of, given in every:
        try:
            found.append(derived.evaluate(*given, of=of).tobytes())
        except ArithmeticError as error:
            found.append(repr(error))
    return found
