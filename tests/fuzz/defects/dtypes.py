"""Defects of dtypes, numbers and closed-over arrays, each there for as long as its `with` runs."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from unittest.mock import patch

import numpy as np

from nbgrad.core.primitive import Primitive
from nbgrad.core.symbols import Symbol
from nbgrad.rules import dtypes
from nbgrad.rules.families import Elementwise


@contextmanager
def integers_become_floats() -> Iterator[None]:
    """Elementwise results of integers are float64, with the digits that it holds."""

    def loop_types(self, *kinds, **params):
        floats = [k for i, k in enumerate(kinds) if i not in self.conditions]
        return (dtypes.float_type(*floats),) * (len(kinds) + 1)

    with patch.object(Elementwise, "loop_types", loop_types):
        yield


@contextmanager
def integers_divide_as_floats() -> Iterator[None]:
    """Compiled floor division, remainder and sign of integers use the scalar code of floats."""
    rows = [row for row in Primitive.registry.values() if isinstance(row, Elementwise)]
    kept = [row.whole for row in rows]
    try:
        for row in rows:
            row.whole = row.body
        yield
    finally:
        for row, whole in zip(rows, kept, strict=True):
            row.whole = whole


@contextmanager
def one_equals_true() -> Iterator[None]:
    """Static parameters that Python takes for equal share one op of a program."""

    def static_key(x):
        if isinstance(x, tuple):
            return tuple(map(static_key, x))
        if isinstance(x, slice):
            return ("slice", x.start, x.stop, x.step)
        return ("array", x.shape, x.dtype.str, x.tobytes()) if isinstance(x, np.ndarray) else x

    with patch("nbgrad.core.symbols.static_key", static_key):
        yield


@contextmanager
def times_one_is_nothing() -> Iterator[None]:
    """A product with 1.0 is its other factor, whatever the dtype."""

    multiply = Primitive.registry["multiply"]
    simplified = multiply.simplify

    def careless(builder, args):
        x, y = args
        is_one = isinstance(y, (int, float)) and y == 1.0
        return x if is_one and isinstance(x, Symbol) else simplified and simplified(builder, args)

    with patch.object(multiply, "simplify", careless):
        yield


def dicts_without_order() -> AbstractContextManager:
    """A dict with its keys in another order runs the program of the first order."""
    return patch("nbgrad.static.arguments.order_of", lambda tree: ())


@contextmanager
def derivatives_of_old_arrays() -> Iterator[None]:
    """What a rule makes of a closed-over array is made once, while the function is recorded."""
    with (
        patch("nbgrad.values.tracked.lifted", lambda args: args),
        patch("nbgrad.values.dual.lifted", lambda args: args),
        patch("nbgrad.values.batched.lifted", lambda args: args),
        changes_unnoticed(),
    ):
        yield


def changes_unnoticed() -> AbstractContextManager:
    """Indices and what is made of closed-over arrays stay as they were recorded."""
    return patch("nbgrad.static.trace.program.Program.is_current", lambda self: True)


def numbers_as_they_come() -> AbstractContextManager:
    """`@njit` code hands bytes and integers to a program of floats."""
    return patch("nbgrad.static.entry.bodies._Body.convert", lambda body: None)


DEFECTS: dict[str, Callable[[], AbstractContextManager]] = {
    "integers-become-floats": integers_become_floats,
    "integers-divide-as-floats": integers_divide_as_floats,
    "one-equals-true": one_equals_true,
    "times-one-is-nothing": times_one_is_nothing,
    "dicts-without-order": dicts_without_order,
    "derivatives-of-old-arrays": derivatives_of_old_arrays,
    "changes-unnoticed": changes_unnoticed,
    "numbers-as-they-come": numbers_as_they_come,
}
