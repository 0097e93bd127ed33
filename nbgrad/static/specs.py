"""Specs of named sizes, as in `compile(dynamic=...)`, and the sizes of arguments by these names."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import ArgumentError, DimensionMismatch
from ..transforms import trees
from .arguments import Arguments
from .entry.flatten import is_dynamic

Spec = tuple[str | None, ...]
"""For each axis of an array the name of its length, or None for a literal length."""


class Named(NamedTuple):
    """Arguments with named sizes: the `shapes` of inputs, with names; their `labels` for messages;
    the `sizes` by name, each with the argument that has it; and, for a program that is for sizes
    with these only, divisors and `remainders` of sizes by name."""

    shapes: tuple[tuple[int | str, ...], ...]
    labels: tuple[str, ...]
    sizes: dict[str, tuple[int, str]]
    remainders: tuple[tuple[str, int, int], ...] = ()

    @property
    def values(self) -> dict[str, int]:
        return {name: n for name, (n, _) in self.sizes.items()}

    def divided(self, divisors: Mapping[str, int]) -> "Named":
        """The same with the remainders of the sizes for these divisors."""
        rests = ((name, by, self.sizes[name][0] % by) for name, by in divisors.items())
        return self._replace(remainders=tuple(rests))


class Specs:
    """The named sizes of a function's arguments, as in `compile(dynamic=...)`."""

    def __init__(self, parameters: Sequence[str], dynamic: Mapping[str, Any]):
        self._parameters = parameters
        self._specs = {name: dict(_parts(name, spec, ())) for name, spec in dynamic.items()}
        unknown = [name for name in dynamic if name not in parameters]
        if unknown:
            raise ArgumentError(
                f"dynamic: {', '.join(map(str, unknown))} is no argument of the function; it has "
                f"{', '.join(parameters)}",
                code="NB-SIZES",
            )

    def of(self, f: str, arguments: Arguments) -> Named:
        """Return the named sizes of arguments. Raises DimensionMismatch, which names both
        arguments, if sizes with equal names differ."""
        sizes: dict[str, tuple[int, str]] = {}
        shapes, labels, avals = [], [], iter(arguments.avals)
        names = [*self._parameters, *("" for _ in arguments.positional)]
        pairs = [
            *zip(names, arguments.positional, strict=False),
            *((name, arguments.named[name]) for name in sorted(arguments.named)),
        ]
        for name, value in pairs:
            specs, paths = self._specs.get(name, {}), trees.key_paths(value)
            leaves = trees.flatten(value)[0]
            for path, leaf in zip(paths, leaves, strict=True):
                if is_dynamic(leaf):
                    shape = next(avals).shape
                    labels.append(_label(name, path))
                    spec = next((specs[p] for p in _prefixes(path) if p in specs), None)
                    shapes.append(
                        shape if spec is None else _read(f, labels[-1], shape, spec, sizes)
                    )
            for part in specs:
                if part and not any(part in _prefixes(path) for path in paths):
                    raise ArgumentError(
                        f"{f}: dynamic names sizes of {_label(name, part)}, which is no part of "
                        "the argument",
                        code="NB-SIZES",
                    )
        return Named(tuple(shapes), tuple(labels), sizes)


class LeafSpecs:
    """`Specs` for a function of leaves: one spec for each position."""

    def __init__(self, specs: Sequence[Spec | None]):
        self.specs = list(specs)

    def of(self, f: str, arguments: Arguments) -> Named:
        """Return the named sizes of leaves. Raises DimensionMismatch as `Specs.of`."""
        sizes: dict[str, tuple[int, str]] = {}
        shapes, labels = [], []
        for i, aval in zip(arguments.places, arguments.avals, strict=True):
            spec = self.specs[i]
            labels.append(f"argument {i}")
            shape = aval.shape
            shapes.append(shape if spec is None else _read(f, labels[-1], shape, spec, sizes))
        return Named(tuple(shapes), tuple(labels), sizes)


def specs_of(named: Named) -> list[Spec]:
    """Return the specs of the inputs, in order."""
    return [tuple(n if isinstance(n, str) else None for n in shape) for shape in named.shapes]


def _parts(name: str, spec: Any, path: tuple) -> Iterator[tuple[tuple, Spec]]:
    """The specs of parts of an argument, each with its path: keys, positions and attributes."""
    if isinstance(spec, (tuple, list)):
        if all(x is None or (isinstance(x, str) and x.isidentifier()) for x in spec):
            yield path, tuple(spec)
            return
        parts: Any = enumerate(() if any(isinstance(x, str) for x in spec) else spec)
    elif dataclasses.is_dataclass(spec) and not isinstance(spec, type):
        parts = ((field.name, getattr(spec, field.name)) for field in dataclasses.fields(spec))
    else:
        parts = spec.items() if isinstance(spec, Mapping) else ()
    found = [(key, part) for key, part in parts if part is not None]
    if not found:
        raise ArgumentError(
            f"dynamic: the sizes of {_label(name, path)} are given as a tuple of names, and None "
            f'for literal ones, such as ("n", None), or as such tuples, nested as the argument is, '
            f"not as {spec!r}",
            code="NB-SIZES",
        )
    for key, part in found:
        yield from _parts(name, part, (*path, key))


def _prefixes(path: tuple) -> list[tuple]:
    return [path[:i] for i in range(len(path) + 1)]


def _label(name: str, path: tuple) -> str:
    """A part of an argument for messages."""
    return f"{name}[{'.'.join(map(str, path))!r}]" if path else name


def _read(
    f: str, label: str, shape: tuple[int, ...], spec: Spec, sizes: dict[str, tuple[int, str]]
) -> tuple[int | str, ...]:
    if len(shape) != len(spec):
        raise DimensionMismatch(
            f"{f}: {label} has the shape {shape}, and dynamic names {len(spec)} sizes of it",
            code="NB-SIZES",
        )
    for name, n in zip(spec, shape, strict=True):
        if name is None:
            continue
        other, where = sizes.setdefault(name, (n, f"{label} of shape {shape}"))
        if other != n:
            raise DimensionMismatch(
                f"{f}: the size {name} is {other} in {where} and {n} in {label} of shape {shape}",
                code="NB-SIZES",
            )
    return tuple(n if name is None else name for name, n in zip(spec, shape, strict=True))


__all__ = ["LeafSpecs", "Named", "Spec", "Specs", "specs_of"]
