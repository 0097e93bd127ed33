"""Reverse derivatives as two programs: one for the value and the residuals, and one for the
pullback, which reads the residuals.

The function and its pullback are recorded together. The forward program computes the values that
do not depend on the cotangents. Those that the pullback reads are residuals, unless they are cheap
to recompute.
"""

import dataclasses
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ...compiler.forks import with_open_properties
from ...core.array import Array
from ...core.primitive import Aval, new_level
from ...core.symbols import Symbol, is_full, recording, symbol_of, topological
from ...eager.emission import body_of
from ...errors import ArgumentTypeError
from ...ir.scalar import SCALED
from ...transforms import trees
from ...transforms.run import Run
from ...transforms.transformed import transformed
from ..arguments import Arguments
from ..entry.flatten import PYTHONS, Unwritten
from ..entry.front import caller
from ..function import StaticFunction
from ..trace.program import Program, replay_from
from ..trace.record import Recorder, trace
from ..trace.rerolled import rerolled
from .derived import Derived


def _is_cheap(symbol: Symbol) -> bool:
    """Return whether a value is cheaper to recompute than to store: a product, or cheaper."""
    primitive: Any = symbol.primitive
    if getattr(primitive, "body", None) is None:
        return False
    return body_of(primitive, symbol.params).price <= SCALED.price


@with_open_properties
class Halves:
    """The layout of the forward program's outputs, and the program of the pullback.

    `leaves` are those of the result: positions among the outputs of the forward program, or
    constants; `rebuild` nests them. `moved` are the leaves that depend on what is differentiated.
    `kept` are the outputs that are residuals. `sources` are the pullback's inputs, as positions
    among leaves and residuals. `found` has the output of the pullback for each differentiated leaf.
    """

    def __init__(self, rebuild: Callable, moved: tuple[int, ...]):
        self.rebuild, self.moved = rebuild, moved
        self.leaves: list[Any] = []
        self.variant: Any = None  # of the pullback
        self.kept: list[int] = []
        self.sources: list[int] = []
        self.found: list[int | None] = []
        self.call: Any = None  # the parameter of the op

    def __reduce__(self) -> Any:  # not a plain object, which is flattened as a tree
        raise ArgumentTypeError("a part of a program is not pickled", code="NB-PICKLE")

    @cached_property
    def _backward(self) -> Callable:
        variant = self.variant
        examples = tuple(
            np.zeros(symbol.shape, symbol.dtype)
            if symbol.shape
            else _number(np.zeros((), symbol.dtype))
            for symbol in self.variant.program.inputs
        )
        run = lambda args, options: variant.python.run(list(args))  # noqa: E731
        try:
            return caller(variant.python, examples, (), run, False, lambda target: target)
        except (Unwritten, SyntaxError):
            return lambda *args: run(args, {})

    def outputs(self, results: Sequence) -> list:
        """Return the leaves of the result, from the outputs of the forward program."""
        return [results[k] if type(k) is int else k for k in self.leaves]

    def pull(self, args: Sequence, cts: Sequence) -> list:
        """Return the cotangents of the differentiated leaves, None for zero, from leaves and
        residuals."""
        inputs = [*[args[k] for k in self.sources], *cts]
        for i in self._numbers:
            inputs[i] = _number(inputs[i])
        outputs = self._backward(*inputs)
        return [None if k is None else outputs[k] for k in self.found]

    @cached_property
    def _numbers(self) -> list[int]:
        """Return the positions of the scalar inputs of the pullback."""
        return [i for i, symbol in enumerate(self.variant.program.inputs) if not symbol.shape]


def _number(x: Any) -> Any:
    """Convert a scalar to the type that programs take."""
    if type(x) is np.ndarray:
        return x.item() if x.dtype in PYTHONS else x[()]
    return x


class Forward(Derived):
    """A compiled function that returns `(outputs, halves)`: results and residuals."""

    def _recorder(self, arguments: Arguments) -> Callable[[list[Aval]], Program]:
        from ..entry.signature import program_name

        name = program_name(self.name)
        return lambda avals: _recorded(self.function, name, avals, arguments)

    def _call(self, args: tuple, options: dict) -> Any:
        return StaticFunction._call(self, args, options)


def with_residuals(f: Callable, moving: tuple[int, ...]) -> Callable:
    """Return a function of a recorder and leaves. It returns the leaves of the result, the
    cotangents of the leaves at `moving`, new symbols for the cotangents of the result, and
    `Halves`."""

    @transformed(with_residuals, f, moving)
    def both(recorder: Recorder, leaves: Sequence) -> tuple:
        run = differentiated(f, leaves, moving)
        outputs, rebuild = trees.flatten(run.result)
        moved = tuple([i for i, x in enumerate(outputs) if run.own(x) is not None])
        results = [run.plain(x) for x in outputs]
        cts = [recorder.input(outputs[i].aval) for i in moved]
        found = cotangents(run, [outputs[i] for i in moved], [*map(recorder.handed, cts)])
        return results, found, cts, Halves(rebuild, moved)

    return both


