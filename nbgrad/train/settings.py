"""What a training was started with: a checkpoint that goes on with something else is refused."""

import re
from typing import Any

import numpy as np

from ..errors import CheckpointError
from ..kernels.checksum import checksum
from ..parallel.reads import CARRIED, checksums
from .checkpoints import Found

KEY = "settings"
_MOST = 2**28  # bytes of an array that are looked at
_ROWS = 4096  # of a longer one


def settings_of(
    data: tuple, held: tuple | None, batch: int | None, last: str, seed: int, optimiser: Any
) -> dict[str, str]:
    """What the steps of a training depend on beside model and loss, as words to be compared."""
    batches = "all rows" if batch is None else f"{batch} rows, last={last!r}, seed={seed}"
    name = re.sub(r" at 0x[0-9a-f]+", "", repr(optimiser))
    return {
        "data": _of_arrays(data),
        "held data": "none" if held is None else _of_arrays(held),
        "batch": batches,
        "optimiser": f"{name} (checksum {checksums(optimiser)[CARRIED].hex()})",
    }


def require_same(found: Found, settings: dict[str, str]) -> Found:
    """What a checkpoint holds beside its settings. Raises CheckpointError where those are others; a
    file of before they were saved has none."""
    rest = dict(found.constants)
    for name, text in settings.items():
        before = rest.pop(f"{KEY}.{name}", text)
        if before != text:
            raise CheckpointError(
                f"{found.path} is of a training with another {name}: {before} there, and {text} "
                "here. Give what it was started with, or a new file; nbgrad.train.load reads its "
                "model alone"
            )
    return found._replace(constants=rest)


def _of_arrays(arrays: tuple) -> str:
    return ", ".join(map(_of_array, arrays))


def _of_array(x: np.ndarray) -> str:
    """Of a very long array, which may be mapped, some rows."""
    seen = x if x.nbytes <= _MOST else x[np.linspace(0, len(x) - 1, _ROWS).astype(int)]
    total = checksums(seen)[CARRIED].hex() if x.dtype.hasobject else f"{checksum(seen):016x}"
    return f"{x.dtype}{list(x.shape)} (checksum {total})"
