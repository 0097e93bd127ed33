"""Shards in memory-mapped files, for data larger than memory."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ArgumentTypeError


class Stored:
    """A shard in `.npy` files, one for each array. A call returns the memory-mapped arrays.

    All workers must see the same files under these paths, as copies or on a shared file system.

    >>> import tempfile
    >>> file = tempfile.mkdtemp() + "/x.npy"
    >>> np.save(file, np.ones(3))
    >>> shard = nbgrad.parallel.Stored(file)
    >>> [array.shape for array in shard()]
    [(3,)]
    """

    def __init__(self, *paths: str | Path):
        self.paths = tuple(Path(path).absolute() for path in paths)

    def __call__(self) -> tuple[np.ndarray, ...]:
        return tuple(np.asarray(np.load(path, mmap_mode="r")) for path in self.paths)

    def __repr__(self) -> str:
        return f"Stored({', '.join(map(str, self.paths))})"


class Piece:
    """Selected rows of a stored shard."""

    def __init__(self, stored: Stored, rows: np.ndarray | slice):
        self._stored, self._rows = stored, rows

    def __call__(self) -> tuple[np.ndarray, ...]:
        return tuple(x[self._rows] for x in self._stored())


def store(folder: str | Path, shards: Iterable[tuple[Any, ...]]) -> list[Stored]:
    """Write shards to files `folder/00000-0.npy` and so on, one at a time.

    Arguments:
        folder: created if missing; existing files are replaced.
        shards: tuples of arrays; a generator may load one at a time.

    Returns a list of `Stored`, one for each shard, for `value_and_grad` on any engine.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     shards = nbgrad.parallel.store(folder, [(np.ones((2, 3)), np.zeros(2))])
    ...     [x.shape for x in shards[0]()]
    [(2, 3), (2,)]
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    stored = []
    for i, shard in enumerate(shards):
        if not isinstance(shard, (tuple, list)):
            raise ArgumentTypeError(
                f"store: shard {i} is a {type(shard).__name__}: pass tuples of arrays"
            )
        paths = [folder / f"{i:05d}-{j}.npy" for j in range(len(shard))]
        for path, x in zip(paths, shard, strict=True):
            np.save(path, np.asarray(x), allow_pickle=False)
        stored.append(Stored(*paths))
    return stored