def _recorded(f: Callable, name: str, avals: list[Aval], arguments: Arguments) -> Program:
    """Record the forward program of a function made by `with_residuals`."""
    made: list[Any] = []

    @transformed(_recorded, f)
    def both(*leaves: Any) -> tuple[list, list]:
        results, found, *others = f(recording.recorder, leaves)
        made.extend(others)
        return results, found

    program = rerolled(trace(both, name, avals, arguments.weak, arguments.fill))
    cts, halves = made
    return _split(program, cts, halves, arguments)


def differentiated(f: Callable, leaves: Sequence, moving: Sequence[int]) -> Run:
    """Run a function of leaves, to differentiate with respect to those at `moving`."""

    def of_moving(xs: list) -> Any:
        full = list(leaves)
        for i, x in zip(moving, xs, strict=True):
            full[i] = x
        return f(*full)

    of_moving.__wrapped__ = f  # pyright: ignore[reportFunctionMemberAccess]
    return Run("compile", of_moving, ([leaves[i] for i in moving],), (0,), {})


def cotangents(run: Run, outputs: Sequence, cts: Sequence) -> list:
    """Return the cotangents of the differentiated leaves; while recording, None for zero."""
    found = run.pull(outputs, cts)[0] if outputs else [None for _ in run.nodes]
    run.end()
    if recording.recorder is None:
        return found
    return [x if isinstance(x, Array) else None for x in found]


def _split(
    program: Program, cts: Sequence[Symbol], halves: Halves, arguments: Arguments
) -> Program:
    """Split the program of a function with its pullback: return the forward program, and store the
    pullback in `halves`."""
    from ..variant import Variant

    results, found = program.rebuild([float(k) for k in range(len(program.outputs))])
    linear = set(cts)
    steps = topological([*program.outputs, *program.checked])
    for symbol in steps:
        if any(isinstance(x, Symbol) and x in linear for x in symbol.args):
            linear.add(symbol)
    places = dict(zip(program.inputs, arguments.places, strict=True))
    captured = dict(program.captured)
    kept = _kept(steps, {*places, *captured})
    wanted = [program.outputs[int(k)] for k in found if k is not None]
    checked = [symbol for symbol in program.checked if symbol in linear]
    read: dict[Symbol, None] = {}  # the inputs of the pullback, in order
    for symbol in topological([*wanted, *checked], {x for x in steps if x not in linear}):
        if symbol not in linear:
            read.update(dict.fromkeys(kept[symbol]))
    outputs = [program.outputs[int(x)] for x in results if type(x) is float]
    first = {}
    for k, x in enumerate(results):
        if k in halves.moved:
            first[program.outputs[int(x)]] = int(x)
    for symbol in read:
        if symbol in places:
            halves.sources.append(places[symbol])
        elif symbol not in captured:
            if symbol not in first:
                first[symbol] = len(outputs)
                outputs.append(symbol)
            halves.sources.append(arguments.count + len(halves.kept))
            halves.kept.append(first[symbol])
    halves.leaves = [int(x) if type(x) is float else x for x in results]
    order = iter(range(len(wanted)))
    halves.found = [None if k is None else next(order) for k in found]
    inputs = [*(x for x in read if x not in captured), *cts]
    back = _pullback(program, inputs, [*wanted, *checked], len(wanted), captured)
    halves.variant = Variant(back)
    return dataclasses.replace(
        program,
        outputs=tuple(outputs),
        rebuild=lambda leaves: (list(leaves), halves),
        checked=tuple(x for x in program.checked if x not in linear),
    )


def _kept(steps: Sequence[Symbol], inputs: set[Symbol]) -> dict[Symbol, tuple[Symbol, ...]]:
    """Return for each value those to store for the pullback: the value itself, or values from which
    it is cheap to recompute."""
    kept: dict[Symbol, tuple[Symbol, ...]] = {}
    for symbol in steps:
        if symbol in inputs or symbol.primitive is None:
            kept[symbol] = (symbol,)
            continue
        args = [x for x in symbol.args if isinstance(x, Symbol)]
        cheap = _is_cheap(symbol) or (symbol.primitive.linear and len(args) == 1)
        read = dict.fromkeys(x for arg in args for x in kept[arg])
        new = [x for x in read if x not in inputs]
        if is_full(symbol) or (
            cheap and len(new) <= 1 and all(x.aval.size <= symbol.aval.size for x in new)
        ):
            kept[symbol] = tuple(read)
        else:
            kept[symbol] = (symbol,)
    return kept


def _pullback(
    program: Program, sources: Sequence[Symbol], outputs: list, count: int, captured: dict
) -> Program:
    """Return the program that computes `outputs` from the values `sources`; the first `count` are
    results, the others checks."""
    with new_level() as level:
        recorder = Recorder(level)
        inputs = {x: recorder.input(x.aval, x.weak) for x in sources}
        needed = topological(outputs, inputs)
        arrays = {x: recorder.capture(captured[x]) for x in needed if x in captured}
        values: dict[Symbol, Any] = {**inputs, **arrays}
        results = replay_from(values, outputs, recorder)
        for symbol, x in values.items():
            if isinstance(symbol_of(x), Symbol) and not symbol_of(x).line:
                symbol_of(x).line = symbol.line
    return Program(
        f"{program.name}_pullback",
        tuple(inputs.values()),
        recorder.captured.pairs(),
        tuple(results[:count]),
        list,
        checked=tuple(recorder.checked),
    )
