"""Tables of addresses: how programs of many arrays are given them."""

from typing import TYPE_CHECKING

import numpy as np

from ...kernels.pointers import Overlap
from ...kernels.program import overlapping, pack

if TYPE_CHECKING:
    from .signature import Signature

_EIGHT = 8  # as many arrays as `pack` takes


def table_of(flat: list[np.ndarray]) -> np.ndarray:
    """The addresses of flat arrays, which must stay alive, and some more at the end."""
    flat = [*flat, *flat[-1:] * (-len(flat) % _EIGHT)]
    table = np.empty(len(flat), np.int64)
    for at in range(0, len(flat), _EIGHT):
        pack.dispatcher(table, at, *flat[at : at + _EIGHT])
    return table


def check_apart(table: np.ndarray, signature: "Signature") -> None:
    """Raise Overlap where a result of a table shares memory with another array."""
    if overlapping.dispatcher(
        table, signature.sizes, len(signature.sizes) - len(signature.arrays())
    ):
        raise Overlap("results overlap")
