"""Functions of SciPy on arrays in functions with loops: those of the same name in `nbgrad.scipy`.

They are recorded as the calls of NumPy's functions that they make of tracked arrays. The transforms
that NumPy has are read as NumPy's.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from types import FunctionType
from typing import Any

import numpy as np

from ..compiler.front.arrays import shape_of
from ..compiler.front.binding import stand_in_by
from ..compiler.front.calls import call, not_read, record_arrays
from ..compiler.front.complex_calls import has_complex
from ..compiler.front.emit import FunctionBuilder
from ..compiler.front.syntax import Unsupported
from ..compiler.front.values import Known, Value
from ..rules.linalg.options import HINTS
from ..rules.surface import hermitian
from .recorded import call_recorded, has_array

__all__: list[str] = []

_MODULES = ("fft", "linalg", "signal", "ndimage", "spatial.distance")
_HOMES = "scipy.", "nbgrad.scipy."
_SAME: dict[Any, int] = {
    np.linalg.det: 1, np.linalg.inv: 1, np.linalg.lstsq: 2, np.linalg.norm: 1, np.linalg.pinv: 1,
    np.linalg.solve: 2,
}  # fmt: skip
"""NumPy's functions that are SciPy's for so many arguments."""
_TRANSFORMS = frozenset((
    "fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2", "fftn",
    "ifftn", "rfftn", "irfftn", "fftshift", "ifftshift",
))  # fmt: skip


# -- convolutions of vectors, of any two lengths ---------------------------------------------------


def convolved(in1, in2, mode="full"):
    n, size = in1.size + in2.size - 1, 1
    while size < n:
        size *= 2
    return np.fft.irfft(np.fft.rfft(in1, size) * np.fft.rfft(in2, size), size)[:n]


def convolved_same(in1, in2, mode="same"):
    first = (in2.size - 1) // 2
    return convolved(in1, in2)[first : first + in1.size]


def convolved_valid(in1, in2, mode="valid"):
    return convolved(in1, in2)[min(in1.size, in2.size) - 1 : max(in1.size, in2.size)]


_MODES = {"full": convolved, "same": convolved_same, "valid": convolved_valid}


def _convolution(operands: Sequence[Value], named: Mapping[str, Value]) -> Callable | None:
    given = dict(zip(("in1", "in2", "mode"), operands, strict=False)) | dict(named)
    mode = given.pop("mode", Known("full"))
    if set(given) != {"in1", "in2"} or len(operands) > 3 or not isinstance(mode, Known):
        return None
    if any(len(shape_of(x)) != 1 or has_complex(x) for x in given.values()):
        return None
    return _MODES.get(mode.value)


# -- which one ------------------------------------------------------------------------------------


@cache
def _of(module: str) -> dict[int, tuple[str, Any]]:
    """By SciPy's functions and ours, in their place: names, and ours."""
    plain, own = import_module(f"scipy.{module}"), import_module(f"nbgrad.scipy.{module}")
    found: dict[int, tuple[str, Any]] = {}
    for name in own.__all__:
        theirs, ours = getattr(plain, name, None), getattr(own, name)
        if isinstance(ours, FunctionType) and ours is not theirs:
            found |= {id(x): (name, ours) for x in (theirs, ours) if x is not None}
    return found


def _frequencies() -> tuple[Any, ...]:
    """SciPy's functions of frequencies, if they are loaded."""
    home = sys.modules.get("scipy.fft")
    return () if home is None else (home.fftfreq, home.rfftfreq)


def _found(function: Any) -> tuple[str, str, Any] | None:
    """The module and the name of a function, and ours."""
    if not str(getattr(function, "__module__", "")).startswith(_HOMES):
        return None
    loaded = [x for x in _MODULES if f"scipy.{x}" in sys.modules]
    return next(((x, *of[id(function)]) for x in loaded if id(function) in (of := _of(x))), None)


def _row(function: Any, operands: Sequence[Value], named: Mapping[str, Value]) -> Callable | None:
    is_ours = any(map(has_array, [*operands, *named.values()])) and _found(function)
    return _called if is_ours else None


@not_read
def _called(
    emit: FunctionBuilder, function: Any, operands: Sequence[Value], named: Mapping[str, Value]
) -> Value:
    found = _found(function)
    assert found is not None
    module, name, ours = found
    if module == "fft" and hasattr(hermitian, name):
        return _hermitian(emit, name, operands, named)
    if module == "linalg":
        given = {key: x for key, x in named.items() if key not in HINTS}
        same = getattr(np.linalg, name, None)
        if len(operands) + len(given) <= _SAME.get(same, 0):
            return call(emit, same, operands, given)
        if not hasattr(ours, "own"):  # one of `nbgrad.linalg`
            return call(emit, ours, operands, given)
    return call_recorded(emit, ours, operands, named)


def _hermitian(
    emit: FunctionBuilder, name: str, operands: Sequence[Value], named: Mapping[str, Value]
) -> Value:
    """The transforms of `rules/surface/hermitian.py`."""
    axes = Known((-2, -1)) if name.endswith("2") else Known(None)
    given = {"s": Known(None), "axes": axes, "norm": Known(None)}
    given |= dict(zip(("x", "s", "axes", "norm"), operands, strict=False)) | dict(named)
    norm = given.pop("norm")
    if not isinstance(norm, Known) or norm.value not in hermitian.SWAPPED:
        raise Unsupported(f"{name} of a norm that is not 'backward', 'ortho' or 'forward'")
    x, *rest = (given[key] for key in ("x", "s", "axes"))
    rest = [*rest, Known(hermitian.SWAPPED[norm.value])]
    if name.startswith("i"):
        return call(emit, np.conj, [call(emit, np.fft.rfftn, [x, *rest])])
    return call(emit, np.fft.irfftn, [call(emit, np.conj, [x]), *rest])


def _stand_in(
    function: Any, operands: Sequence[Value], named: Mapping[str, Value]
) -> Callable | None:
    if function in _frequencies():
        is_plain = len(operands) < 3 and not {"xp", "device"}.intersection(named)
        return getattr(np.fft, function.__name__) if is_plain else None
    found = _found(function)
    if found is not None and found[1] in ("fftconvolve", "oaconvolve"):
        return _convolution(operands, named)
    if found is None or found[0] != "fft" or found[1] not in _TRANSFORMS:
        return None
    is_known = len(operands) <= 4 and not {"overwrite_x", "workers", "plan"}.intersection(named)
    return getattr(np.fft, found[1]) if is_known else None


record_arrays(_row)
stand_in_by(_stand_in)
