"""`vmap` of a compiled function: one program for all samples."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...core.array import Array
from ...core.memory import Argument
from ...core.primitive import new_level
from ...errors import GraphError
from ...transforms import trees
from ...transforms.transformed import transformed
from ...values.batched import Batched
from ...values.tracked import below
from .derived import require_below

if TYPE_CHECKING:
    from .calls import Nesting


def batched(f: Callable, moving: tuple[int, ...]) -> Callable:
    """Return a function of leaves, with an axis of samples for those at the positions `moving`. It
    returns the results for all samples, and for each leaf "samples" if it has such an axis."""

    @transformed(batched, f, moving)
    def over_samples(*args: Any) -> tuple[Any, list]:
        leaves = list(args)
        with new_level(None, "compile", f) as level:
            for i in moving:
                leaves[i] = samples = Batched(leaves[i], level)
                if samples.shape:
                    samples.origin = Argument("the compiled function", GraphError)
            outputs, rebuild = trees.flatten(f(*leaves))
            results = [below(x, level) for x in outputs]
            has = [isinstance(x, Batched) and x.level == level for x in results]
            rows = [_rows(x) if split else x for x, split in zip(results, has, strict=True)]
            return rebuild(rows), ["samples" if split else None for split in has]

    return over_samples


def _rows(x: Batched) -> Any:
    return x.value._fresh() if isinstance(x.value, Array) else x.value


def samples(nesting: "Nesting", leaves: list, moving: tuple[int, ...], level: Any) -> Any:
    for i in moving:
        leaves[i] = leaves[i]._snapshot().value
    specs = [
        (None, *spec) if spec is not None and i in moving else spec
        for i, spec in enumerate(nesting.specs)
    ]
    value, has = nesting.derived(batched, moving, specs=specs)(*leaves)
    outputs, rebuild = trees.flatten(value)
    require_below(outputs, level)
    return rebuild([
        x if split is None else Batched(x, level) for x, split in zip(outputs, has, strict=True)
    ])  # fmt: skip
