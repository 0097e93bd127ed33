"""Random functions with statements about whole arrays: views, swaps, new arrays, reductions."""

import numpy as np

from . import drawing
from .drawing import HEAD, Drawn, _Draw, _indented

__all__ = ["draw_whole"]

_STARTS = ("1.0 * a", "np.zeros(a.shape[0])", "np.zeros_like(b)", "a + b", "a", "b", "w[::-1]",
           "m[:, 0]", "a.copy()", "b * s")  # fmt: skip


def draw_whole(seed: int) -> Drawn:
    """The program of a seed. Its names besides those of other programs: `v` and `z` have the length
    of `a`, `u` is one shorter, and `row` has that of a row of `m`."""
    program = drawing.draw(seed)
    arguments = {
        name: x.astype(np.float64) if getattr(x, "dtype", None) == np.float32 else x
        for name, x in program.arguments.items()
    }
    shape = arguments["m"].shape
    rng = np.random.default_rng((seed, 1))
    text = _Whole(rng, shape[0], shape[1], arguments["n"], False).text()
    return Drawn(seed, text, arguments, program.wrt)


class _Whole(_Draw):
    """Draws the text."""

    _is_whole = False

    def text(self) -> str:
        parts = [self._part(f"part{i}", i) for i in range(self._int(0, 3))]
        self._begin([])
        self._is_whole = True
        self._parts = [f"part{i}" for i in range(len(parts))]
        names = (*drawing.FLOATS, *drawing.INTS, *drawing.BOOLS)
        body = [f"{name} = {self._start(name)}" for name in names]
        body += [f"{name} = {self._one(_STARTS)}" for name in "vz"]
        body += ["q = np.zeros(0)", "d = np.diagonal(m)"]
        body += [f"u = {self._shorter()}", f"row = {self._one(('m[0]', 'm[-1]', '1.0 * m[1]'))}"]
        self._lines_names = "abwvz"
        self._given = set(names)
        self._result = form = self._one(("{d}", "({d}, {d})", "({d}, {i}, {d})", ""))
        body += self._body(3, self._int(3, 8))
        if form:
            body.append(f"return {self._filled(form, 2)}")
        return "".join(parts) + HEAD + _indented(body)

    def _element(self) -> str:
        draw = self._rng.random()
        if self._is_whole and draw < 0.16 and self._length > 1:
            return f"u[{self._index(self._length - 1)}]"
        if self._is_whole and draw < 0.26:
            return f"row[{self._index(self._columns)}]"
        return super()._element()

    def _statement(self, depth: int) -> list[str]:
        if not self._is_whole or self._rng.random() > 0.35:
            return super()._statement(depth)
        x, y = self._name(), self._name()
        if self._rng.random() < 0.15:
            return self._of_several_lengths(x)
        forms = (
            f"{x}[:] = {self._vector()}", f"{x}[:] = {self._vector()}", f"{x} += {self._vector()}",
            f"{x} *= {self._vector(1)}", f"{x} -= {y}", "v, z = z, v", "v, z = z, v",
            f"v = {self._vector()}", f"z = {self._vector()}", f"{self._one('vz')} = {x}",
            f"{self._one('vz')} = {x}.copy()", f"{self._one('vz')} = {x}[::-1]",
            f"{self._one('vz')} = {x} if {self._expression('b', 1)} else {y}",
            f"u = {self._shorter()}", f"u = {self._shorter()}", f"u[:] = {self._shorter()}",
            f"u += {self._shorter()}", f"{x}[1:] = {self._shorter()}",
            f"row = m[{self._index(self._length)}]", f"row *= {self._expression('f', 1)}",
            f"m[{self._index(self._length)}] = row", f"m[:, {self._index(self._columns)}] = {x}",
            f"m[{self._index(self._length)}, :] += row * {self._filled('{d}', 1)}",
            f"f0 = np.sum({self._vector()})", f"f0 = {x}.sum()", "f2 = np.sum(m)",
            f"f1 = np.sum(u * {self._shorter()})", f"a, b = b, {self._one('aa')}", f"{x}[:] = 0.0",
            f"{x}[k] = {self._vector(1)}" if self._rng.random() < 0.3 else f"v = {x}[k]",
            f"f1 = np.sum({x}[[0, -1]] * {y}[[-1, 0]])", f"{x}[[0, -1]] = {y}[[-1, 0]]",
            "f2 = np.sum(d * d)", f"{self._one('vz')} = {x}[[0, -1]]",
            f"{x}[{y} > 0.0] = 0.25" if self._rng.random() < 0.3 else f"v = np.maximum({x}, {y})",
        )  # fmt: skip
        return [self._one(forms)]

    def _of_several_lengths(self, x: str) -> list[str]:
        """An array that has no elements in one branch."""
        lines = [
            f"if {self._expression('b', 1)}:", f"    q = {self._vector()}", "else:",
            "    q = np.zeros(0)", f"f0 += np.sum(q * {self._filled('{d}', 1)})",
        ]  # fmt: skip
        if self._rng.random() < 0.5:
            lines = [f"if {x}[0] < 0.7:", *(f"    {line}" for line in lines)]
        return lines

    def _name(self) -> str:
        return self._one(self._lines_names)

    def _vector(self, depth: int = 2) -> str:
        """An array of the length of `a`."""
        x, y = self._name(), self._name()
        if depth == 0 or self._rng.random() < 0.2:
            return self._one((x, x, f"{x}[::-1]", f"m[:, {self._index(self._columns)}]"))
        one, other = self._vector(depth - 1), self._vector(depth - 1)
        number = self._filled("{d}", 1)
        return self._one((
            f"({one} + {other})", f"({one} - {other})", f"({one} * {other})", f"({one} * 0.5)",
            f"({one} * {number})", f"(0.5 - {one})", f"np.sin({one})", f"np.tanh({one})",
            f"np.where({x} > {y}, {one}, {other})", f"({one} / (1.5 + {x} * {x}))",
        ))  # fmt: skip

    def _shorter(self) -> str:
        """An array that is shorter by 1."""
        x, y = self._name(), self._name()
        return self._one((
            f"{x}[1:]", f"{x}[:-1]", f"{x}[1:]", f"{x}[:-1]", f"{x}[:0:-1]",
            f"{x}[1:] - {y}[:-1]", f"0.5 * {x}[1:]", f"{x}[1:] * {y}[1:]",
        ))  # fmt: skip


def holds_views(text: str) -> bool:
    """Whether names of a program may stand for the same array."""
    return "row = " in text
