"""The settings of a training, stored in checkpoints and compared when it is resumed."""

import re
from typing import Any

import numpy as np

from ..errors import CheckpointError
from ..kernels.checksum import checksum
from ..parallel.reads import CARRIED, checksums
from .checkpoints import Found

KEY = "settings"
_MOST = 2**28  # bytes; of a larger array only some rows are included in the checksum
_ROWS = 4096


def settings_of(
    data: tuple, held: tuple | None, batch: int | None, last: str, seed: int, optimiser: Any
) -> dict[str, str]:
    """Return the settings that the steps depend on, other than model and loss, as strings."""
    batches = "all rows" if batch is None else f"{batch} rows, last={last!r}, seed={seed}"
    name = re.sub(r" at 0x[0-9a-f]+", "", repr(optimiser))
    return {
        "data": _of_arrays(data),
        "held data": "none" if held is None else _of_arrays(held),
        "batch": batches,
        "optimiser": f"{name} (checksum {checksums(optimiser)[CARRIED].hex()})",
    }


def require_same(found: Found, settings: dict[str, str]) -> Found:
    """Return a checkpoint without its settings. Raises CheckpointError if the settings differ.

    Files of older versions have no settings.
    """
    rest = dict(found.constants)
    for name, text in settings.items():
        before = rest.pop(f"{KEY}.{name}", text)
        if before != text:
            raise CheckpointError(
                f"{found.path} is of a training with another {name}: {before} there, and {text} "
                "here. Use the original settings or another file; nbgrad.train.load reads only the "
                "model"
            )
    return found._replace(constants=rest)


def _of_arrays(arrays: tuple) -> str:
    return ", ".join(map(_of_array, arrays))


def _of_array(x: np.ndarray) -> str:
    """Describe an array. The checksum of a very large one covers only some rows."""
    seen = x if x.nbytes <= _MOST else x[np.linspace(0, len(x) - 1, _ROWS).astype(int)]
    total = checksums(seen)[CARRIED].hex() if x.dtype.hasobject else f"{checksum(seen):016x}"
    return f"{x.dtype}{list(x.shape)} (checksum {total})"
