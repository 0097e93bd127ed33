"""Random kernels, compiled by our own front end and by Numba's own: both give the same bits.

The programs are small functions of numbers and arrays in the part of Python that kernels use, and
some beyond it. Nothing is rounded otherwise than it stands there, so results are compared exactly;
only not-a-numbers are all the same.
"""

import ast
import contextlib
import itertools
import linecache
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from numba.core.errors import NumbaError

from nbgrad.compiler.front.syntax import Unsupported
from nbgrad.compiler.kernel import exact
from nbgrad.compiler.kernel_call import code_of, kind_of_value

OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": False}
GLOBALS = """
import math
import numpy as np

FLAG, OFF, NONE = True, False, None
TWO, NEGATIVE, BIG, HUGE, LAST = 2, -3, 2**40, 2**62, 2**63 - 1
HALF, PART, LARGE = 0.5, 1.1, 1e18
TABLE, PAIR = (0.5, -1.5, 4.0), (3, 0.25)
SINGLE, SMALL = np.float32(0.1), np.uint8(200)
i0, f0, b0 = 7, 7.5, True
"""
HEAD = "def drawn(x, k, out, n, s, flag):\n"
INTS = ("i0", "i1", "i2")
FLOATS = ("f0", "f1", "f2")
BOOLS = ("b0", "b1")


# Numba itself takes 2**62 * (x.size | -3) for -2**62, so HUGE is for named cases.
# Expressions by type; in braces stand the types of others, and a capital letter for a variable.
LEAVES = {
    "i": (
        "{I}", "{I}", "{I}", "n", "0", "1", "2", "-5", "TWO", "NEGATIVE", "BIG", "LAST",
        "x.size", "k.shape[0]", "x.ndim", "PAIR[0]",
    ),
    "f": (
        "{F}", "{F}", "{F}", "s", "0.0", "1.0", "-0.5", "2.5", "HALF", "PART", "LARGE", "math.pi",
        "SINGLE", "TABLE[1]", "TABLE[-1]", "PAIR[1]", "1e300",
    ),
    "b": ("{B}", "{B}", "flag", "FLAG", "OFF", "n > 2", "s < 0.5"),
    "a": ("0", "1", "-1", "-2", "{I} % 3", "(n & 1) - 1", "n % 2"),
}  # fmt: skip
FORMS = {
    "i": (
        "({i} + {i})", "({i} - {i})", "({i} * {i})", "({i} // (({i} & 7) + 1))",
        "({i} % (({i} & 7) + 1))", "({i} & {i})", "({i} | {i})", "({i} ^ {i})",
        "({i} << ({i} & 63))", "({i} >> ({i} & 63))", "(-{i})", "(~{i})", "abs({i})",
        "min({i}, {i})", "max({i}, {i})", "({i} if {b} else {i})", "k[{a}]",
        "({i} ** ({i} & 3))", "(int({F}) if -9.0 < {F} < 9.0 else {i})", "({b} + {i})",
        "np.int32({i})", "np.uint8({i})", "(1 << 20)", "(3 - 5)", "(7 // -2)", "(PAIR[0] * {i})",
    ),
    "f": (
        "({f} + {f})", "({f} - {f})", "({f} * {f})", "({f} / {f})", "({f} * {i})", "({i} / {i})",
        "({f} // {f})", "({f} % {f})", "(-{f})", "abs({f})", "min({f}, {f})", "max({f}, {n})",
        "({f} if {b} else {n})", "x[{a}]", "out[{a}]", "TABLE[{i} & 1]", "TABLE[{i} % 5 - 2]",
        "math.sqrt({f})", "np.floor({f})", "float({i})",
        "({f} ** {f})", "np.float32({n})", "x.dtype.type({n})", "(2.0 ** -3)", "({b} * {f})",
        "({f} - {b})", "(PART * {i})", "(HALF + PART)", "(BIG / {i})",
    ),
    "b": (
        "({n} < {n})", "({n} >= {n})", "({n} == {n})", "({n} != {n})", "({n} < {n} <= {n})",
        "({b} and {b})", "({b} or {b})", "(not {b})", "({b} & {b})", "({b} ^ {b})", "bool({n})",
        "(NONE is None)", "(TWO > 1)", "(2 * TWO > 3)", "(x.ndim == 1)", "(x.size > 2)",
        "({b} if FLAG else {b})", "(not {n})",
    ),
}  # fmt: skip
# Mostly refused; where they are not, these are the ones to mean something else.
RARE = {
    "i": ("({i} ** 2)", "({n} and {b})", "(TWO ** NEGATIVE)", "(1 << 63)"),
    "f": ("({f} ** 2)", "({f} ** -1)", "TABLE[{f}]", "TABLE[FLAG]", "(PART ** 3)", "f2"),
    "b": ("(FLAG and {b})", "({n} and {b})", "({n} or {b})", "(TWO is TWO)", "b1"),
    "a": ("({i} % 3)",),
}  # fmt: skip
LEFT = {"i": ["n"], "f": ["s"], "b": ["flag"]}  # where no variable is assigned
SMALL = ("0", "-1", "1", "5", "7", "-4", "({i} & 7)")
RANGES = (
    *(f"{low}, {high}{step}" for low in SMALL for high in SMALL for step in ("", ", -1", ", 2")),
    *(f"{low}, 7, {step}" for low in SMALL for step in ("3", "TWO", "({i} & 3) - 1")),
    *(f"{high}, -3, {step}" for high in SMALL for step in ("-2", "NEGATIVE", "-({i} & 3)")),
    "x.size", "len(k)", "LAST - 3, LAST, TWO", "-LAST, 5 - LAST, 3", "n", "TWO",
)  # fmt: skip


