"""Linear functions as recorded programs: `linearize` by partial evaluation, and transposition.

Reverse mode follows from forward mode: tangents that are symbols are pushed through a function. All
values that depend on the primals are computed, and the recorded rest is linear. Reverse mode
transposes that program, from its end (Radul and others, You Only Linearize Once, 2022).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.array import Array
from ..core.primitive import Aval, bind, new_level, shape_of
from ..core.symbols import Builder, Symbol, is_full, symbol_of, topological
from ..errors import ArgumentTypeError, NoFloatError, NotLinearError
from ..runtime.kinds import is_a
from ..values.graph import apply_rule
from ..values.tracked import below
from . import constant, trees
from .direct import callee, look
from .forward import dual_argument, primal_of, tangent_of
from .run import array_leaves, fitted
from .state import kept
from .transformed import Result


class LinearMap:
    """A recorded linear function of trees of arrays: a call pushes tangents forward, `transpose`
    pulls a cotangent back. `str` shows the program."""

    def __init__(
        self,
        op: str,
        inputs: list[Symbol | None],
        outputs: list,
        arguments: tuple,
        result: Any,
        floor: int,
        recipe: tuple,
    ):
        self._op, self._inputs, self._outputs = op, inputs, outputs
        self._arguments, self._result, self._floor = arguments, result, floor
        level = next(x.level for x in inputs if x is not None)
        self._steps = topological(outputs, level=level)
        self._recipe = recipe
        known = {id(x) for x in inputs if x is not None}
        for symbol in self._steps:
            if any(id(arg) in known for arg in symbol.args):
                known.add(id(symbol))
        self._linear = known

    def __call__(self, *tangents: Any) -> Any:
        """Return the result for tangents with the structure of the arguments."""
        if len(tangents) != len(self._arguments):
            raise ArgumentTypeError(
                f"{self._op}: {len(tangents)} directions for {len(self._arguments)} arguments"
            )
        leaves, _ = trees.flatten(self._arguments)
        directions = fitted(self._op, "tangent", tangents, leaves, self._arguments)
        values = {
            id(symbol): x
            for symbol, x in zip(self._inputs, directions, strict=True)
            if symbol is not None
        }
        for symbol in self._steps:
            if id(symbol) not in values:
                args = [values.get(id(arg), arg) for arg in symbol.args]
                values[id(symbol)] = bind(_primitive_of(symbol), *args, **symbol.params)
        leaves, rebuild = trees.flatten(self._result)
        floor = self._floor_for(tangents)
        return rebuild([trees.released(values.get(id(x), x), floor) for x in self._outputs])

    def __reduce__(self) -> Any:
        """Pickle the call that recorded the program; it is repeated when the pickle is loaded."""
        return self._recipe

    def _floor_for(self, directions: Any) -> int:
        """Return the level from which on arrays are constants for given tangents or cotangents."""
        return max(self._floor, trees.level_for(directions))

    def transpose(self, ct: Any) -> tuple[Any, ...]:
        """Return the cotangents of all arguments for a cotangent with the structure of the result.

        Raises TypeError if an op of the program is not linear in the arguments.
        """
        leaves, _ = trees.flatten(self._result)
        seeds = fitted(self._op, "cotangent", ct, leaves, self._result)
        cotangents: dict[int, Any] = {}
        for symbol, g in zip(self._outputs, seeds, strict=True):
            if isinstance(symbol, Symbol) and id(symbol) in self._linear:
                _add(cotangents, symbol, g)
        constants: dict[int, Any] = {}
        for symbol in self._steps:
            if id(symbol) not in self._linear:
                args = [constants.get(id(arg), arg) for arg in symbol.args]
                constants[id(symbol)] = bind(_primitive_of(symbol), *args, **symbol.params)
        for symbol in reversed(self._steps):
            if symbol.primitive is None or id(symbol) not in cotangents:
                continue
            g = cotangents.pop(id(symbol))
            need = [id(arg) in self._linear for arg in symbol.args]
            args = [constants.get(id(arg), arg) for arg in symbol.args]
            pulled = apply_rule(_primitive_of(symbol), symbol.params, g, symbol, args, need)
            for arg, contribution in zip(symbol.args, pulled, strict=True):
                if contribution is not None:
                    self._require_linear(symbol, contribution)
                    _add(cotangents, arg, contribution)
        _, rebuild = trees.flatten(self._arguments)
        floor = self._floor_for(ct)
        results = [
            None
            if symbol is None
            else trees.released(cotangents.get(id(symbol), _zeros(symbol.aval)), floor)
            for symbol in self._inputs
        ]
        return rebuild(results)

    def _require_linear(self, symbol: Symbol, contribution: Any) -> None:
        if isinstance(contribution, Symbol) and contribution.builder is symbol.builder:
            raise NotLinearError(
                f"{self._op}: {_primitive_of(symbol).name} is not linear in its arguments of "
                f"shapes {', '.join(str(shape_of(arg)) for arg in symbol.args)}: linearize the "
                "function first, or use vjp" + (f" ({symbol.line})" if symbol.line else "")
            )

    def __len__(self) -> int:
        """The number of ops."""
        return sum(symbol.primitive is not None for symbol in self._steps)

    def __str__(self) -> str:
        names: dict[int, str] = {}
        for symbol in self._inputs:
            if symbol is not None:
                names[id(symbol)] = f"t{len(names)}"
        constants: dict[int, tuple[str, Any]] = {}

        def told(x: Any) -> str:
            """A symbol's name, a number, or the name of an array that depends on no tangent."""
            if id(x) in names or not shape_of(x):
                return names.get(id(x)) or _constant(x)
            return constants.setdefault(id(x), (f"c{len(constants)}", x))[0]

        head = ", ".join(f"{names[id(s)]}: {s.aval}" for s in self._inputs if s is not None)
        lines = [f"linear({head}):"]
        for symbol in self._steps:
            if symbol.primitive is not None:
                names[id(symbol)] = f"v{len(lines) - 1}"
                args = [told(arg) for arg in symbol.args]
                args += [f"{key}={value}" for key, value in symbol.params.items()]
                call = f"{symbol.primitive.name}({', '.join(args)})"
                lines.append(f"  {names[id(symbol)]}: {symbol.aval} = {call}")
        lines.append(f"  return {', '.join(map(told, self._outputs))}")
        for name, x in constants.values():
            short = is_a(x, np.ndarray) and x.size <= 8 and x.ndim < 2
            values = f" = {x}" if short else ""
            lines.append(f"where {name}: {Aval.of(x.shape, x.dtype)}{values}")
        return "\n".join(lines)


