"""The kernel cache among other people: it removes nothing that is not its own, and loads nothing
that another account could have put there.

The attacks are made by a real second account, `nobody`, in the folders that it could get hold of.
"""

import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers.caches import (
    GRADIENTS,
    SIGNATURES,
    SQUARE,
    cached,
    gradients_are_right,
    only_warning,
    square_is_right,
)

from nbgrad.compiler import folder as _folder

NOBODY = 65534
KEY = "0123456789abcdef" * 2
two_accounts = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can act as a second account"
)
posix = pytest.mark.skipif(os.name == "nt", reason="Windows has no such files and modes")


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that every account can reach and write to, as the system's temporary one."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o1777)
    yield folder
    shutil.rmtree(folder)


def as_nobody(*commands: str) -> None:
    """Shell commands of another account."""
    for command in commands:
        subprocess.run(["/bin/sh", "-c", command], user=NOBODY, group=NOBODY, check=True)


# -- what is removed -------------------------------------------------------------------------------


def ours(folder: Path, name: str, size: int, used: float) -> Path:
    path = folder / name
    path.write_bytes(_folder.MAGIC + b"x" * (size - len(_folder.MAGIC)))
    path.chmod(0o600)
    os.utime(path, (used, used))
    return path


@pytest.fixture
def kernels(tmp_path) -> Path:
    folder = tmp_path / "kernels"
    folder.mkdir(mode=0o700)
    return folder


def test_the_longest_unused_files_go_first(fork, tmp_path, kernels):
    for age in range(8):
        ours(kernels, f"old{age}-{KEY}.nbgrad", 1000, 1e9 - age)
    limit = "from nbgrad.compiler import cache as _cache; _cache._LIMIT = 3500\n"
    session = fork(limit + SQUARE, NBGRAD_CACHE_DIR=tmp_path)
    assert square_is_right(session) and not session.warnings
    kept = [path.name for path in cached(tmp_path)]
    assert kept[1:] == [f"old{age}-{KEY}.nbgrad" for age in range(3)]
    assert kept[0].startswith("multiply_forward-")


def of_others(kernels: Path) -> dict[Path, bytes]:
    """Files of the user's that lie in the way, each with a reason not to be ours."""
    texts = {
        "train.py": b"print('source')",
        "data.bin": b"x" * 5000,
        "mine.nbgrad": _folder.MAGIC + b"no key in its name",
        f"results-{KEY}.nbgrad": b"a name like ours, other contents" * 100,
        f"results-{KEY}.nbgrad.0123456789ab.tmp": b"other contents",
        f"{KEY}.nbgrad.bak": _folder.MAGIC,
        f"moved-{KEY}.nbgrad": _folder.digest(f"old-{KEY}.nbgrad", [b"pickle"]) + b"pickle",
        f"short-{KEY}.nbgrad": b"x" * 31,
    }
    for name, text in texts.items():
        (kernels / name).write_bytes(text)
        os.utime(kernels / name, (1e9, 1e9))
    return {kernels / name: text for name, text in texts.items()}


CLEAR = """
import contextlib, io
from nbgrad.cli.upkeep import clear_cache, show_cache
with contextlib.redirect_stdout(io.StringIO()):
    show_cache(), clear_cache()
"""


@pytest.mark.parametrize("way", ["prune", "clear"])
def test_only_files_of_ours_are_ever_removed(fork, tmp_path, kernels, way):
    kept = of_others(kernels)
    went = [
        ours(kernels, f"add-{KEY}.nbgrad", 5000, 1e9),
        ours(kernels, f"add-{KEY}.nbgrad.0123456789ab.tmp", 5000, 1e9),
        kernels / f"killed-{KEY}.nbgrad.0123456789ab.tmp",
    ]
    went[-1].write_bytes(_folder.MAGIC[:5])  # killed while it wrote
    went.append(kernels / f"old-{KEY}.nbgrad")  # from before files began with a mark
    went[-1].write_bytes(_folder.digest(went[-1].name, [b"pickle" * 1000]) + b"pickle" * 1000)
    for path in went[-2:]:
        os.utime(path, (1e9, 1e9))
    limit = "from nbgrad.compiler import cache as _cache; _cache._LIMIT = 1\n"
    session = fork(limit + SQUARE if way == "prune" else CLEAR, NBGRAD_CACHE_DIR=tmp_path)
    assert not session.warnings
    assert {path: path.read_bytes() for path in kept} == kept
    assert not any(path.exists() for path in went)


