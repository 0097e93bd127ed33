"""The device functions that programs call, in plain Python and NumPy: what the interpreter runs.

Compiled programs call those of `nbgrad.kernels` of the same names, which these restate from their
definitions. Each takes pointers and sizes; `PointerLike` is what it needs of a pointer.
"""

import math
from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np


class PointerLike(Protocol):
    """Elements of one dtype. Places are arrays of integers."""

    def load(self, places: np.ndarray) -> np.ndarray: ...

    def store(self, places: np.ndarray, values: np.ndarray) -> None: ...


def _read(pointer: PointerLike, *shape: int) -> np.ndarray:
    return pointer.load(np.arange(math.prod(shape)).reshape(shape))


def _write(pointer: PointerLike, values: np.ndarray) -> None:
    pointer.store(np.arange(values.size).reshape(values.shape), values)


def _move(to: PointerLike, source: PointerLike, count: int) -> None:
    _write(to, _read(source, count))


def _clear(to: PointerLike, count: int) -> None:
    _write(to, np.zeros(count))


def _spoil(to: PointerLike, count: int) -> None:
    _write(to, np.full(count, np.nan))


def _cumsum(x: PointerLike, out: PointerLike, rows: int, columns: int, inner: int) -> None:
    values = _read(x, rows, columns, inner)
    _write(out, np.cumsum(values, axis=1, dtype=values.dtype))


def _cumsum_back(x: PointerLike, out: PointerLike, rows: int, columns: int, inner: int) -> None:
    values = _read(x, rows, columns, inner)[:, ::-1]
    _write(out, np.cumsum(values, axis=1, dtype=values.dtype)[:, ::-1])


def _convolved(x: PointerLike, y: PointerLike, out: PointerLike, n: int, m: int) -> None:
    _write(out, np.convolve(_read(x, n), _read(y, m)))


def _overlapped(x: PointerLike, y: PointerLike, out: PointerLike, n: int, m: int) -> None:
    _write(out, np.convolve(_read(x, n), _read(y, m), "valid"))


def _recurred(a: PointerLike, b: PointerLike, out: PointerLike, rows: int, columns: int) -> None:
    factors, values = _read(a, rows, columns), _read(b, rows, columns).copy()
    for j in range(1, columns):
        values[:, j] += factors[:, j] * values[:, j - 1]
    _write(out, values)


def _recurred_back(
    a: PointerLike, b: PointerLike, out: PointerLike, rows: int, columns: int
) -> None:
    factors, values = _read(a, rows, columns), _read(b, rows, columns).copy()
    for j in range(columns - 2, -1, -1):
        values[:, j] += factors[:, j + 1] * values[:, j + 1]
    _write(out, values)


def _slid(v: PointerLike, x: PointerLike, out: PointerLike, rows: int, length: int, n: int) -> None:
    windows = np.lib.stride_tricks.sliding_window_view(_read(v, rows, length), n, -1)
    _write(out, np.einsum("rij,rj->ri", windows, _read(x, rows, n)))


def _ordered(x: PointerLike, out: PointerLike, rows: int, columns: int) -> None:
    """The orders, and the room to merge in, which is left as the orders again."""
    order = np.argsort(_read(x, rows, columns), axis=1, kind="stable")
    _write(out, np.stack([order, order]))


def _partitioned(x: PointerLike, out: PointerLike, rows: int, columns: int, *places: int) -> None:
    """The orders that NumPy finds, and the room, which is left as they are."""
    order = np.argpartition(_read(x, rows, columns), places, axis=1)
    _write(out, np.stack([order, order]))


def _searched(a: PointerLike, v: PointerLike, out: PointerLike, n: int, m: int, right: int) -> None:
    _write(out, np.searchsorted(_read(a, n), _read(v, m), "right" if right else "left"))


# -- matrices -------------------------------------------------------------------------------------


