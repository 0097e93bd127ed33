"""`custom_rule`: functions with a user-defined derivative."""

from collections.abc import Callable, Sequence
from functools import update_wrapper
from inspect import signature
from typing import Any, Generic, overload

import numpy as np

from ..core.array import Array
from ..core.primitive import Primitive, Unplanned, bind, new_level, shape_of
from ..core.remade import reduced
from ..errors import CustomRuleError, DimensionMismatch, EagerOnlyError, NoRuleError
from ..runtime.lines import user_line
from ..values.tracked import below
from . import trees
from .calls import CallPrimitive, FunctionCall, called
from .linear import linear_transpose
from .ruled import Rule, ruled
from .run import fitted
from .transformed import Parameters, Result


class CustomRule(Generic[Parameters, Result]):
    """A function with a derivative rule, returned by `nbgrad.custom_rule`."""

    def __init__(
        self, f: Callable[Parameters, Result], pullback: Callable, pushforward: Callable | None
    ):
        update_wrapper(self, f, assigned=("__module__", "__name__", "__doc__"), updated=())
        self.f, self.pullback, self.pushforward = f, pullback, pushforward

    def __call__(self, *args: Parameters.args, **options: Parameters.kwargs) -> Result:
        call = FunctionCall(self._name, self.f, args, options)
        call.rule = self
        return called(_primitive, call)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind a method: the instance is the first argument."""
        if instance is None:
            return self
        call: Any = self
        return lambda *args, **options: call(instance, *args, **options)

    def __reduce__(self) -> Any:
        return reduced(self, CustomRule, self.f, self.pullback, self.pushforward)

    @property
    def function(self) -> Callable[Parameters, Result]:
        """The function without the rule."""
        return self.f

    @property
    def _name(self) -> str:
        return getattr(self, "__name__", type(self.f).__name__)


@overload
def custom_rule(
    f: Callable[Parameters, Result],
    *,
    pullback: Callable[..., Any],
    pushforward: Callable[..., Any] | None = None,
) -> CustomRule[Parameters, Result]: ...
@overload
def custom_rule(
    *, pullback: Callable[..., Any], pushforward: Callable[..., Any] | None = None
) -> Callable[[Callable[Parameters, Result]], CustomRule[Parameters, Result]]: ...
def custom_rule(
    f: Callable | None = None, *, pullback: Callable, pushforward: Callable | None = None
) -> Any:
    """Define the pullback, and optionally the pushforward, of a function.

    Arguments:
        f: a function, plain Python or `@njit`, of numbers, arrays or nested containers of them,
            which returns an array, or a nested container of arrays. Without `f`, a decorator is
            returned.
        pullback: `pullback(ct, out, *args)` returns a tuple with a cotangent for each argument,
            of its structure and shapes, or None. For a single argument it may return the cotangent
            itself.
        pushforward: `pushforward(tangents, out, *args)` returns the tangent of the result;
            `tangents` has one for each argument, zeros for those that are constant. Without it, the
            pullback is transposed, which needs a pullback made of NumPy functions.

    A rule made of NumPy functions can be differentiated again, batched and compiled. If `f` or its
    pullback is an `@njit` function, only first derivatives are possible.

    Raises, when it is called:
        TypeError: the rule returns another number or structure of cotangents.
        DimensionMismatch: a cotangent or tangent has the wrong shape.

    >>> @nbgrad.custom_rule(pullback=lambda ct, out, x: ct * np.minimum(np.exp(x), 10.0))
    ... def clipped_exp(x):
    ...     return np.exp(x)
    >>> nbgrad.grad(clipped_exp)(5.0)
    np.float64(10.0)
    """
    if f is None:
        return lambda function: custom_rule(function, pullback=pullback, pushforward=pushforward)
    trees.require_function("custom_rule", f)
    trees.require_function("custom_rule: pullback", pullback)
    if pushforward is not None:
        trees.require_function("custom_rule: pushforward", pushforward)
    return CustomRule(f, pullback, pushforward)


class _Custom(CallPrimitive):
    """A call with the user's rule."""

    def evaluate(self, *args, **params):
        call: FunctionCall = params["call"]
        with new_level() as level:  # arrays that the function tracks are local to it
            out = call.apply(*(trees.scalar(x) for x in args))
        return np.asarray(below(out, level))

    def inline(self, *args, call: FunctionCall):
        if _is_compiled(call.f):
            raise EagerOnlyError(
                f"{call.name} is compiled by Numba and cannot be recorded: call it for numbers in "
                "a function under nbgrad.njit, or write it with NumPy functions" + user_line()
            )
        return call.apply(*args)

    def inline_step(self, *args, call: FunctionCall):
        rule = Rule(self, call, args)
        return bind(ruled, self.inline(*args, call=call), *args, *rule.others, rule=rule)

    def pullback(self, ct, out, args, need, **params):
        call: FunctionCall = params["call"]
        _require_positions(call, need)
        if _is_compiled(call.rule.pullback) and any(isinstance(x, Array) for x in (ct, out, *args)):
            return _pulled_as_op(call, need, ct, out, args)
        return pulled(call, ct, out, args)

    def pushforward(self, tangents, out, args, **params):
        call: FunctionCall = params["call"]
        rule = call.rule
        if rule.pushforward is None:
            return _transposed(call, tangents, out, args)
        filled = [
            np.zeros(shape_of(x), getattr(x, "dtype", np.float64)) if t is None else t
            for t, x in zip(tangents, args, strict=True)
        ]
        operands, options = call.arguments(args)
        directions, _ = call.arguments([trees.scalar(t) for t in filled])
        value = call.unpack(out)
        result = rule.pushforward(tuple(directions), value, *operands, **options)
        if not trees.same_structure(result, value):
            raise CustomRuleError(
                f"{call.name}: its pushforward gave {trees.describe(result)}, and must give a "
                f"tangent that nests as the result does: {trees.describe(value)}"
            )
        return _checked(call, "pushforward", call.pack(result), out, "a result")


