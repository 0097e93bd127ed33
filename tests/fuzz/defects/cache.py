"""Defects of the kernel cache, put back: each gives numbers of another program or another file."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from unittest.mock import patch

from nbgrad.compiler import kernel as _jit
from nbgrad.compiler import numba_cache as _cache

_file = _cache.KernelCache._file


def _key_without_the_text(self: _cache.KernelCache, sig, codegen) -> str:
    """The name of a file says nothing of constants in the text, as in Numba's own cache."""
    with patch.object(self, "_content", ""):
        return _file(self, sig, codegen)


class _ByName(dict):
    """Kernels shared by their names, whatever their texts."""

    def get(self, key, default=None):
        return super().get(key[0], default)

    def __setitem__(self, key, value):
        super().__setitem__(key[0], value)


DEFECTS: dict[str, Callable[[], AbstractContextManager]] = {
    "key-without-the-text": lambda: patch.object(
        _cache.KernelCache, "_file", _key_without_the_text
    ),
    "kernels-shared-by-name": lambda: patch.object(_jit, "_kernels", _ByName()),
}