def _factored(x: PointerLike, lu: PointerLike, count: int, n: int) -> None:
    """LU: both factors in one matrix, and behind it the rows that were exchanged."""
    matrices = _read(x, count, n, n)
    blocks = np.zeros((count, n + 1, n), matrices.dtype)
    for matrix, block in zip(matrices, blocks, strict=True):
        a, exchanged = block[:n], block[n]
        a[...] = matrix
        for j in range(n):
            column = np.abs(a[j:, j])
            # A nan at the diagonal stays there, others are never the largest.
            best = 0 if np.isnan(column[0]) else int(np.argmax(np.nan_to_num(column, nan=-1.0)))
            exchanged[j] = j + best
            a[[j, j + best]] = a[[j + best, j]]
            if a[j, j] != 0.0:
                a[j + 1 :, j] /= a[j, j]
                a[j + 1 :, j + 1 :] -= np.outer(a[j + 1 :, j], a[j, j + 1 :])
    _write(lu, blocks)


def _solved(lu: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The solution for the right-hand sides `y`, of n rows."""
    n, out = y.shape[0], y.copy()
    for i in range(n):
        other = int(lu[n, i])
        out[[i, other]] = out[[other, i]]
    for i in range(n):
        out[i] -= lu[i, :i] @ out[:i]
    for i in range(n - 1, -1, -1):
        out[i] = (out[i] - lu[i, i + 1 :] @ out[i + 1 :]) / lu[i, i]
    return out


def _substituted(
    lu: PointerLike, y: PointerLike, out: PointerLike, count: int, n: int, m: int
) -> None:
    pairs = zip(_read(lu, count, n + 1, n), _read(y, count, n, m), strict=True)
    _write(out, np.array([_solved(*pair) for pair in pairs]).reshape(count, n, m))


def _inverted(lu: PointerLike, out: PointerLike, count: int, n: int) -> None:
    every = _read(lu, count, n + 1, n)
    inverses = [_solved(a, np.eye(n, dtype=a.dtype)) for a in every]
    _write(out, np.array(inverses).reshape(count, n, n))


def _diagonals(lu: PointerLike, out: PointerLike, count: int, n: int) -> None:
    """The diagonals of the upper factors, with another sign where the row was exchanged."""
    every = _read(lu, count, n + 1, n)
    diagonal = np.diagonal(every[:, :n], axis1=1, axis2=2)
    _write(out, np.where(every[:, n] == np.arange(n), diagonal, -diagonal))


def _choleskied(x: PointerLike, out: PointerLike, count: int, n: int) -> None:
    """Lower factors; nan where a matrix is not positive definite."""
    matrices = _read(x, count, n, n)
    factors = np.zeros_like(matrices)
    for matrix, a in zip(matrices, factors, strict=True):
        for i in range(n):
            for j in range(i):
                a[i, j] = (matrix[i, j] - a[i, :j] @ a[j, :j]) / a[j, j]
            rest = matrix[i, i] - a[i, :i] @ a[i, :i]
            a[i, i] = np.sqrt(rest) if rest > 0.0 else np.nan
    _write(out, factors)


def _reflected(x: PointerLike, out: PointerLike, count: int, m: int, n: int) -> None:
    _write(out, np.concatenate(np.linalg.qr(_read(x, count, m, n)), axis=1))


def _swept(
    a: PointerLike, y: PointerLike, out: PointerLike, count: int, n: int, m: int, lower: int,
    unit: int,
) -> None:  # fmt: skip
    """Triangular systems, row by row."""
    matrices, solutions = _read(a, count, n, n), _read(y, count, n, m).copy()
    for matrix, x in zip(matrices, solutions, strict=True):
        for i in range(n) if lower else reversed(range(n)):
            known = slice(0, i) if lower else slice(i + 1, n)
            x[i] -= matrix[i, known] @ x[known]
            if not unit:
                x[i] /= matrix[i, i]
    _write(out, solutions)


def _banded(
    ab: PointerLike, y: PointerLike, out: PointerLike, count: int, n: int, m: int, lower: int,
    upper: int,
) -> None:  # fmt: skip
    """Banded systems: row i of the result is the band of the upper factor, and the solution."""
    diagonals, right = _read(ab, count, lower + upper + 1, n), _read(y, count, n, m)
    width = 2 * lower + upper + 1
    results = np.zeros((count, n, width + m), diagonals.dtype)
    for band, b, result in zip(diagonals, right, results, strict=True):
        a, x = np.zeros((n, n), band.dtype), b.copy()
        for i, j in np.ndindex(n, n):
            if -upper <= i - j <= lower:
                a[i, j] = band[upper + i - j, j]
        for j in range(n):
            best = j + int(np.argmax(np.abs(a[j : j + lower + 1, j])))
            a[[j, best], j:], x[[j, best]] = a[[best, j], j:], x[[best, j]]
            if a[j, j] != 0.0:
                below = slice(j + 1, j + lower + 1)
                factors = a[below, j] / a[j, j]
                a[below, j + 1 :] -= np.outer(factors, a[j, j + 1 :])
                x[below] -= np.outer(factors, x[j])
        for i in reversed(range(n)):
            x[i] = (x[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
            for c in range(width):
                result[i, c] = a[i, i + c - lower] if 0 <= i + c - lower < n else 0.0
        result[:, width:] = x
    _write(out, results)


def _exponentials(x: PointerLike, out: PointerLike, count: int, n: int) -> None:
    """Exponentials by Taylor's sum, and the room that others need."""
    matrices = _read(x, count, n, n)
    results = np.zeros((count, 6, n, n), matrices.dtype)
    for matrix, result in zip(matrices, results, strict=True):
        norm = float(np.linalg.norm(matrix, np.inf))
        halvings = max(math.frexp(norm)[1], 0) if math.isfinite(norm) else 0
        term = total = np.eye(n)
        for k in range(1, 24):
            term = term @ matrix * (0.5**halvings / k)
            total = total + term
        result[0] = np.linalg.matrix_power(total, 2**halvings)
    _write(out, results)


# -- random numbers -------------------------------------------------------------------------------

_LOW = 0xFFFFFFFF


def _block(key: int, number: int) -> tuple[int, int]:
    """Two words of 64 bits: block `number` of Philox 4x32-10."""
    x, k = [number & _LOW, number >> 32, 0, 0], [key & _LOW, key >> 32]
    for _ in range(10):
        first, second = 0xD2511F53 * x[0], 0xCD9E8D57 * x[2]
        x = [(second >> 32) ^ x[1] ^ k[0], second & _LOW, (first >> 32) ^ x[3] ^ k[1], first & _LOW]
        k = [(k[0] + 0x9E3779B9) & _LOW, (k[1] + 0xBB67AE85) & _LOW]
    return (x[1] << 32) | x[0], (x[3] << 32) | x[2]


def _blocks(state: PointerLike) -> Iterator[tuple[int, int]]:
    """The blocks from the state on: its key, and the number of the next one."""
    key, number = (int(word) % 2**64 for word in _read(state, 2))
    while True:
        yield _block(key, number)
        number = (number + 1) % 2**64


def _words(state: PointerLike, count: int) -> list[int]:
    blocks = _blocks(state)
    return [word for _ in range((count + 1) // 2) for word in next(blocks)][:count]


def _unit(word: int) -> float:
    return (word >> 11) * 2.0**-53


def _fill_uniform(state: PointerLike, out: PointerLike, n: int, low: float, width: float) -> None:
    _write(out, np.array([low + width * _unit(word) for word in _words(state, n)]))


def _fill_normal(state: PointerLike, out: PointerLike, n: int, mean: float, std: float) -> None:
    """By Box and Muller, a pair from each block."""
    draws: list[float] = []
    words = iter(_words(state, n + n % 2))
    for a, b in zip(words, words, strict=True):
        radius = math.sqrt(-2.0 * math.log(1.0 - _unit(a)))
        angle = 6.283185307179586 * _unit(b)
        draws += [mean + std * (radius * math.cos(angle)), mean + std * (radius * math.sin(angle))]
    _write(out, np.array(draws[:n]))


def _below(word: int, high: int) -> int:
    return ((word >> 32) * high + ((word & _LOW) * high >> 32)) >> 32


def _fill_integers(state: PointerLike, out: PointerLike, n: int, high: int) -> None:
    _write(out, np.array([_below(word, high) for word in _words(state, n)], np.int64))


def _fill_permutation(state: PointerLike, out: PointerLike, n: int) -> None:
    """0 ... n-1, exchanged from the end on, with the first word of block i for place i."""
    order = np.arange(n)
    blocks = [word for word, _ in zip(_blocks(state), range(n), strict=False)]
    for i in range(n - 1, 0, -1):
        at = _below(blocks[i][0], i + 1)
        order[[i, at]] = order[[at, i]]
    _write(out, order)


DEVICES: dict[str, Callable[..., None]] = {
    "banded": _banded, "choleskied": _choleskied, "convolved": _convolved, "cumsum": _cumsum,
    "cumsum_back": _cumsum_back, "diagonals": _diagonals, "exponentials": _exponentials,
    "factored": _factored, "fill_integers": _fill_integers,
    "fill_normal": _fill_normal, "fill_permutation": _fill_permutation,
    "fill_uniform": _fill_uniform, "inverted": _inverted, "move": _move, "ordered": _ordered,
    "ordered_together": _ordered, "overlapped": _overlapped, "partitioned": _partitioned,
    "recurred": _recurred, "recurred_back": _recurred_back,
    "reflected": _reflected, "searched": _searched, "slid": _slid, "spoil": _spoil,
    "clear": _clear,
    "substituted": _substituted, "swept": _swept,
}  # fmt: skip
"""By the names that `core.RunDevice` calls them."""

EXTENTS: dict[str, Callable[..., tuple[int, ...]]] = {
    "banded": lambda count, n, m, lower, upper: (
        count * (lower + upper + 1) * n,
        count * n * m,
        count * n * (2 * lower + upper + 1 + m),
    ),
    "choleskied": lambda count, n: (count * n * n, count * n * n),
    "convolved": lambda n, m: (n, m, n + m - 1),
    "cumsum": lambda rows, columns, inner: (rows * columns * inner,) * 2,
    "cumsum_back": lambda rows, columns, inner: (rows * columns * inner,) * 2,
    "diagonals": lambda count, n: (count * (n + 1) * n, count * n),
    "exponentials": lambda count, n: (count * n * n, 6 * count * n * n),
    "factored": lambda count, n: (count * n * n, count * (n + 1) * n),
    "fill_integers": lambda n, *_: (2, n),
    "fill_normal": lambda n, *_: (2, n),
    "fill_permutation": lambda n: (2, n),
    "fill_uniform": lambda n, *_: (2, n),
    "inverted": lambda count, n: (count * (n + 1) * n, count * n * n),
    "move": lambda n: (n, n),
    "ordered": lambda rows, columns: (rows * columns, 2 * rows * columns),
    "ordered_together": lambda rows, columns: (rows * columns, 2 * rows * columns),
    "overlapped": lambda n, m: (n, m, n - m + 1),
    "partitioned": lambda rows, columns, *_: (rows * columns, 2 * rows * columns),
    "recurred": lambda rows, columns: (rows * columns,) * 3,
    "recurred_back": lambda rows, columns: (rows * columns,) * 3,
    "reflected": lambda count, m, n: (count * m * n, count * (m + n) * n),
    "searched": lambda n, m, right: (n, m, m),
    "slid": lambda rows, length, n: (rows * length, rows * n, rows * (length - n + 1)),
    "spoil": lambda n: (n,),
    "clear": lambda n: (n,),
    "substituted": lambda count, n, m: (count * (n + 1) * n, count * n * m, count * n * m),
    "swept": lambda count, n, m, *_: (count * n * n, count * n * m, count * n * m),
}
"""From its sizes, how many elements each touches behind each of its pointers."""
