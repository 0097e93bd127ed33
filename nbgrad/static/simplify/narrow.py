"""`narrowed`: a loop without the states and results that nothing needs.

The tangent of a loop's final state does not need the tangents of what the steps return, and a
gradient does not need the sums of cotangents that nobody asked for.
"""

import dataclasses
from collections import Counter
from collections.abc import Iterable

from ...core.symbols import Symbol, topological
from ...eager.emission import body_of
from ...ir.scalar import Apply, parse
from ...rules.families.scalar import ScalarCode
from ..trace.body import Body
from .looped import Looped

_PRODUCT = parse("x * y")
assert isinstance(_PRODUCT, Apply)
_TIMES = _PRODUCT.function


def narrowed(loop: Looped) -> Looped:
    """The loop with only the states, ys and arguments that its wanted results depend on."""
    body = loop.body
    c, s, program = body.constants, body.states, body.program
    ys = sorted({number for kind, number in loop.keys if kind == "y"})
    results = [program.outputs[s + k] for k in ys]
    states = {number for kind, number in loop.keys if kind != "y"}
    states |= {*range(s - 2, s)} if body.stops else set()
    while True:
        outputs = [*results, *(program.outputs[k] for k in states), *program.checked]
        needed = topological(outputs)
        known = set(needed)
        read = {k for k in range(s) if program.inputs[1 + c + k] in known}
        if read <= states:
            break
        states |= read
    kept = sorted(states)
    if len(kept) == s and len(ys) == body.ys:
        return loop
    every = topological([*program.outputs, *program.checked])
    results += _unfused(needed, outputs, _reads(every, [*program.outputs, *program.checked]))
    inputs = [k for k, x in enumerate(program.inputs[1:]) if x in known]
    constants = [k for k in range(c) if k in inputs or (body.counted and k == 0)]
    xs = [k for k in inputs if k >= c + s]
    places = [*constants, *(c + k for k in kept), *xs]
    new = dataclasses.replace(
        program,
        inputs=(program.inputs[0], *(program.inputs[1 + k] for k in places)),
        outputs=(*(program.outputs[k] for k in kept), *results),
    )
    counts = (len(constants), len(kept), len(xs))
    less = Body(
        body.name, new, body.n, counts, body.reverse, body.spans, body.ending, body.too_long
    )
    of_states = {k: place for place, k in enumerate(kept)}
    of_ys = {k: place for place, k in enumerate(ys)}
    return loop.numbered(less, [loop.args[k] for k in places], of_states, of_ys)


def _reads(symbols: Iterable[Symbol], outputs: Iterable[Symbol]) -> Counter[Symbol]:
    """How often each of the symbols is read; an output is, once more."""
    args = (arg for symbol in symbols for arg in symbol.args if isinstance(arg, Symbol))
    return Counter([*outputs, *args])


def _unfused(needed: list[Symbol], outputs: list[Symbol], before: Counter[Symbol]) -> list[Symbol]:
    """The products that are read once now and were read more often.

    A product that only one sum reads is fused into it, which rounds once. They stay results, so
    that the loop rounds as it does where all its results are wanted.
    """
    now = _reads(needed, outputs)
    ends = set(outputs)
    return [x for x in needed if now[x] == 1 < before[x] and x not in ends and _is_product(x)]


def _is_product(symbol: Symbol) -> bool:
    if not isinstance(symbol.primitive, ScalarCode):
        return False
    root = body_of(symbol.primitive, symbol.params)
    return isinstance(root, Apply) and root.function is _TIMES
