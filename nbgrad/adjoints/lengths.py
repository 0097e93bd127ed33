"""The lengths of the arrays that a function takes."""

from collections.abc import Collection

from ..ir.statements import Function, Pointer

__all__ = ["known_lengths", "shapes_of"]


def shapes_of(function: Function, lengths: Collection[str]) -> dict[str, tuple[str, ...]]:
    """The names of the lengths of each array: those of the parameters that follow its pointer."""
    found: dict[str, tuple[str, ...]] = {}
    array = ""
    for name, kind in function.parameters:
        if isinstance(kind, Pointer):
            array, found[name] = name, ()
        elif name in lengths and array:
            found[array] += (name,)
    return found


def known_lengths(
    function: Function, shapes: dict[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...] | None]:
    """The lengths of each array; None where they do not tell its number of elements, as it has
    strides, or is passed without lengths. Tangents are as long as their arrays."""
    parameters = {name for name, _ in function.parameters}
    found: dict[str, tuple[str, ...] | None] = {}
    for name, shape in shapes.items():
        shape = shape or found.get(name.rpartition(".dot")[0]) or ()
        found[name] = None if not shape or f"{name}_s0" in parameters else shape
    return found
