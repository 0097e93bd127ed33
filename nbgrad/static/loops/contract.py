"""Products that are fused into the sums of a step, once and for all.

Whether LLVM fuses a product into a sum depends on what it knows of the surroundings, such as
whether anybody reads the product: a step written into two loops could round in two ways. So a
step's own arithmetic is exact, and what is to be fused is said here.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ...ir.core import CoreStep
from ...ir.scalar import parse
from ...ir.statements import Assign, Operand
from ...ir.walk import defined, operands, walk

_PRODUCT = parse("x * y")
# For a sum or difference: where a factor of it may stand, and what becomes of both.
_FUSED = {
    parse("x + y"): ((1, parse("fused(x, y, z)")), (0, parse("fused(x, y, z)"))),
    parse("x - y"): ((1, parse("fused(-x, y, z)")), (0, parse("fused(x, y, -z)"))),
}


def with_fused_products(steps: Sequence[CoreStep], results: Sequence[Operand]) -> list[CoreStep]:
    """The steps of a core, with each product that one sum alone reads as a part of that."""
    reads = Counter([*results, *(x for each in walk(steps) for x in operands(each))])
    products: dict[str, Assign] = {}
    fused: set[str] = set()
    found: list[CoreStep] = []
    for step in steps:
        let = step.statement
        if isinstance(let, Assign) and let.dtype.kind == "f":
            if let.body is _PRODUCT and reads[let.target] == 1:
                products[let.target] = let
            for place, body in _FUSED.get(let.body, ()):
                name = let.operands[place]
                product = products.get(name) if isinstance(name, str) else None
                if product is not None and product.dtype == let.dtype:
                    terms = (*product.operands, let.operands[1 - place])
                    step = replace(step, statement=replace(let, body=body, operands=terms))
                    fused.add(product.target)
                    break
        found.append(step)
    return [step for step in found if defined(step.statement) not in fused]


__all__ = ["with_fused_products"]
