"""Functions of numbers that Numba does not have, in functions with loops.

A function of NumPy, SciPy or nbgrad is recorded on symbols. Each op in the recording is a function
of scalar code, which the row of the op in the registry gives, and so are its derivatives.
"""

import hashlib
from collections.abc import Callable, Mapping
from functools import cache, partial
from types import FunctionType
from typing import Any

import numpy as np

from ..adjoints.partials import OPERANDS, declare_rule, pullbacks
from ..compiler.front.emit import FunctionBuilder
from ..compiler.front.functions import Entry
from ..compiler.front.scalars import floats, record_others
from ..compiler.front.syntax import Unsupported
from ..compiler.front.values import BOOL, DOUBLE, Known, Number, Value
from ..core import refusals
from ..core.array import functions
from ..core.primitive import Aval
from ..core.symbols import Builder, Symbol, is_full, symbol_of, topological
from ..eager.emission import body_of
from ..errors import NoRuleError
from ..ir.functions import FUNCTIONS, declare
from ..ir.scalar import NAMES, Apply, Expr, apply, arg, evaluate, number, substitute
from ..ir.statements import Assign, Function, Return
from ..rules.families.scalar import Elementwise, ScalarCode
from ..rules.layout import astype
from ..rules.nondiff import stop_row
from ..static.entry.library import find_by
from ..transforms.elementwise import UserElementwise

__all__ = ["found", "lend", "recorded_rule", "scalar_code"]

_ROOMS = ("nbgrad.rules.", "nbgrad.special.", "nbgrad.stats.", "nbgrad.nn.")
_OF_ELEMENTS = (
    "nbgrad.rules.activation.", "nbgrad.rules.elementary.", "nbgrad.rules.special.",
    "nbgrad.stats.bounded.", "nbgrad.stats.counts.", "nbgrad.stats.densities.",
    "nbgrad.stats.line.",
)  # fmt: skip
_INPUT = {dtype: Aval.of((), dtype) for dtype in (DOUBLE, BOOL)}


# -- calls ----------------------------------------------------------------------------------------


def _row(function: Any, of_elements: bool) -> Callable | None:
    """The writer of calls of a function that can be recorded; None for others."""
    plain = getattr(function, "__func__", function)  # of a method
    home = str(getattr(plain, "__module__", ""))
    if isinstance(function, np.ufunc):
        known = function in functions or f"scipy.special.{function.__name__}" in functions
    elif isinstance(function, UserElementwise):
        known = True
    elif isinstance(plain, FunctionType) and home.startswith("nbgrad."):
        known = f"{home}.".startswith(_OF_ELEMENTS if of_elements else _ROOMS)
    else:
        known = home.partition(".")[0] == "numpy" and function in functions
        known = known and (not of_elements or function in (np.nan_to_num, np.fix, np.i0))
    return partial(_called, function) if known else None


def _called(function: Any, emit: FunctionBuilder, *operands: Value, **named: Value) -> Value:
    """A call of a function that is recorded on symbols."""
    builder = Builder(level=0)
    every = [*operands, *named.values()]
    numbers = [x for x in every if not isinstance(x, Known)]
    given = dict(zip(map(id, numbers), floats(emit, numbers), strict=True)) if numbers else {}
    inputs: dict[Symbol, Number] = {}

    def symbol(x: Value) -> Any:
        if isinstance(x, Known):
            return x.value
        made = builder.input(_INPUT[DOUBLE])
        inputs[made] = given[id(x)]
        return made

    name = getattr(function, "__name__", str(function))
    refusals_before = refusals.total.count
    try:
        out = function(*map(symbol, operands), **{k: symbol(x) for k, x in named.items()})
        parts = [symbol_of(x) for x in (out if isinstance(out, tuple) else (out,))]
        order = [x for x in topological(parts, inputs) if x not in inputs]
        formulas = [None if is_full(x) else _formula(x) for x in order]
    except (TypeError, ValueError, ArithmeticError, LookupError, NotImplementedError) as error:
        refusals.forget(refusals_before)
        raise Unsupported(f"a call of {name} of such arguments: {error}") from error
    dtype = next(iter(given.values())).dtype if given else DOUBLE
    values: dict[Symbol, Number] = dict(inputs)

    def value(x: Any, kind: np.dtype) -> Number:
        if not isinstance(x, Symbol):
            return emit.cast(Known(float(x)), kind)
        if is_full(x):
            return emit.cast(Known(x.params["number"]), kind)
        return values[x]

    for x, formula in zip(order, formulas, strict=True):
        if formula is None:
            continue
        kind = BOOL if x.aval.dtype == BOOL else dtype
        given_to = tuple(value(each, dtype).operand for each in x.args)
        target = emit.name()
        emit.add(Assign(target, formula, given_to, kind, dtype))
        values[x] = Number(target, kind)
    results = tuple(value(x, dtype) for x in parts)
    return results if isinstance(out, tuple) else results[0]


# -- rows as functions of scalar code -------------------------------------------------------------


def _formula(symbol: Symbol) -> Expr:
    """The scalar code of a symbol over its arguments."""
    primitive: Any = symbol.primitive
    if primitive is astype and symbol.aval.dtype.kind == "f":
        return arg(NAMES[0])
    if not isinstance(primitive, ScalarCode) or symbol.aval.shape:
        raise Unsupported(f"{primitive.name} of numbers: use a loop")
    return scalar_code(primitive, tuple(symbol.params.items()))


