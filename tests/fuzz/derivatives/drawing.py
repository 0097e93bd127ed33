"""Random functions with loops, as text, and the types and values of their arguments.

Subscripts are drawn to be inside: the lengths of a program's arrays are known, and so are the least
and the greatest value of each loop variable.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

NAMES = ("a", "b", "w", "m", "k", "n", "s", "c", "flag")
HEAD = f"def drawn({', '.join(NAMES)}):\n"
FLOATS, INTS, BOOLS = ("f0", "f1", "f2"), ("i0", "i1"), ("b0",)
LINES = "abw"  # arrays of one axis

# Expressions by type: in braces stand types, and I, F, B for variables.
FLOAT = (
    "({f} + {f})", "({f} - {f})", "({f} * {f})", "({f} * {f})", "({f} * 0.5)", "(0.5 - {f})",
    "({f} / (1.5 + {f} * {f}))".replace("{f} * {f}", "{q}"), "(-{f})", "math.sin({f})",
    "math.cos({f})", "math.tanh({f})", "math.exp(-abs({f}))", "math.log(1.5 + {q})",
    "math.sqrt(0.5 + {q})", "math.atan({f})", "abs({f})", "min({f}, {f})", "max({f}, {f})",
    "({d} if {b} else {d})", "({f} * {i})", "({f} / ({i} % 3 + 2))", "({i} / 4)",
    "math.atan2({f}, 1.5 + {q})", "({f} * {b})", "{e}", "{e}", "{e}", "{e}", "float({i})",
    "({d}) ** 2",
)  # fmt: skip
FLOAT_LEAVES = ("{F}", "{F}", "{F}", "{e}", "{e}", "{e}", "s", "c", "0.5", "-1.25", "2.0", "0.0")
INT = (
    "({i} + {i})", "({i} - {i})", "({i} * 2)", "({i} * {i}) % 7", "({i} // 2)", "({i} % 3)",
    "({i} if {b} else {i})", "min({i}, {i})", "max({i}, 1)", "int({d} * 2.0)", "-{i}", "k[{x}]",
)  # fmt: skip
INT_LEAVES = ("{I}", "{I}", "{V}", "{V}", "n", "0", "1", "2", "-3", "a.shape[0]", "k[{x}]")
BOOL = (
    "({f} < {f})", "({f} > 0.25)", "({f} >= {f})", "({i} == {i})", "({i} < {i})", "({i} % 2 == 0)",
    "({b} and {b})", "({b} or {b})", "(not {b})", "(-0.5 < {f} < 1.0)", "({V} == 1)", "({V} > {i})",
)  # fmt: skip
BOOL_LEAVES = ("flag", "{B}", "({F} > 0.0)", "(n > 1)", "({V} > 0)", "({e} < 0.5)")
FORMS = {"f": (FLOAT, FLOAT_LEAVES), "i": (INT, INT_LEAVES), "b": (BOOL, BOOL_LEAVES)}


@dataclass(frozen=True)
class Drawn:
    """A program: its text, arguments, and the names of those that derivatives are taken by."""

    seed: int
    text: str
    arguments: dict[str, Any]
    wrt: tuple[str, ...]

    @property
    def has_singles(self) -> bool:
        return any(getattr(x, "dtype", None) == np.float32 for x in self.arguments.values())


def draw(seed: int) -> Drawn:
    """The program of a seed."""
    rng = np.random.default_rng(seed)
    length, columns = int(rng.integers(2, 6)), int(rng.integers(2, 5))
    singles = [name for name in "abwm" if rng.random() < 0.3] if rng.random() < 0.2 else []

    def floats(name: str, *shape: int) -> np.ndarray:
        values = rng.normal(size=shape)
        if name == "w" and rng.random() < 0.7:
            values[:] = 0.0
        return values.astype(np.float32 if name in singles else np.float64)

    arguments = {
        "a": floats("a", length), "b": floats("b", length), "w": floats("w", length),
        "m": floats("m", length, columns), "k": rng.integers(0, length, length),
        "n": int(rng.integers(0, 5)), "s": float(rng.normal()), "c": float(rng.normal()),
        "flag": bool(rng.integers(2)),
    }  # fmt: skip
    wrt = [name for name in "abwmsc" if rng.random() < (0.2 if name == "w" else 0.6)]
    text = _Draw(rng, length, columns, arguments["n"], bool(singles)).text()
    return Drawn(seed, text, arguments, tuple(wrt or ["a"]))


class _Draw:
    """Draws the text."""

    def __init__(self, rng: Any, length: int, columns: int, n: int, mixed: bool):
        self._rng, self._length, self._columns = rng, length, columns
        self._n, self._mixed = n, mixed
        self._begin([])

    def _begin(self, given: list[str]) -> None:
        """Start a function with these variables."""
        self._given, self._axes, self._whiles = set(given), [], 0
        self._in_loop = False
        self._lines_names, self._matrix, self._numbers = LINES, "m", True
        self._parts: list[str] = []

    def text(self) -> str:
        parts = []
        for i in range(self._int(0, 3)):
            parts.append(self._part(f"part{i}", i))
        self._begin([])
        self._parts = [f"part{i}" for i in range(len(parts))]
        body = [f"{name} = {self._start(name)}" for name in (*FLOATS, *INTS, *BOOLS)]
        if self._rng.random() < 0.2:
            body.append(f"v = np.{self._one(('zeros(a.shape[0])', 'zeros_like(b)'))}")
            self._lines_names = LINES + "v"
        self._given = {*FLOATS, *INTS, *BOOLS}
        form = self._one(("{d}", "{d}", "({d}, {d})", "({d}, {i}, {d})", ""))
        self._result = form
        body += self._body(3, self._int(2, 6))
        if form:
            body.append(f"return {self._filled(form, 2)}")
        return "".join(parts) + HEAD + _indented(body)

    def _part(self, name: str, number: int) -> str:
        """A function that the program calls, on two arrays, a float and an integer."""
        self._begin(["f0", "i0"])
        self._lines_names, self._matrix, self._numbers = "ab", "", False
        self._parts = [f"part{i}" for i in range(number)]
        self._result = "{d}"
        self._given = {"f0", "i0"}
        body = self._body(2, self._int(1, 4))
        body.append(f"return {self._filled('{d}', 1)}")
        return f"def {name}(a, b, f0, i0):\n" + _indented(body)

    def _start(self, name: str) -> str:
        if name[0] == "f":
            return self._one(("0.0", "1.0", "s", "0.5 * c", "1.0 * a[0]", "2.0 * b[-1]"))
        return self._one(("0", "1", "n", "k[0]") if name[0] == "i" else ("True", "flag", "n > 1"))

    def _int(self, low: int, high: int) -> int:
        return int(self._rng.integers(low, high))

    def _one(self, choices: Any) -> Any:
        return choices[self._int(0, len(choices))]

    # -- statements -------------------------------------------------------------------------------

    def _body(self, depth: int, count: int) -> list[str]:
        return [line for _ in range(count) for line in self._statement(depth)]

    def _inner(self, depth: int, more: int = 0) -> list[str]:
        return [f"    {line}" for line in self._body(depth - 1, self._int(1, 4 + more))]

    def _statement(self, depth: int) -> list[str]:
        draw = self._rng.random()
        if depth and draw < 0.14:
            lines = [f"if {self._expression('b')}:", *self._inner(depth)]
            if self._rng.random() < 0.2:
                lines += [f"elif {self._expression('b')}:", *self._inner(depth)]
            return lines + (["else:", *self._inner(depth)] if self._rng.random() < 0.5 else [])
        if depth and draw < 0.36:
            return self._loop(depth)
        if draw < 0.39 and self._in_loop:
            return [f"if {self._expression('b')}:", f"    {self._one(('break', 'continue'))}"]
        if draw < 0.405 and (self._axes or self._whiles or depth < 2):
            value = self._filled(self._result, 2)
            return [f"if {self._expression('b')}:", f"    return {value}".rstrip()]
        if draw < 0.66:
            return [self._store()]
        if draw < 0.70 and self._parts:
            return [f"{self._one(FLOATS[:1] + FLOATS)} = {self._call()}"] if self._numbers else [
                f"f0 = {self._call()}"]  # fmt: skip
        if draw < 0.74:
            x, y = self._element(), self._element()
            return [f"{x}, {y} = {y}, {x}"]
        if draw < 0.755 and depth and "f1" in self._given:
            name = self._one(self._lines_names)
            before, self._in_loop = self._in_loop, True
            lines = [f"for f1 in {name}:", *self._inner(depth)]
            self._in_loop = before
            return lines
        if draw < 0.77 and "f1" in self._given:
            return [f"f0, f1 = f1, {self._filled('{d}', 2)}"]
        kind = self._one("ffffib")
        names = [name for name in sorted(self._given) if name[0] == kind]
        if not names:
            return [self._store()]
        name = self._one(names)
        if kind == "f" and self._rng.random() < 0.4:
            return [f"{name} {self._one('+-*')}= {self._expression('f')}"]
        if kind == "i":
            return [f"{name} = {self._filled('({i})', 2)} % {self._one((5, 7, 11))} - 2"]
        return [f"{name} = {self._filled('{d}' if kind == 'f' else '{b}', 2)}"]

    def _store(self) -> str:
        draw = self._rng.random()
        if draw < 0.12 and self._numbers:
            return f"k[{self._index(self._length)}] = ({self._expression('i')}) % k.shape[0]"
        sign = self._one(("", "", "", "+", "+", "-", "*", "/"))
        value = self._expression("f")
        return f"{self._element()} {sign}= {f'(1.5 + abs({value}))' if sign == '/' else value}"

    def _call(self) -> str:
        first, second = self._one(self._lines_names), self._one(self._lines_names)
        return (f"{self._one(self._parts)}({first}, {second}, {self._filled('{d}', 1)}, "
                f"{self._filled('{i}', 1)})")  # fmt: skip

    def _loop(self, depth: int) -> list[str]:
        before, self._in_loop = self._in_loop, True
        if self._rng.random() < 0.22:
            lines = self._while(depth)
        else:
            text, low, high = self._range()
            name = "pqr"[len(self._axes) % 3] + ("" if len(self._axes) < 3 else "z")
            self._axes.append((name, low, max(low, high)))
            lines = [f"for {name} in range({text}):", *self._inner(depth, 1)]
            self._axes.pop()
            if "v" in self._lines_names and self._rng.random() < 0.1:
                lines.insert(1, "    v = np.zeros(a.shape[0])")
        self._in_loop = before
        return lines

    def _while(self, depth: int) -> list[str]:
        name = f"t{self._whiles}"
        self._whiles += 1
        most = self._int(1, 5)
        form = self._int(0, 3)
        test = (f"{name} < {most}", f"{name} < {most} and {self._expression('b')}", "True")[form]
        lines = [f"{name} = 0", f"while {test}:", f"    {name} += 1"]
        if form == 2:
            leave = self._one((f"{name} > {most}", f"{name} > {most} or {self._expression('b')}"))
            lines += [f"    if {leave}:", "        break"]
        self._axes.append((name, 1, most))
        lines += self._inner(depth)
        self._axes.pop()
        self._whiles -= 1
        return lines

    def _range(self) -> tuple[str, int, int]:
        """The arguments of a range, and its least and greatest number."""
        size, n = self._length, self._n
        length = f"{self._lines_names[0]}.shape[0]"
        forms = [
            (length, 0, size - 1), (length, 0, size - 1), (f"1, {length}", 1, size - 1),
            (f"1, {length} - 1", 1, size - 2), (f"{length} - 1", 0, size - 2), ("3", 0, 2),
            (f"{length} - 1, -1, -1", 0, size - 1), (f"{length} - 2, -1, -1", 0, size - 2),
            (f"{length} - 1, 0, -2", 1, size - 1), (f"0, {length}, 2", 0, size - 1), ("0", 0, 0),
            ("2, 2", 2, 2), ("4, -3, -2", -2, 4), ("-2, 2", -2, 1),
            ("{i} % 4", 0, 3), ("int(abs({d}) * 3.0) % 4", 0, 3),
            (f"{{i}} % 3, {length}", 0, size - 1), (f"{length} - 1, {{i}} % 3, -1", 0, size - 1),
            (f"0, {length}, {{i}} % 2 + 1", 0, size - 1),
            (f"{length} - 1, -1, -1 - {{i}} % 2", 0, size - 1),
        ]  # fmt: skip
        if self._numbers:
            forms += [("n", 0, n - 1), ("n", 0, n - 1), ("1, n", 1, n - 1), ("n, -1, -1", 0, n),
                      ("k[{x}] % 3", 0, 1), ("m.shape[1]", 0, self._columns - 1)]  # fmt: skip
        for name, low, high in self._axes:
            forms += [(f"{name}", 0, high - 1), (f"{name}, {length}", low, size - 1),
                      (f"{name} + 1, {length}", low + 1, size - 1), (f"{name}, -1, -1", 0, high),
                      (f"{name} - 1, -1, -1", 0, high - 1)]  # fmt: skip
        text, low, high = self._one(forms)
        return self._filled(text, 1), low, high

    # -- subscripts -------------------------------------------------------------------------------

    def _element(self) -> str:
        if self._matrix and self._rng.random() < 0.3:
            return f"m[{self._index(self._length)}, {self._index(self._columns)}]"
        return f"{self._one(self._lines_names)}[{self._index(self._length)}]"

    def _index(self, size: int) -> str:
        forms = [("0", 0, 0), ("1", 1, 1), ("-1", -1, -1), ("-2", -2, -2)]
        if self._numbers:
            forms.append(("n", self._n, self._n))
        for name, low, high in self._axes:
            for shift in (0, 0, 0, -1, 1, -1, 1, -2):
                sign = f" {'-' if shift < 0 else '+'} {abs(shift)}" if shift else ""
                forms.append((f"{name}{sign}", low + shift, high + shift))
            forms.append((f"{name} * 2", low * 2, high * 2))
            forms.append((f"{size - 1} - {name}", size - 1 - high, size - 1 - low))
            for other, least, most in self._axes:
                if other != name:
                    forms.append((f"{name} + {other}", low + least, high + most))
                    forms.append((f"{name} - {other}", low - most, high - least))
                    forms.append((f"{name} - {other} - 1", low - most - 1, high - least - 1))
        inside = [text for text, low, high in forms if 0 <= low and high < size]
        turned = [text for text, low, high in forms if -size <= low and high < size]
        draw = self._rng.random()
        if draw < 0.75 and inside[2:]:
            return self._one(inside[2:])
        if draw < 0.83 and turned:
            return self._one(turned)
        if draw < 0.9 and self._numbers and size == self._length:
            return f"k[{self._index(size)}]"
        return f"({self._filled('{i}', 1)}) % {size}" if draw < 0.96 else self._one(inside)

    # -- expressions ------------------------------------------------------------------------------

    def _expression(self, kind: str, depth: int = 2) -> str:
        forms, leaves = FORMS[kind]
        while True:
            form = self._one(leaves if depth <= 0 or self._rng.random() < 0.25 else forms)
            if "{B}" in form and not self._given & set(BOOLS):
                continue
            if not self._numbers and (form in ("s", "c", "n", "flag", "(n > 1)") or "k[" in form):
                continue
            return self._filled(form, depth)

    def _filled(self, text: str, depth: int) -> str:
        while (at := text.find("{")) >= 0:
            text = text[:at] + self._hole(text[at + 1], depth - 1) + text[at + 3 :]
        return text

    def _hole(self, kind: str, depth: int) -> str:
        match kind:
            case "e":
                return self._element()
            case "x":
                return self._index(self._length)
            case "V":
                return self._one(self._axes)[0] if self._axes else self._hole("I", depth)
            case "d":  # a float64: Numba unifies types, dual numbers do not
                value = self._expression("f", depth)
                return f"(1.0 * {value})" if self._mixed else f"({value})"
            case "q":
                value = self._one((self._element(), self._one(sorted(self._given & set(FLOATS)))))
                return f"{value} * {value}"
            case "F" | "I" | "B":
                names = {"F": FLOATS, "I": INTS, "B": BOOLS}[kind]
                return self._one(sorted(self._given & set(names)))
        return self._expression(kind, depth)


def _indented(lines: list[str]) -> str:
    return "".join(f"    {line}\n" for line in lines)
