"""From Python into a compiled program: leaves in order, results in new or in given arrays."""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from itertools import combinations
from typing import Any

import numpy as np

from ...capi.replaceable import AFTER
from ...compiler.entry import Result
from ...compiler.entry_code import is_at_hand
from ...compiler.forks import with_open_properties
from ...compiler.pointers import Overlap
from ...compiler.program import DISABLED
from ...compiler.straight import Straight
from ...core.primitive import Aval
from ...errors import ArgumentError, GraphError, require_unmasked
from ...runtime.kinds import is_a
from ...threads import pool
from ...transforms import trees
from ..trace.program import Program
from . import bodies, complex_places
from .flatten import PYTHONS, Leaf, Tree, entry_argument
from .module import Emitted
from .run import machine_entry, with_scratch
from .signature import Signature


@with_open_properties
class PythonEntry:
    """The entry of one program for Python.

    The caller allocates the arrays of results with NumPy, which is faster than compiled code for
    small arrays, and causes fewer page faults for large ones.
    """

    def __init__(self, program: Program, signature: Signature, captured: tuple, emitted: Emitted):
        self.program, self.signature, self.captured = program, signature, captured
        self._emitted = emitted
        self.kinds = [value.dtype for value in signature.outputs]
        # Numbered by floats, so that objects count as trees of what they hold.
        self.tree = program.rebuild([float(i) for i in range(len(program.outputs))])
        self._runs = 0
        self.has_complex = complex_places.has_complex(self.tree)

    @property
    def is_hot(self) -> bool:
        """Whether calls run the C function: it need not be compiled, or runs were many. To compile
        it takes as long as a thousand runs of the definition in Python."""
        return DISABLED or self._runs > AFTER or is_at_hand()

    @cached_property
    def call(self) -> Callable:
        """`call(leaves, captured, results)` gives the numbers of the result, or all of it
        where that is `complete`."""
        return self._made(in_python=False)

    @cached_property
    def _definition(self) -> Callable:
        return self._made(in_python=True)

    def _made(self, in_python: bool) -> Callable:
        if DISABLED:
            write = partial(bodies.given, self.signature)
            function = Straight(self.signature.name, [], write, self._emitted.function)
            plain = np.errstate(all="ignore")(function.plain())
            return self._checked(with_scratch(self.signature, plain))
        result = self.complete
        if result is None:
            scalars = tuple(range(len(self.signature.scalars())))
            result = scalars[0] if len(scalars) == 1 else scalars or None
        linked, brief = self._emitted.linked, self._emitted.brief
        return self._checked(machine_entry(self.signature, linked, result, brief, in_python))

    def _checked(self, call: Callable) -> Callable:
        """The entry, which raises GraphError if arguments that must be apart share memory."""
        if not self.program.apart:
            return call
        pairs = self.program.separate

        def checked(*given: Any) -> Any:
            for i, j, why in pairs:
                x, y = given[i], given[j]
                if np.may_share_memory(x, y) and np.shares_memory(x, y):
                    raise GraphError(why, code="NB-WRITE")
            return call(*given)

        return checked

    @cached_property
    def complete(self) -> Result:
        """The whole result, where the entry can make it: tuples of arrays and of Python's numbers.
        Else None."""
        numbers = [self.kinds[i] for i in self.signature.scalars()]
        if DISABLED or any(kind not in PYTHONS for kind in numbers):
            return None
        places = {i: k for k, i in enumerate(self.signature.scalars())}
        first = len(self.signature.inputs)
        places |= {i: ~(first + k) for k, i in enumerate(self.signature.arrays())}
        return _tuples(self.tree, places)

    def fresh(self, arguments: list[Leaf]) -> list[np.ndarray]:
        """New arrays for the results that are arrays."""
        values = [self.signature.outputs[i] for i in self.signature.arrays()]
        return [np.empty(self.signature.shape(v, arguments), v.dtype) for v in values]

    def run(self, leaves: list[Leaf], out: Tree = None) -> Tree:
        """The function's result for leaves in order, in the arrays of `out` where that is given."""
        arguments = [*map(entry_argument, leaves), *map(entry_argument, self.captured)]
        if out is not None and self.has_complex:
            return self._into_complex(arguments, out)
        results = self.fresh(arguments) if out is None else self._places(out, arguments)
        try:
            found = self._called(arguments, results)
        except Overlap:
            self._require_apart(results)
            apart = self.fresh(arguments)
            found = self._called(arguments, apart)
            for place, array in zip(results, apart, strict=True):
                place[...] = array
        return self._built(results, self._numbers(found))

    def _into_complex(self, arguments: list[Leaf], out: Tree) -> Tree:
        """The result, whose complex arrays are those of `out`."""
        places = self._places(complex_places.opened(out), arguments, contiguous=False)
        results = self.fresh(arguments)
        numbers = self._numbers(self._called(arguments, results))
        self._require_apart(places)
        for place, array in zip(places, results, strict=True):
            place[...] = array
        return complex_places.restored(self._built(places, numbers), out)

    def _numbers(self, found: Any) -> list[float]:
        """The numbers among what the entry gave, in the order of the outputs."""
        if self.complete is None:
            count = len(self.signature.scalars())
            return [found] if count == 1 else list(found or ())
        leaves, order = trees.flatten(_boxed(found))[0], trees.flatten(_boxed(self.tree))[0]
        numbers = {int(i): x for i, x in zip(order, leaves, strict=True) if is_a(i, float)}
        return [numbers[i] for i in self.signature.scalars()]

    def _called(self, arguments: list[Leaf], results: list[np.ndarray]) -> Any:
        if self._emitted.in_pieces:
            pool.ready()
        places = [x if type(x) is np.ndarray else x.view(np.ndarray) for x in results]
        self._runs += 1
        call = self.call if self.is_hot else self._definition
        return call(*arguments, *places)

    def _places(
        self, out: Tree, given: Sequence[Leaf], contiguous: bool = True
    ) -> list[np.ndarray]:
        """The arrays of `out`. Raises ValueError, which names the leaf."""
        name = self.program.name
        if not trees.same_structure(_boxed(out), _boxed(self.tree)):
            shown = self.program.rebuild(list(range(len(self.program.outputs))))
            if self.has_complex:
                shown = f"{self.tree}, where complex numbers stand for complex arrays"
            raise ArgumentError(
                f"{name}: out= has another nesting than the result, {shown}", code="NB-COMPILED"
            )
        leaves, numbers = trees.flatten(out)[0], trees.flatten(self.tree)[0]
        held = [is_a(number, (float, np.ndarray)) for number in numbers]  # arrays: complex parts
        places = [leaf for leaf, holds in zip(leaves, held, strict=True) if holds]
        for i in self.signature.arrays():
            place, value = places[i], self.signature.outputs[i]
            require_unmasked(place, f"{name}: leaf {i} of out=")
            shape = self.signature.shape(value, given)
            if is_a(place, np.ndarray):
                flags = place.flags
                if place.shape == shape and place.dtype == value.dtype and (
                    flags.c_contiguous >= contiguous and flags.writeable and place.dtype.isnative
                ):  # fmt: skip
                    continue
                layout = "" if flags.c_contiguous >= contiguous else ", not contiguous"
                description = f"{Aval.of(place.shape, place.dtype)}{layout}"
                description += "" if flags.writeable else ", read-only"
            else:
                description = f"a {type(place).__name__}"
            kind = "a contiguous array" if contiguous else "an array or part of a complex one,"
            raise ArgumentError(
                f"{name}: leaf {i} of out= must be {kind} of shape {shape} and "
                f"dtype {value.dtype} that can be written to; it is {description}",
                code="NB-COMPILED",
            )
        return [places[i] for i in self.signature.arrays()]

    def _require_apart(self, results: list[np.ndarray]) -> None:
        """Raise ValueError for two arrays of `out` that share memory: one would be lost."""
        for x, y in combinations(results, 2):
            if np.may_share_memory(x, y) and np.shares_memory(x, y):
                raise ArgumentError(
                    f"{self.program.name}: two arrays of out= share memory; give each result an "
                    "array of its own",
                    code="NB-COMPILED",
                )

    def _built(self, arrays: list[np.ndarray], numbers: list[float]) -> Tree:
        results: list[Any] = [None] * len(self.program.outputs)
        for i, array in zip(self.signature.arrays(), arrays, strict=True):
            results[i] = array
        for i, number in zip(self.signature.scalars(), numbers, strict=True):
            results[i] = number if self.kinds[i] in PYTHONS else self.kinds[i].type(number)
        return self.program.rebuild(results)


def _tuples(tree: Tree, places: dict[int, int]) -> Result:
    """Nested tuples of numbered outputs, which are found at `places`; None for anything else."""
    if type(tree) is float:
        return places.get(int(tree))
    if type(tree) is not tuple or not tree:
        return None
    parts = tuple(_tuples(part, places) for part in tree)
    return None if None in parts else parts


def _boxed(tree: Tree) -> Tree:
    return (tree,)  # a bare leaf has no structure
