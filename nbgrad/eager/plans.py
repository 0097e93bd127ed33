"""Plans: how one op runs on plain arrays, decided once for given shapes and dtypes.

A primitive and the kinds of its arguments give a plan: `forward(*args)` and, for each set of
arguments that want a cotangent, a pullback. The plan of an elementwise primitive holds kernels
emitted from the primitive itself: from its body, and from its rule recorded on symbols. Primitives
of other families bring their own plan class, or run their functions as they are (`FunctionPlan`).
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any

import numpy as np

from ..core.primitive import Aval, Primitive, Unplanned
from ..errors import require_unmasked
from ..kernels import shapes
from ..kernels.jit.forks import fork_safe
from ..kernels.jit.kernel import Kernel
from ..kernels.pieces import InPieces, is_long
from ..kernels.shapes import Pattern
from ..kernels.unbroadcast import unbroadcast
from . import emission

# How a kernel takes an argument.
RAVEL, ITEM, NUMBER, WIDEN = range(4)
# Plans kept for each primitive: memory stays bounded in a program with ever new shapes.
LIMIT = 4096
# A kernel, which counts its calls, and what is called.
Run = tuple[Kernel, Callable]
_building = fork_safe(threading.RLock())


class Plan:
    """One primitive for given kinds of arguments.

    A kind is the Aval of an argument that wants a cotangent, `aval.constant` for a plain array, or
    `float` or `int` for a Python number. `need` says which want one; `forward(*args)` computes.
    """

    __slots__ = ("aval", "kinds", "need", "params", "primitive")
    # Whether `add_into(buffer, ct)` adds the cotangent into a buffer for the one argument.
    adds = False
    # Whether all arguments that are tracked get a cotangent: a rule may leave some out.
    complete = False
    # Whether a backward walk takes the op apart: `again(args)` computes it step by step.
    expands = False
    primitive: Any
    aval: Aval | None  # of the result, where the plan knows it

    def __init__(self, primitive: Primitive, kinds: tuple, params: dict):
        self.primitive, self.kinds, self.params, self.aval = primitive, kinds, params, None
        self.need = (True,) if len(kinds) == 1 else tuple([type(kind) is Aval for kind in kinds])

    def forward(self, *args) -> np.ndarray:
        """The value on plain arrays and numbers."""
        raise NotImplementedError

    def pull(self, ct, out, args: Sequence, need: tuple[bool, ...]) -> Sequence:
        """Cotangents of `args`, of their shapes and dtypes; None where `need` is false."""
        raise NotImplementedError

    def pull_all(self, ct, out, args: Sequence) -> Sequence:
        """`pull` for every argument that is tracked."""
        return self.pull(ct, out, args, self.need)

    def add_into(self, buffer: np.ndarray, ct) -> None:
        """Add the cotangent of the one argument into a buffer."""
        raise NotImplementedError

    def again(self, args: Sequence) -> Any:
        """The value once more, from tracked arguments."""
        raise NotImplementedError

    def residuals(self, need: tuple[bool, ...]) -> Sequence[int]:
        """Positions of the arguments whose values the pullback reads."""
        return self.primitive.residuals(need, len(need), **self.params)


class FunctionPlan(Plan):
    """A primitive of another family, run by the functions that it brings."""

    __slots__ = ()

    def forward(self, *args):
        return self.primitive.evaluate(*args, **self.params)

    def pull(self, ct, out, args, need) -> Sequence:
        cotangents = self.primitive.fused_pullback(ct, out, args, need, **self.params)
        if len(args) == 1 and cotangents[0] is not None:
            return (fit(cotangents[0], args[0]),)
        return [
            fit(g, arg) if needs and g is not None else None
            for g, arg, needs in zip(cotangents, args, need, strict=True)
        ]


class ElementwisePlan(Plan):
    """An elementwise primitive: emitted kernels over a collapsed loop.

    One kind for a primitive of two arguments says that both are the same node: `x * x` has one
    cotangent.
    """

    __slots__ = (
        "dtype", "forward", "loads", "out", "patterns", "pull_all", "pulls", "same", "shape",
        "sizes",
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
        self.pulls: dict[tuple[bool, ...], Callable[..., Sequence]] = {}
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
        """An argument that no loop can follow, or of another dtype, as a full flat copy."""
        dtype = np.dtype(bool) if position in self.primitive.conditions else self.dtype
        return np.array(np.broadcast_to(value, self.shape), dtype, order="C").ravel()

    def _argument(self, position: int, kind: Any) -> str:
        """The code that hands an argument to a kernel."""
        name, load = emission.NAMES[position], self.loads[position]
        if load == RAVEL:
            return name if len(kind.shape) == 1 else f"{name}.ravel()"
        if load == WIDEN:
            return f"widen({position}, {name})"
        return f"{name}.item()" if load == ITEM else f"float({name})"

    def _forward(self) -> Callable[..., np.ndarray]:
        if self.dtype.kind != "f":
            return lambda *args: np.asarray(self.primitive.plain(*args, **self.params))
        kernel = emission.forward_kernel(self.primitive, self.params, self.patterns, self.out)
        names = emission.NAMES[: len(self.kinds)]
        avals = [abstract(kind) for kind in self.kinds]
        arguments = [self._argument(i, aval) for i, aval in enumerate(avals)]
        if self.out == "number":
            return self._launcher(
                (kernel, kernel.dispatcher),
                f"def forward({', '.join(names)}):",
                f"return array(call({', '.join(arguments)}))",
            )
        sizes = self._sizes_for(range(len(arguments)))
        return self._launcher(
            self._run(kernel, [*self.patterns, "full"], 1),
            f"def forward({', '.join(names)}):",
            f"out = {self._empty(self.shape)}",
            f"call({', '.join([*arguments, _flat('out', self.shape), *sizes])})",
            "return out",
        )

    def _run(self, kernel: Kernel, patterns: Sequence[Pattern], written: int) -> Run:
        """A kernel, and how it is called with operands that lie as `patterns` say."""
        size = prod(self.shape)
        if not is_long(size):
            return kernel, kernel.dispatcher
        nested = "row" in patterns or "column" in patterns
        sizes = (self.sizes[0], self.sizes[1]) if nested else (size, 1)
        return kernel, InPieces(kernel, patterns, written, sizes, nested)

    def pull(self, ct, out, args, need):
        if need not in self.pulls:
            self.pulls[need] = self._pull(need)
        return self.pulls[need](ct, out, args)

    def _first_pull(self, ct, out, args):
        """`pull_all` until it is emitted."""
        contributions = self.pull(ct, out, args, self.need)
        self.pull_all = self.pulls[self.need]
        return contributions

    def residuals(self, need):
        reads = emission.pullback_of(self.primitive, self.params, need, self.same).reads
        return [emission.NAMES.index(name) for name in reads if name in emission.NAMES]

    def _pull(self, need: tuple[bool, ...]) -> Callable[..., Sequence]:
        """The fused pullback for one choice of arguments that want a cotangent."""
        traced = emission.pullback_of(self.primitive, self.params, need, self.same)
        names = emission.NAMES[: len(need)]
        # A cotangent that passes through unchanged needs no kernel and no new array.
        results = ["None"] * len(need)
        written = []
        avals = [abstract(kind) for kind in self.kinds]
        for i, value in traced.values.items():
            if value == "ct" and self.patterns[i] == self.out and self.loads[i] != WIDEN:
                own = avals[i].shape
                results[i] = "ct" if own == self.shape else f"ct.reshape({own})"
            else:
                results[i] = f"{names[i]}_bar"
                written.append(i)
        head, run, lines = "def pull(ct, out, args):", None, []
        if written:
            kernel = emission.pullback_kernel(
                self.primitive, traced, self.patterns, tuple(written), self.out
            )
            read = [names.index(name) for name in traced.reads if name != "out"]
            lone = self.out == "number"
            arguments = ["ct.item()" if lone else "ct.ravel()"]
            by_name: dict[str, Pattern] = {"out": self.out}
            by_name.update(zip(names, self.patterns, strict=True))
            patterns: list[Pattern] = ["full", *(by_name[name] for name in traced.reads)]
            run = self._run(kernel, [*patterns, *(self.patterns[i] for i in written)], len(written))
            for name in traced.reads:
                if name == "out":
                    arguments.append("out.item()" if lone else _flat("out", self.shape))
                else:
                    arguments.append(self._argument(names.index(name), avals[names.index(name)]))
            lines.append(f"{', '.join(names)}, = args")
            bars = [results[i] for i in written]
            for i in [] if lone else written:
                shape = self.shape if self.loads[i] == WIDEN else avals[i].shape
                lines.append(f"{results[i]} = {self._empty(shape)}")
                arguments.append(_flat(results[i], shape))
            called = f"call({', '.join([*arguments, *self._sizes_for([*read, *written])])})"
            lines.append(f"{', '.join(bars)} = {called}" if lone else called)
            for i in written:
                if lone:
                    results[i] = f"array({results[i]})"
                if self.loads[i] == WIDEN:
                    results[i] = f"fit({results[i]}, kinds[{i}])"
        return self._launcher(run, head, *lines, f"return ({', '.join(results)},)")

    def _sizes_for(self, positions: Iterable[int]) -> list[str]:
        """Rows and columns, where an argument that the kernel takes lies along only one of them."""
        nested = any(self.patterns[i] in ("row", "column") for i in positions)
        return [str(size) for size in self.sizes] if nested else []

    def _empty(self, shape: tuple[int, ...]) -> str:
        """Code for a new array: NumPy's own dtype is quicker left out."""
        return f"empty({shape})" if self.dtype == np.float64 else f"empty({shape}, dtype)"

    def _launcher(self, run: Run | None, head: str, *lines: str) -> Callable:
        """A straight function that prepares arrays and calls a kernel: it runs for every op."""
        kernel, call = run or (None, None)
        namespace = {
            "array": np.array, "empty": np.empty, "dtype": self.dtype, "widen": self.widen,
            "fit": fit, "kinds": self.kinds, "kernel": kernel,
            "call": call,
        }  # fmt: skip
        counted = [f"    {line}" for line in lines]
        if kernel:
            counted.insert(0, "    kernel.calls += 1")
        exec("\n".join([head, *counted]), namespace)
        return namespace[head.split("(")[0].removeprefix("def ")]


