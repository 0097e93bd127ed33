"""What stands in a kernel's file, and that a file can do nothing but be machine code."""

import os
import pickle
from pathlib import Path

import numba
import numpy as np
import pytest
from helpers.caches import (
    CALLED_BY_NUMBA,
    GRADIENTS,
    SIGNATURES,
    cached,
    gradients_are_right,
    only_warning,
)
from numba.core import types

from nbgrad.compiler import folder as _folder
from nbgrad.compiler import payload as _payload


def sealed(path: Path, rest: bytes) -> None:
    """Write a file with a good checksum."""
    path.write_bytes(_folder.MAGIC + _folder.digest(path.name, [rest]) + rest)


def test_a_pickle_under_a_kernels_name_is_not_run(fork, warm, tmp_path):
    class Attack:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "ran"),))

    for path in cached(warm):
        sealed(path, pickle.dumps(Attack()))
    session = fork(GRADIENTS, NBGRAD_CACHE_DIR=warm)
    assert gradients_are_right(session) and session.compiled == SIGNATURES
    assert not (tmp_path / "ran").exists()


def test_a_file_does_not_choose_what_is_imported(fork, tmp_path):
    (tmp_path / "chosen_module.py").write_text(f"import os; os.mkdir({str(tmp_path / 'ran')!r})")
    fork(CALLED_BY_NUMBA, NBGRAD_CACHE_DIR=tmp_path)
    for path in cached(tmp_path):
        rest = path.read_bytes()[len(_folder.MAGIC) + 32 :]
        length, size = _payload._LENGTHS.unpack_from(rest)
        header = rest[_payload._LENGTHS.size :][:length]
        start = header.index(b'"environment":["') + len(b'"environment":["')
        end = header.index(b'"', start)
        header = header[:start] + b"chosen_module" + header[end:]
        code = rest[_payload._LENGTHS.size + length :]
        sealed(path, _payload._LENGTHS.pack(len(header), size) + header + code)
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{CALLED_BY_NUMBA}"
    session = fork(code, NBGRAD_CACHE_DIR=tmp_path)
    assert session.result == 6.0 and session.compiled == 1
    assert "chosen_module" in only_warning(session)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -3,
        1.5,
        "text",
        (1, ("a", None)),
        [np.dtype("float32"), np.dtype("<M8[s]")],
        numba.float64,
        numba.boolean,
        types.none,
        numba.float32[:, ::1],
        types.Array(numba.int64, 2, "A", readonly=True, aligned=False),
        types.Tuple((numba.float64, numba.int64[::1])),
        types.UniTuple(numba.float64, 3),
        types.literal(3),
        types.literal("text"),
    ],
    ids=str,
)
def test_what_stands_in_a_header_reads_back(value):
    read = _payload._read(_payload._told(value))
    assert read == value and type(read) is type(value)


@pytest.mark.parametrize(
    "value",
    [object(), len, {}, b"bytes", types.pyobject, types.ListType(numba.int64), np.dtype("O")],
    ids=lambda value: type(value).__name__,
)
def test_what_the_format_has_no_words_for_is_not_stored(value):
    with pytest.raises(_payload.Unstorable):
        _payload._told(value)
