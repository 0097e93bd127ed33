"""Ways in which programs use a length: table of functions of x, of which the first length is named.

Each is right for every length, or refused. A process without machine code runs them
(`test_lengths.py`).
"""

import enum
import math
import warnings
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

import nbgrad
from nbgrad.errors import TraceError


class Count(enum.IntEnum):
    THREE = 3


def _matched(n: int) -> float:
    match n:
        case 3:
            return 2.0
        case 1 | 2:
            return 5.0
    return 1.0


@lru_cache
def _cached(n: int) -> float:
    return 2.0 if n > 3 else 1.0


def _until(n: int) -> float:
    k = 0
    while 2**k < n:
        k += 1
    return float(k)


def _counted(n: int) -> float:
    total = 0.0
    for i in range(n):
        total += i
    return total


def _pick(condition: Any) -> float:
    return 2.0 if condition else 1.0


# Numbers that are made of a length n.
NUMBERS: dict[str, Callable[[int], Any]] = {
    "n": lambda n: n,
    "n + 1": lambda n: n + 1,
    "3 - n": lambda n: 3 - n,
    "n / 2": lambda n: n / 2,
    "1 / n": lambda n: 1 / n,
    "n // 2": lambda n: n // 2,
    "n % 3": lambda n: n % 3,
    "divmod": lambda n: divmod(n, 3)[1] + 2 * divmod(n, 3)[0],
    "n ** 2": lambda n: n**2,
    "n ** .5": lambda n: n**0.5,
    "n ** -1": lambda n: n**-1,
    "2 ** n": lambda n: 2.0 ** (n / 10),
    "-n": lambda n: -n,
    "abs": lambda n: abs(3 - n),
    "n & 1": lambda n: n & 1,
    "n | 1": lambda n: n | 1,
    "n ^ 5": lambda n: n ^ 5,
    "~n": lambda n: ~n,
    "n >> 1": lambda n: n >> 1,
    "n << 1": lambda n: n << 1,
    "1 << n": lambda n: 1 << (n % 4),
    "float": float,
    "float > 3": lambda n: _pick(float(n) > 3),
    "int": int,
    "int > 3": lambda n: _pick(int(n) > 3),
    "bool": lambda n: _pick(bool(n - 3)),
    "complex": lambda n: complex(n).real,
    "round": lambda n: round(n / 3),
    "round > 2": lambda n: _pick(round(n / 3) > 2),
    "trunc": lambda n: math.trunc(n / 3),
    "ceil": lambda n: math.ceil(n / 3),
    "floor > 2": lambda n: _pick(math.floor(n / 2) > 2),
    "sqrt": lambda n: math.sqrt(n),
    "sqrt > 2": lambda n: _pick(math.sqrt(n) > 2),
    "isqrt": lambda n: math.isqrt(n),
    "isqrt > 2": lambda n: _pick(math.isqrt(n) > 2),
    "log": lambda n: math.log(n),
    "log > 1": lambda n: _pick(math.log(n) > 1),
    "gcd": lambda n: math.gcd(n, 6),
    "comb": lambda n: math.comb(n, 2),
    "prod": lambda n: math.prod((n, 2)),
    "math.pow": lambda n: math.pow(n, 2),
    "hypot": lambda n: math.hypot(n, 1),
    "isclose": lambda n: _pick(math.isclose(n, 3)),
    "np.minimum": lambda n: np.minimum(n, 3),
    "np.maximum": lambda n: np.maximum(3, n),
    "np.clip": lambda n: np.clip(n, 2, 4),
    "np.sqrt": lambda n: np.sqrt(n),
    "np.sqrt > 2": lambda n: _pick(np.sqrt(n) > 2),
    "np.log > 1": lambda n: _pick(np.log(n) > 1),
    "np.int64(n)": lambda n: _pick(np.int64(n) > 3),
    "np.float64(n)": lambda n: _pick(np.float64(n) > 3),
    "np.array": lambda n: _pick(np.array(n) > 3),
    "np.array([n])": lambda n: _pick(np.max(np.array([n, 3])) > 3),
    "np.where": lambda n: np.where(n > 3, 1.0, 2.0),
    "np.prod": lambda n: _pick(np.prod((n, 2)) > 6),
    "np.ceil": lambda n: np.ceil(n / 2),
    "np.sign": lambda n: np.sign(n - 3),
    "np.floor_divide": lambda n: np.floor_divide(n, 2),
    "np.isclose": lambda n: _pick(np.isclose(n, 3)),
    "np.equal": lambda n: _pick(np.equal(n, 3)),
    "n > np.int64": lambda n: _pick(n > np.int64(3)),
    "np.int64 < n": lambda n: _pick(np.int64(3) < n),
    "np.uint8 == n": lambda n: _pick(np.uint8(3) == n),
    "n == array": lambda n: _pick(n == np.array(3)),
    "n > float32": lambda n: _pick(n > np.float32(3.5)),
    "n + int64": lambda n: _pick(n + np.int64(1) > 4),
    "int64 * n": lambda n: _pick(np.int64(2) * n > 6),
    "n / int64": lambda n: _pick(n / np.int64(2) > 2),
    "n > IntEnum": lambda n: _pick(n > Count.THREE),
    "n == True": lambda n: _pick(n == True),  # noqa: E712
    "n > 3": lambda n: _pick(n > 3),
    "3 < n": lambda n: _pick(3 < n),
    "1 < n < 5": lambda n: _pick(1 < n < 5),
    "n != 3": lambda n: _pick(n != 3),
    "n > 2.5": lambda n: _pick(n > 2.5),
    "n / 2 > 2": lambda n: _pick(n / 2 > 2),
    "n * .5 > 2": lambda n: _pick(0.5 * n > 2),
    "n * .3": lambda n: 0.3 * n,
    "n * n / 7": lambda n: n * n / 7 + 1.0,
    "n ** .5 > 2": lambda n: _pick(n**0.5 > 2),
    "n % 2": lambda n: _pick(n % 2),
    "not n": lambda n: _pick(not n - 3),
    "min": lambda n: min(n, 3),
    "max": lambda n: max(n, 3),
    "sorted": lambda n: sorted([4, n, 2])[1],
    "sum": lambda n: sum([n, n, 1]),
    "any": lambda n: _pick(any([n - 3, 0])),
    "in tuple": lambda n: _pick(n in (1, 3)),
    "in list": lambda n: _pick(n in [2, 3]),
    "in set": lambda n: _pick(n in {1, 3}),
    "in range": lambda n: _pick(n in range(2, 5)),
    "in range of n": lambda n: _pick(4 in range(n)),
    "dict": lambda n: {1: 2.0, 3: 4.0}.get(n, 1.0),
    "dict[n]": lambda n: {k: float(k % 3) for k in range(50)}[n],
    "dict of n": lambda n: float(len({n: 1, 3: 2})),
    "set of n": lambda n: float(len({n, 3, 5})),
    "hash": lambda n: _pick(hash(n) == 3),
    "hash of tuple": lambda n: _pick(hash((n, 1)) == hash((3, 1))),
    "lru_cache": _cached,
    "match": _matched,
    "list[n]": lambda n: [float(i % 3) for i in range(50)][n],
    "list[n % 2]": lambda n: [2.0, 3.0][n % 2],
    "list[:n]": lambda n: float(len([1, 2, 3, 4, 5][:n])),
    "list * n": lambda n: float(len([0.0] * n)),
    "tuple * n > 3": lambda n: _pick(len((1,) * n) > 3),
    "str * n": lambda n: _pick(len("x" * n) > 3),
    "tuple ==": lambda n: _pick((n, 2) == (3, 2)),
    "tuple <": lambda n: _pick((n, 2) < (3, 3)),
    "list.index": lambda n: float([5, 4, 3, n].index(n)),
    "list.count": lambda n: float([5, 4, 3].count(n)),
    "range": _counted,
    "len(range)": lambda n: _pick(len(range(n)) > 3),
    "range ==": lambda n: _pick(range(n) == range(3)),
    "range(k < n)": lambda n: sum(1.0 for i in range(4) if i < n),
    "np.int64 < n in a loop": lambda n: sum(1.0 for i in np.arange(4) if i < n),
    "while": _until,
    "str": lambda n: _pick(str(n) == "3"),
    "len(str)": lambda n: float(len(str(n))),
    "f-string": lambda n: {"3": 4.0}.get(f"{n}", 1.0),
    "format": lambda n: _pick(format(n, "d") == "3"),
    "%d": lambda n: _pick("%d" % n == "3"),  # noqa: UP031
    "repr": lambda n: _pick(repr(n) == "3"),
    "bit_length": lambda n: float(n.bit_length()),
    "to_bytes": lambda n: _pick(n.to_bytes(4, "big") == b"\0\0\0\3"),
    "numerator": lambda n: _pick(n.numerator > 3),
    "real": lambda n: _pick(n.real > 3),
    "conjugate": lambda n: _pick(n.conjugate() > 3),
    "as_integer_ratio": lambda n: _pick(n.as_integer_ratio()[0] > 3),
    "type": lambda n: _pick(isinstance(n, int)),
    "np.arange": lambda n: _pick(np.arange(n).size > 3),
    "np.zeros": lambda n: _pick(len(np.zeros(n)) > 3),
    "np.ones.sum": lambda n: np.ones(n).sum(),
    "np.linspace": lambda n: np.linspace(0, 1, n + 1)[1],
    "partial": lambda n: partial(pow, n)(2),
}  # fmt: skip


