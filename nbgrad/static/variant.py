"""One compiled program: its text, and the functions that Python, `@njit` code and C call."""

import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from ..core import Aval
from ..kernels.program import Entry, arena, cfunc, njit, overlapping, pack
from ..symbols import Symbol
from ..transforms import trees
from . import native, report
from .caller import handed
from .emit import emit
from .lower import lower
from .program import Program


class Variant:
    """A compiled function for one structure of arguments, their shapes and dtypes.

    `source` is its text, `program` what was recorded, `plan` its steps and buffers. The C functions
    of `address` and `cfunc` live as long as the variant, and read captured arrays, as `njit` does,
    as they were when first asked for.
    """

    def __init__(self, program: Program):
        self.program = program
        graph, outputs = lower(program)
        self._emitted = emit(graph, outputs, program.name)
        self.captured = tuple(graph.captured)
        self.frame = self._emitted.frame
        self.packed = self.frame.packed
        self._home = Entry(program.name, self._emitted.source)
        self._lock = threading.RLock()
        self._cfuncs: dict[str, Any] = {}

    @property
    def source(self) -> str:
        """The text of the Numba module, with the user's lines as comments beside the steps."""
        return report.annotated(self._emitted)

    @property
    def plan(self) -> report.Plan:
        """Steps with their work, and buffers."""
        return report.plan_of(self._emitted)

    # -- for @njit code and C -----------------------------------------------------------------

    @cached_property
    def njit(self) -> Callable:
        """For `@njit` code: the arrays and numbers of the arguments in order give the outputs in
        order, arrays of another shape raise ValueError."""
        captured = list(map(handed, self.captured))
        return njit(self.program.name, self._emitted.source, len(self.program.inputs), 0, captured)

    @cached_property
    def njit_into(self) -> Callable:
        """For `@njit` code: after the arguments come the arrays for the results that are arrays.

        It returns the results that are numbers (one alone is no tuple; None where there is none)
        and allocates nothing, unless a result overlaps another array or scratch is large.
        """
        captured = list(map(handed, self.captured))
        name = f"{self.program.name}_into"
        text = self._module(native.into(self.frame))
        return njit(name, text, len(self.program.inputs), len(self.frame.arrays()), captured)

    @property
    def address(self) -> int:
        """A C function `void(double** inputs, double** results)`, for ctypes and others.

        Both are tables of pointers in order, numbers included; results must not overlap anything.
        Integers are int64, float32 is float, bools are bytes.
        """
        return self.cfunc("addressed").address

    def cfunc(self, kind: str) -> Any:
        """The program as Numba's CFunc, whose `address` and `ctypes` others take.

        Arguments:
            kind: "quad" is `double(int n, double* x, void* data)` for a function with one number as
                its result, its arguments one after another in `x`: `scipy.LowLevelCallable`.
                "ode" is `void(double t, double* u, double* du, double* p)` for `f(t, u)` or
                `f(t, u, parameters)`, as lsoda and its like take it.

        Raises TraceError where the function has another form, or a dtype that is not float64.
        """
        makers = {"addressed": native.addressed, "quad": native.quad, "ode": native.ode}
        if kind not in makers:
            raise ValueError(f'cfunc is for "quad" or "ode", not {kind!r}')
        with self._lock:
            if kind not in self._cfuncs:
                # Copies that live as long as the function: their addresses stand in its text.
                captured = [np.array(array, self.frame.inputs[len(self.program.inputs) + i].dtype)
                            for i, array in enumerate(self.captured)]  # fmt: skip
                text = makers[kind](self.frame, [array.ctypes.data for array in captured])
                made = cfunc(f"{self.program.name}_{kind}", self._module(text), kind)
                self._cfuncs[kind] = (made, captured)
            return self._cfuncs[kind][0]

    def _module(self, text: str) -> str:
        return native.module(text, f"{self.program.name}_core", self._home.home)

    # -- for Python ---------------------------------------------------------------------------

    @cached_property
    def _entry(self) -> Entry:
        if not self.frame.large:
            return self._home
        text = self._module(native.entry(self.frame, arena=True))
        return Entry(self.program.name, text)

    @cached_property
    def _into(self) -> Entry:
        text = native.into(self.frame, arena=True)
        return Entry(f"{self.program.name}_into", self._module(text))

    @cached_property
    def _table(self) -> Entry:
        return Entry(f"{self.program.name}_packed", self._module(native.packed(self.frame)))

    @property
    def entry(self) -> Callable:
        """What Python calls: `entry(leaves, captured, scratch)`; of many arrays, `entry(table,
        scalars, scratch)`."""
        return self._table.call if self.packed else self._entry.call

    @cached_property
    def kinds(self) -> list[np.dtype]:
        """The dtypes of the outputs."""
        return [o.dtype if isinstance(o, Symbol) else np.asarray(o).dtype
                for o in self.program.outputs]  # fmt: skip

    def scratch(self) -> list[np.ndarray]:
        """What is handed over last, where scratch is large."""
        return [arena(self.frame.memory.size)] if self.frame.large else []

    def fresh(self) -> list[np.ndarray]:
        """New arrays for the results that are arrays."""
        values = [self.frame.outputs[i] for i in self.frame.arrays()]
        return [np.empty(value.shape, value.dtype) for value in values]

    def run(self, leaves: list[Any]) -> Any:
        """The function's result for leaves in order."""
        given = [*map(handed, leaves), *map(handed, self.captured)]
        if self.packed:
            arrays = self.fresh()
            numbers = self._tabled(given, arrays)
            return self._built(arrays, numbers)
        given += self.scratch()
        self._entry.prepare(given)
        results = self._entry.call(*given)
        results = list(results) if len(self.program.outputs) > 1 else [results]
        arrays = [results[i] for i in self.frame.arrays()]
        return self._built(arrays, [results[i] for i in self.frame.scalars()])

    def write(self, leaves: list[Any], out: Any) -> Any:
        """The function's result, its arrays written into those of `out`."""
        given = [*map(handed, leaves), *map(handed, self.captured)]
        places = self._places(out)
        if self.packed:
            return self._built(places, self._tabled(given, places))
        given += [*places, *self.scratch()]
        self._into.prepare(given)
        numbers = self._into.call(*given)
        count = len(self.frame.scalars())
        return self._built(places, [numbers] if count == 1 else list(numbers or ()))

    def _places(self, out: Any) -> list[np.ndarray]:
        """The arrays of `out`. Raises ValueError, which names the leaf."""
        name = self.program.name
        example = self.program.rebuild(list(range(len(self.program.outputs))))
        places = [place for place in trees.flatten(out)[0] if place is not None]
        if trees.structure(_boxed(out)) != trees.structure(_boxed(example)):
            raise ValueError(f"{name}: out= has another nesting than the result, {example}")
        for i in self.frame.arrays():
            place, wanted = places[i], self.frame.outputs[i]
            if isinstance(place, np.ndarray):
                flags = place.flags
                if place.shape == wanted.shape and place.dtype == wanted.dtype and (
                    flags.c_contiguous and flags.writeable and place.dtype.isnative
                ):  # fmt: skip
                    continue
                layout = "" if flags.c_contiguous else ", not contiguous"
                found = f"{Aval.of(place.shape, place.dtype)}{layout}"
                found += "" if flags.writeable else ", read-only"
            else:
                found = f"a {type(place).__name__}"
            raise ValueError(
                f"{name}: leaf {i} of out= must be a contiguous array of shape {wanted.shape} and "
                f"dtype {wanted.dtype} that can be written to; it is {found}"
            )
        return [places[i] for i in self.frame.arrays()]

    def _tabled(self, given: list[Any], results: list[np.ndarray]) -> list[Any]:
        """Run the program on a table of addresses; the numbers that it returns."""
        arrays = [x for x, v in zip(given, self.frame.inputs, strict=True) if v.shape != ()]
        for array, value in zip(arrays, (v for v in self.frame.inputs if v.shape), strict=True):
            if array.shape != value.shape:
                raise ValueError(f"{self.program.name} was compiled for a shape {value.shape}")
        sizes = np.array([x.nbytes for x in [*arrays, *results]])
        table = tabled([*arrays, *results])
        if overlapping(table[: len(sizes)], sizes, len(results)):
            apart = self.fresh()
            numbers = self._tabled(given, apart)
            for place, array in zip(results, apart, strict=True):
                place[...] = array
            return numbers
        scalars = [x for x, v in zip(given, self.frame.inputs, strict=True) if v.shape == ()]
        call = [table, *scalars, *self.scratch()]
        self._table.prepare(call)
        numbers = self._table.call(*call)
        count = len(self.frame.scalars())
        return [numbers] if count == 1 else list(numbers or ())

    def _built(self, arrays: list[Any], numbers: list[Any]) -> Any:
        results: list[Any] = [None] * len(self.program.outputs)
        for i, array in zip(self.frame.arrays(), arrays, strict=True):
            results[i] = array
        for i, number in zip(self.frame.scalars(), numbers, strict=True):
            results[i] = np.float32(number) if self.kinds[i] == np.float32 else number
        return self.program.rebuild(results)


def _boxed(tree: Any) -> Any:
    return (None, tree)  # a bare leaf has no structure


def tabled(arrays: list[np.ndarray]) -> np.ndarray:
    """Their addresses, and some more at the end. The arrays must be contiguous and stay alive."""
    flat = [array.reshape(-1) for array in arrays]
    flat += flat[-1:] * (-len(flat) % 8)
    table = np.empty(len(flat), np.int64)
    for at in range(0, len(flat), 8):
        pack.dispatcher(table, at, *flat[at : at + 8])
    return table
