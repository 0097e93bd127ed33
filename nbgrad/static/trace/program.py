"""Programs: recorded functions in single assignment, with a checker and an interpreter."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from ...core.array import Array
from ...core.primitive import bind, new_level
from ...core.symbols import Builder, Symbol, is_full, static_key, symbol_of, topological
from ...errors import TraceError
from ...rules.dtypes import known

ArrayValue: TypeAlias = Array | np.ndarray
Operand: TypeAlias = ArrayValue | np.generic | float | int
"""A value of any kind: traced, tracked, or plain."""


@dataclass(frozen=True)
class Program:
    """A recorded function of arrays.

    `captured` are arrays that the function closes over, read at each call. `held` are arrays whose
    values are part of the program, such as indices, with keys of these values. `outputs` are
    symbols or numbers; `rebuild` makes the function's result from the plain outputs. `checked` are
    ops that raise for some positions; they run even if no output depends on them. `formulas` are
    those of numbers computed from named sizes. `apart` are inputs that must not share memory in a
    call, in pairs, with the error message.
    """

    name: str
    inputs: tuple[Symbol, ...]
    captured: tuple[tuple[Symbol, np.ndarray], ...]
    outputs: tuple[Any, ...]
    rebuild: Callable[[list[Any]], Any]
    held: tuple[tuple[np.ndarray, Any], ...] = ()
    checked: tuple[Symbol, ...] = ()
    formulas: dict[float, str] = field(default_factory=dict)
    apart: tuple[tuple[Symbol, Symbol, str], ...] = ()

    def is_current(self) -> bool:
        """Return whether the program is valid for the current captured arrays: their shapes and
        dtypes, and the values of `held` ones."""
        return all(static_key(array) == key for array, key in self.held) and all(
            array.shape == symbol.shape and known(array.dtype) == symbol.dtype
            for symbol, array in self.captured
        )

    @property
    def equations(self) -> list[Symbol]:
        """The ops in topological order."""
        needed = topological([*self.outputs, *self.checked])
        return [symbol for symbol in needed if symbol.primitive is not None]

    @property
    def separate(self) -> list[tuple[int, int, str]]:
        """`apart`, as places of inputs and captured arrays."""
        inputs = [*self.inputs, *(symbol for symbol, _ in self.captured)]
        places = {id(x): i for i, x in enumerate(inputs)}
        return [(places[id(x)], places[id(y)], why) for x, y, why in self.apart]

    @property
    def is_narrow(self) -> bool:
        """Whether a value has a dtype narrower than int64 or float64."""
        inputs = [*self.inputs, *(symbol for symbol, _ in self.captured)]
        wide = (np.dtype(np.float64), np.dtype(np.int64), np.dtype(bool))
        return any(symbol.dtype not in wide for symbol in [*inputs, *self.equations])

    def check(self) -> None:
        """Raise TraceError unless every symbol is defined before use and has the inferred type."""
        defined = {*self.inputs, *(symbol for symbol, _ in self.captured)}
        for equation in self.equations:
            for arg in equation.args:
                if isinstance(arg, Symbol) and arg not in defined:
                    raise TraceError(f"{self.name}: {equation} uses a value from elsewhere")
            assert equation.primitive is not None
            inferred = equation.builder.infer(equation.primitive, equation.args, equation.params)
            if (inferred.shape, inferred.dtype) != (equation.shape, equation.dtype):
                raise TraceError(f"{self.name}: {equation} should be {inferred}")
            defined.add(equation)

    def interpret(self, *args: Operand) -> list[Any]:
        """Compute the outputs for plain arrays, op by op: the reference for compiled code."""
        values: dict[Symbol, Any] = dict(zip(self.inputs, args, strict=True))
        values.update(self.captured)

        def value(x):
            return values[x] if isinstance(x, Symbol) else x

        for equation in self.equations:
            assert equation.primitive is not None
            operands = map(value, equation.args)
            result = equation.primitive.evaluate(*operands, **equation.params)
            values[equation] = np.asarray(result).astype(equation.dtype, copy=False)
        return [value(output) for output in self.outputs]

    def __str__(self) -> str:
        labels = {symbol: f"in{i}" for i, symbol in enumerate(self.inputs)}
        head = ", ".join(f"{labels[s]}: {s.aval}" for s in self.inputs)
        lines = [f"{self.name}({head}):"]
        for i, (symbol, _) in enumerate(self.captured):
            labels[symbol] = f"captured{i}"
            lines.append(f"  captured{i}: {symbol.aval}")

        def label(x) -> str:
            return labels[x] if isinstance(x, Symbol) else self.formulas.get(x) or repr(x)

        for i, equation in enumerate(self.equations):
            labels[equation] = f"v{i}"
            operands = [label(arg) for arg in equation.args]
            operands += [f"{key}={value}" for key, value in equation.params.items()]
            assert equation.primitive is not None
            call = f"{equation.primitive.name}({', '.join(operands)})"
            line = f"  # {equation.line}" if equation.line else ""
            lines.append(f"  v{i}: {equation.aval} = {call}{line}")
        return "\n".join([*lines, f"  return {', '.join(map(label, self.outputs))}"])


def replay(program: Program, args: Sequence[Operand], builder: Builder) -> list[Any]:
    """Run the program on values of any kind; ops on symbols are recorded by `builder`."""
    values: dict[Symbol, Any] = dict(zip(program.inputs, args, strict=True))
    every = replay_from(values, [*program.outputs, *program.checked], builder)
    return every[: len(program.outputs)]


def replay_from(values: dict[Symbol, Any], outputs: Sequence[Any], builder: Builder) -> list[Any]:
    """Compute outputs from symbols whose `values` are known; the values of the symbols between are
    added."""
    for equation in topological(outputs, values):
        if equation in values:
            continue
        assert equation.primitive is not None
        if is_full(equation):
            values[equation] = builder.full(equation.params["number"], equation.aval)
            continue
        operands = [values[x] if isinstance(x, Symbol) else x for x in equation.args]
        with new_level(builder.level):  # which may have ended with the recorded function
            values[equation] = bind(equation.primitive, *operands, **equation.params)
    return [symbol_of(values[x]) if isinstance(x, Symbol) else x for x in outputs]
