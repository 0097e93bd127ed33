"""From Python into a compiled program: leaves in order, results in new or in given arrays."""

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from ...compiler.forks import with_open_properties
from ...compiler.pointers import Overlap
from ...compiler.program import DISABLED, Entry, arena
from ...core.primitive import Aval
from ...errors import require_unmasked
from ...runtime.kinds import is_a
from ...threads import pool
from ...transforms import trees
from ..trace.program import Program
from . import njit_entry
from .address_table import check_apart, table_of
from .flatten import PYTHONS, Leaf, Tree, entry_argument
from .signature import Signature


@with_open_properties
class PythonEntry:
    """The entry of one program for Python.

    The entry is given the arrays for results: where they are large, NumPy makes them with fewer
    page faults than compiled code, and where they are small, sooner. A program of many arrays is
    given a table of their addresses.
    """

    def __init__(
        self,
        program: Program,
        signature: Signature,
        captured: tuple,
        module: Callable,
        in_pieces: bool,
        is_brief: bool,
    ):
        self.program, self.signature, self.captured = program, signature, captured
        self._module, self._in_pieces, self._is_brief = module, in_pieces, is_brief
        self.kinds = [value.dtype for value in signature.outputs]
        # Numbered by floats, so that objects count as trees of what they hold.
        self.tree = program.rebuild([float(i) for i in range(len(program.outputs))])

    @cached_property
    def entry(self) -> Entry:
        """`entry(leaves, captured, results, scratch)`; of many arrays, `entry(table, numbers,
        scratch)`."""
        if self.signature.packed:
            kind, text = "packed", njit_entry.packed(self.signature)
        else:
            kind, text = "given", njit_entry.given(self.signature, self.result)
        return Entry(f"{self.program.name}_{kind}", self._module(text), self._is_brief)

    @cached_property
    def result(self) -> str:
        """The text of the whole result, where it is numbers of Python's in tuples: Numba makes it
        sooner. Else nothing."""
        signature = self.signature
        if signature.packed or signature.arrays() or any(k not in PYTHONS for k in self.kinds):
            return ""
        return _tuples(self.tree) or ""

    @property
    def takes_numbers(self) -> bool:
        """Whether all that the program is given is numbers."""
        return not DISABLED and all(value.shape == () for value in self.signature.inputs)

    def fresh(self, arguments: list[Leaf]) -> list[np.ndarray]:
        """New arrays for the results that are arrays."""
        values = [self.signature.outputs[i] for i in self.signature.arrays()]
        return [np.empty(self.signature.shape(v, arguments), v.dtype) for v in values]

    def run(self, leaves: list[Leaf], out: Tree = None) -> Tree:
        """The function's result for leaves in order, in the arrays of `out` where that is given."""
        arguments = [*map(entry_argument, leaves), *map(entry_argument, self.captured)]
        results = self.fresh(arguments) if out is None else self._places(out, arguments)
        if self.result:
            return self._called(arguments, results)
        try:
            return self._built(results, self._numbers(arguments, results))
        except Overlap:
            self._require_apart(results)
            apart = self.fresh(arguments)
            numbers = self._numbers(arguments, apart)
            for place, array in zip(results, apart, strict=True):
                place[...] = array
            return self._built(results, numbers)

    def _numbers(self, arguments: list[Leaf], results: list[np.ndarray]) -> list[float]:
        """Write the arrays of the result; the numbers of it."""
        numbers = self._called(arguments, results)
        count = len(self.signature.scalars())
        return [numbers] if count == 1 else list(numbers or ())

    def _called(self, arguments: list[Leaf], results: list[np.ndarray]) -> Any:
        if self._in_pieces:
            pool.ready()
        signature = self.signature
        size = signature.number(signature.memory.size, arguments)
        scratch = [arena(size)] if signature.large else []
        if signature.packed:
            sizes = [np.shape(arguments[i])[axis] for i, axis in signature.places.values()]
            table = self._table([*arguments, *results], arguments)
            arguments = [table, *self._scalars(arguments), *sizes]
            results = []
        return self.entry.run([*arguments, *results, *scratch])

    def _scalars(self, arguments: Sequence[Leaf]) -> list[Leaf]:
        return [x for x, v in zip(arguments, self.signature.inputs, strict=True) if v.shape == ()]

    def _table(self, values: Sequence[Leaf], given: Sequence[Leaf]) -> np.ndarray:
        arrays = [x for x in values if is_a(x, np.ndarray) and x.shape != ()]
        shapes = [self.signature.shape(value, given) for value in self.signature.blocks()]
        if [x.shape for x in arrays] != shapes:
            raise ValueError(f"{self.program.name} was compiled for arrays of other shapes")
        table = table_of([x.ravel() for x in arrays])
        check_apart(table, self.signature.bytes_of_blocks(given), len(self.signature.arrays()))
        return table

    def _places(self, out: Tree, given: Sequence[Leaf]) -> list[np.ndarray]:
        """The arrays of `out`. Raises ValueError, which names the leaf."""
        name = self.program.name
        if trees.structure(_boxed(out)) != trees.structure(_boxed(self.tree)):
            numbered = self.program.rebuild(list(range(len(self.program.outputs))))
            raise ValueError(f"{name}: out= has another nesting than the result, {numbered}")
        leaves, numbers = trees.flatten(out)[0], trees.flatten(self.tree)[0]
        places = [x for x, number in zip(leaves, numbers, strict=True) if is_a(number, float)]
        for i in self.signature.arrays():
            place, value = places[i], self.signature.outputs[i]
            require_unmasked(place, f"{name}: leaf {i} of out=")
            shape = self.signature.shape(value, given)
            if is_a(place, np.ndarray):
                flags = place.flags
                if place.shape == shape and place.dtype == value.dtype and (
                    flags.c_contiguous and flags.writeable and place.dtype.isnative
                ):  # fmt: skip
                    continue
                layout = "" if flags.c_contiguous else ", not contiguous"
                description = f"{Aval.of(place.shape, place.dtype)}{layout}"
                description += "" if flags.writeable else ", read-only"
            else:
                description = f"a {type(place).__name__}"
            raise ValueError(
                f"{name}: leaf {i} of out= must be a contiguous array of shape {shape} and "
                f"dtype {value.dtype} that can be written to; it is {description}"
            )
        return [places[i] for i in self.signature.arrays()]

    def _require_apart(self, results: list[np.ndarray]) -> None:
        """Raise ValueError for two arrays of `out` that share memory: one would be lost."""
        for x, y in combinations(results, 2):
            if np.may_share_memory(x, y):
                raise ValueError(
                    f"{self.program.name}: two arrays of out= share memory; give each result an "
                    "array of its own"
                )

    def _built(self, arrays: list[np.ndarray], numbers: list[float]) -> Tree:
        results: list[Any] = [None] * len(self.program.outputs)
        for i, array in zip(self.signature.arrays(), arrays, strict=True):
            results[i] = array
        for i, number in zip(self.signature.scalars(), numbers, strict=True):
            results[i] = number if self.kinds[i] in PYTHONS else self.kinds[i].type(number)
        return self.program.rebuild(results)


def _tuples(tree: Tree) -> str | None:
    """The text of nested tuples of numbered outputs; None where there is anything else."""
    if type(tree) is float:
        return f"s{int(tree)}"
    if type(tree) is not tuple or not tree:
        return None
    parts = [_tuples(part) for part in tree]
    return None if None in parts else f"({''.join(f'{part}, ' for part in parts)})"


def _boxed(tree: Tree) -> Tree:
    return (None, tree)  # a bare leaf has no structure
