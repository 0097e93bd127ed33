"""Plans of elementwise primitives: kernels emitted from the scalar body of the primitive and from
its recorded pullback, and generated straight-line functions that call them."""

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any, TypeAlias

import numpy as np

from ..capi.launch import (
    Given,
    Item,
    Launch,
    Literal,
    New,
    Number,
    Operand,
    Result,
    Returned,
    is_short,
    launcher,
)
from ..capi.replaceable import HotFunction
from ..compiler.kernel import Kernel
from ..core.primitive import Aval
from ..ir.scalar import SCALED
from ..kernels import shapes
from ..kernels.loops import Loops
from ..kernels.shapes import Pattern
from ..threads.pieces import InPieces, is_long
from . import emission
from .plans import Plan, abstract, fit, is_uniform, may_be_uniform

# How a kernel takes an argument.
RAVEL, ITEM, NUMBER, WIDEN = range(4)
# An argument of a kernel: the code that passes it, and its operand in a launch; None if no launcher
# can pass it.
Passed: TypeAlias = tuple[str, Operand | None]


class ElementwisePlan(Plan):
    """An elementwise primitive: emitted kernels over a collapsed loop.

    A primitive of two arguments has one kind if both arguments are the same node: `x * x` has one
    cotangent.
    """

    __slots__ = (
        "dtype", "forward", "loads", "out", "patterns", "pull_all", "pulls", "same", "shape",
        "sizes", "takes_uniform",
    )  # fmt: skip

    def __init__(self, primitive: Any, kinds: tuple, params: dict):
        self.same = len(kinds) == 1 and primitive.arity == 2
        super().__init__(primitive, (*kinds, *kinds) if self.same else kinds, params)
        if any(type(kind) is Aval for kind in kinds):
            primitive.require_partials(self.need)
        avals = [abstract(kind) for kind in self.kinds]
        aval = primitive.infer(*avals, **params)
        if aval.dtype.kind != "f" and any(type(kind) is Aval for kind in kinds):
            aval = Aval.of(aval.shape, np.dtype(np.float64))  # what is tracked is a float
        self.aval = aval
        self.shape, self.dtype = aval.shape, aval.dtype
        self.patterns, self.loads, self.sizes = self._layout(avals)
        self.pulls: dict[tuple, Callable[..., Sequence]] = {}
        self.takes_uniform = may_be_uniform(prod(self.shape)) and not primitive.kernels
        self.forward: Callable[..., np.ndarray] = self._forward()
        self.pull_all: Callable[..., Sequence] = self._first_pull

    def _layout(self, avals) -> tuple[list[Pattern], list[int], tuple[int, ...]]:
        lengths = tuple(aval.shape if isinstance(aval, Aval) else () for aval in avals)
        layout = shapes.collapse(lengths, self.shape)
        found, rows, columns = layout or (["full"] * len(avals), 1, prod(self.shape))
        patterns: list[Pattern] = list(found)
        loads = []
        # Of float64 without axes: kernels of numbers, as Python's floats are those.
        floats = {self.dtype, *(aval.dtype for aval in avals if isinstance(aval, Aval))}
        self.out: Pattern = "full"
        if not self.shape and floats == {np.dtype(np.float64)}:
            self.out, patterns = "number", ["number"] * len(avals)
        for i, aval in enumerate(avals):
            condition = i in self.primitive.conditions
            dtype = np.dtype(bool) if condition else self.dtype
            if not isinstance(aval, Aval):
                patterns[i] = "number"
                loads.append(NUMBER)
            elif layout is None or aval.dtype != dtype or (condition and patterns[i] == "number"):
                patterns[i] = "full"
                loads.append(WIDEN)
            else:
                loads.append(ITEM if patterns[i] == "number" else RAVEL)
        nested = any(pattern in ("row", "column") for pattern in patterns)
        return patterns, loads, (rows, columns) if nested else ()

    def widen(self, position: int, value) -> np.ndarray:
        """A full flat copy of an argument of another dtype, or whose broadcast fits no pattern."""
        dtype = np.dtype(bool) if position in self.primitive.conditions else self.dtype
        return np.array(np.broadcast_to(value, self.shape), dtype, order="C").ravel()

    def _operand(self, i: int, place: tuple[int, ...]) -> Passed:
        """Argument i of the op, which a launcher is given at `place`."""
        name, load, aval = emission.NAMES[i], self.loads[i], abstract(self.kinds[i])
        if load == RAVEL:
            return _flat(name, aval.shape), Given(place, aval.shape, aval.dtype)
        if load == ITEM:
            return f"{name}.item()", Item(place, aval.shape, aval.dtype)
        if load == NUMBER:
            return f"float({name})", Number(place)
        return f"widen({i}, {name})", None

    def _result(self, name: str, place: tuple[int, ...]) -> Passed:
        """The result of the op, or its cotangent."""
        if self.out == "number":
            return f"{name}.item()", Item(place, self.shape, self.dtype)
        return _flat(name, self.shape), Given(place, self.shape, self.dtype)

    def _new(self, name: str, shape: tuple[int, ...], lines: list[str]) -> Passed:
        """An array that the kernel writes. NumPy makes its own dtype more quickly unasked."""
        dtype = "" if self.dtype == np.float64 else ", dtype"
        lines.append(f"{name} = empty({shape}{dtype})")
        return _flat(name, shape), New(shape, self.dtype)

    def _kernel(self, loops: Loops, i: int) -> tuple[Kernel, Callable, list[Passed]]:
        """The kernel of loops, or a hand-written one; how it is called; and rows and columns, where
        it takes them."""
        own, is_nest, size = self.primitive.kernels, loops.is_nest, prod(self.shape)
        kernel = own[i] if own and {*loops.patterns} == {"full"} else loops.kernel()
        sizes: list[Passed] = [(str(n), Literal(n)) for n in self.sizes] if is_nest else []
        if not is_long(size):
            return kernel, kernel.dispatcher, sizes
        rows, columns = self.sizes if is_nest else (size, 1)
        run = InPieces(kernel, loops.patterns, len(loops.writes), (rows, columns), is_nest)
        return kernel, run, sizes

    def _forward(self) -> Callable[..., np.ndarray]:
        if self.dtype.kind != "f":
            return lambda *args: np.asarray(self.primitive.plain(*args, **self.params))
        loops = emission.forward_loops(self.primitive, self.params, self.patterns, self.out)
        kernel, run, sizes = self._kernel(loops, 0)
        names = emission.NAMES[: len(self.kinds)]
        passed = [self._operand(i, (i,)) for i in range(len(names))]
        lines: list[str] = []
        if loops.returns:
            result = Returned((), self.dtype)
            lines.append(f"return array({_call(passed)})")
        else:
            result = len(names)
            passed += [self._new("out", self.shape, lines), *sizes]
            lines += [_call(passed), "return out"]
        function = self._function(f"def forward({', '.join(names)}):", lines, kernel, run)
        return self._often(
            function, len(names), kernel, passed, result, partial(setattr, self, "forward")
        )

    def pull(self, ct, out, args, need):
        uniform = self.takes_uniform and is_uniform(ct)
        key = ("uniform", *need) if uniform else need
        if key not in self.pulls:
            self._install(key, self._pull(need, uniform))
        return self.pulls[key](ct, out, args)

    def _first_pull(self, ct, out, args):
        """`pull_all` until it is emitted."""
        return self.pull(ct, out, args, self.need)

    def _install(self, need: tuple, function: Callable[..., Sequence]) -> None:
        self.pulls[need] = function
        if need == self.need and not self.takes_uniform:
            self.pull_all = function

    def residuals(self, need):
        reads = emission.pullback_of(self.primitive, self.params, need, self.same).reads
        return [emission.NAMES.index(name) for name in reads if name in emission.NAMES]

    def _pull(self, need: tuple[bool, ...], uniform: bool = False) -> Callable[..., Sequence]:
        """The fused pullback for the arguments that `need` selects; with `uniform`, for a `uniform`
        cotangent."""
        traced = emission.pullback_of(self.primitive, self.params, need, self.same)
        names = emission.NAMES[: len(need)]
        own = [getattr(abstract(kind), "shape", ()) for kind in self.kinds]
        head = "def pull(ct, out, args):"
        results: list[str] = ["None"] * len(need)
        launched: list[Result] = [None] * len(need)
        written, reshaped = [], False
        for i, value in traced.values.items():
            # A cotangent that passes through unchanged needs no kernel and no new array.
            if value != "ct" or self.patterns[i] != self.out or self.loads[i] == WIDEN:
                results[i] = f"{names[i]}_bar"
                written.append(i)
            elif own[i] == self.shape:
                results[i], launched[i] = "ct", Given((0,), self.shape, self.dtype)
            else:
                results[i], reshaped = f"ct.reshape({own[i]})", True
        if not written:
            return self._function(head, [f"return ({', '.join(results)},)"])
        loops = emission.pullback_loops(
            self.primitive, traced, self.patterns, tuple(written), self.out, uniform
        )
        if uniform and loops.returns:
            # Nothing but ct is long: its sum is that of an array.
            return lambda ct, out, args: self.pull(np.array(ct), out, args, need)
        kernel, run, sizes = self._kernel(loops, 1)
        first: Passed = ("float(ct.flat[0])", None) if uniform else self._result("ct", (0,))
        passed = [first]
        for name in traced.reads:
            i = emission.NAMES.index(name) if name != "out" else -1
            passed.append(self._result("out", (1,)) if i < 0 else self._operand(i, (2, i)))
        lines = [f"{', '.join(names)}, = args"]
        early: list[str] = []
        if uniform and (factors := self._factors(traced)):
            views = [f"{factors[i]}.view()" if i in factors else "None" for i in range(len(need))]
            early, lines = [*lines, f"if ct.flat[0] == 1.0: return ({', '.join(views)},)"], []
        if loops.returns:
            lines.append(f"{', '.join(results[i] for i in written)} = {_call(passed)}")
            for i in written:
                results[i], launched[i] = f"array({results[i]})", Returned((), self.dtype)
        else:
            for i in written:
                wide, launched[i] = self.loads[i] == WIDEN, len(passed)
                passed.append(self._new(results[i], self.shape if wide else own[i], lines))
                if wide:
                    results[i] = f"fit({results[i]}, kinds[{i}])"
                    reshaped = True
            passed += sizes
            lines.append(_call(passed))
        lines.append(f"return ({', '.join(results)},)")
        function = self._function(head, lines, kernel, run, early)
        if reshaped:
            return function
        return self._often(
            function, 3, kernel, passed, tuple(launched), partial(self._install, need)
        )

    def _factors(self, traced: emission.Traced) -> dict[int, Any]:
        """Where each cotangent is ct times an argument, the names of those: of x * y they are y
        and x."""
        if any(abstract(kind) is not self.aval for kind in self.kinds):
            return {}
        factors = {
            i: step.operands[1]
            for step in traced.steps
            for i, value in traced.values.items()
            if value == step.target and step.body is SCALED and step.operands[0] == "ct"
        }
        every = len(factors) == len(traced.values)
        return factors if every and set(factors.values()) <= {*emission.NAMES} else {}

    def _function(
        self,
        head: str,
        lines: list[str],
        kernel: Any = None,
        run: Any = None,
        early: Sequence[str] = (),
    ) -> Callable:
        """Generate a function that prepares arrays and calls a kernel, without branches, as it runs
        for every op. Its `early` lines may return before the call."""
        namespace = {
            "array": np.array, "empty": np.empty, "dtype": self.dtype, "widen": self.widen,
            "fit": fit, "kinds": self.kinds, "kernel": kernel, "call": run,
        }  # fmt: skip
        counted = ["kernel.calls += 1", *lines] if kernel else lines
        exec("\n    ".join([head, *early, *counted]), namespace)
        return namespace[head.split("(")[0].removeprefix("def ")]

    def _often(
        self,
        function: Callable,
        count: int,
        kernel: Kernel,
        passed: list[Passed],
        results: Any,
        install: Callable,
    ) -> Callable:
        """The function, replaced by a launcher, if one is possible, once it is hot."""
        operands = [operand for _, operand in passed if operand is not None]
        if len(operands) < len(passed) or not is_short(prod(self.shape)):
            return function
        launch = Launch(kernel, tuple(operands), results)
        return HotFunction(function, partial(launcher, launch, count), install)


def _call(passed: list[Passed]) -> str:
    """Code that calls the kernel."""
    return f"call({', '.join(code for code, _ in passed)})"


def _flat(name: str, shape: tuple[int, ...]) -> str:
    """Code for the elements of a contiguous array along one axis."""
    return name if len(shape) == 1 else f"{name}.ravel()"
