"""`nbgrad.compile`: a function as Numba functions, one for each tree, shapes and dtypes."""

import re
from collections.abc import Callable
from functools import update_wrapper
from typing import Any

import numpy as np

from ..core import Aval
from ..errors import TraceError
from ..kernels._jit import kernel_from_source
from ..symbols import Symbol
from ..transforms import trees
from .emit import source_of
from .program import Program, trace


class Variant:
    """A compiled function for one structure of arguments, their shapes and dtypes.

    `njit` is callable from the user's own `@njit` code with the arrays and floats of the arguments
    in order; it returns the outputs in order. `source` is its text, `program` what was recorded.
    """

    def __init__(self, program: Program):
        self.program = program
        name, self.source = source_of(program)
        self._kernel = kernel_from_source(name, self.source)

    @property
    def njit(self) -> Callable:
        return self._kernel.dispatcher

    def __call__(self, leaves: list[Any]) -> Any:
        given = [
            float(leaf) if not symbol.shape else leaf
            for leaf, symbol in zip(leaves, self.program.inputs, strict=True)
        ]
        self._kernel.calls += 1
        results = self._kernel.dispatcher(*given)
        values = results if len(self.program.outputs) > 1 else (results,)
        return self.program.rebuild(
            [
                value if isinstance(value, np.ndarray) else output_dtype(output).type(value)
                for value, output in zip(values, self.program.outputs, strict=True)
            ]
        )


def output_dtype(output: Any) -> np.dtype:
    return output.dtype if isinstance(output, Symbol) else np.dtype(np.float64)


class StaticFunction:
    """What `nbgrad.compile` gives: called like the function, it compiles a variant for new
    shapes and runs it."""

    def __init__(self, f: Callable):
        update_wrapper(self, f, assigned=("__module__", "__name__", "__doc__"), updated=())
        self._f = f
        self._variants: dict[Any, Variant] = {}

    def __call__(self, *args):
        leaves, _ = trees.flatten(list(args))
        values = [_value(leaf) for leaf in leaves]
        return self._variant(args, values)([v for v in values if not isinstance(v, Static)])

    def variant(self, *args) -> Variant:
        """The variant for arguments like these: example arrays and numbers."""
        leaves, _ = trees.flatten(list(args))
        return self._variant(args, [_value(leaf) for leaf in leaves])

    @property
    def njit(self) -> Callable:
        """The Numba function of the only variant. Raises TraceError where there is none, or more
        than one."""
        if len(self._variants) != 1:
            raise TraceError(
                f"{self._name}.njit: there are {len(self._variants)} variants; call the function "
                "once with an example, or take .variant(*example).njit"
            )
        return next(iter(self._variants.values())).njit

    @property
    def _name(self) -> str:
        return getattr(self._f, "__name__", type(self._f).__name__)

    def _variant(self, args: tuple, values: list[Any]) -> Variant:
        kinds = tuple(
            v.value if isinstance(v, Static) else Aval.of(v.shape, v.dtype) for v in values
        )
        key = (trees.structure(args), kinds)
        variant = self._variants.get(key)
        if variant is None:
            _, rebuild = trees.flatten(list(args))

            def fill(symbols):
                rest = iter(symbols)
                return rebuild([v.value if isinstance(v, Static) else next(rest) for v in values])

            avals = [kind for kind in kinds if isinstance(kind, Aval)]
            name = re.sub(r"\W", "_", self._name)
            name = name if name.isidentifier() and name != "_lambda_" else "compiled"
            program = trace(self._f, name, avals, fill)
            program.check()
            variant = self._variants[key] = Variant(program)
        return variant


class Static:
    """A leaf that is part of the variant: an integer, a string, a function."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value


def _value(leaf: Any) -> Any:
    if not trees.is_differentiable(leaf):
        return Static(leaf)
    return np.asarray(leaf, np.float64) if isinstance(leaf, float) else np.asarray(leaf)


def compile(f: Callable) -> StaticFunction:
    """`f` as a Numba function, compiled at its first call for the arguments' shapes and dtypes.

    Arguments:
        f: a function of float arrays and numbers, or of nested dicts, lists and tuples of them,
            such as `nbgrad.value_and_grad(loss)`. Integers and other leaves are static.

    Today elementwise functions on arrays of one shape, scalars, and sums over all axes have a
    static form; anything else raises TraceError that names it.

    >>> f = nbgrad.compile(nbgrad.value_and_grad(lambda x: np.sum(np.tanh(x) * x)))
    >>> value, slope = f(np.array([0.0, 1.0]))
    >>> float(value).__round__(6), slope.round(6)
    (0.761594, array([0.      , 1.181568]))
    """
    trees.require_function("compile", f)
    return StaticFunction(f)
