"""docs/development/c_functions.md names every C function, and the modules that it names exist."""

import re
from pathlib import Path

import nbgrad
from nbgrad.capi.replaceable import replaceables

PACKAGE = Path(nbgrad.__file__).parent
PAGE = (PACKAGE.parent / "docs" / "development" / "c_functions.md").read_text(encoding="utf-8")


def test_every_replaceable_function_is_in_the_table():
    assert replaceables
    rows = set(re.findall(r"^\| `(nbgrad\.[\w.]+)` \|", PAGE, re.MULTILINE))
    assert rows == set(replaceables)


def test_every_module_that_writes_a_c_function_is_named():
    writers = [
        path.stem
        for path in (PACKAGE / "capi").glob("*.py")
        if re.search(r"\bclass \w+\(\w*Emitter\)|= Emitter\(", path.read_text(encoding="utf-8"))
    ]
    assert len(writers) > 5
    for name in writers:
        assert f"capi/{name}.py" in PAGE or f"`capi.{name}." in PAGE, name


def test_the_example_runs():
    exec(PAGE.split("```python\n")[1].split("```")[0], {})


def test_the_files_that_the_page_names_exist():
    for name in re.findall(r"`((?:capi|runtime|values|static|tests|core)/[\w/]*(?:\.py)?)`", PAGE):
        root = PACKAGE.parent if name.startswith("tests/") else PACKAGE
        assert (root / name).exists(), name
