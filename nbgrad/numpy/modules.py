"""Modules of NumPy under the names of `nbgrad.numpy`."""

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

_HOME = __name__.rpartition(".")[0]


def names(own: dict[str, Any], plain: ModuleType, replaced: dict[str, Any]) -> tuple:
    """Fill the namespace of a module with NumPy's public names, or their replacements. Return
    `__getattr__` and `__dir__` for NumPy's other names."""
    public = getattr(plain, "__all__", dir(plain))
    own.update({name: getattr(plain, name) for name in public if not name.startswith("__")})
    own.update(replaced)

    def get(name: str) -> Any:
        return getattr(plain, name)

    def listed() -> list[str]:
        return sorted({*own, *dir(plain)})

    return get, listed


class _Finder:
    """Finder for modules without a replacement: `nbgrad.numpy.polynomial` is NumPy's module."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        plain = name.replace(_HOME, "numpy", 1)
        if not name.startswith(f"{_HOME}.") or find_spec(plain) is None:
            return None
        return ModuleSpec(name, _Loader(plain))  # pyright: ignore[reportArgumentType]


class _Loader:
    """Loader that returns NumPy's module, which is not executed again and keeps its spec."""

    def __init__(self, plain: str):
        self._plain = plain

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(self._plain)
        self._spec: Callable = module.__spec__  # pyright: ignore[reportAttributeAccessIssue]
        return module

    def exec_module(self, module: Any) -> None:
        module.__spec__ = self._spec


sys.meta_path.append(_Finder)  # pyright: ignore[reportArgumentType]