class _Draw:
    """Draws one function. Expressions have a type, so that most programs compile; names are read
    whether they are assigned by then or not, more often where they are."""

    def __init__(self, seed: int):
        self._rng = np.random.default_rng(seed)
        self._given = {"n", "s", "flag"}
        self._loops = 0
        self._rare = self._one((0.0, 0.0, 0.0, 0.02))

    def text(self) -> str:
        first = []
        for name in (*INTS, *FLOATS, *BOOLS):
            if self._rng.random() < 0.8:
                first.append(f"{name} = {self.of(name)}")
                self._given.add(name)
        body = [*first, *self._body(3, self._int(2, 6))]
        result = self._filled(self._one(("{f}", "{i}", "({i}, {f}, {b})")), 3)
        return HEAD + "".join(f"    {line}\n" for line in [*body, f"return {result}"])

    def _int(self, low: int, high: int) -> int:
        return int(self._rng.integers(low, high))

    def _one(self, choices: Any) -> Any:
        return choices[self._int(0, len(choices))]

    def _name(self, names: tuple[str, ...]) -> str:
        given = [name for name in names if name in self._given]
        return self._one(
            (given or LEFT[names[0][0]]) if self._rng.random() >= self._rare else names
        )

    # -- statements -------------------------------------------------------------------------------

    def _body(self, depth: int, count: int) -> list[str]:
        return [line for _ in range(count) for line in self._statement(depth)]

    def _inner(self, depth: int) -> list[str]:
        before = set(self._given)
        body = self._body(depth - 1, self._int(1, 4))
        self._given = before
        return [f"    {line}" for line in body]

    def _statement(self, depth: int) -> list[str]:
        draw = self._rng.random()
        if depth and draw < 0.15:
            lines = [f"if {self.expression('b')}:", *self._inner(depth)]
            if self._rng.random() < 0.3:
                lines += [f"elif {self.expression('b')}:", *self._inner(depth)]
            return lines + (["else:", *self._inner(depth)] if self._rng.random() < 0.6 else [])
        if depth and draw < 0.28:
            return self._loop(depth)
        if draw < 0.31 and self._loops:
            return [f"if {self.expression('b')}:", f"    {self._one(('break', 'continue'))}"]
        if draw < 0.33:
            return [f"if {self.expression('b')}:", f"    return {self.expression('n')}"]
        if draw < 0.34:
            return [f"if {self.expression('b')}:", "    raise ValueError('drawn')"]
        if draw < 0.5:
            at = self._one(("k", "out", "out"))
            value = self.expression("i") if at == "k" else self.expression("f")
            return [f"{at}[{self.expression('a')}] {self._one(('', '+', '-'))}= {value}"]
        name = self._one((*INTS, *FLOATS, *BOOLS))
        if name in self._given and name not in BOOLS and self._rng.random() < 0.3:
            return [f"{name} {self._one(('+', '-', '*'))}= {self.of(name)}"]
        line = f"{name} = {self.of(name)}"
        if self._rng.random() < 0.1:
            other = self._one((*INTS, *FLOATS))
            line = f"{name}, {other} = {self.of(name)}, {self.of(other)}"
            self._given.add(other)
        self._given.add(name)
        return [line]

    def _loop(self, depth: int) -> list[str]:
        self._loops += 1
        if self._rng.random() < 0.2:
            name = f"w{self._int(0, 10**6)}"
            test = self._one((f"{name} < 5", f"{name} < 5 and {self.expression('b')}", "True"))
            leave = [f"    if {name} > 6:", "        break"] if test == "True" else []
            head = [f"{name} = 0", f"while {test}:", f"    {name} += 1", *leave]
        else:
            name = self._name(INTS)
            bounds = self._filled(self._one(RANGES), 1)
            head = [f"for {name} in range({bounds}):"]
            self._given.add(name)
        lines = [*head, *self._inner(depth)]
        self._loops -= 1
        return lines

    # -- expressions ------------------------------------------------------------------------------

    def of(self, name: str) -> str:
        """An expression for a variable, once in a while one of another type."""
        kind = self._one("ifb") if self._rng.random() < self._rare else name[0]
        return self.expression(kind)

    def expression(self, kind: str, depth: int = 2) -> str:
        """An int (i), a float (f), a bool (b), either number (n), or an index (a)."""
        if kind == "n":
            kind = self._one("if")
        if self._rng.random() < self._rare:
            forms = RARE[kind]
        elif kind == "a" or depth <= 0 or self._rng.random() < 0.25:
            forms = LEAVES[kind]
        else:
            forms = FORMS[kind]
        return self._filled(self._one(forms), depth)

    def _filled(self, filled: str, depth: int) -> str:
        while (at := filled.find("{")) >= 0:
            inner = filled[at + 1]
            names = {"I": INTS, "F": FLOATS, "B": BOOLS}.get(inner)
            text = self._name(names) if names else self.expression(inner, depth - 1)
            filled = filled[:at] + text + filled[at + 3 :]
        return filled