def _flat(name: str, shape: tuple[int, ...]) -> str:
    """Code for the elements of a contiguous array along one axis."""
    return name if len(shape) == 1 else f"{name}.ravel()"


def plan_for(primitive: Primitive, kinds: tuple, params: dict) -> Plan:
    """The plan of a primitive for these kinds, from its bounded table."""
    if isinstance(primitive.plans, Unplanned):
        return (primitive.plan_class or FunctionPlan)(primitive, kinds, params)
    key = (*kinds, *params.items()) if params else kinds
    plan = primitive.plans.get(key)
    if plan is None:
        with _building:
            plan = primitive.plans.get(key)
            if plan is None:
                if len(primitive.plans) >= LIMIT:
                    primitive.plans.clear()
                plan = primitive.plans[key] = (primitive.plan_class or FunctionPlan)(
                    primitive, kinds, params
                )
    return plan


def evaluate(primitive: Primitive, args: Sequence, params: dict) -> np.ndarray:
    """The value of an elementwise primitive on plain arrays and numbers.

    Raises TypeError for an operand that holds no real numbers.
    """
    values, kinds = [], []
    for x in args:
        kind: Any = type(x)
        if kind is not float and kind is not int:
            if kind is not np.ndarray or not x.flags.carray:
                x = plain_array(x)
            if x.dtype.kind not in "fiub":
                raise TypeError(
                    f"{primitive.name}: an operand of dtype {x.dtype}; nbgrad computes with real "
                    "numbers, so convert it to float64 or float32 first"
                )
            kind = Aval.of(x.shape, x.dtype).constant
        values.append(x)
        kinds.append(kind)
    return plan_for(primitive, tuple(kinds), params).forward(*values)


def plain_array(x: Any) -> np.ndarray:
    """An array as kernels are compiled for it: aligned, contiguous, writeable."""
    require_unmasked(x, "an operand")
    array = np.asarray(x)
    return array if array.flags.carray else np.array(array, order="C")


def abstract(kind) -> Any:
    """What `infer` is given for the kind of an argument: an Aval, or a Python number."""
    return kind(0) if kind in (float, int) else getattr(kind, "aval", kind)


def fit(ct: Any, like: Aval | np.ndarray) -> np.ndarray:
    """A plain cotangent in the shape and dtype of what it belongs to: broadcasting undone."""
    if type(ct) is not np.ndarray:
        ct = np.asarray(ct)
    if ct.shape != like.shape:
        ct = unbroadcast(ct, like.shape)
    return ct if ct.dtype is like.dtype or ct.dtype == like.dtype else ct.astype(like.dtype)