_primitive = _Custom("custom_rule")


def _require_positions(call: FunctionCall, need: Sequence[bool]) -> None:
    """Raise for an argument that is passed by its name and has a derivative: rules give none."""
    count = len(trees.flatten(call.positional)[0])
    if any(needed and i >= count for i, needed in zip(call.places, need, strict=True)):
        raise CustomRuleError(
            f"{call.name}: an argument that is passed by its name has no derivative: pass it by "
            "position"
        )


class _Pullback(Primitive):
    """The pullback of a rule that Numba compiled, as an op without a derivative."""

    registered = False

    def evaluate(self, *args, **params):
        call, mask = params["call"], params["mask"]
        cotangents = pulled(call, args[0], args[1], args[2:])
        return np.concatenate([
            np.ravel(np.zeros(shape_of(x)) if g is None else g)
            for g, x, needed in zip(cotangents, args[2:], mask, strict=True) if needed
        ])  # fmt: skip

    def pullback(self, ct, out, args, need, **params):
        raise _once(params["call"])

    def pushforward(self, tangents, out, args, **params):
        raise _once(params["call"])


_pullback = _Pullback("custom_pullback")
_pullback.plans = Unplanned()


def _pulled_as_op(
    call: FunctionCall, need: Sequence[bool], ct: Any, out: Any, args: Sequence
) -> list:
    flat = bind(_pullback, ct, out, *args, call=call, mask=tuple(need))
    cotangents, at = [], 0
    for x, needs in zip(args, need, strict=True):
        size = int(np.prod(shape_of(x)))
        cotangents.append(np.reshape(flat[at : at + size], shape_of(x)) if needs else None)
        at += size if needs else 0
    return cotangents