def draw(seed: int) -> str:
    """The text of a program."""
    return _Draw(seed).text()


class Result(NamedTuple):
    """What a call gave and left in its arrays, or what it raised."""

    value: Any
    arrays: tuple = ()


def _exact(value: Any) -> Any:
    """A value such that equal ones are the same bits."""
    if isinstance(value, tuple):
        return tuple(map(_exact, value))
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, tuple(map(_exact, value.ravel().tolist()))
    if isinstance(value, float):
        return "nan" if value != value else value.hex()
    return type(value).__name__, value


def arguments(seed: int) -> list[tuple]:
    """Arguments of a program: a few calls, of one set of types."""
    rng = np.random.default_rng(seed)
    dtype = (np.float64, np.float32)[int(rng.integers(2))]
    odd = np.array([np.nan, np.inf, -0.0, 3.0, -1e-3])

    def one() -> tuple:
        x = rng.normal(size=4).astype(dtype)
        x[rng.integers(4)] = rng.choice(odd)
        k = rng.integers(-9, 9, 3)
        numbers = int(rng.integers(-2, 6)), float(rng.choice([*odd, 0.25])), bool(rng.integers(2))
        return x, k, np.zeros(3, dtype), *numbers

    return [one() for _ in range(3)]


def outcome(function: Callable, calls: list[tuple]) -> list[Result]:
    """What a compiled function does for each call."""
    found = []
    for call in calls:
        given = tuple(np.copy(x) if isinstance(x, np.ndarray) else x for x in call)
        try:
            value: Any = _exact(function(*given))
        except NumbaError:
            return [Result("not compiled")]
        except Exception as error:
            value = type(error).__name__, str(error)
        found.append(Result(value, tuple(_exact(x) for x in given if isinstance(x, np.ndarray))))
    return found


def function_of(text: str) -> Any:
    """The function of a program."""
    name = f"<drawn {hash(text)}>"
    space: dict[str, Any] = {"__name__": __name__}
    linecache.cache[name] = (len(text), None, (GLOBALS + text).splitlines(True), name)
    exec(compile(GLOBALS + text, name, "exec"), space)
    return space["drawn"]


class Compared(NamedTuple):
    """Whether our own front end compiled a program, and how it differs from Numba's, or ""."""

    is_lean: bool
    told: str


def compared(text: str, calls: list[tuple]) -> Compared:
    """Compile a program both ways, and call it, where our own front end reads it."""
    function = function_of(text)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        kinds = tuple(map(kind_of_value, calls[0]))
        try:
            mine = code_of(exact(function), GLOBALS + text, kinds).entry("drawn", None)
        except Unsupported:
            return Compared(False, "")
        ours = outcome(mine, calls)
        theirs = outcome(numba.njit(**OPTIONS)(function), calls)
    for call, one, other in itertools.zip_longest(calls, ours, theirs):
        if one != other:
            return Compared(True, f"lean: {one}\nNumba: {other}\nof {call}")
    return Compared(True, "")


def shrunk(text: str, calls: list[tuple], seconds: float) -> str:
    """A program with fewer statements that still differs."""
    end = time.monotonic() + seconds
    smaller = True
    while smaller:
        smaller = False
        for candidate in _without_one(text):
            if time.monotonic() > end:
                return text
            with contextlib.suppress(SyntaxError):  # such as a break without its loop
                if compared(candidate, calls).told:
                    text, smaller = candidate, True
                    break
    return text


def _without_one(text: str) -> list[str]:
    """The program without one of its statements, or with a block in place of what holds it."""
    found, count = [], sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(text)))
    for number in range(1, count):
        for by_body in (False, True):
            tree = ast.parse(text)
            wanted = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)][number]
            for node in ast.walk(tree):
                for name, block in ast.iter_fields(node):
                    if name in ("body", "orelse") and isinstance(block, list) and wanted in block:
                        at = block.index(wanted)
                        block[at : at + 1] = getattr(wanted, "body", []) if by_body else []
                        if not block and node.__class__ is not ast.Module and name == "body":
                            block.append(ast.Pass())
            found.append(ast.unparse(tree) + "\n")
    return found
