"""Named sizes (`compile(dynamic=...)`): one program for all sizes of arguments.

A function is recorded and compiled with stand-ins for the sizes (`ir/sizes.py`), and once more with
others: both texts must be equal. Assumptions about sizes become conditions of the program. Sizes
that violate one have a variant of their own.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, TypeAlias

from ..core.primitive import Aval
from ..core.symbols import static_key
from ..errors import SizesError, TraceError
from ..ir.naming import Naming
from ..ir.sizes import is_dynamic as is_named
from ..ir.sizes import quotient, stand_in
from ..runtime.lines import calling_line, user_line
from .specs import Named, Spec
from .trace.program import Program
from .trace.same import Comparison

if TYPE_CHECKING:
    from .variant import Variant

Record: TypeAlias = Callable[[list[Aval]], Program]
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
_CHECKED = ((3, 5, 7), (16, 48, 80), (4_001, 4_801, 5_601))
# A program of more ops for the second of these sizes than for the first has ever more.
_FEW, _MORE = 16, 48
# The largest number by which sizes are divided if programs are for sizes of one remainder.
_MOST_REMAINDERS = 64
_ADVICE = (
    ": make arrays of sizes by np functions of arguments, such as np.zeros_like(x) and "
    "np.arange(n, like=x), use nbgrad.scan in place of range, np.where in place of if, or name "
    "fewer sizes"
)
# A number of the program may equal a stand-in by chance: then others are tried.
_ATTEMPTS = 3


def specs_of_outputs(variant: "Variant") -> list[Spec | None]:
    """Return the specs of the outputs of a program, None if a length is no named size."""
    names = {spelled: name for name, spelled in variant.names.items()}
    specs: list[Spec | None] = []
    for output in variant.program.outputs:
        lengths = [str(n) if is_named(n) else None for n in getattr(output, "shape", ())]
        known = all(n is None or n in names for n in lengths)
        specs.append(tuple(n and names[n] for n in lengths) if known else None)
    return specs


class NoFormula(SizesError):
    """The program of a function depends on a named size in a way that has no formula."""


def compiled(f: str, named: Named, avals: Sequence[Aval], record: Record) -> "Variant":
    """Compile the variant for all sizes with these names, or for all with the same remainders where
    no program is right for others; `record` records the program for avals.

    Raises the errors of the function for `avals`, and NoFormula, with the user's line if known.
    """
    divisors: dict[str, int] = {}
    try:
        _require_bounded(f, named, avals, record)
        try:
            return _checked(f, named, avals, record, divisors)
        except Exception:
            names = dict(zip(_spelled(named).values(), named.sizes, strict=True))
            divisors = {names[name]: by for name, by in divisors.items()}
            if named.remainders or not all(1 < by <= _MOST_REMAINDERS for by in divisors.values()):
                raise
            divided = named.divided(divisors)
            if not divisors or not divided.remainders:
                raise
            return _checked(f, divided, avals, record, {})
    except TraceError as error:
        record(list(avals))
        raise NoFormula(*error.args) from error
    except Exception as error:
        record(list(avals))
        raise NoFormula(
            f"{f}: an op cannot be recorded for named sizes, here {_listed(named.sizes)}: name "
            f"fewer ({type(error).__name__}: {error}){_line_of(error)}"
        ) from error


def _checked(
    f: str, named: Named, avals: Sequence[Aval], record: Record, divisors: dict[str, int]
) -> "Variant":
    """Compile the variant, and compare it with programs for other sizes; `divisors` gets what
    sizes are divided by."""
    variant = _compiled(f, named, avals, record, divisors)
    told = _other_program(variant, named, avals, record)
    if told:
        raise SizesError(f"{f}: {told}{_ADVICE}")
    return variant


def _spelled(named: Named) -> dict[str, str]:
    """The names of sizes in texts."""
    from .entry.signature import size_names

    return size_names(list(named.sizes))


def _require_bounded(f: str, named: Named, avals: Sequence[Aval], record: Record) -> None:
    """Raise TraceError with the user's line if programs for larger sizes have ever more ops, as
    those of Python loops: recording one for a stand-in would take long."""
    programs = []
    for first in (_FEW, _MORE):
        numbers = {name: first + i for i, name in enumerate(named.sizes)}
        try:
            programs.append(_named_program(named, numbers, avals, record, small=True)[1])
        except Exception:  # the function raises for these sizes, or needs a number
            return
    one, other = programs
    if len(other.equations) > len(one.equations) + _FEW:
        line = _other_op(one, other)
        raise SizesError(
            f"{f}: the program has more ops where {_listed(named.sizes)} is larger{_ADVICE}{line}"
        )


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
            other = _named_program(named, named.values, avals, record, small=True)[1]
            is_same = variant.comparison.difference(other, spelled) is None
        except Exception:  # the function raises for these sizes
            is_same = False
        (known if is_same else variant.others).add(sizes)
    return sizes in known


def _compiled(
    f: str, named: Named, avals: Sequence[Aval], record: Record, divisors: dict[str, int]
) -> "Variant":
    """Compile the variant, whose text is equal for several stand-ins."""
    from .variant import Variant

    rows = _rows(named)
    told = ""
    for attempt in range(_ATTEMPTS):
        count = len(named.sizes)
        chosen = [rows[(attempt * count + i) % len(rows)] for i in range(count)]
        recorded: list[tuple[Naming, Program]] = []
        for numbers in zip(*chosen, strict=True):
            pairs = zip(named.sizes, numbers, strict=True)
            recorded.append(_named_program(named, dict(pairs), avals, record, divisors=divisors))
        first = recorded[0][1]
        others = [_other_op(first, program) for _, program in recorded[1:]]
        difference = next(filter(None, others), "")
        variants = []
        for naming, program in [] if difference else recorded:
            with naming:
                variants.append(Variant(program))
            difference = difference or _difference(variants[0], variants[-1])
        if difference and ".py:" not in difference:
            difference = f" ({line})" if (line := _line(recorded[0], recorded[-1])) else difference
        told = told or difference
        if not difference:
            variants[0].names, variants[0].remainders = _spelled(named), named.remainders
            return variants[0]
    raise SizesError(
        f"{f}: the program depends on {_listed(named.sizes)} in a way that has no formula{_ADVICE}"
        f"{told}"
    )


def _rows(named: Named) -> list[tuple[int, ...]]:
    """Return the stand-ins that are no literal lengths of arguments."""
    literal = {n for shape in named.shapes for n in shape if isinstance(n, int)}
    return [row for row in _STAND_INS if not literal & set(row)]


def _named_program(
    named: Named, numbers: Mapping[str, int], avals: Sequence[Aval], record: Record,
    checks: bool = False, small: bool = False, divisors: dict[str, int] | None = None,
) -> tuple[Naming, Program]:  # fmt: skip
    """Record the program for these numbers, or for the next ones with the remainders."""
    naming = Naming(calling_line, checks=checks or small, small=small)
    naming.labels = named.labels
    naming.divisors = {} if divisors is None else divisors
    spelled, numbers = _spelled(named), dict(numbers)
    for name, by, rest in named.remainders:
        numbers[name] += (rest - numbers[name]) % by
        naming.remainders[spelled[name]] = (by, rest)
    sizes = {name: stand_in(spelled[name], n, naming) for name, n in numbers.items()}
    with naming:
        for name, by, rest in named.remainders:
            naming.require(sizes[name], "==", quotient(sizes[name], by) * by + rest)
        shapes = [
            tuple(sizes[n] if isinstance(n, str) else n for n in shape) for shape in named.shapes
        ]
        pairs = zip(shapes, avals, strict=True)
        return naming, record([Aval.of(shape, aval.dtype) for shape, aval in pairs])


def _other_program(variant: "Variant", named: Named, avals: Sequence[Aval], record: Record) -> str:
    """Return a message if another program is recorded for small or large stand-ins, because of a
    hidden condition such as `0.5 * x.shape[0] > 10`; else ""."""
    firsts = {name: row[0] for name, row in zip(named.sizes, _rows(named), strict=False)}
    naming, reference = _named_program(named, firsts, avals, record, checks=True)
    variant.comparison = Comparison(naming, reference)
    if naming.seen:
        variant.signature.verified = set()
    for firsts in _CHECKED:
        told = ""
        for first in firsts:
            sizes = {name: first + 2 * k for k, name in enumerate(named.sizes)}
            for name, by, rest in named.remainders:
                sizes[name] += (rest - sizes[name]) % by
            if variant.holds_for(sizes):
                spelled = {variant.names[name]: n for name, n in sizes.items()}
                _, other = _named_program(named, sizes, avals, record, small=True)
                line = variant.comparison.difference(other, spelled)
                if line is None:
                    break
                told = told or f"the program for {_equal(spelled)} has other ops ({line})"
        else:
            if told:
                return told
    return ""


def _line(one: tuple[Naming, Program], other: tuple[Naming, Program]) -> str:
    """Return the line of the first op that differs in two programs, "" if none is known."""
    numbers = {name: int.__int__(n) for name, n in other[0].sizes.items()}
    return Comparison(*one).difference(other[1], numbers) or ""


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


def _equal(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {n}" for name, n in sizes.items())


def _listed(names: Mapping[str, Any]) -> str:
    return " and ".join(names)


__all__ = ["NoFormula", "compiled", "is_for", "specs_of_outputs"]
