"""Run the examples of `nbgrad.errors.explained`."""

import contextlib
import functools
import linecache
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

import nbgrad
from nbgrad.errors.explained import Explanation

_NAME = "example.py"
_HEAD = """import warnings

import numpy as np

import nbgrad

warnings.simplefilter("error", nbgrad.errors.NbgradWarning)
"""


@functools.cache
def message_of(each: Explanation) -> str:
    """The last line of the traceback of an example, as Python prints it; "" if nothing is
    raised."""
    example = each.example.strip() + "\n"
    return _alone(example) if each.is_alone else _here(example)


def _here(example: str) -> str:
    linecache.cache[_NAME] = (len(example), None, example.splitlines(keepends=True), _NAME)
    names = {"np": np, "nbgrad": nbgrad, "__name__": "example"}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        with warnings.catch_warnings():
            warnings.simplefilter("error", nbgrad.errors.NbgradWarning)
            try:
                exec(compile(example, _NAME, "exec"), names)
            except Exception as error:
                return f"{type(error).__name__}: {error}"
            finally:
                del linecache.cache[_NAME]
    return ""


def _alone(example: str) -> str:
    program = example if "import nbgrad" in example else f"{_HEAD}{example}"
    environment = {**os.environ, "PYTHONPATH": str(Path(nbgrad.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment
    )
    return "".join(done.stderr.splitlines()[-1:]).removeprefix("nbgrad.errors.")
