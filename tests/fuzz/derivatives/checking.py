"""A program's value and its cotangents, beside dual numbers."""

import ast
import linecache
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from checkers.arithmetic import FACTS, begin, freed
from checkers.functions import runnable

from nbgrad.adjoints import unroll
from nbgrad.adjoints.record import Fact
from nbgrad.adjoints.reverse import forward_and_backward, value_and_cotangents
from nbgrad.adjoints.spreads import with_pieces
from nbgrad.adjoints.tangent import tangents
from nbgrad.compiler.front.functions import ArrayType, Entry, entry_of
from nbgrad.compiler.front.syntax import Unsupported
from nbgrad.ir.statements import Function, Pointer

from .drawing import Drawn
from .dual import SPACE, Array, Budget, Dual, Wild
from .whole import holds_views

GLOBALS = "import math\nimport numpy as np\n"
BUDGET = 3000  # elements that a program may read and write
EXACT, ROUGH = 1e-9, 2e-3  # relative tolerances for derivatives of float64 and of float32


class Unusable(Exception):
    """The program cannot be compared: it raises, or is too large or too steep."""


class Different(Exception):
    """Two ways to run a program disagree."""


class Expected(NamedTuple):
    """What a program gives: results, final arrays, and their derivatives in a direction."""

    results: list[Any]
    arrays: dict[str, list[Any]]
    direction: dict[str, Any]


def functions_of(text: str) -> dict[str, Any]:
    """The functions of a program, which the front end reads."""
    name = f"<drawn {hash(text)}>"
    space: dict[str, Any] = {"__name__": "nbgrad.drawn"}
    linecache.cache[name] = (len(text), None, (GLOBALS + text).splitlines(True), name)
    exec(compile(GLOBALS + text, name, "exec"), space)
    return space


def kind_of(x: Any) -> Any:
    """The type of an argument."""
    return ArrayType(x.dtype, x.ndim) if isinstance(x, np.ndarray) else np.dtype(type(x))