def total(x: Any) -> Any:
    return np.sum(np.sin(x) * x)


# Functions of x itself.
ARRAYS: dict[str, Callable[[Any], Any]] = {
    "len": lambda x: _pick(len(x) > 3) * total(x),
    "len *": lambda x: len(x) * total(x),
    "size": lambda x: _pick(x.size > 3) * total(x),
    "nbytes": lambda x: _pick(x.nbytes > 24) * total(x),
    "np.size": lambda x: _pick(np.size(x) > 3) * total(x),
    "np.shape": lambda x: _pick(np.shape(x)[0] > 3) * total(x),
    "shape ==": lambda x: _pick(x.shape == (3,)) * total(x),
    "shape in": lambda x: _pick(3 in x.shape) * total(x),
    "shape of": lambda x: _pick(np.prod(x.shape) > 3) * total(x),
    "np.max(shape)": lambda x: _pick(np.max(x.shape) > 3) * total(x),
    "np.array(shape)": lambda x: _pick(np.array(x.shape)[0] > 3) * total(x),
    "math.prod(shape)": lambda x: _pick(math.prod(x.shape) > 3) * total(x),
    "sum(shape)": lambda x: _pick(sum(x.shape) > 3) * total(x),
    "dict of shapes": lambda x: {(3,): 2.0}.get(x.shape, 1.0) * total(x),
    "str(shape)": lambda x: _pick(str(x.shape) == "(3,)") * total(x),
    "shape[::-1]": lambda x: _pick(x.shape[::-1][-1] > 3) * total(x),
    "unpack": lambda x: (lambda n: _pick(n > 3))(*x.shape) * total(x),
    "enumerate": lambda x: sum(i * v for i, v in enumerate(x)),
    "zip": lambda x: sum(v * w for v, w in zip(x, range(3), strict=False)),
    "x[:3]": lambda x: total(x[:3]),
    "x[:K]": lambda x: total(x[: np.int64(3)]),
    "x[K:]": lambda x: total(x[np.uint8(2) :]),
    "x[-K:]": lambda x: total(x[-np.int32(3) :]),
    "x[K]": lambda x: total(x[np.int64(2)]),
    "x[uint]": lambda x: total(x[np.uintp(2)]),
    "x[-K]": lambda x: total(x[np.int8(-3)]),
    "x[0-d]": lambda x: total(x[np.array(2)]),
    "x[:0-d]": lambda x: total(x[: np.array(3)]),
    "x[IntEnum]": lambda x: total(x[Count.THREE]),
    "x[:IntEnum]": lambda x: total(x[: Count.THREE]),
    "x[True]": lambda x: total(x[True]),
    "x[:True]": lambda x: total(x[:True]),
    "x[list]": lambda x: total(x[[0, 2]]),
    "x[array]": lambda x: total(x[np.array([0, -3])]),
    "x[uints]": lambda x: total(x[np.array([0, 2], np.uint8)]),
    "x[::K]": lambda x: total(x[:: np.int64(2)]),
    "x[::-K]": lambda x: total(x[:: np.int64(-2)]),
    "x[a:b:K]": lambda x: total(x[np.int64(1) : np.int64(4) : np.int64(2)]),
    "for i in np.arange": lambda x: sum(x[i] * x[i] for i in np.arange(3)),
    "x[n - 1]": lambda x: total(x[x.shape[0] - 1]),
    "x[n - K]": lambda x: total(x[x.shape[0] - np.int64(2)]),
    "x[n // 2:]": lambda x: total(x[x.shape[0] // 2 :]),
    "x[:n // K]": lambda x: total(x[: x.shape[0] // np.int64(2)]),
    "at get": lambda x: total(nbgrad.at(x)[np.int64(2)].get()),
    "at set": lambda x: total(nbgrad.at(x)[np.int64(2)].set(2.0) * x),
    "at slice": lambda x: total(nbgrad.at(x)[: np.int64(3)].add(2.0) * x),
    "at 0-d": lambda x: total(nbgrad.at(x)[np.array(2)].set(x[0])),
    "np.take": lambda x: total(np.take(x, np.int64(2))),
    "np.split": lambda x: total(np.split(x, [np.int64(2)])[0]),
    "np.roll": lambda x: total(np.roll(x, np.int64(2)) * x),
    "np.diff": lambda x: total(np.diff(x)),
    "np.pad": lambda x: total(np.pad(x, np.int64(1))),
    "np.repeat": lambda x: total(np.repeat(x, np.int64(2))),
    "np.tile": lambda x: total(np.tile(x, 2)),
    "np.delete": lambda x: total(np.delete(x, 1)),
    "np.sort": lambda x: total(np.sort(x)[:2]),
    "reshape": lambda x: total(np.reshape(x, (x.shape[0] // 2, 2))),
    "reshape(-1, 2)": lambda x: total(x.reshape(-1, 2)),
    "reshape(K)": lambda x: total(x.reshape(np.int64(2), -1)),
    "broadcast_to": lambda x: total(np.broadcast_to(x, (np.int64(2), x.shape[0])) * x),  # pyright: ignore[reportCallIssue, reportArgumentType]
    "zeros of K": lambda x: total(np.zeros((np.int64(2), x.shape[0])) + x),
    "zeros_like": lambda x: total(np.zeros_like(x) + x),
    "outer eye": lambda x: total(np.eye(x.shape[0]) @ x),
    "arange *": lambda x: total(np.arange(x.shape[0]) * x),
    "linspace *": lambda x: total(np.linspace(0.0, 1.0, x.shape[0]) * x),
    "ones * n": lambda x: total(np.ones(x.shape[0]) * x / x.shape[0]),
    "n * np.ones": lambda x: total(x.shape[0] * np.ones(2) * x[0]),
    "np.ones * n": lambda x: total(np.ones(2) * x.shape[0] * x[0]),
    "np.add(x, n)": lambda x: total(np.add(x, x.shape[0])),
    "x + n": lambda x: total(x + x.shape[0]),
    "x ** n": lambda x: total(x ** x.shape[0]),
    "np.full": lambda x: total(np.full(3, x.shape[0]) * x[0]),
    "x @ x": lambda x: x @ x / len(x.shape),
    "mean": lambda x: np.mean(x) + np.std(x),
    "var(ddof)": lambda x: np.var(x, ddof=np.int64(1)),  # pyright: ignore[reportCallIssue, reportArgumentType]
    "np.where(n)": lambda x: total(np.where(x.shape[0] > 3, x, 2 * x)),
    "scan": lambda x: nbgrad.scan(lambda s, v: (s + v * x.shape[0], s), 0.0, x)[0],
    "loop n": lambda x: nbgrad.loop(x.shape[0], lambda i, s: s + x[i] * i, 0.0),
    "loop n // 2": lambda x: nbgrad.loop(x.shape[0] // 2, lambda i, s: s + x[i], 0.0),
    "cond": lambda x: nbgrad.cond(x.shape[0] > 3, lambda x: total(x), lambda x: 2 * total(x), x),
    "index of n": lambda x: total(x[np.arange(x.shape[0]) // 2]),
    "reverse of n": lambda x: total(x[::-1] * x[x.shape[0] - 1]),
    "row[n]": lambda x: total(np.arange(60.0)[x.shape[0]] * x),
    "rows[:n]": lambda x: total(np.sin(np.arange(60.0))[: x.shape[0]] * x),
}  # fmt: skip


def functions() -> dict[str, Callable]:
    """Functions of x with values of no axes, by name."""

    def times(make: Callable) -> Callable:
        return lambda x: total(x) * make(x.shape[0])

    def plus(make: Callable) -> Callable:
        return lambda x: total(x) + make(len(x))

    made = {f"{name} (x.shape)": times(make) for name, make in NUMBERS.items()}
    made |= {f"{name} (len)": plus(make) for name, make in list(NUMBERS.items())[::9]}
    return made | ARRAYS


# Ways to use such a function. The names of arguments are those of the spec.
MODES: dict[str, Callable] = {
    "plain": lambda f: lambda x: f(x),
    "grad": lambda f: nbgrad.grad(lambda x: f(x)),
    "jvp": lambda f: lambda x: nbgrad.jvp(f, (x,), (np.cos(x),))[1],
    "vmap": lambda f: lambda x: nbgrad.vmap(f)(np.stack([x, x * 0.5])),
    "hessian": lambda f: lambda x: nbgrad.hessian(f)(x),
}

LENGTHS = (12, 1, 2, 3, 4, 5, 8, 21)


def outcome(f: Callable, x: Any) -> Any:
    """What f gives, or the error that it raises."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return f(x)
    except Exception as error:
        return error


def fault(make: Callable, f: Callable) -> str:
    """How a compiled function with a named length is wrong; "" where it is right or refuses."""
    plain, compiled = make(f), nbgrad.compile(make(f), dynamic={"x": ("n",)})
    for n in LENGTHS:
        x = np.linspace(0.4, 1.3, n)
        expected, found = outcome(plain, x), outcome(compiled, np.array(x))
        if isinstance(found, TraceError | AttributeError):
            if n == LENGTHS[0]:
                return ""
            continue
        if isinstance(expected, Exception) or isinstance(found, Exception):
            kinds = isinstance(expected, Exception) and isinstance(found, Exception)
            if not kinds:
                return f"n = {n}: {found!r} for {expected!r}"[:200]
        elif np.shape(found) != np.shape(expected) or not np.allclose(
            found, expected, rtol=1e-9, atol=1e-11, equal_nan=True
        ):
            return f"n = {n}: {found} for {expected}".replace("\n", " ")[:200]
    return ""


def faults(mode: str) -> dict[str, str]:
    """How functions are wrong in a mode, by name: all in the first, in others some of each kind."""
    first = list(MODES).index(mode)
    named = list(functions().items())[first :: 24 if first else 1]
    found = {name: fault(MODES[mode], f) for name, f in named}
    return {name: told for name, told in found.items() if told}
