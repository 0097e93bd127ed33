"""Modules of NumPy under the names of `nbgrad.numpy`."""

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import BuiltinFunctionType, ModuleType
from typing import Any

from numba.core import types
from numba.core.registry import cpu_target
from numba.extending import typeof_impl

_HOME = __name__.rpartition(".")[0]


def names(own: dict[str, Any], plain: ModuleType, replaced: dict[str, Any]) -> tuple:
    """Fill the namespace of a module with the public names of NumPy's, or what replaces them.
    Return its `__getattr__` and `__dir__`, which know NumPy's other names."""
    public = getattr(plain, "__all__", dir(plain))
    own.update({name: getattr(plain, name) for name in public if not name.startswith("__")})
    own.update(replaced)
    own["_numba_type_"] = types.Module(plain)  # for functions under @njit
    _gates.update({function: getattr(plain, name, None) for name, function in replaced.items()})

    def get(name: str) -> Any:
        return getattr(plain, name)

    def listed() -> list[str]:
        return sorted({*own, *dir(plain)})

    return get, listed


_gates: dict[Any, Any] = {}  # and NumPy's functions behind them


@typeof_impl.register(BuiltinFunctionType)
def _type_for_numba(function: Any, _: Any) -> Any:
    """The type of NumPy's function, where functions under @njit name a function of ours."""
    plain = _gates.get(function)
    return None if plain is None else cpu_target.typing_context.resolve_value_type(plain)


class _Finder:
    """Finds the modules of NumPy that have no counterpart here: `nbgrad.numpy.polynomial` is
    NumPy's own module."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        plain = name.replace(_HOME, "numpy", 1)
        if not name.startswith(f"{_HOME}.") or find_spec(plain) is None:
            return None
        return ModuleSpec(name, _Loader(plain))  # pyright: ignore[reportArgumentType]


class _Loader:
    """Gives NumPy's module, which is not run again and keeps its own spec."""

    def __init__(self, plain: str):
        self._plain = plain

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(self._plain)
        self._spec: Callable = module.__spec__  # pyright: ignore[reportAttributeAccessIssue]
        return module

    def exec_module(self, module: Any) -> None:
        module.__spec__ = self._spec


sys.meta_path.append(_Finder)  # pyright: ignore[reportArgumentType]
