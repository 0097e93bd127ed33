"""External symbols of machine code, defined before it runs: Numba's runtime, and BLAS.

Loading both takes longer than everything else that a new process does before its first gradient,
and cached machine code needs few of their functions.
"""

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterator
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import Any

import llvmlite.binding

from .numba_api import _nrt_python, config, rtsys  # pyright: ignore[reportAttributeAccessIssue]

__all__ = ["find_blas", "know_runtime", "refresh"]

_PACKAGE = "scipy.linalg"
_MODULE = f"{_PACKAGE}.cython_blas"
_FUNCTIONS = "sgemm", "dgemm", "sgemv", "dgemv"
_CALLED = b"numba_xxge"  # how the names of Numba's functions begin


@cache
def know_runtime(context: Any) -> None:
    """Let machine code find the functions of Numba's runtime that are written in C. Those that
    Numba compiles stand in the machine code itself; Numba does that before it compiles others."""
    helpers = getattr(_nrt_python, "c_helpers", None)
    if not isinstance(helpers, dict) or getattr(config, "NRT_STATS", True):
        rtsys.initialize(context)
        return
    for name, address in helpers.items():
        symbol = name if name.startswith("_") else f"NRT_{name}"
        llvmlite.binding.add_symbol(symbol, address)


@cache
def refresh(context: Any) -> None:
    """What Numba does before it first compiles. It asks whether there is a BLAS, and so imports all
    of `scipy.linalg`, a tenth of a second: one extension module of that is enough."""
    with _blas_alone():
        context.refresh()


def find_blas(code: bytes) -> None:
    """Find the BLAS if object code calls it. Numba's functions for products, which code calls, ask
    for it at their first call; where it is not found here, they import `scipy.linalg` for it."""
    if _CALLED in code:
        _find()


@cache
def _find() -> None:
    with _blas_alone() as module:
        if module is not None and all(name in module.__pyx_capi__ for name in _FUNCTIONS):
            with contextlib.suppress(Exception):
                _let_numba_see()


@contextlib.contextmanager
def _blas_alone() -> Iterator[Any]:
    """In the body SciPy's BLAS can be imported without its package, where it is found; who imports
    it with its package later gets the same module."""
    module = None if _PACKAGE in sys.modules else _blas()
    if module is None:
        yield None
        return
    sys.modules[_MODULE] = module
    try:
        yield module
    finally:
        package = sys.modules.get(_PACKAGE)
        if package is None:
            del sys.modules[_MODULE]
        else:
            package.cython_blas = module  # pyright: ignore[reportAttributeAccessIssue]


@cache
def _blas() -> Any:
    """The extension module of SciPy's BLAS, or None."""
    with contextlib.suppress(Exception):
        import scipy

        folders = [os.path.join(folder, "linalg") for folder in scipy.__path__]
        spec = PathFinder.find_spec(_MODULE, folders)
        assert spec is not None and spec.loader is not None
        module = module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        finally:
            if _PACKAGE not in sys.modules:
                sys.modules.pop(_MODULE, None)  # where it puts itself
        return module
    return None


def _let_numba_see() -> None:
    """Have Numba's functions, which keep what they find, look for the BLAS: products of nothing."""
    size, letter, place = ctypes.c_ssize_t, ctypes.c_char, ctypes.c_void_p
    gemm = ctypes.PYFUNCTYPE(
        ctypes.c_int, letter, letter, letter, size, size, size, place, place, size, place, size,
        place, place, size,
    )(_address("numba_xxgemm"))  # fmt: skip
    gemv = ctypes.PYFUNCTYPE(
        ctypes.c_int, letter, letter, size, size, place, place, size, place, place, place
    )(_address("numba_xxgemv"))
    number = ctypes.c_double()
    nothing = ctypes.addressof(number)
    for kind in (b"s", b"d"):
        gemm(kind, b"n", b"n", 0, 0, 0, nothing, nothing, 1, nothing, 1, nothing, nothing, 1)
        gemv(kind, b"n", 0, 0, nothing, nothing, 1, nothing, nothing, nothing)


def _address(name: str) -> int:
    found: Any = llvmlite.binding.address_of_symbol(name)
    assert found
    return found
