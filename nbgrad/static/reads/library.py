"""Which modules are taken to stay as they are."""

import os
import sys
from functools import lru_cache
from pathlib import Path

_PYTHON, _INSTALLED = Path(os.__file__).parent, {"site-packages", "dist-packages"}
_FIXED = {"builtins", "numpy", "scipy", "numba", "llvmlite", "optree"}


def is_ours(module: str) -> bool:
    """Whether a module is of this package."""
    return module.partition(".")[0] == "nbgrad"


def is_library(module: str, home: str) -> bool:
    """Whether a module is of Python or of an installed package other than `home`."""
    top = module.partition(".")[0]
    return is_ours(module) or top in _FIXED or (top != home and _is_installed(top))


@lru_cache(1024)
def _is_installed(top: str) -> bool:
    if top in ("", "__main__"):
        return False
    if top in sys.builtin_module_names:
        return True
    module = sys.modules.get(top)
    file = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), None)
    if file is None:
        return getattr(getattr(module, "__spec__", None), "origin", None) == "frozen"
    folders = Path(file).parts
    return _PYTHON in Path(file).parents or not _INSTALLED.isdisjoint(folders)