def expected(program: Drawn, rng: np.random.Generator) -> Expected:
    """Run a program on dual numbers, in a random direction."""
    space = dict(SPACE)
    exec(compile(_ticking(program.text), "<drawn>", "exec"), space)
    direction: dict[str, Any] = {}
    given: dict[str, Any] = {}
    for name, x in program.arguments.items():
        is_wrt = name in program.wrt
        dots = rng.uniform(-1.0, 1.0, np.shape(x)) if is_wrt else np.zeros(np.shape(x))
        if is_wrt:
            direction[name] = dots
        if isinstance(x, np.ndarray):
            given[name] = _array(x, dots)
        else:
            given[name] = Dual(x, float(dots)) if isinstance(x, float) else x
    Budget.left = BUDGET
    try:
        found = space["drawn"](**given)
    except (Wild, LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise Unusable(str(error)) from error
    results = list(found) if isinstance(found, tuple) else [] if found is None else [found]
    arrays = {name: x.elements for name, x in given.items() if isinstance(x, Array)}
    return Expected(results, arrays, direction)


def _ticking(text: str) -> Any:
    """The program, which counts the rounds of its loops."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, (ast.For, ast.While)):
            node.body.insert(0, ast.parse("tick()").body[0])
    return ast.fix_missing_locations(tree)


def _array(x: np.ndarray, dots: np.ndarray) -> Array:
    if x.dtype.kind == "i":
        return Array.of(x.shape, x.ravel().tolist(), "i")
    is_single = x.dtype == np.float32
    pairs = zip(x.ravel().tolist(), dots.ravel().tolist(), strict=True)
    return Array.of(x.shape, [Dual(v, d, is_single) for v, d in pairs],
                    "single" if is_single else "double")  # fmt: skip


def compiled(program: Drawn) -> Entry:
    """The program in the kernel IR. Raises Unsupported."""
    function = functions_of(program.text)["drawn"]
    return entry_of(function, tuple(map(kind_of, program.arguments.values())))


@contextmanager
def rounds_of(program: Drawn) -> Iterator[None]:
    """Short loops stay loops in every other program: most loops that are drawn are short."""
    before = unroll._MOST_ROUNDS
    unroll._MOST_ROUNDS = before if program.seed % 2 else 0
    try:
        yield
    finally:
        unroll._MOST_ROUNDS = before


def check(program: Drawn) -> None:
    """Raise Different where the value or the cotangents are wrong, Unusable where that cannot be
    said, and Unsupported where the front end refuses the program."""
    with rounds_of(program):
        _check(program)


def _check(program: Drawn) -> None:
    rng = np.random.default_rng(program.seed + 1)
    right = expected(program, rng)
    entry = compiled(program)
    function = entry.function
    lengths = [name for name, _ in function.parameters if "_n" in name]
    in_pieces = with_pieces(function, lengths)
    for primal in [function] if in_pieces is function else [function, in_pieces]:
        _check_primal(program, primal, right)
        _check_tangents(program, tangents(primal, program.wrt, lengths), right)
    made = value_and_cotangents(function, program.wrt, lengths)
    check_cotangents(program, made, runnable(made), right, rng)
    if halves := forward_and_backward(function, program.wrt, lengths):
        check_cotangents(program, made, _one_after_the_other(*halves), right, rng)


def _one_after_the_other(forward: Function, backward: Function) -> Callable:
    """The two functions as one. The second one runs twice, with the same record, and must not read
    what arrays hold that the first one wrote to."""
    ahead, back = runnable(forward, left=1), runnable(backward)

    def run(*passed: Any) -> tuple:
        given, more = passed[: len(forward.parameters)], passed[len(forward.parameters) :]
        before = [dict(x) if isinstance(x, dict) else x for x in given]
        results = ahead(*given)
        found = []
        for shadows in ([dict(x) if isinstance(x, dict) else x for x in more], more):
            arrays = [
                x if x == y else dict.fromkeys(x, math.nan) if isinstance(x, dict) else x
                for x, y in zip(given, before, strict=True)
            ]
            found.append((back(*arrays, *shadows), shadows))
        freed(FACTS[Fact.ADDRESS])
        if repr(found[0]) != repr((found[1][0], list(more))):
            raise Different(f"from the same record {found[0]} and {found[1]}")
        return (*results, *found[0][0])

    return run


def _passed(program: Drawn) -> tuple[dict[str, Any], dict[str, dict[int, Any]]]:
    """The arguments of a function of the kernel IR by name, and the buffers among them."""
    passed: dict[str, Any] = {}
    for name, x in program.arguments.items():
        if isinstance(x, np.ndarray):
            passed[name] = dict(enumerate(x.ravel().tolist()))
            passed |= {f"{name}_n{i}": n for i, n in enumerate(x.shape)}
        else:
            passed[name] = x
    return passed, {name: x for name, x in passed.items() if isinstance(x, dict)}


def _run(run: Callable, passed: list[Any]) -> tuple:
    begin()
    try:
        return run(*passed) or ()
    except (LookupError, TypeError, NameError, AssertionError, RuntimeError) as error:
        raise Different(f"{type(error).__name__}: {error}") from error


def _check_primal(program: Drawn, primal: Function, right: Expected) -> None:
    passed, buffers = _passed(program)
    found = _run(runnable(primal), [passed[n] for n, _ in primal.parameters])
    _same("results", found, right.results, program)
    for name, elements in right.arrays.items():
        _same(f"array {name}", _elements(name, buffers[name], program), elements, program)


def _elements(name: str, buffer: dict[int, Any], program: Drawn) -> list[Any]:
    size = program.arguments[name].size
    if sorted(buffer) != list(range(size)):
        raise Different(f"a store outside of {name}: {sorted(buffer)}")
    return [buffer[i] for i in range(size)]


def _same(what: str, found: Any, wanted: Any, program: Drawn) -> None:
    values = [x.value if isinstance(x, Dual) else x for x in wanted]
    for x, y in zip(found, values, strict=True):
        if x != y and not (program.has_singles and math.isclose(x, y, rel_tol=1e-5, abs_tol=1e-6)):
            raise Different(f"{what}: {list(found)} is not {values}")


def _check_tangents(program: Drawn, made: Any, right: Expected) -> None:
    """Compare forward mode in the direction of the dual numbers."""
    passed, buffers = _passed(program)
    dots: dict[str, dict[int, float]] = {}
    for name, kind in made.parameters:
        if name not in passed:
            own = name.removesuffix(".dot")
            if isinstance(kind, Pointer):
                none = np.zeros(program.arguments[own].shape)
                given = right.direction.get(own, none).ravel().astype(kind.dtype)
                passed[name] = dots[own] = dict(enumerate(given.tolist()))
            else:
                passed[name] = float(right.direction[own])
    found = _run(runnable(made), [passed[name] for name, _ in made.parameters])
    count = len(right.results)
    _same("results beside tangents", found[:count], right.results, program)
    floats = [x for x in right.results if isinstance(x, (Dual, float))]
    _near("tangents of results", found[count:], floats, program)
    for name, elements in right.arrays.items():
        _same(f"array {name}", _elements(name, buffers[name], program), elements, program)
        if name in dots:
            _near(f"tangents of {name}", _elements(name, dots[name], program), elements, program)
        elif any(isinstance(x, Dual) and x.dot for x in elements):
            raise Different(f"no tangents of {name}")


def _near(what: str, found: Any, wanted: Any, program: Drawn) -> None:
    tolerance = ROUGH if program.has_singles else EXACT
    scale = max([1.0, *(abs(x.dot) for x in wanted if isinstance(x, Dual))])
    for dot, x in zip(found, wanted, strict=True):
        right = x.dot if isinstance(x, Dual) else 0.0
        if not abs(dot - right) <= tolerance * scale:
            raise Different(f"{what}: {dot!r} is not {right!r}")


def check_cotangents(
    program: Drawn, made: Any, run: Callable, right: Expected, rng: np.random.Generator
) -> None:
    """Compare a random combination of derivatives: forward by the dual numbers, and backward."""
    passed, buffers = _passed(program)
    forward, scale = 0.0, 1.0
    written = set(program.arguments) if holds_views(program.text) else set(_written(program.text))
    bars: dict[str, dict[int, float]] = {}
    for name, kind in made.parameters:
        if isinstance(kind, Pointer) and name.endswith(".bar"):
            own = name[: -len(".bar")]
            bar = rng.uniform(-1.0, 1.0, len(buffers[own])).astype(kind.dtype).tolist()
            passed[name] = bars[own] = dict(enumerate(bar))
            for x, ct in zip(right.arrays[own], bar, strict=True):
                forward += ct * x.dot
                scale += abs(ct * x.dot)
    floats = iter([x for x in right.results if isinstance(x, (Dual, float))])
    for name, kind in made.parameters:
        if name not in passed:
            ct, x = float(kind.type(rng.uniform(-1.0, 1.0))), next(floats)
            passed[name] = ct
            if isinstance(x, Dual):
                forward += ct * x.dot
                scale += abs(ct * x.dot)
    missing = {n for n in program.wrt if np.ndim(program.arguments[n])} - set(bars)
    if missing or next(floats, None) is not None:
        raise Different(f"no shadow of {missing}, or no cotangent of a result")
    found = _run(run, [passed[name] for name, _ in made.parameters])
    count = len(right.results)
    _same("results beside cotangents", found[:count], right.results, program)
    backward, numbers = 0.0, iter(found[count:])
    ordered = [n for n, _ in made.parameters if n in program.wrt and n not in buffers]
    terms = [(next(numbers), float(right.direction[name])) for name in ordered]
    for name, bar in bars.items():
        if name in right.direction:
            elements = _elements(name, bar, program)
            terms += zip(elements, right.direction[name].ravel().tolist(), strict=True)
    for ct, dot in terms:
        backward += ct * dot
        scale += abs(ct * dot)
    tolerance = ROUGH if program.has_singles else EXACT
    if not abs(forward - backward) <= tolerance * scale:
        raise Different(f"derivative {backward!r} is not {forward!r}")
    for name, buffer in buffers.items():
        before = program.arguments[name].ravel().tolist()
        after = _elements(name, buffer, program)
        if name not in written and after != before:
            raise Different(f"{name} is not written and has changed")


def _written(text: str) -> list[str]:
    """Names of arrays that a program may write: by its stores, or by functions that it calls."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            found.append(ast.unparse(node.value))
        if isinstance(node, ast.Call):
            found += [x.id for x in node.args if isinstance(x, ast.Name)]
    return found


__all__ = ["Different", "Unsupported", "Unusable", "check", "compiled", "expected", "functions_of"]
