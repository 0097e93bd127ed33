"""The roles of the parameters and results of the function of a derivative."""

from dataclasses import dataclass, replace

from ..ir.statements import Function
from .packed import Derivative

__all__ = ["Origin", "origins_of"]


@dataclass(frozen=True)
class Origin:
    """A parameter or result: of leaf, shadow (`bar`) or seed number `index`, and the directions
    along which it is differentiated."""

    kind: str
    index: int
    along: tuple[int, ...] = ()


def origins_of(of: Derivative, inner: Function) -> tuple[dict[str, Origin], list[Origin]]:
    """The origins of the parameters and of the results of the function of a derivative."""
    signature, leaves = of.signature, of.signature.leaves
    count = len(signature.primal.parameters)
    parameters = inner.parameters
    origins = {leaf.name: Origin("leaf", i) for i, leaf in enumerate(leaves)}
    results = [Origin("result", i) for i in range(len(signature.results))]
    if of.half == "backward":
        results = []
    if not of.gives_value:
        seeds = iter(range(of.count))
        by_name = {f"{leaf.name}.bar": i for i, leaf in enumerate(leaves)}
        wanted = sorted({*(of.wrt or ()), *of.outs})
        numbers = [i for i in wanted if leaves[i].ndim is None]
        shadows = [n for n, _ in parameters[count:] if n in by_name]
        origins |= {name: Origin("bar", by_name[name]) for name in shadows}
        for name, _ in parameters[count + len(shadows) :][: of.count]:
            origins[name] = Origin("seed", next(seeds))
        results += [Origin("bar", i) for i in numbers]
        count += len(shadows) + of.count
    for k in range(len(of.along)):
        # x.dot2 is the tangent of x, not of x.dot: a function may have such names itself.
        first = parameters[count][0] if count < len(parameters) else ""
        suffix = first[first.rfind(".dot") :]
        while count < len(parameters) and parameters[count][0].endswith(suffix):
            name = parameters[count][0]
            old = origins[name.removesuffix(suffix)]
            origins[name] = replace(old, along=(*old.along, k))
            count += 1
        floats = [
            replace(each, along=(*each.along, k))
            for each in results if _is_float(of, each)
        ]  # fmt: skip
        results += floats
    return origins, results


def _is_float(of: Derivative, origin: Origin) -> bool:
    return origin.kind == "bar" or of.signature.results[origin.index].kind == "f"
