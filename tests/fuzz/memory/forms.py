"""Statements that write to an array, as text: in a program itself, and in its functions."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..indices import basic, fancy
from ..oracle import Unusable
from .draft import MemoryDraft


class Target(NamedTuple):
    """The name of an array, its shape, and how texts of values of a shape come about."""

    d: MemoryDraft
    name: str
    shape: tuple[int, ...]
    given: Callable[[tuple[int, ...]], str]

    def value(self, shape: tuple[int, ...] | None = None, numbers: float = 0.3) -> str:
        """A number, or an array that broadcasts to a shape; sometimes part of what is written."""
        d = self.d
        shape = self.shape if shape is None else shape
        if d.prefers_number(numbers) or 0 in shape:
            return d.constant(np.float64)
        if shape == self.shape and d.chance(0.3):
            return d.one(OVERLAPS).format(self.name)
        return self.given(shape[1:] if shape and d.chance(0.25) else shape)

    def number(self) -> str:
        return str(round(float(self.d.rng.uniform(-1.5, 1.5)), 2))

    def place(self, repeats: bool = True) -> tuple[str, tuple[int, ...]]:
        """An index and the shape of what is there."""
        d = self.d
        if not self.shape:
            return "...", ()
        way = d.rng.random()
        text = d.one(["0", "-1", "1:", "::-1", ":", "...", "..., 0", "::2", ":-1"])
        if way > 0.75 and repeats:
            text = fancy(d, self.shape)
        elif way > 0.4:
            text = basic(d, self.shape)
        try:
            shape = np.shape(eval(f"x[{text}]", {"np": np, "x": np.zeros(self.shape)}))
        except IndexError:
            raise Unusable("no such place") from None
        return text, shape


OVERLAPS = ("{0}[::-1]", "np.sin({0})", "{0}", "np.roll({0}, 1)", "{0} * {0}", "0.5 * {0}[::-1]")

Form = Callable[[Target], str]
FORMS: dict[str, Form] = {}
SMOOTH: dict[str, Form] = {}
"""Those without kinks, which complex numbers go through."""


def form(f: Form) -> Form:
    FORMS[f.__name__.strip("_")] = f
    return f


def smooth(f: Form) -> Form:
    SMOOTH[f.__name__.strip("_")] = f
    return form(f)


# -- operators ------------------------------------------------------------------------------------


@smooth
def augmented(t: Target) -> str:
    way = t.d.one(["+=", "+=", "-=", "*=", "*=", "/=", "**="])
    if way == "/=":
        return f"{t.name} /= {t.d.one(['2.0', '-0.5', '3', f'(2.0 + np.sin({t.value()}))'])}"
    if way == "**=":
        return f"{t.name} **= {t.d.one(['2', '2.0', '3', '1'])}"
    return f"{t.name} {way} {t.value()}"


@form
def steps(t: Target) -> str:
    return f"{t.name} {t.d.one(['//=', '%='])} {t.d.one(['0.75', '2', '1.5'])}"


@smooth
def product(t: Target) -> str:
    if len(t.shape) < 2 or t.shape[-1] != t.shape[-2]:
        raise Unusable("no square")
    square = t.shape[-2:]
    other = t.given(square)
    names = [f"{t.name}.swapaxes(-1, -2)", t.name] + [other] * ("{" in other)
    return f"{t.name} @= {t.d.one(names)}"


@smooth
def out(t: Target) -> str:
    name, d = t.name, t.d
    other = d.one([name, t.value()])
    return d.one([
        f"np.add({name}, {t.value()}, out={name})",
        f"np.multiply({t.value()}, {other}, out={name})",
        f"np.sin({other}, out={name})", f"np.subtract({other}, {name}, out={name})",
        f"np.negative({name}, {name})", f"np.exp(-{name} * {name}, out={name})",
        f"np.add({name}, {t.value()}, {name})", f"np.square({other}, out={name})",
    ])  # fmt: skip


@form
def out_with_kinks(t: Target) -> str:
    name = t.name
    return t.d.one([
        f"np.maximum({name}, {t.number()}, out={name})", f"np.abs({name}, out={name})",
        f"np.minimum({name}, {t.value()}, out={name})",
        f"np.clip({name}, -0.9, 0.9, out={name})", f"np.cumsum({name}, axis=0, out={name})",
    ])  # fmt: skip


@smooth
def out_of_part(t: Target) -> str:
    """A reduction or a product into a part."""
    if len(t.shape) < 2:
        raise Unusable("one axis")
    return t.d.one([
        f"np.sum({t.name}, axis=0, out={t.name}[0])",
        f"np.add({t.name}[0], {t.name}[-1], out={t.name}[-1])",
        f"np.multiply({t.name}[0], {t.number()}, out={t.name}[-1])",
    ])  # fmt: skip


# -- places ---------------------------------------------------------------------------------------


@smooth
def item(t: Target) -> str:
    text, shape = t.place()
    return f"{t.name}[{text}] = {t.value(shape)}"


@smooth
def item_augmented(t: Target) -> str:
    text, shape = t.place()
    return f"{t.name}[{text}] {t.d.one(['+=', '-=', '*='])} {t.value(shape)}"


@form
def mask(t: Target) -> str:
    d = t.d
    test = d.one(
        [f"{t.name} < {t.number()}", f"{t.name} > {t.number()}", f"np.abs({t.name}) > 1.1"]
    )
    if d.chance(0.3):
        return f"{t.name}[{test}] *= {d.constant(np.float64)}"
    return f"{t.name}[{test}] = {d.constant(np.float64)}"


@smooth
def overlapping(t: Target) -> str:
    """What is read is what is written to."""
    if not t.shape or t.shape[0] < 2:
        raise Unusable("too short")
    d, y = t.d, t.name
    return d.one([
        f"{y}[1:] += {y}[:-1]", f"{y}[:-1] = {y}[1:]", f"{y}[...] = {y}[::-1]",
        f"{y}[1:] = {y}[:-1] * 0.5", f"{y} -= {y}[0]", f"{y} *= {y}[-1]",
        f"{y}[0], {y}[-1] = {y}[-1], {y}[0]",
        f"{y}[0], {y}[-1] = {y}[-1] * 1.0, {y}[0] * 1.0", f"{y}[[0, -1]] = {y}[[-1, 0]]",
        f"{y}[:] = {y} - {y}[::-1]", f"{y}[:1] -= {y}[1:2]", f"{y} += {y}", f"{y}[::2] *= {y}[0]",
        f"np.add({y}[1:], {y}[:-1], out={y}[1:])", f"np.copyto({y}[1:], {y}[:-1])",
    ])  # fmt: skip


@smooth
def through_views(t: Target) -> str:
    """Views that have no name of their own."""
    d, y = t.d, t.name
    n = int(np.prod(t.shape, dtype=int))
    if not n or not t.shape:
        raise Unusable("nothing there")
    k = d.number(-n, n - 1)
    return d.one([
        f"{y}.T[0] = {t.number()}", f"{y}[::-1][0] *= {t.number()}",
        f"{y}.reshape(-1)[{k}] = {t.number()}",
        f"{y}.ravel()[::2] *= {t.number()}", f"np.flip({y})[...] += {t.value()}",
        f"{y}[..., None][0] += {t.number()}",
        f"{y}[1:][:1] = {t.number()}", f"np.atleast_2d({y})[0] *= {t.number()}",
        f"np.split({y}, [1])[0][...] = {t.number()}", f"np.squeeze({y})[...] -= {t.number()}",
        f"{y}.flatten()[0] = {t.number()}", f"{y}[[0]][0] = {t.number()}",
    ])  # fmt: skip


# -- functions that write -------------------------------------------------------------------------


@smooth
def functions(t: Target) -> str:
    d, y = t.d, t.name
    n = int(np.prod(t.shape, dtype=int))
    if not n:
        raise Unusable("nothing there")
    some = d.rng.integers(-n, n, d.number(1, 3)).tolist()
    truth = (d.rng.random(t.shape) < 0.5).tolist()
    many = [t.number() for _ in some]
    return d.one([
        f"{y}.fill({t.number()})", f"np.copyto({y}, {t.value()})",
        f"np.copyto({y}, {t.value()}, where=np.array({truth}))",
        f"np.put({y}, {some}, [{', '.join(many)}])", f"np.put({y}, {some}, {t.number()})",
        f"np.place({y}, np.array({truth}), [{', '.join(many)}])",
        f"np.putmask({y}, np.array({truth}), {t.value()})",
        f"np.put({y}, {some}, {t.given((len(some),))})",
    ])  # fmt: skip


@form
def sort(t: Target) -> str:
    if not t.shape:
        raise Unusable("a number")
    axis = t.d.number(-len(t.shape), len(t.shape) - 1)
    return t.d.one([f"{t.name}.sort()", f"{t.name}.sort(axis={axis})"])


@form
def masks_of_values(t: Target) -> str:
    y = t.name
    return t.d.one([
        f"np.copyto({y}, {t.value()}, where={y} > {t.number()})",
        f"np.putmask({y}, {y} < {t.number()}, {t.value()})",
        f"np.place({y}, {y} < {t.number()}, [{t.number()}])",
    ])  # fmt: skip


@smooth
def fill_diagonal(t: Target) -> str:
    if len(t.shape) != 2:
        raise Unusable("no matrix")
    return f"np.fill_diagonal({t.name}, {t.d.one([t.number(), t.given((min(t.shape),))])})"


@smooth
def ufunc_at(t: Target) -> str:
    if not t.shape or not t.shape[0]:
        raise Unusable("nothing there")
    d, n = t.d, t.shape[0]
    some = d.rng.integers(-n, n, d.number(1, 4)).tolist()
    name = d.one(["add", "add", "subtract", "multiply"])
    value = d.one([t.number(), t.given((len(some), *t.shape[1:]))])
    return f"np.{name}.at({t.name}, {some}, {value})"


@smooth
def along_axis(t: Target) -> str:
    if not t.shape or 0 in t.shape:
        raise Unusable("nothing there")
    axis = t.d.number(0, len(t.shape) - 1)
    order = f"np.argmax({t.name}, axis={axis}, keepdims=True)"
    fixed = np.zeros([1 if k == axis else n for k, n in enumerate(t.shape)], int).tolist()
    place = f"np.array({fixed})" if t.d.chance(0.5) else order
    return f"np.put_along_axis({t.name}, {place}, {t.number()}, axis={axis})"