@cache
def scalar_code(primitive: Any, params: tuple) -> Expr:
    body = body_of(primitive, dict(params))
    names = tuple(arg(name) for name in NAMES[: getattr(primitive, "arity", 1)])
    if not isinstance(primitive, Elementwise) and primitive is not stop_row:
        return body  # a condition
    if primitive.registered and isinstance(body, Apply) and body.args == names:
        if pullbacks(body.function.name):
            return body
    # Machine code is stored under this name: it tells what the row is.
    digest = hashlib.sha256(repr((body, _described(primitive, params))).encode()).hexdigest()
    name = f"row_{primitive.name}_{digest[:12]}"
    if name not in FUNCTIONS:
        declare(name, lambda *xs: evaluate(body, dict(zip(NAMES, xs, strict=False))), body.price)
        declare_rule(name, partial(_rule, primitive, params))
        _ROWS[name] = _Row(name, body, len(names))
    return apply(FUNCTIONS[name], names)


class _Row:
    """A function of scalar code with a body: what calls of its name are compiled as."""

    def __init__(self, name: str, body: Expr, arity: int):
        self.__name__, self._body, self._names = name, body, NAMES[:arity]

    @property
    def maker(self) -> Any:
        return self

    def entry(self, kinds: tuple) -> Entry:
        dtype = kinds[-1]
        function = Function(
            f"{self.__name__}.{dtype.str[1:]}",
            tuple(zip(self._names, kinds, strict=True)),
            (Assign("result", self._body, self._names, dtype, dtype), Return(("result",))),
            (dtype,),
            frozenset(["inline"]),
        )
        return Entry(function, dtype, found)


_ROWS: dict[str, Any] = {}


def lend(name: str, function: Any) -> None:
    """Have scalar code that calls a name call a function."""
    _ROWS[name] = function


def found(name: str) -> Any:
    """The function of ours that compiled code calls by a name."""
    from ..kernels import scalar
    from ..threads.helpers import spread

    if name == "spread":
        return spread
    return _ROWS[name] if name in _ROWS else getattr(scalar, name)


# -- their derivatives ----------------------------------------------------------------------------


@cache
def _rule(primitive: Any, params: tuple) -> tuple:
    """The cotangents of the arguments in terms of these, the result `u` and its cotangent `v`: for
    each an expression, None, or the reason why there is none."""
    return tuple(
        x if x is None or isinstance(x, str) else _composed(x, labels)
        for x, labels in _recorded(primitive, params)
    )


@cache
def _recorded(primitive: Any, params: tuple) -> list[tuple[Any, dict[Symbol, str]]]:
    """The cotangents of the arguments, recorded on symbols, which are labelled."""
    arity = getattr(primitive, "arity", 1)
    if not primitive.differentiable:
        return [(None, {})] * arity
    builder = Builder(level=0)
    kinds = [BOOL if i in primitive.conditions else DOUBLE for i in range(arity)]
    args = [builder.input(_INPUT[kind]) for kind in kinds]
    out, ct = (builder.input(_INPUT[DOUBLE]) for _ in range(2))
    labels = {**dict(zip(args, NAMES, strict=False)), out: "u", ct: "v"}
    found: list[tuple[Any, dict[Symbol, str]]] = []
    for i in range(arity):
        need = [k == i for k in range(arity)]
        try:
            result = primitive.pullback(ct, out, args, need, **dict(params))[i]
        except NoRuleError as refused:
            result = str(refused)
        found.append((symbol_of(result), labels))
    return found


def recorded_rule(pullback: Callable, arity: int) -> tuple | None:
    """The cotangents that a pullback of numbers gives, as expressions; None where it cannot be
    recorded."""
    builder = Builder(level=0)
    args, (out, ct) = ([builder.input(_INPUT[DOUBLE]) for _ in range(n)] for n in (arity, 2))
    labels = {**dict(zip(args, OPERANDS, strict=False)), out: "u", ct: "v"}
    try:
        results = pullback(ct, out, *args)
        parts = results if isinstance(results, tuple) else (results,)
        rule = tuple(None if x is None else _composed(symbol_of(x), labels) for x in parts)
    except Exception:  # it may ask for numbers in any way
        return None
    return None if len(rule) != arity or any(isinstance(x, str) for x in rule) else rule


def _described(primitive: Any, params: tuple) -> list[Any]:
    """The recorded cotangents as text."""
    found: list[Any] = []
    for result, labels in _recorded(primitive, params):
        names = dict(labels)
        for x in topological([result], labels):
            if x not in labels:
                of = [names[y] if isinstance(y, Symbol) else repr(y) for y in x.args]
                body = getattr(x.primitive, "body", "")
                body = "" if callable(body) else repr(body)
                found.append((getattr(x.primitive, "name", ""), body, repr(x.params), of))
                names[x] = str(len(found))
        found.append(names.get(result, repr(result)))
    return found


def _composed(result: Any, labels: Mapping[Symbol, str]) -> Expr | str:
    """A recorded value as one expression of the inputs, which `labels` names; the reason where it
    is none."""
    if not isinstance(result, Symbol):
        return number(float(result))
    known: dict[Any, Expr] = {x: arg(name) for x, name in labels.items()}

    def of(x: Any) -> Expr:
        return known[x] if isinstance(x, Symbol) else number(float(x))

    for x in topological([result], labels):
        if is_full(x):
            known[x] = number(float(x.params["number"]))
        elif x not in labels:
            try:
                formula = _formula(x)
            except Unsupported as refused:
                return str(refused)
            known[x] = substitute(formula, dict(zip(NAMES, map(of, x.args), strict=False)))
    return known[result]


record_others(_row)
find_by(found)
