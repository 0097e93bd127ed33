"""The numbers and the memory of the functions that `functions.py` makes of the kernel IR."""

import cmath
import itertools
import math
import struct
from collections.abc import Callable
from typing import Any

from nbgrad.ir.library import DFT, HALF_TO_REAL, REAL_TO_HALF


class Memory(dict):
    """The elements of a buffer or the words of a record; `size` of them may be written."""

    size = room = 0  # elements, bytes

    def __setitem__(self, place: Any, value: Any) -> None:
        if not 0 <= place < self.size:
            raise IndexError(f"word {place} of {self.size} of a record")
        super().__setitem__(place, value)


def single(x: float) -> float:
    """The nearest float32."""
    try:
        return struct.unpack("f", struct.pack("f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def wrapped(x: int, bits: int, signed: bool) -> int:
    """An integer of so many bits."""
    if -1 << 31 <= x < 1 << 31 and bits == 64 and (signed or x >= 0):
        return int(x)
    x &= (1 << bits) - 1
    return x - (1 << bits) if signed and x >> (bits - 1) else x


def divided(x: float, y: float) -> float:
    """x / y, which is inf or nan for 0."""
    if y:
        return x / y
    return math.nan if x == 0 or x != x else math.copysign(math.inf, x) * math.copysign(1.0, y)


def _quiet(function: Callable) -> Callable:
    """The function, which is nan or inf where Python raises."""

    def call(*given: float) -> float:
        try:
            return function(*given)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return call


def _sign(x: float) -> float:
    return (x > 0) - (x < 0) if isinstance(x, int) else math.copysign(x != 0, x)


UNDEFINED = {"f": math.nan, "i": 10**12, "u": 200, "b": True}


def _allocated(old: Memory | None, count: int, first: Any) -> Memory:
    """A buffer of a function: the same one, which may become larger."""
    found = Memory() if old is None else old
    for place in range(found.size, count):
        dict.__setitem__(found, place, first)
    found.size = max(found.size, count)
    return found


def _resized(old: int, size: int) -> tuple[int]:
    before = _memory.pop(old, Memory())
    new = Memory(before)
    new.room = size
    before.clear()
    _memory[key := max(_memory, default=old) + 1] = new
    return (key,)


def _words(key: int, itemsize: int) -> Memory:
    memory = _memory[key] if key else Memory()
    memory.size = memory.room // itemsize
    return memory


def freed(key: int) -> None:
    if key:
        _memory.pop(key).clear()


def _product(c, at, a, a_at, b, b_at, m, n, k, c0, c1, a0, a1, b0, b1):
    """c += a @ b, of places in buffers, with the steps to the next row and column."""
    for i in range(m):
        for p in range(k):
            x = a[a_at + i * a0 + p * a1]
            for j in range(n):
                c[at + i * c0 + j * c1] += x * b[b_at + p * b0 + j * b1]


def _fourier(yr, yr_at, yi, yi_at, xr, xr_at, xi, xi_at, there, kind, rows, n, inner, weight,
             adds):  # fmt: skip
    """y += F x, of places in buffers: see `nbgrad/ir/library.py`."""
    half = n // 2 + 1
    n_in, n_out = half if kind == HALF_TO_REAL else n, half if kind == REAL_TO_HALF else n
    for row, q in itertools.product(range(rows), range(inner)):
        for k, j in itertools.product(range(n_out), range(n_in)):
            to, at = (row * n_out + k) * inner + q, (row * n_in + j) * inner + q
            bin = min(j, k) if kind == DFT else j if kind == HALF_TO_REAL else k
            alone = kind == DFT or bin == 0 or 2 * bin == n
            x = complex(xr[xr_at + at] if there & 4 else 0.0, xi[xi_at + at] if there & 8 else 0.0)
            turn = (1 if kind == HALF_TO_REAL else -1) * 2j * cmath.pi * (j * k % n) / n
            y = x * cmath.exp(turn) * (1 if alone else weight)
            if there & 1:
                yr[yr_at + to] += y.real
            if there & 2:
                yi[yi_at + to] += y.imag


def _require_kind(value: Any, kind: str) -> None:
    if isinstance(value, float) != (kind == "f"):
        raise TypeError(f"a word {value!r} is read as {kind}")


def _tick() -> None:
    _left[0] -= 1
    if _left[0] < 0:
        raise RuntimeError("the function does not end")


_left = [0]
_memory: dict[int, Memory] = {}


def records() -> int:
    """The number of records that functions have not freed."""
    return len(_memory)


def begin(rounds: int = 10**5) -> None:
    """Drop the records of functions that raised; what runs now may make so many rounds."""
    _memory.clear()
    _left[0] = rounds


LIBM = {name: _quiet(getattr(math, name)) for name in (
    "acos acosh asin asinh atan atan2 atanh cos cosh erf erfc exp expm1 gamma hypot lgamma log "
    "log10 log1p log2 pow sin sinh tan tanh exp2 cbrt".split())}  # fmt: skip
_FUNCTIONS: dict[str, Callable] = {
    "divide": divided, "floor_quotient": lambda x, y: x // y if y else 0 * x,
    "modulo": lambda x, y: x % y if y else 0 * x, "power_of": LIBM["pow"], "power": LIBM["pow"],
    "power_slope": lambda x, y, u: y * LIBM["pow"](x, y - 1.0),
    "abs": abs, "sqrt": _quiet(math.sqrt), "fused": lambda x, y, z: x * y + z,
    "maximum": lambda x, y: x if x >= y or x != x else y,
    "minimum": lambda x, y: x if x <= y or x != x else y,
    "np.sign": _sign, "np.copysign": math.copysign, "np.fmod": _quiet(math.fmod),
    "np.floor": lambda x: float(math.floor(x)), "np.ceil": lambda x: float(math.ceil(x)),
    "np.trunc": lambda x: float(math.trunc(x)), "np.rint": lambda x: float(round(x)),
    "np.isfinite": math.isfinite, "strong": lambda x, y: 0.0 if x == 0.0 else y,
    "arctan": math.atan, "arctan2": math.atan2,
    "left_shift": lambda x, y: x << y, "right_shift": lambda x, y: x >> y,
    **{name: LIBM[name] for name in ("exp", "log", "sin", "cos", "tan", "tanh", "sinh", "cosh",
                                     "log1p", "expm1", "erf", "hypot")},
}  # fmt: skip
FACTS: dict[int, int] = {}
"""What the latest function has noted about its record."""
SPACE: dict[str, Any] = {
    "allocated": _allocated, "tick": _tick, "single": single, "wrapped": wrapped,
    "functions": _FUNCTIONS, "libm": LIBM,
    "memory": _words, "resized": _resized, "freed": freed, "require_kind": _require_kind,
    "product": _product, "fourier": _fourier, "hidden": lambda x: (x,), "allowed": lambda: (2**40,),
    "noted": FACTS.__setitem__, "known": lambda fact: (FACTS[fact],),
}  # fmt: skip
