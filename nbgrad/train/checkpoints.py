"""Checkpoints: trees of arrays in one `.npz` file, which `np.load` reads without pickle.

The file is replaced atomically: it is written under a temporary name and renamed. Its last 64
bytes, the comment of the archive, are the SHA-256 checksum of the rest.
"""

import contextlib
import hashlib
import io
import json
import os
import secrets
import tempfile
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import CheckpointError
from ..runtime.kinds import is_a
from ..transforms import trees

_SUM = 64  # hexadecimal digits
_KEYS = "keys"  # the array of the names of all others


def save(path: str | Path, tree: Any) -> None:
    """Write the numbers and arrays of a tree, such as a model, to one file.

    Strings, None and functions are stored by name and compared when the file is loaded. Raises
    CheckpointError if the file cannot be written; an existing file then remains unchanged.

    >>> import tempfile
    >>> file = tempfile.mkdtemp() + "/model.npz"
    >>> nbgrad.train.save(file, {"w": np.ones(2)})
    >>> nbgrad.train.load(file, {"w": np.zeros(2)})
    {'w': array([1., 1.])}
    """
    path = Path(path)
    leaves, names = trees.flatten(tree)[0], trees.paths(tree)
    arrays, constants = {}, {}
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise CheckpointError(f"{path}: two values of the tree have the name {twice}")
    for name, leaf in zip(names, leaves, strict=True):
        if trees.is_constant(leaf):
            constants[name] = _named(leaf)
            continue
        array = np.asarray(leaf)
        if array.dtype.kind not in "fiub":
            raise CheckpointError(
                f"{path}: {name or 'the tree'} is a {type(leaf).__name__}: only numbers and "
                "arrays of numbers can be saved"
            )
        arrays[name] = array
    buffer = io.BytesIO()
    keys = json.dumps({"arrays": list(arrays), "constants": constants})
    numbered = {f"array{i}": array for i, array in enumerate(arrays.values())}
    np.savez(buffer, **{_KEYS: np.array(keys)}, **numbered)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.comment = b"0" * _SUM
    body = buffer.getvalue()[:-_SUM]
    _replace(path, body + _sum(body))


def load(path: str | Path, like: Any) -> Any:
    """Return a tree like `like` with the values of a file written by `save`.

    Raises CheckpointError if the file is missing, damaged or not a checkpoint, or if its names,
    shapes, dtypes or functions differ from those of `like`.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/model.npz"
    >>> nbgrad.train.save(path, {"w": np.ones(2)})
    >>> nbgrad.train.load(path, {"w": np.zeros(2)})
    {'w': array([1., 1.])}
    """
    return restored(read(path), like)


class Found(NamedTuple):
    """The contents of a file: arrays, and the names of strings and functions, by path."""

    path: Path
    arrays: dict[str, np.ndarray]
    constants: dict[str, str]


def read(path: str | Path) -> Found:
    """Read a file written by `save`. Raises CheckpointError if it is damaged or another file."""
    path = Path(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror or error}") from None
    if not content.startswith(b"PK"):
        raise CheckpointError(f"{path} is not a checkpoint: it is not a .npz file")
    if _sum(content[:-_SUM]) != content[-_SUM:]:
        raise CheckpointError(
            f"{path} is damaged: its checksum is wrong, so it was truncated or modified after it "
            "was saved"
        )
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        keys = json.loads(str(file[_KEYS]))
        arrays = {name: file[f"array{i}"] for i, name in enumerate(keys["arrays"])}
    return Found(path, arrays, keys["constants"])


def restored(found: Found, like: Any) -> Any:
    """Return a tree like `like` with the values of a file. Raises CheckpointError as `load`."""
    leaves, rebuild = trees.flatten(like)
    names = trees.paths(like)
    constants = {n: _named(x) for n, x in zip(names, leaves, strict=True) if trees.is_constant(x)}
    arrays = set(names) - constants.keys()
    differ = (arrays ^ found.arrays.keys()) | (constants.keys() ^ found.constants.keys())
    for name in [*names, *found.arrays, *found.constants]:
        if name in differ:
            raise _other(found.path, f"{name or 'an array'} is only in one of the two")
    for name, text in constants.items():
        if found.constants[name] != text:
            raise _other(found.path, f"{name} is {found.constants[name]} there, and {text} here")
    return rebuild(
        [
            x if name in constants else _fitted(found.path, name, found.arrays[name], x)
            for name, x in zip(names, leaves, strict=True)
        ]
    )


def require_writable(path: str | Path) -> None:
    """Raise CheckpointError if a file cannot be written to this path."""
    path = Path(path)
    try:
        tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise _unwritable(path, error) from None


def _fitted(path: Path, name: str, array: np.ndarray, leaf: Any) -> Any:
    shape, dtype = np.shape(leaf), np.asarray(leaf).dtype
    if (array.shape, array.dtype) != (shape, dtype):
        raise _other(
            path, f"{name or 'it'} is {array.dtype}{list(array.shape)} there, and "
            f"{dtype}{list(shape)} here",
        )  # fmt: skip
    return array if is_a(leaf, np.ndarray) else type(leaf)(array[()])


def _other(path: Path, what: str) -> CheckpointError:
    return CheckpointError(f"{path} is a checkpoint of another model: {what}")


def _unwritable(path: Path, error: OSError) -> CheckpointError:
    return CheckpointError(f"{path} cannot be written: {error.strerror or error}")


def _named(leaf: Any) -> str:
    return leaf if isinstance(leaf, str) else getattr(leaf, "__name__", type(leaf).__name__)


def _sum(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()


def _replace(path: Path, content: bytes) -> None:
    """Replace a file atomically."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with open(beside, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except OSError as error:
        raise _unwritable(path, error) from None
    finally:
        with contextlib.suppress(OSError):
            beside.unlink()
