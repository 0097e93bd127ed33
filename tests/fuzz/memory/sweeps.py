"""Statements that write in loops of Python's, and through what holds an array."""

from ..oracle import Unusable
from .forms import Target, smooth


@smooth
def sweep(t: Target) -> str:
    """A loop of Python's over elements or rows."""
    if not t.shape:
        raise Unusable("a number")
    d, y, n = t.d, t.name, t.shape[0]
    return d.one([
        f"for i in range(1, {n}):\n    {y}[i] += 0.5 * {y}[i - 1]",
        f"for i in range({n} - 1):\n    {y}[i], {y}[i + 1] = {y}[i + 1] * 0.5, {y}[i] * 1.0",
        f"for i in range({n}):\n    {y}[i] = np.sin({y}[i - 1]) + {y}[i]",
        f"for _ in range({d.number(0, 3)}):\n    {y}[1:-1] = 0.5 * ({y}[:-2] + {y}[2:])",
        f"for _ in range(2):\n    {y} *= {t.number()}\n    {y}[0] += {t.number()}",
    ])  # fmt: skip


@smooth
def sweep_rows(t: Target) -> str:
    if len(t.shape) < 2:
        raise Unusable("no rows")
    d, y = t.d, t.name
    return d.one([
        f"for row in {y}:\n    row *= {t.number()}", f"for row in {y}:\n    row -= np.mean(row)",
        f"for i, row in enumerate({y}):\n    row[0] += i * 0.5",
        f"for upper, lower in zip({y}[:-1], {y}[1:]):\n    lower += upper",
        f"rows = list({y})\nrows[0][...] = rows[-1] * 0.5",
        f"for column in {y}.T:\n    column[0] = np.sum(column)",
        f"first, *_ = {y}\nfirst += {t.number()}",
    ])  # fmt: skip


@smooth
def held(t: Target) -> str:
    """Through what holds the array."""
    y, v = t.name, t.value()
    return t.d.one([
        f"held = [{y}]\nheld[0] += {v}", f'held = {{"a": {y}}}\nheld["a"] *= {v}',
        f'held = {{"a": {y}}}\nheld["a"][...] = {v}',
        f"held = [{y}, {y}]\nfor part in held:\n    part += {v}",
        f"class Box:\n    pass\nbox = Box()\nbox.a = {y}\nbox.a -= {v}",
        f"other = {y}\nother += {v}",
        f"(part,) = ({y},)\npart[...] += {v}",
        f"import copy\nother = copy.copy([{y}])\nother[0] += {v}",
    ])  # fmt: skip


@smooth
def numbers(t: Target) -> str:
    """Numbers are no memory: one name of them goes on, the other stays."""
    if not t.shape or 0 in t.shape:
        raise Unusable("no numbers")
    first = ", ".join(["0"] * len(t.shape))
    number = t.d.one([f"np.sum({t.name})", f"{t.name}[{first}]", f"np.mean({t.name})"])
    way = t.d.one(["+=", "*=", "-="])
    return f"number = {number}\nkept = number\nnumber {way} {t.number()}\n{t.name} += kept * 0.5"
