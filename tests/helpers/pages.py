"""The code of the documentation: its blocks, run in order, and the values that comments state."""

import ast
import io
import linecache
import math
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

_BLOCK = re.compile(r"^( *)```python\n(.*?)^\1```", re.S | re.M)
_NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|\bnan\b|-?\binf\b")
_STATED = re.compile(r"[-\[(\d.]|array\(|nan\b|inf\b|True\b|False\b|'")


def pages() -> list[Path]:
    """Return the pages with code, except the table of operations."""
    found = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    return [path for path in found if blocks(path)]


def blocks(path: Path) -> list[str]:
    """Return the blocks of code of a page; those with a title, as in `python title="pool.py"`, or
    with another word are programs on their own.
    """
    return [_unindented(*match) for match in _BLOCK.findall(path.read_text(encoding="utf-8"))]


def _unindented(indent: str, block: str) -> str:
    return re.sub(rf"^{indent}", "", block, flags=re.M)


def program(path: Path) -> str:
    """Return the blocks of a page as one module, on the lines that they have in the page."""
    text, lines = path.read_text(encoding="utf-8"), []
    for match in _BLOCK.finditer(text):
        first = text.count("\n", 0, match.start(2))
        lines += [""] * (first - len(lines)) + _unindented(*match.groups()).splitlines()
    return "\n".join([*lines, ""])


def run(path: Path) -> dict[str, Any]:
    """Execute the blocks of a page in one namespace, which is returned.

    Raises AssertionError where a value differs from the comment behind it.
    """
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for i, block in enumerate(blocks(path)):
        execute(block, f"<{path.name} {i}>", namespace)
    return namespace


def execute(block: str, name: str, namespace: dict[str, Any]) -> None:
    """Run code whose source can be read under a name, as that of a file."""
    lines = block.splitlines(keepends=True)
    linecache.cache[name] = (len(block), None, lines, name)
    for node in ast.parse(block, name).body:
        last = lines[node.end_lineno - 1][node.end_col_offset :] if node.end_lineno else ""
        stated = last.partition("#")[2].strip()
        if isinstance(node, ast.Expr):
            printed = io.StringIO()
            with redirect_stdout(printed):
                value = eval(compile(ast.Expression(node.value), name, "eval"), namespace)
            print(printed.getvalue(), end="")
            text = repr(value) if value is not None else printed.getvalue().strip()
            if _STATED.match(stated):
                assert agrees(stated, text), f"{name}: {lines[node.lineno - 1]}gives {text}"
        else:
            exec(compile(ast.Module([node], []), name, "exec"), namespace)


def agrees(stated: str, text: str) -> bool:
    """Return whether the numbers of a text are those that a comment states, to its digits.

    Words behind a value are remarks: `2.0, the slope`.
    """
    expected = _NUMBER.findall(stated)
    found = _NUMBER.findall(re.sub(r"\b(?:np|float|int|dtype=)[a-z]*\d+|shape=\S+", "", text))
    if not expected:
        return stated.split()[0].strip(",:") in text
    return len(found) >= len(expected) and all(map(_close, expected, found))


def _close(stated: str, text: str) -> bool:
    wanted, value = float(stated), float(text)
    if not math.isfinite(wanted):
        return wanted == value or (math.isnan(wanted) and math.isnan(value))
    digits, _, power = stated.partition("e")
    decimals = len(digits.partition(".")[2])
    return abs(value - wanted) <= 0.51 * 10.0 ** (int(power or 0) - decimals)
