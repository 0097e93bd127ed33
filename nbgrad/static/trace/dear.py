"""Values that a loop keeps for its pullback besides the states: small ones, expensive to recompute.

The reverse steps recompute the values that they read from the states before each step. Sums of
exponentials, factors, products of matrices and the results of inner loops take longer to recompute
than to store and to load, so the steps return them as further ys.
"""

import math
from collections.abc import Iterable
from typing import Any

from ...core.symbols import Symbol, topological
from ...eager.emission import body_of
from ...rules.families.arrays import Bilinear
from ...rules.families.scalar import ScalarCode
from .body import Body
from .program import Program, replay_from
from .residuals import Residuals

# A value is kept if it takes more operations for each element; an exponential takes twelve.
_WORTH = 16
# What is kept for a step takes at most so many times the memory of its state and slices.
_MOST = 8


def dear(body: Body, back: Program, primals: dict[Symbol, Any]) -> Residuals | None:
    """Return what the loop keeps for the reverse steps, None for nothing. `primals` maps inputs of
    `back` to those of the body, or to numbers."""
    known = {*primals}  # values that the forward step can compute
    for symbol in topological(back.outputs):
        if symbol.primitive is not None and all(arg in known for arg in _args(symbol)):
            known.add(symbol)
    used = topological(back.outputs)
    wanted = [arg for user in used if user not in known for arg in _args(user) if arg in known]
    wanted += [out for out in back.outputs if out in known]
    own = sum(x.aval.size for x in body.program.inputs[1 + body.constants :])
    values = _cut(list(dict.fromkeys(wanted)), primals)
    if not values or sum(x.aval.size for x in values) > _MOST * own:
        return None
    mine = replay_from(dict(primals), values, body.program.inputs[0].builder)
    return Residuals(values, [], body.keep(mine, []), list(back.checked))


def _cut(wanted: list[Symbol], inputs: Iterable[Symbol]) -> list[Symbol]:
    """Return the values to keep, so that the wanted ones cost little. None is scalar code, whose
    bits would depend on the code around it."""
    cost: dict[Symbol, int] = dict.fromkeys(inputs, 0)
    kept: dict[Symbol, bool] = {}
    for symbol in topological(wanted):
        if symbol not in cost:
            again = _work(symbol) + sum(cost[arg] for arg in dict.fromkeys(_args(symbol)))
            store = _WORTH * symbol.aval.size
            is_float = symbol.dtype.kind == "f" and not isinstance(symbol.primitive, ScalarCode)
            kept[symbol] = is_float and store < again
            cost[symbol] = min(store, again) if kept[symbol] else again
    found: dict[Symbol, None] = {}
    stack, seen = list(wanted), {*wanted}
    while stack:
        symbol = stack.pop()
        if kept.get(symbol):
            found[symbol] = None
            continue
        new = [arg for arg in _args(symbol) if arg in kept and arg not in seen]
        seen.update(new)
        stack += new
    return list(found)


def _work(symbol: Symbol) -> int:
    """About how many operations a value takes, given its arguments."""
    primitive, args = symbol.primitive, _args(symbol)
    if isinstance(primitive, ScalarCode):
        return symbol.aval.size * body_of(primitive, symbol.params).price
    inner = symbol.params.get("body")
    if isinstance(inner, Body):
        return inner.n * sum(map(_work, inner.program.equations))
    assert primitive is not None
    if isinstance(primitive, Bilinear) and len(args) == 2:  # as many as (m, k) times (k, n)
        return 2 * math.isqrt(symbol.aval.size * args[0].aval.size * args[1].aval.size)
    if primitive.linear:
        return symbol.aval.size
    return 20 * max([x.aval.size for x in (symbol, *args)])


def _args(symbol: Symbol) -> list[Symbol]:
    return [arg for arg in symbol.args if isinstance(arg, Symbol)]
