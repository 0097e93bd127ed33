"""`docs/development/architecture.md` shows what the code does, and names every room.

`python tests/test_architecture.py` writes the blocks of the page anew.
"""

import ast
import linecache
import re
from pathlib import Path

import nbgrad

PAGE = Path(__file__).parents[1] / "docs" / "development" / "architecture.md"
PACKAGE = Path(nbgrad.__file__).parent
BLOCK = re.compile(r"```text (\w+)\n(.*?)```", re.DOTALL)
STAGES = {"program", "lowered", "schedule", "loops", "source"}


def stages(page: str) -> dict[str, str]:
    """What each stage of the page's example prints."""
    found = re.search(r"```python loss\.py\n(.*?)```", page, re.DOTALL)
    assert found is not None
    text = found[1]
    linecache.cache["loss.py"] = (len(text), None, text.splitlines(True), "loss.py")
    scope: dict = {}
    exec(compile(text, "loss.py", "exec"), scope)
    return {stage: str(getattr(scope["both"], stage)) for stage in STAGES}


def written(page: str) -> str:
    """The page with its blocks as the code prints them."""
    made = stages(page)
    return BLOCK.sub(lambda block: f"```text {block[1]}\n{made[block[1]].strip()}\n```", page)


def test_the_page_shows_what_each_stage_makes():
    page = PAGE.read_text(encoding="utf-8")
    assert {block[1] for block in BLOCK.finditer(page)} == STAGES
    assert page == written(page), "run python tests/test_architecture.py"


def test_the_page_names_every_room_and_every_room_says_what_it_is_for():
    page = PAGE.read_text(encoding="utf-8")
    rooms = [path.parent for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE]
    assert rooms
    for room in rooms:
        text = (room / "__init__.py").read_text(encoding="utf-8")
        assert ast.get_docstring(ast.parse(text)), room
        name = room.relative_to(PACKAGE)
        if len(name.parts) == 1:
            assert f"`nbgrad/{name}/`" in page, name


def test_the_files_that_the_page_names_are_there():
    page = PAGE.read_text(encoding="utf-8")
    for name in re.findall(r"`([\w/]+\.py)`", page):
        known = [PACKAGE / name, PACKAGE / "static" / name, PACKAGE.parent / name]
        assert any(path.exists() for path in known), name


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