@posix
@pytest.mark.parametrize("way", ["prune", "clear"])
def test_folders_pipes_and_links_in_the_way_stay(fork, tmp_path, kernels, way):
    target = tmp_path / "target"
    target.write_bytes(_folder.MAGIC)
    (kernels / f"folder-{KEY}.nbgrad").mkdir()
    os.mkfifo(kernels / f"pipe-{KEY}.nbgrad")
    (kernels / f"link-{KEY}.nbgrad").symlink_to(target)
    before = cached(tmp_path)
    gone = ours(kernels, f"add-{KEY}.nbgrad", 5000, 1e9)
    limit = "from nbgrad.compiler import cache as _cache; _cache._LIMIT = 1\n"
    session = fork(limit + SQUARE if way == "prune" else CLEAR, NBGRAD_CACHE_DIR=tmp_path)
    assert not session.warnings
    assert not gone.exists() and target.read_bytes() == _folder.MAGIC
    assert set(before) <= set(cached(tmp_path))


@posix
@pytest.mark.parametrize("what", ["pipe", "folder", "link"])
def test_what_is_no_file_under_a_kernels_name_is_a_miss(fork, warm, what):
    """A pipe must not be waited for, a link not be followed."""
    for path in cached(warm):
        if what == "link":
            shutil.copy2(path, warm / path.name)
        path.unlink()
        {
            "pipe": lambda path=path: os.mkfifo(path),
            "folder": lambda path=path: path.mkdir(),
            "link": lambda path=path: path.symlink_to(warm / path.name),
        }[what]()
    session = fork(GRADIENTS, NBGRAD_CACHE_DIR=warm)
    assert gradients_are_right(session)
    assert (session.compiled, session.loaded) == (SIGNATURES, 0)
    assert "compiled again" in session.warnings[0][1]
    again = fork(GRADIENTS, NBGRAD_CACHE_DIR=warm)
    assert gradients_are_right(again)
    assert again.loaded == (0 if what == "folder" else SIGNATURES), "what can be replaced, is"


# -- what is loaded --------------------------------------------------------------------------------


@two_accounts
@pytest.mark.parametrize("what", ["folder", "files"])
def test_what_another_user_owns_is_not_used(fork, warm, what):
    before = {path: path.read_bytes() for path in cached(warm)}
    for path in [warm / "kernels"] if what == "folder" else before:
        os.chown(path, NOBODY, NOBODY)
    session = fork(GRADIENTS, NBGRAD_CACHE_DIR=warm)
    assert gradients_are_right(session)
    assert (session.compiled, session.loaded) == (SIGNATURES, 0)
    assert "another user owns it" in only_warning(session)
    after = fork(GRADIENTS, NBGRAD_CACHE_DIR=warm)
    assert after.loaded == (0 if what == "folder" else SIGNATURES), "files are replaced"


@posix
@pytest.mark.parametrize("mode", [0o666, 0o620, 0o602])
def test_files_that_others_can_write_to_are_not_loaded(fork, warm, mode):
    for path in cached(warm):
        path.chmod(mode)
    session = fork(GRADIENTS, NBGRAD_CACHE_DIR=warm)
    assert gradients_are_right(session)
    assert (session.compiled, session.loaded) == (SIGNATURES, 0)
    assert "other users can write to it" in only_warning(session)
    assert {stat.S_IMODE(path.stat().st_mode) for path in cached(warm)} == {0o600}
    assert fork(GRADIENTS, NBGRAD_CACHE_DIR=warm).loaded == SIGNATURES


@posix
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_that_others_can_write_to_is_not_used(fork, tmp_path, mode):
    own = tmp_path / "kernels"
    own.mkdir()
    own.chmod(mode)
    session = fork(GRADIENTS, NBGRAD_CACHE_DIR=tmp_path)
    assert gradients_are_right(session)
    assert "chmod 700" in only_warning(session)
    assert cached(tmp_path) == []


@two_accounts
def test_a_folder_on_the_way_that_another_user_owns_is_not_passed(fork, shared):
    """It could be renamed, and a link put in its place."""
    as_nobody(f"mkdir {shared}/made && chmod 777 {shared}/made")
    session = fork(GRADIENTS, NBGRAD_CACHE_DIR=shared / "made" / "cache")
    assert gradients_are_right(session)
    assert f"{shared}/made: another user owns it" in only_warning(session)
    assert list((shared / "made").iterdir()) == []


@posix
@pytest.mark.parametrize("mode", [0o777, 0o757])
def test_a_folder_on_the_way_that_others_can_write_to_is_not_passed(fork, tmp_path, mode):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(mode)
    session = fork(SQUARE, NBGRAD_CACHE_DIR=tmp_path / "open" / "cache")
    assert square_is_right(session)
    assert "open: other users can write to it; chmod go-w" in only_warning(session)
    assert list((tmp_path / "open").iterdir()) == []


