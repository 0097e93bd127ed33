"""Deprecation warnings: they point at the user's line, and nothing outlives its version."""

import ast
import os
from pathlib import Path

import pytest

import nbgrad
from nbgrad.runtime.deprecations import deprecated

PACKAGE = Path(nbgrad.__file__).parent


def test_the_warning_points_at_the_line_of_the_user_and_names_the_version():
    # A function of the package that calls another one, which is deprecated.
    source = """
from nbgrad.runtime.deprecations import deprecated

def outer():
    inner()

def inner():
    deprecated("nbgrad.old", removal="0.4.0", instead="use nbgrad.new")
"""
    names: dict = {}
    exec(compile(source, str(PACKAGE / "values" / "made.py"), "exec"), names)
    with pytest.warns(DeprecationWarning) as seen:
        names["outer"]()  # here
    (warning,) = seen
    assert str(warning.message) == (
        "nbgrad.old is deprecated and will be removed in nbgrad 0.4.0: use nbgrad.new"
    )
    assert os.path.samefile(warning.filename, __file__)
    assert Path(__file__).read_text().splitlines()[warning.lineno - 1].endswith("# here")


def test_a_call_of_the_user_is_the_line():
    with pytest.warns(DeprecationWarning, match="removed in nbgrad 1.0.0") as seen:
        deprecated("x", removal="1.0.0", instead="use y")
    assert os.path.samefile(seen[0].filename, __file__)


@pytest.mark.full
def test_what_is_deprecated_is_removed_in_time():
    """The release that a warning names has no such name any more."""
    now = _numbers(nbgrad.__version__)
    for path in PACKAGE.rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "deprecated":
                (removal,) = [k.value for k in call.keywords if k.arg == "removal"]
                assert isinstance(removal, ast.Constant), f"{path}: a version as text"
                assert _numbers(str(removal.value)) > now, f"{path}:{call.lineno}: remove it now"


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")[:3]]
