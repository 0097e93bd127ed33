"""Where the kernel cache lies, and what happens where it cannot be used."""

import os
import stat
from pathlib import Path

import pytest
from helpers.caches import (
    GRADIENTS,
    SCALED,
    SIGNATURES,
    SQUARE,
    cached,
    gradients_are_right,
    only_warning,
    square_is_right,
)
from helpers.children import run


def test_the_folder_is_chosen_by_the_environment(fork, tmp_path):
    code = "from nbgrad.compiler import cache as _cache; result = str(_cache.folder())"
    ours, numbas, home = tmp_path / "ours", tmp_path / "numbas", tmp_path / "home"
    chosen = fork(code, NBGRAD_CACHE_DIR=ours, NUMBA_CACHE_DIR=numbas, XDG_CACHE_HOME=home)
    assert chosen.result == str(ours / "kernels")
    chosen = fork(code, NUMBA_CACHE_DIR=numbas, XDG_CACHE_HOME=home)
    assert Path(chosen.result).is_relative_to(numbas)
    chosen = fork(
        "import platformdirs\nplatformdirs.user_cache_dir = lambda name, appauthor: "
        f"{str(home)!r} + '/' + name\n{code}"
    )
    assert chosen.result == str(home / "nbgrad" / "kernels")


def test_a_relative_folder_stays_where_the_program_began(fork, tmp_path):
    code = f"""
import os
os.chdir({str(tmp_path)!r})
from nbgrad.compiler import cache as _cache
_cache.folder()
os.mkdir("elsewhere")
os.chdir("elsewhere")
{SQUARE}"""
    session = fork(code, NBGRAD_CACHE_DIR="here")
    assert square_is_right(session) and not session.warnings
    assert len(cached(tmp_path / "here")) == 1
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
@pytest.mark.parametrize("umask", [0, 0o77, 0o277])
def test_folders_and_files_are_private_whatever_the_umask(fork, tmp_path, umask):
    root = tmp_path / "new" / "newer"
    session = fork(f"import os; os.umask({umask})\n{SQUARE}", NBGRAD_CACHE_DIR=root)
    assert square_is_right(session) and not session.warnings
    for folder in (root.parent, root, root / "kernels"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [stat.S_IMODE(path.stat().st_mode) for path in cached(root)] == [0o600]
    assert fork(SQUARE, NBGRAD_CACHE_DIR=root).loaded == 1


def test_without_a_home_kernels_live_in_memory(tmp_path):
    home = tmp_path / "home"
    home.write_text("not a folder")
    session = run(SQUARE, HOME=home, XDG_CACHE_HOME=home, LOCALAPPDATA=home)
    assert square_is_right(session)
    assert session.compiled == 1
    assert "NBGRAD_CACHE_DIR" in only_warning(session)
    assert home.read_text() == "not a folder"


def test_a_folder_that_cannot_be_made_is_one_warning(fork, tmp_path):
    (tmp_path / "file").touch()
    session = fork(GRADIENTS, NBGRAD_CACHE_DIR=tmp_path / "file" / "cache")
    assert gradients_are_right(session)
    assert session.compiled == SIGNATURES
    assert "NBGRAD_CACHE_DIR" in only_warning(session)


def test_a_folder_that_vanishes_is_one_warning(fork, tmp_path):
    code = f"""
import shutil
from nbgrad.compiler import cache as _cache
shutil.rmtree(_cache.folder().path)
{GRADIENTS}"""
    session = fork(code, NBGRAD_CACHE_DIR=tmp_path)
    assert gradients_are_right(session)
    assert str(tmp_path / "kernels") in only_warning(session)


def test_a_folder_that_cannot_be_written_to_still_serves(fork, warm):
    """As in a container image. The failure is simulated: modes do not bind root."""
    before = cached(warm)
    unwritable = """
from nbgrad.compiler import folder as _folder
def refuse(*args, **options): raise PermissionError(13, "Permission denied")
_folder.os.replace = _folder.os.utime = refuse
"""
    session = fork(unwritable + GRADIENTS, NBGRAD_CACHE_DIR=warm)
    assert gradients_are_right(session)
    assert (session.compiled, session.loaded, session.warnings) == (0, SIGNATURES, [])
    more = fork(unwritable + SCALED + "result = scaled(5.0)", NBGRAD_CACHE_DIR=warm)
    assert more.result == [0, 5, 10, 15, 20]
    assert "Permission denied" in only_warning(more)
    assert cached(warm) == before


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_that_others_can_write_to_is_not_used(fork, tmp_path, mode):
    own = tmp_path / "kernels"
    own.mkdir()
    own.chmod(mode)
    session = fork(GRADIENTS, NBGRAD_CACHE_DIR=tmp_path)
    assert gradients_are_right(session)
    assert "chmod 700" in only_warning(session)
    assert cached(tmp_path) == []


def test_a_symbolic_link_is_not_used(fork, tmp_path):
    target = tmp_path / "target"
    target.mkdir(mode=0o700)
    (tmp_path / "kernels").symlink_to(target)
    session = fork(SQUARE, NBGRAD_CACHE_DIR=tmp_path)
    assert square_is_right(session)
    assert "symbolic link" in only_warning(session)
    assert list(target.iterdir()) == []


@pytest.mark.full
@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a folder away"
)
@pytest.mark.parametrize("what", ["folder", "files"])
def test_what_another_user_owns_is_not_used(fork, warm, what):
    before = {path: path.read_bytes() for path in cached(warm)}
    for path in [warm / "kernels"] if what == "folder" else before:
        os.chown(path, 65534, 65534)
    session = fork(GRADIENTS, NBGRAD_CACHE_DIR=warm)
    assert gradients_are_right(session)
    assert (session.compiled, session.loaded) == (SIGNATURES, 0)
    assert "another user owns it" in only_warning(session)
    after = fork(GRADIENTS, NBGRAD_CACHE_DIR=warm)
    assert after.loaded == (0 if what == "folder" else SIGNATURES), "files are replaced"


@pytest.mark.full
def test_a_loaded_file_counts_as_used(fork, tmp_path):
    assert fork(SQUARE, NBGRAD_CACHE_DIR=tmp_path).compiled == 1
    (path,) = cached(tmp_path)
    os.utime(path, (1e9, 1e9))
    assert fork(SQUARE, NBGRAD_CACHE_DIR=tmp_path).loaded == 1
    assert path.stat().st_mtime > 1e9 + 1
