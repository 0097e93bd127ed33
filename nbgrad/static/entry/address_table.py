"""Tables of addresses: how programs of many arrays are given them."""

import numpy as np

from ...compiler.pointers import Overlap
from ...compiler.program import overlapping, pack

_EIGHT = 8  # as many arrays as `pack` takes


def table_of(flat: list[np.ndarray]) -> np.ndarray:
    """The addresses of flat arrays, which must stay alive, and some more at the end."""
    flat = [*flat, *flat[-1:] * (-len(flat) % _EIGHT)]
    table = np.empty(len(flat), np.int64)
    for at in range(0, len(flat), _EIGHT):
        pack.dispatcher(table, at, *flat[at : at + _EIGHT])
    return table


def check_apart(table: np.ndarray, sizes: np.ndarray, results: int) -> None:
    """Raise Overlap where one of the last arrays of a table, which are results, shares memory with
    another array; `sizes` are their bytes."""
    if overlapping.dispatcher(table, sizes, len(sizes) - results):
        raise Overlap("results overlap")