@posix
def test_a_sticky_folder_on_the_way_is_passed(fork, shared):
    """As the system's temporary one: others cannot rename there what is not theirs."""
    session = fork(SQUARE, NBGRAD_CACHE_DIR=shared / "cache")
    assert square_is_right(session) and not session.warnings
    assert len(cached(shared / "cache")) == 1


@two_accounts
@pytest.mark.parametrize("whose", ["nobody's", "mine"])
def test_links_on_the_way_are_followed_where_no_other_user_made_them(fork, shared, tmp_path, whose):
    link = shared / "cache"
    if whose == "mine":
        link.symlink_to(tmp_path)
    else:
        as_nobody(f"ln -s {tmp_path} {link}")
    session = fork(SQUARE, NBGRAD_CACHE_DIR=link)
    assert square_is_right(session)
    if whose == "mine":
        assert not session.warnings and len(cached(tmp_path)) == 1
    else:
        assert "a symbolic link that another user owns" in only_warning(session)
        assert list(tmp_path.iterdir()) == []


@posix
def test_a_symbolic_link_in_our_folders_place_is_not_used(fork, tmp_path):
    target = tmp_path / "target"
    target.mkdir(mode=0o700)
    (tmp_path / "kernels").symlink_to(target)
    session = fork(SQUARE, NBGRAD_CACHE_DIR=tmp_path)
    assert square_is_right(session)
    assert "symbolic link" in only_warning(session)
    assert list(target.iterdir()) == []


@posix
def test_links_in_a_circle_are_an_end(fork, tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    session = fork(SQUARE, NBGRAD_CACHE_DIR=tmp_path / "a")
    assert square_is_right(session)
    assert "is not used" in only_warning(session)


@posix
def test_a_folder_put_in_the_place_of_the_checked_one_is_not_used(fork, tmp_path):
    """What was checked is held open, and is what files come from and go to."""
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    (theirs / "kernels").mkdir(parents=True)
    (theirs / "kernels" / "data").write_bytes(b"x" * 1000)
    code = f"""
import os
from nbgrad.compiler import cache as _cache
_cache._LIMIT = 1
_cache.folder()
os.rename({str(mine)!r}, {str(tmp_path / "moved")!r})
os.symlink({str(theirs)!r}, {str(mine)!r})
{SQUARE}"""
    session = fork(code, NBGRAD_CACHE_DIR=mine)
    assert square_is_right(session) and not session.warnings
    assert [path.name for path in cached(theirs)] == ["data"]
    assert len(cached(tmp_path / "moved")) == 1


@pytest.mark.full
@posix
def test_a_descriptor_that_became_another_folders_is_not_used(fork, tmp_path):
    """Daemons close all descriptors, and the next to be opened gets the number."""
    (tmp_path / "other").mkdir()
    code = f"""
import os
from nbgrad.compiler import cache as _cache
held = _cache.folder()._descriptor
os.close(held)
other = os.open({str(tmp_path / "other")!r}, os.O_RDONLY)
os.dup2(other, held)
{SQUARE}"""
    session = fork(code, NBGRAD_CACHE_DIR=tmp_path)
    assert square_is_right(session) and not session.warnings
    assert list((tmp_path / "other").iterdir()) == [] and len(cached(tmp_path)) == 1


@pytest.mark.full
@two_accounts
@pytest.mark.parametrize("member", ["", "listed", "first group"])
def test_a_group_of_ones_own_may_write_above(tmp_path, monkeypatch, member):
    """Where nobody else is in it, by the list of its members or as their first group."""
    import grp
    import pwd

    me, group = pwd.getpwuid(os.geteuid()), 54321
    others = ["mallory"] if member == "listed" else []
    users = [("mallory", group)] if member == "first group" else []
    monkeypatch.setattr(grp, "getgrgid", lambda _: SimpleNamespace(gr_name=me[0], gr_mem=others))
    monkeypatch.setattr(
        pwd, "getpwall", lambda: [SimpleNamespace(pw_name=n, pw_gid=g) for n, g in users]
    )
    above = tmp_path / "above"
    above.mkdir()
    os.chown(above, 0, group)
    above.chmod(0o775)
    if member:
        with pytest.raises(_folder.Untrusted, match="above: other users can write to it"):
            _folder.Folder(above / "cache")
    else:
        _folder.Folder(above / "cache")
