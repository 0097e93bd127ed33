"""Plans of Fourier transforms: radices, twiddle factors and the sizes of blocks.

A `Plan` holds integers that the loops of `spectra.py` read, and a table of factors. The integers
are [M, 0, ..., 0], then from `NODE` on a node for transforms of n numbers, or of M numbers where a
prime factor of n above 7 asks for Bluestein's algorithm (M is 0 otherwise). A node is
[0, count, radices...] for passes over all numbers, or [1, n1, n2, block, length of a table] for a
matrix of n1 x n2 numbers, whose columns and rows are transformed in blocks that stay in the cache;
nodes of n1 and n2 are behind it.
"""

import functools
import math
from dataclasses import dataclass

import numpy as np

from ..ir.library import DFT, HALF_TO_REAL, REAL_TO_HALF

__all__ = ["DFT", "HALF_TO_REAL", "NODE", "REAL_TO_HALF", "Plan", "plan_of"]

NODE = 8
"""The place of the node in a plan, and of the node of n1 in a node."""
SECOND = 40
"""The place of the node of n2 in a node."""
_LONG = 1 << 15
"""Numbers from which on a transform is done in blocks: less stays in the second-level cache."""
_BLOCK = 16
"""Columns or rows of a block: two cache lines."""
_IN_CACHE = 1 << 14
"""Numbers of transforms side by side that are done together."""


@dataclass(frozen=True, eq=False)
class Plan:
    """How transforms of a length are done: integers, factors, the number of elements of scratch
    space, and how many transforms side by side are done together."""

    steps: np.ndarray
    table: np.ndarray
    room: int
    chunk: int


@functools.lru_cache(maxsize=256)
def plan_of(kind: int, n: int, inner: int, dtype: np.dtype) -> Plan:
    """The plan of transforms of n numbers that lie `inner` apart."""
    chunk = inner if n * inner <= _IN_CACHE else min(inner, max(_IN_CACHE // n, _BLOCK))
    is_half = kind != DFT and n % 2 == 0
    length = n // 2 if is_half else n
    steps, tables, room = _complex_plan(length, chunk, dtype)
    planes = 0 if kind == DFT else 2 * (kind if is_half else 1 + kind // 2) + (not is_half)
    room += planes * length * chunk
    if is_half:
        tables = [*_factors(np.arange(length // 2 + 1), n), *tables]
    if chunk != inner:
        sides = n if kind != REAL_TO_HALF else n // 2 + 1, n if kind != HALF_TO_REAL else n // 2 + 1
        room += 2 * sum(sides) * chunk
    table = np.concatenate([*tables, np.zeros(1)]).astype(dtype)
    return Plan(steps, table, room, chunk)


def _factors(k: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """cos and sin of 2 pi k / n, from angles of at most an eighth of a turn."""
    eighth, rest = np.divmod(8 * (k % n), n)
    rest = np.where(eighth % 2, n - rest, rest)
    angle = np.pi * rest / (4 * n)
    c, s = np.cos(angle), np.sin(angle)
    across = np.isin(eighth, (1, 2, 5, 6))
    c, s = np.where(across, s, c), np.where(across, c, s)
    return np.where(np.isin(eighth, (2, 3, 4, 5)), -c, c), np.where(eighth >= 4, -s, s)


def _radices(n: int, dtype: np.dtype) -> list[int] | None:
    """The radices of the passes in their order, None where a prime factor is larger than 7. Passes
    of radix 4 are fastest; an 8 comes first where vectors are longer than 4."""
    odd = []
    for prime in (7, 5, 3):
        while n % prime == 0:
            n //= prime
            odd.append(prime)
    twos = n.bit_length() - 1
    if n != 1 << twos:
        return None
    eights = twos % 2 if twos >= 3 else 0
    if dtype.itemsize == 4 and twos >= 3 and not eights:
        eights = 2 if twos >= 6 else 0
    twos -= 3 * eights
    return [8] * eights + [4] * (twos // 2) + [2] * (twos % 2) + odd


def _passes(n: int, radices: list[int]) -> list[np.ndarray]:
    """The factors of passes."""
    tables = []
    for radix in radices:
        m = n // radix
        for j in range(1, radix):
            tables += _factors(j * np.arange(m), n)
        n = m
    return tables


def _node(n: int, side: int, dtype: np.dtype) -> tuple[list[int], list[np.ndarray], int] | None:
    """A node, its factors, and the scratch space that it needs for transforms side by side."""
    radices = _radices(n, dtype)
    if radices is None:
        return None
    if n <= _LONG or side > 1:
        return [0, len(radices), *radices], _passes(n, radices), 2 * n * side
    n1, n2 = 1, 1
    for radix in sorted(radices, reverse=True):
        n1, n2 = (n1, n2 * radix) if n2 <= n1 else (n1 * radix, n2)
    rows = np.arange(n1)[:, None]
    fine = _factors(rows * np.arange(_BLOCK), n)
    coarse = _factors(rows * np.arange(0, n2, _BLOCK), n)
    parts = [_radices(each, dtype) or [] for each in (n1, n2)]
    tables = [_passes(each, part) for each, part in zip((n1, n2), parts, strict=True)]
    node = [0] * (SECOND + 32)
    node[:5] = 1, n1, n2, _BLOCK, sum(map(len, tables[0]))
    for place, part in zip((NODE, SECOND), parts, strict=True):
        node[place : place + 2 + len(part)] = 0, len(part), *part
    flat = [x.ravel() for x in (*fine, *coarse)]
    return node, [*flat, *tables[0], *tables[1]], 2 * n + 6 * max(n1, n2) * _BLOCK


def _complex_plan(n: int, side: int, dtype: np.dtype) -> tuple[np.ndarray, list[np.ndarray], int]:
    """The integers, the factors and the scratch space of complex transforms of n numbers."""
    found = _node(n, side, dtype)
    if found is not None:
        node, tables, room = found
        return np.array([0] * NODE + node), tables, room
    size = min(k << max(math.ceil(math.log2((2 * n - 1) / k)), 0) for k in (1, 3, 5, 9, 15))
    j = np.arange(n)
    c, s = _factors(j * j % (2 * n), 2 * n)
    chirp = np.zeros(size, complex)
    chirp[:n] = c + 1j * s
    chirp[size - n + 1 :] = chirp[n - 1 : 0 : -1]
    spectrum = np.fft.fft(chirp) / size
    node, tables, room = _node(size, side, dtype) or ([], [], 0)
    tables = [c, s, spectrum.real, spectrum.imag, *tables]
    return np.array([size] + [0] * (NODE - 1) + node), tables, room + 4 * size * side
