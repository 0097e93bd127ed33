"""`Variant`: one compiled program, its stages, and its entry points for Python, Numba and C."""

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compiler.forks import fork_safe, with_open_properties
from ..compiler.program import cfunc, njit
from ..errors import ArgumentError, CFunctionError
from ..threads import pool
from .entry import c_abi, njit_entry
from .entry.flatten import Leaf, entry_argument
from .entry.module import emit
from .entry.python_entry import PythonEntry
from .entry.run import code_and_words
from .lower import lower
from .lower.unrolled import with_unrolled_writes
from .trace.program import Program

if TYPE_CHECKING:
    from ..compiler.numba_api import CFunc
    from .inspect.report import Plan
    from .inspect.stages import Loops, Lowered, Scheduled
    from .reads.guard import Guard


@with_open_properties
class Variant:
    """A compiled function for one structure of arguments, their shapes and dtypes.

    Its stages are `program` (recorded), `lowered`, `schedule`, `loops` and `source` (text); `plan`
    lists the work of its steps and its buffers. The C functions of `address` and `cfunc` live as
    long as the variant, and use copies of captured arrays made at the first access, as `njit` does.
    """

    guard: "Guard"

    def __init__(self, program: Program):
        self.program = program
        graph, outputs = lower(program)
        outputs = with_unrolled_writes(graph, outputs)
        self._emitted = emit(graph, outputs, program.name)
        self.captured = tuple(graph.captured)
        self.signature = self._emitted.signature
        self.signature.separate = program.separate
        self.packed = self.signature.packed
        self.names: dict[str, str] = {}  # of sizes, and their names in the text
        self.remainders: tuple[tuple[str, int, int], ...] = ()  # of sizes, which it is for
        self.comparison: Any = None  # with programs recorded for other sizes
        self.others: set[tuple[int, ...]] = set()  # sizes with another program
        self._lock = fork_safe(threading.RLock())
        self._cfuncs: dict[str, Any] = {}
        # For kinds of arguments: how often a caller was generated, and the latest.
        self.fronts: dict[tuple, tuple[int, Callable | None]] = {}

    @property
    def sizes(self) -> tuple[str, ...]:
        """The names of sizes that are known at run time."""
        return tuple(self.names)

    def holds_for(self, sizes: Mapping[str, int]) -> bool:
        """Return whether the program is valid for these sizes."""
        known = {self.names[name]: n for name, n in sizes.items()}
        return all(each.holds(known) for each in self.signature.conditions.values())

    @property
    def code(self) -> str:
        """The LLVM assembly of the kernels and the core."""
        return self._emitted.linked.text

    @property
    def source(self) -> str:
        """The text of the Numba module, with the user's lines as comments beside the steps."""
        from .inspect.report import annotate

        return annotate(self._emitted)

    @property
    def plan(self) -> "Plan":
        """The steps with their operation counts and bytes moved, and the buffers."""
        from .inspect.report import plan_of

        return plan_of(self._emitted)

    @property
    def lowered(self) -> "Lowered":
        """The lowered program."""
        from .inspect.stages import Lowered

        return Lowered(self._emitted)

    @property
    def schedule(self) -> "Scheduled":
        """The groups of values that share a loop nest, and the order of the steps."""
        from .inspect.stages import Scheduled

        return Scheduled(self._emitted)

    @property
    def loops(self) -> "Loops":
        """The kernels and the core of the program, as statements over buffers."""
        from .inspect.stages import Loops

        return Loops(self._emitted)

    # -- for @njit code and C -----------------------------------------------------------------

    @cached_property
    def njit(self) -> Callable:
        """The function for `@njit` code, from the leaves of the arguments to the leaves of the
        result. Arrays of another shape raise ValueError."""
        name = self.program.name
        return self._njit(njit_entry.entry(self.signature, name, self._emitted.function), 0)

    @cached_property
    def njit_into(self) -> Callable:
        """The function for `@njit` code with output arrays, which follow the arguments.

        It returns the results that are numbers: a tuple, a single number, or None. It allocates
        nothing, unless a result overlaps another array or the scratch memory is large.
        """
        entry = njit_entry.into(self.signature, self._emitted.function)
        return self._njit(entry, len(self.signature.arrays()))

    def _njit(self, entry: njit_entry.Entry, results: int) -> Callable:
        """The function of an entry with so many arrays for results."""
        count = len(self.program.inputs)
        return njit(entry.name, entry.kernel(), count, results, self._given())

    @property
    def address(self) -> int:
        """The address of a C function `void(double** inputs, double** results)`.

        Both are tables of pointers in order, numbers included. Results must not overlap other
        arrays. Integers have the width of their dtype, float32 is float, bools are bytes.
        """
        address = self.cfunc("addressed").address
        assert address is not None  # it is compiled
        return address

    def in_memory(
        self, inputs: Sequence[Leaf], results: Sequence[np.ndarray]
    ) -> tuple[int, np.ndarray, list[Any]]:
        """Return the address of a C function `i32 run(words, numbers)`, the words for these inputs
        and arrays of results, and all that must stay alive while it is called.

        The function writes the arrays, and the results that are numbers to `numbers`, a word each.
        It returns 0 unless a check of the program fails. Words may be used by one thread at a time.
        """
        given = [*map(entry_argument, inputs), *self._given(), *results]
        if self.signature.large:
            given.append(np.empty(int(self.signature.memory.size), np.uint8))
        code = code_and_words(self.signature, self._emitted.linked, given)
        return *code, [self, *given]

    def cfunc(self, kind: str) -> "CFunc":
        """Return the program as a Numba `CFunc`, which has an `address` and a `ctypes` function.

        Arguments:
            kind: "quad" is `double(int n, double* x, void* data)` for a function with one number as
                its result, its arguments one after another in `x`: `scipy.LowLevelCallable`.
                "ode" is `void(double t, double* u, double* du, double* p)` for `f(t, u)` or
                `f(t, u, parameters)`, as lsoda and its like take it.

        Raises:
            TraceError: the function has another form, a dtype other than float64, or named sizes.
        """
        makers = {"addressed": c_abi.addressed, "quad": c_abi.quad, "ode": c_abi.ode}
        if kind not in makers:
            raise ArgumentError(f'cfunc is for "quad" or "ode", not {kind!r}', code="NB-CFUNC")
        if self.sizes:
            raise CFunctionError(
                f"{self.program.name}: a C function has pointers and no sizes: compile it "
                "without dynamic="
            )
        with self._lock:
            if kind not in self._cfuncs:
                # Copies that live as long as the function, whose text has their addresses.
                inputs = self.signature.inputs[len(self.program.inputs) :]
                captured = [
                    np.array(array, value.dtype)
                    for array, value in zip(self._given(), inputs, strict=True)
                ]
                addresses = [array.ctypes.data for array in captured]
                entry = makers[kind](self.signature, addresses, self._emitted.linked)
                function = cfunc(entry.kernel(), kind)
                self._cfuncs[kind] = (function, captured)
            return self._cfuncs[kind][0]

    def _given(self) -> list[Leaf]:
        """Return the captured arrays as arguments of entries. Start the thread pool if needed."""
        if self._emitted.in_pieces:
            pool.ready()
        return list(map(entry_argument, self.captured))

    # -- for Python ---------------------------------------------------------------------------

    @cached_property
    def python(self) -> PythonEntry:
        """The entry that Python calls."""
        return PythonEntry(self.program, self.signature, self.captured, self._emitted)