def linearize(f: Callable[..., Result], *primals: Any, **options: Any) -> tuple[Result, LinearMap]:
    """Return the value of `f(*primals)` and its derivative there as a linear function.

    Arguments:
        f: returns an array, or nested ones.
        primals: numbers, float arrays, or nested ones.
        options: keyword arguments of `f`, constants of the call.

    Returns `(value, push)`. Everything that depends on the primals alone is computed once;
    `push(*tangents)` runs the linear part and returns J @ tangents. `push.transpose(ct)` returns
    J' @ ct for each primal, which is reverse mode; `print(push)` shows the linear program.

    Raises:
        TypeError: no primal holds a float, or the result is no array. `push` raises as `jvp` does.

    >>> value, push = nbgrad.linearize(lambda x, y: x * np.sin(y), 2.0, 0.0)
    >>> push(0.0, 1.0), push.transpose(1.0)
    (np.float64(2.0), (np.float64(0.0), np.float64(2.0)))
    """
    trees.require_function("linearize", f)
    look(f, primals, options)
    primals, options = tuple(map(kept, primals)), kept(options) if options else options
    leaves, rebuild = trees.flatten(primals)
    _require_floats("linearize", leaves)
    with new_level(None, "linearize", f) as level:
        builder = Builder(level)
        inputs = _inputs(builder, leaves)
        scope = new_level(None, "linearize", f, derives=True)
        with scope as above:
            duals = [
                x if symbol is None else dual_argument("linearize", x, symbol, above)
                for x, symbol in zip(leaves, inputs, strict=True)
            ]
            result = callee(f)(*rebuild(duals), **options)
            outputs, rebuild_result = array_leaves("linearize", result)
            value = rebuild_result([kept(primal_of(x, above)) for x in outputs])
            tangents = [tangent_of(x, above) for x in outputs]
            if not any(isinstance(x, Symbol) for x in tangents):
                constant.warn("linearize", f, scope, result)
    recipe = _linearized, (f, primals, options)
    return value, LinearMap("linearize", inputs, tangents, primals, value, level, recipe)


