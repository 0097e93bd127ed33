"""Programs: recorded functions in single assignment, with a checker and an interpreter."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import Aval, new_level
from ..errors import TraceError
from ..symbols import Builder, Symbol, aval_of, topological
from ..transforms import trees


@dataclass(frozen=True)
class Program:
    """A function of arrays: symbols for its inputs, and what it returns.

    `outputs` are symbols or numbers; `rebuild` gives the function's result from plain outputs.
    """

    name: str
    inputs: tuple[Symbol, ...]
    outputs: tuple[Any, ...]
    rebuild: Callable[[list[Any]], Any]

    @property
    def equations(self) -> list[Symbol]:
        """The ops, each after what it needs."""
        return [symbol for symbol in topological(self.outputs) if symbol.primitive is not None]

    def check(self) -> None:
        """Raise TraceError unless every symbol is defined before use, with the type it claims."""
        defined = set(self.inputs)
        for equation in self.equations:
            for arg in equation.args:
                if isinstance(arg, Symbol) and arg not in defined:
                    raise TraceError(f"{self.name}: {equation} uses a value from elsewhere")
            assert equation.primitive is not None
            inferred = equation.primitive.infer(*map(aval_of, equation.args), **equation.params)
            if (inferred.shape, inferred.dtype) != (equation.shape, equation.dtype):
                raise TraceError(f"{self.name}: {equation} should be {inferred}")
            defined.add(equation)

    def interpret(self, *args) -> list[Any]:
        """The outputs for plain arrays, op by op: the reference for what is emitted."""
        values: dict[Symbol, Any] = dict(zip(self.inputs, args, strict=True))

        def value(x):
            return values[x] if isinstance(x, Symbol) else x

        for equation in self.equations:
            assert equation.primitive is not None
            given = map(value, equation.args)
            values[equation] = equation.primitive.evaluate(*given, **equation.params)
        return [value(output) for output in self.outputs]

    def __str__(self) -> str:
        labels = {symbol: f"in{i}" for i, symbol in enumerate(self.inputs)}
        lines = [f"{self.name}({', '.join(f'{labels[s]}: {s.aval}' for s in self.inputs)}):"]

        def label(x) -> str:
            return labels[x] if isinstance(x, Symbol) else repr(x)

        for i, equation in enumerate(self.equations):
            labels[equation] = f"v{i}"
            given = [label(arg) for arg in equation.args]
            given += [f"{key}={value}" for key, value in equation.params.items()]
            assert equation.primitive is not None
            call = f"{equation.primitive.name}({', '.join(given)})"
            lines.append(f"  v{i}: {equation.aval} = {call}")
        return "\n".join([*lines, f"  return {', '.join(map(label, self.outputs))}"])


def trace(f: Callable, name: str, avals: Sequence[Aval], rebuild: Callable) -> Program:
    """Record `f(*rebuild(leaves))` for symbols of the given avals.

    Raises TraceError where the function needs a value, or gives something else than arrays.
    """
    with new_level(minimum=1) as level:
        builder = Builder(level)
        inputs = [builder.input(aval) for aval in avals]
        result = f(*rebuild(inputs))
    outputs, rebuild_outputs = trees.flatten(result)
    for output in outputs:
        if isinstance(output, Symbol) and output.level == level:
            continue
        if isinstance(output, (float, int)) or (
            isinstance(output, np.generic) and output.size == 1
        ):
            continue
        raise TraceError(
            f"{name}: a compiled function returns arrays that depend on its arguments, and "
            f"numbers; this one returned {type(output).__name__}"
        )
    return Program(name, tuple(inputs), tuple(outputs), rebuild_outputs)
