"""Named sizes (`compile(dynamic=...)`): one program for all sizes of arguments.

A function is recorded and compiled with stand-ins for the sizes (`ir/sizes.py`), and once more with
others: both texts must be equal. Assumptions about sizes become conditions of the program. Sizes
that violate one have a variant of their own.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ..core.primitive import Aval
from ..core.symbols import static_key
from ..errors import DimensionMismatch, TraceError
from ..ir.naming import Naming
from ..ir.sizes import is_dynamic as is_named
from ..ir.sizes import stand_in
from ..runtime.lines import calling_line, user_line
from ..transforms import trees
from .arguments import Arguments
from .entry.flatten import is_dynamic
from .trace.program import Program
from .trace.same import Comparison

if TYPE_CHECKING:
    from .variant import Variant

Record: TypeAlias = Callable[[list[Aval]], Program]
Spec = tuple[str | None, ...]
"""For each axis of an array the name of its length, or None for a literal length."""

# Stand-ins for sizes, unusual lengths: primes, twice a prime, and 120 times a prime, so that
# programs that depend on a remainder differ.
_STAND_INS = tuple(
    zip(
        (1009, 1151, 1321, 1447, 1579, 1733, 1867, 1999, 2131, 2287, 2423, 2549),
        (2102, 2234, 2374, 2518, 2654, 2798, 2942, 3086, 3218, 3386, 3518, 3662),
        (120 * n for n in (17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61)),
        strict=True,
    )
)
# Stand-ins for which a program is recorded again and compared: the first of each row that matches,
# as a size may equal another number by chance.
_CHECKED = ((3, 5, 7), (16, 48, 80), (20_000, 24_000, 28_000))
_ADVICE = (
    ": make arrays of sizes by np functions of arguments, such as np.zeros_like, use nbgrad.scan "
    "in place of range, np.where in place of if, or name fewer sizes"
)
# A number of the program may equal a stand-in by chance: then others are tried.
_ATTEMPTS = 3


class Named(NamedTuple):
    """Arguments with named sizes: the `shapes` of inputs, with names; their `labels` for messages;
    the `sizes` by name, each with the argument that has it."""

    shapes: tuple[tuple[int | str, ...], ...]
    labels: tuple[str, ...]
    sizes: dict[str, tuple[int, str]]

    @property
    def values(self) -> dict[str, int]:
        return {name: n for name, (n, _) in self.sizes.items()}


class Specs:
    """The named sizes of a function's arguments, as in `compile(dynamic=...)`."""

    def __init__(self, parameters: Sequence[str], dynamic: Mapping[str, Spec]):
        self._parameters = parameters
        self._specs = {name: _checked(name, spec) for name, spec in dynamic.items()}
        unknown = [name for name in dynamic if name not in parameters]
        if unknown:
            raise ValueError(
                f"dynamic: {', '.join(map(str, unknown))} is no argument of the function; it has "
                f"{', '.join(parameters)}"
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
            spec = self._specs.get(name)
            leaves = trees.flatten(value)[0]
            for place, leaf in zip(trees.paths(value), leaves, strict=True):
                if is_dynamic(leaf):
                    shape = next(avals).shape
                    label = f"{name}[{place!r}]" if place else name
                    labels.append(label)
                    shapes.append(shape if spec is None else _read(f, label, shape, spec, sizes))
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


def specs_of_outputs(variant: "Variant") -> list[Spec | None]:
    """Return the specs of the outputs of a program, None if a length is no named size."""
    names = {spelled: name for name, spelled in variant.names.items()}
    specs: list[Spec | None] = []
    for output in variant.program.outputs:
        lengths = [str(n) if is_named(n) else None for n in getattr(output, "shape", ())]
        known = all(n is None or n in names for n in lengths)
        specs.append(tuple(n and names[n] for n in lengths) if known else None)
    return specs


def _checked(name: str, spec: Any) -> Spec:
    fits = isinstance(spec, (tuple, list)) and all(x is None or isinstance(x, str) for x in spec)
    if not fits or not all(x is None or x.isidentifier() for x in spec):
        raise ValueError(
            f"dynamic: the sizes of {name} are given as a tuple of names, and None for literal "
            f'ones, such as ("n", None), not as {spec!r}'
        )
    return tuple(spec)


def _read(
    f: str, label: str, shape: tuple[int, ...], spec: Spec, sizes: dict[str, tuple[int, str]]
) -> tuple[int | str, ...]:
    if len(shape) != len(spec):
        raise DimensionMismatch(
            f"{f}: {label} has the shape {shape}, and dynamic names {len(spec)} sizes of it"
        )
    for name, n in zip(spec, shape, strict=True):
        if name is None:
            continue
        other, where = sizes.setdefault(name, (n, f"{label} of shape {shape}"))
        if other != n:
            raise DimensionMismatch(
                f"{f}: the size {name} is {other} in {where} and {n} in {label} of shape {shape}"
            )
    return tuple(n if name is None else name for name, n in zip(spec, shape, strict=True))


def compiled(f: str, named: Named, avals: Sequence[Aval], record: Record) -> "Variant":
    """Compile the variant for all sizes with these names; `record` records the program for avals.

    Raises the errors of the function for `avals`, and TraceError, with the user's line if known, if
    the program depends on a size in a way that has no formula.
    """
    try:
        variant = _compiled(f, named, avals, record)
        told = _other_program(variant, named, avals, record)
        if told:
            raise TraceError(f"{f}: {told}{_ADVICE}")
        return variant
    except TraceError:
        record(list(avals))
        raise
    except Exception as error:
        record(list(avals))
        raise TraceError(
            f"{f}: an op cannot be recorded for named sizes, here {_listed(named.sizes)}: name "
            f"fewer ({type(error).__name__}: {error}){_line_of(error)}"
        ) from error


def is_for(variant: "Variant", named: Named, avals: Sequence[Aval], record: Record) -> bool:
    """Return whether a variant is valid for the sizes of arguments: its conditions hold, and the
    same program is recorded, if the function reads sizes, on which Python code may depend."""
    if not variant.holds_for(named.values):
        return False
    known = variant.signature.verified
    if known is None:
        return True
    spelled = {variant.names[name]: n for name, n in named.values.items()}
    sizes = tuple(spelled[name] for name in variant.signature.places)
    if sizes not in known and sizes not in variant.others:
        try:
            other = _recorded(variant, named, avals, record, list(named.values.values()), True)[1]
            is_same = variant.comparison.difference(other, spelled) is None
        except Exception:  # the function raises for these sizes
            is_same = False
        (known if is_same else variant.others).add(sizes)
    return sizes in known


def _compiled(f: str, named: Named, avals: Sequence[Aval], record: Record) -> "Variant":
    """Compile the variant, whose text is equal for several stand-ins."""
    from .entry.signature import size_names
    from .variant import Variant

    spelled = size_names(list(named.sizes))
    rows = _rows(named)
    told = ""
    for attempt in range(_ATTEMPTS):
        chosen = [rows[(attempt * len(spelled) + i) % len(rows)] for i in range(len(spelled))]
        recorded: list[tuple[Naming, Program]] = []
        for numbers in zip(*chosen, strict=True):
            naming = Naming(calling_line)
            naming.labels = named.labels
            known = {
                name: stand_in(spelled[name], n, naming)
                for name, n in zip(spelled, numbers, strict=True)
            }
            with naming:
                recorded.append((naming, record(_with_sizes(named, avals, known))))
        first = recorded[0][1]
        others = [_other_op(first, program) for _, program in recorded[1:]]
        difference = next(filter(None, others), "")
        variants = []
        for naming, program in [] if difference else recorded:
            with naming:
                variants.append(Variant(program))
            difference = difference or _difference(variants[0], variants[-1])
        told = told or difference
        if not difference:
            variants[0].names = spelled
            return variants[0]
    raise TraceError(
        f"{f}: the program depends on {_listed(named.sizes)} in a way that has no formula{_ADVICE}"
        f"{told}"
    )


def _rows(named: Named) -> list[tuple[int, ...]]:
    """Return the stand-ins that are no literal lengths of arguments."""
    literal = {n for shape in named.shapes for n in shape if isinstance(n, int)}
    return [row for row in _STAND_INS if not literal & set(row)]


def _with_sizes(named: Named, avals: Sequence[Aval], sizes: Mapping[str, int]) -> list[Aval]:
    """Return the avals with numbers in place of names."""
    pairs = zip(named.shapes, avals, strict=True)
    return [
        Aval.of(tuple(sizes[n] if isinstance(n, str) else n for n in s), aval.dtype)
        for s, aval in pairs
    ]


def _recorded(
    variant: "Variant", named: Named, avals: Sequence[Aval], record: Record,
    numbers: Sequence[int], small: bool,
) -> tuple[Naming, Program]:  # fmt: skip
    """Record the program for these numbers, for a comparison."""
    naming = Naming(calling_line, checks=True, small=small)
    known = {
        name: stand_in(variant.names[name], n, naming)
        for name, n in zip(named.sizes, numbers, strict=True)
    }
    with naming:
        return naming, record(_with_sizes(named, avals, known))


def _other_program(variant: "Variant", named: Named, avals: Sequence[Aval], record: Record) -> str:
    """Return a message if another program is recorded for small or large stand-ins, because of a
    hidden condition such as `0.5 * x.shape[0] > 10`; else ""."""
    rows = _rows(named)
    firsts = [rows[i][0] for i in range(len(named.sizes))]
    naming, reference = _recorded(variant, named, avals, record, firsts, False)
    variant.comparison = Comparison(naming, reference)
    if naming.seen:
        variant.signature.verified = set()
    for firsts in _CHECKED:
        told = ""
        for first in firsts:
            numbers = [first + 2 * k for k in range(len(named.sizes))]
            sizes = dict(zip(named.sizes, numbers, strict=True))
            if variant.holds_for(sizes):
                spelled = {variant.names[name]: n for name, n in sizes.items()}
                _, other = _recorded(variant, named, avals, record, numbers, True)
                line = variant.comparison.difference(other, spelled)
                if line is None:
                    break
                told = told or f"another program is recorded for {spelled} ({line})"
        else:
            if told:
                return told
    return ""


def _other_op(one: Program, other: Program) -> str:
    """Return the first line in which the ops of two programs differ."""
    for x, y in zip_longest(one.equations, other.equations):
        if x is not None and y is not None and x.primitive is y.primitive and x.dtype == y.dtype:
            continue
        line = next((e.line for e in (x, y) if e is not None and e.line), "")
        return f" ({line})" if line else " "
    return ""


def _line_of(error: Exception) -> str:
    """Return the user's line that raised an error, as the end of a message."""
    trace, line = error.__traceback__, ""
    while trace is not None:
        frame, trace = trace.tb_frame, trace.tb_next
        line = user_line(frame) if trace is None else line
    return line


def _difference(one: "Variant", other: "Variant") -> str:
    """Return the first line in which programs for two sets of stand-ins differ."""
    if one.signature.conditions.keys() != other.signature.conditions.keys():
        odd = sorted(one.signature.conditions.keys() ^ other.signature.conditions.keys())[0]
        found = one.signature.conditions.get(odd) or other.signature.conditions[odd]
        return f" ({found.line or odd})"
    if one.code != other.code:
        for x, y in zip(one.source.splitlines(), other.source.splitlines(), strict=False):
            if x != y:
                _, mark, line = x.partition("  # ")
                return f" ({line})" if mark else f" ({x.strip()} against {y.strip()})"
        return " (programs of different length)"
    pairs = zip(one.captured, other.captured, strict=True)
    same = all(x is y or static_key(x) == static_key(y) for x, y in pairs)
    return "" if same else " (an array that is made while the function is recorded)"


def _listed(names: Mapping[str, Any]) -> str:
    return " and ".join(names)


__all__ = ["LeafSpecs", "Named", "Specs", "compiled", "is_for", "specs_of", "specs_of_outputs"]