def _linearized(f: Callable, primals: tuple, options: dict) -> LinearMap:
    return linearize(f, *primals, **options)[1]


def linear_transpose(f: Callable[..., Any], *examples: Any) -> Callable[[Any], tuple[Any, ...]]:
    """Return the transpose of a linear function: ct -> A' @ ct for x -> A @ x.

    Arguments:
        f: a function that is linear in all its arguments together; it is recorded once.
        examples: arrays, or nested ones, of the shapes and dtypes of its arguments.

    The new function takes a cotangent with the structure of the result of `f` and returns a tuple
    with a cotangent for each argument.

    Raises:
        TypeError: an op of `f` is not linear.
        ValueError: f(0) is not 0.

    >>> shift = nbgrad.linear_transpose(lambda x: x[1:] - x[:-1], np.zeros(3))
    >>> shift(np.array([1.0, 2.0]))
    (array([-1., -1.,  2.]),)
    """
    trees.require_function("linear_transpose", f)
    leaves, rebuild = trees.flatten(examples)
    _require_floats("linear_transpose", leaves)
    with new_level(None, "linear_transpose", f) as level:
        builder = Builder(level, hands_out=True)
        inputs = _inputs(builder, leaves)
        operands = [
            x if s is None else builder.handed(s) for x, s in zip(leaves, inputs, strict=True)
        ]
        result = callee(f)(*rebuild(operands))
    outputs, rebuild_result = array_leaves("linear_transpose", result)
    outputs = [symbol_of(below(x, level)) for x in outputs]
    like = rebuild_result([_zeros(x.aval) if isinstance(x, Symbol) else x for x in outputs])
    recipe = _untransposed, (f, examples)
    linear = LinearMap("linear_transpose", inputs, outputs, examples, like, level, recipe)
    # This raises for an op that is not linear, with its name.
    linear.transpose(like)
    zeros = rebuild(
        [x if s is None else _zeros(s.aval) for x, s in zip(leaves, inputs, strict=True)]
    )
    at_zero, _ = trees.flatten(linear(*zeros))
    if any(not isinstance(x, Array) and np.any(x) for x in at_zero):
        raise NotLinearError(
            "linear_transpose: f(0) is not 0: the function adds a constant, so it is not linear"
        )
    return linear.transpose


def _untransposed(f: Callable, examples: tuple) -> LinearMap:
    return linear_transpose(f, *examples).__self__  # pyright: ignore[reportFunctionMemberAccess]


def _inputs(builder: Builder, leaves: Sequence) -> list[Symbol | None]:
    return [
        builder.input(Aval.of(shape_of(x), getattr(x, "dtype", np.dtype(np.float64))))
        if trees.is_differentiable(x)
        else None
        for x in leaves
    ]


def _require_floats(op: str, leaves: Sequence) -> None:
    if not any(map(trees.is_differentiable, leaves)):
        raise NoFloatError(f"{op}: no argument holds a float; {trees.no_floats(leaves)}")


def _primitive_of(symbol: Symbol) -> Any:
    return symbol.primitive


def _add(cotangents: dict[int, Any], symbol: Any, ct: Any) -> None:
    known = cotangents.get(id(symbol))
    cotangents[id(symbol)] = ct if known is None else known + ct


def _zeros(aval: Aval) -> np.ndarray:
    return np.zeros(aval.shape, aval.dtype)


def _constant(x: Any) -> str:
    if isinstance(x, Symbol) and is_full(x):
        return repr(x.params["number"])
    if is_a(x, (int, float)):
        return repr(x)
    return f"{x.dtype}{list(shape_of(x))}"