def _takes(f: Callable, args: tuple, options: dict) -> bool:
    """Whether f can be called with these arguments, as far as its signature is known."""
    try:
        known = signature(f)
    except (TypeError, ValueError):
        return True
    try:
        known.bind(*args, **options)
    except TypeError:
        return False
    return True


def pulled(call: FunctionCall, ct: Any, out: Any, args: Sequence) -> list[Any]:
    """Call the user's pullback and check its cotangents for the float leaves of the arguments."""
    operands, options = call.arguments([trees.scalar(x) for x in args])
    with new_level() as level:
        given = call.unpack(ct), call.unpack(out), *operands
        try:
            cotangents = call.rule.pullback(*given, **options)
        except TypeError:
            if _takes(call.rule.pullback, given, options):
                raise
            raise CustomRuleError(
                f"{call.name}: its pullback takes other arguments: write it as pullback(ct, out, "
                "*args), with the arguments of the function behind ct and out"
            ) from None
    if len(operands) == 1 and not (isinstance(cotangents, tuple) and len(cotangents) == 1):
        cotangents = (cotangents,)
    if not isinstance(cotangents, tuple) or len(cotangents) != len(operands):
        count = (
            f"{len(cotangents)} cotangents"
            if isinstance(cotangents, tuple)
            else type(cotangents).__name__
        )
        raise CustomRuleError(
            f"{call.name}: its pullback gave {count} for {len(operands)} arguments: return a tuple "
            "with one for each, None where there is none"
        )
    filled = []
    for position, (g, x) in enumerate(zip(cotangents, operands, strict=True)):
        if g is None:
            g = trees.flatten(x)[1]([None] * len(trees.flatten(x)[0]))
        if not trees.same_structure(g, x):
            raise CustomRuleError(
                f"{call.name}: the cotangent of argument {position} nests as {trees.describe(g)}, "
                f"and must nest as the argument does: {trees.describe(x)}"
            )
        filled.append(g)
    return [
        None if g is None else _checked(call, "pullback", below(g, level), x, "an argument")
        for g, x in zip(call.leaves_of(filled), args, strict=True)
    ]


def _checked(call: FunctionCall, rule: str, value: Any, like: Any, what: str) -> Any:
    """Check the shape of a cotangent or tangent; DimensionMismatch names the function."""
    if shape_of(value) != shape_of(like):
        raise DimensionMismatch(
            f"{call.name}: its {rule} gave shape {shape_of(value)} for {what} of shape "
            f"{shape_of(like)}; they must be equal",
            code="NB-CUSTOM",
        )
    if isinstance(value, Array):
        return value
    dtype = getattr(like, "dtype", np.dtype(np.float64))
    return np.asarray(fitted(call.name, rule, np.asarray(value, dtype), [like], like)[0])


def _transposed(call: FunctionCall, tangents: Sequence, out: Any, args: Sequence) -> Any:
    """Compute J @ tangents by transposing the pullback."""
    if _is_compiled(call.rule.pullback):
        raise NoRuleError(
            f"{call.name}: forward mode needs a pushforward, as its pullback is compiled by Numba: "
            "define custom_rule(pushforward=...)"
        )
    moving = [i for i, t in enumerate(tangents) if t is not None]

    def pull(ct: Any) -> tuple:
        cotangents = pulled(call, ct, out, args)
        return tuple(cotangents[i] for i in moving if cotangents[i] is not None)

    like = np.zeros(shape_of(out), out.dtype)
    known = [i for i in moving if pulled(call, like, out, args)[i] is not None]
    if not known:
        return like
    return linear_transpose(pull, like)(tuple(tangents[i] for i in known))[0]


def _once(call: FunctionCall) -> NoRuleError:
    return NoRuleError(
        f"{call.name}: its pullback is compiled by Numba and cannot be differentiated again: write "
        "it with NumPy functions"
    )


def _is_compiled(f: Any) -> bool:
    """Whether f is a Numba dispatcher, which takes plain arrays only."""
    return hasattr(f, "py_func") and hasattr(f, "overloads")
