"""The folder of cached kernels: checks of its owner and permissions, and access to its files.

Code is loaded from this folder, so only the user and root may be able to change a file, the folder,
or a folder above, which could be renamed and replaced. Each folder of the path is opened relative
to the one above, so the folder that was checked is the folder that is used.
"""

import contextlib
import hashlib
import os
import re
import stat
import time
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["MAGIC", "SUFFIX", "Folder", "Unstorable", "Untrusted", "chosen", "digest"]

SUFFIX = ".nbgrad"
# Every file of ours begins so.
MAGIC = b"nbgrad kernel 1\n"
# Kernels, and what a killed process left of one.
_OURS = re.compile(rf".+-[0-9a-f]{{32}}{re.escape(SUFFIX)}(\.[0-9a-f]{{12}}\.tmp)?")
# Folders and files can be opened within an open folder, and have owners. Not so on Windows, where
# a user's profile is the user's own.
_POSIX = os.open in os.supports_dir_fd and hasattr(os, "geteuid")
_LINKS = 40  # as many as Linux follows
_DAY = 86_400.0  # seconds


class Entry(NamedTuple):
    """A regular file whose name is one of ours."""

    name: str
    size: int
    used: float


class Folder:
    """A folder that only the user and root can change; its files are opened relative to it."""

    def __init__(self, path: Path):
        """Walk to `path` and make what is missing, with mode 0700.

        Raises OSError, or Untrusted where others could change what is loaded from there.
        """
        self.path = path
        self._descriptor, self._identity = -1, (-1, -1)
        self._open()

    def __del__(self):
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def __str__(self) -> str:
        return str(self.path)

    def read(self, name: str) -> bytes:
        """Return the contents of a file. Raises OSError, or Untrusted if others could have written
        it."""
        flags = os.O_RDONLY | _flags("O_NONBLOCK", "O_NOFOLLOW", "O_BINARY")
        with self._file(name, flags, "rb") as file:
            info = os.fstat(file.fileno())
            if time.time() - info.st_mtime > _DAY:
                with contextlib.suppress(OSError):  # used lately, so pruning keeps it
                    os.utime(file.fileno() if os.utime in os.supports_fd else self.path / name)
            return file.read()

    def holds(self, name: str) -> bool:
        """Whether there is such a file."""
        try:
            place, at = self._place(name)
            os.stat(place, **at, follow_symlinks=False)
        except (OSError, Untrusted):
            return False
        return True

    def write(self, name: str, *pieces: bytes) -> None:
        """Write a file so that other processes see all of it or nothing."""
        temporary = f"{name}.{uuid.uuid4().hex[:12]}.tmp"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _flags("O_NOFOLLOW", "O_BINARY")
        try:
            with self._file(temporary, flags, "wb") as file:
                if hasattr(os, "fchmod"):
                    os.fchmod(file.fileno(), 0o600)
                file.writelines(pieces)
            (old, at), (new, _) = self._place(temporary), self._place(name)
            os.replace(old, new, **{f"{side}_{k}": v for k, v in at.items() for side in _SIDES})
        except BaseException as error:
            with contextlib.suppress(OSError):
                self._unlink(temporary)
            # Windows replaces no open file: another process has stored it, and loads it now.
            if _POSIX or not isinstance(error, PermissionError) or not self.holds(name):
                raise

    def entries(self) -> list[Entry]:
        """The regular files whose names are ours."""
        entries = []
        for name in self._names():
            with contextlib.suppress(OSError):  # another process renames and removes files too
                if _OURS.fullmatch(name):
                    place, at = self._place(name)
                    info = os.stat(place, **at, follow_symlinks=False)
                    if stat.S_ISREG(info.st_mode):
                        entries.append(Entry(name, info.st_size, info.st_mtime))
        return sorted(entries)

    def holds_ours(self, name: str) -> bool:
        """Whether a file begins as ours do, though one that a killed process left may have ended
        early; or, as before there was this mark, with the checksum of its name and of its rest."""
        try:
            flags = os.O_RDONLY | _flags("O_NONBLOCK", "O_NOFOLLOW", "O_BINARY")
            with self._file(name, flags, "rb") as file:
                start = file.read(32)
                if MAGIC.startswith(start[: len(MAGIC)]):
                    return True
                return start == digest(name, iter(lambda: file.read(2**20), b""))
        except (OSError, Untrusted):
            return False

    def remove(self, name: str) -> bool:
        """Remove a file, if it is ours by its name and by how it begins; whether it went."""
        if not (_OURS.fullmatch(name) and self.holds_ours(name)):
            return False
        try:
            self._unlink(name)
        except OSError:
            return False
        return True

    def prune(self, limit: int) -> None:
        """Remove the longest unused files of ours beyond `limit` bytes.

        Code of older versions and temporary files of processes that died go this way. Another
        process that misses a file compiles it again.
        """
        total = 0
        for entry in sorted(self.entries(), key=lambda entry: -entry.used):
            total += entry.size
            if total > limit:
                self.remove(entry.name)

    # -- places in the folder ---------------------------------------------------------------------

    def _open(self) -> None:
        if not _POSIX:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self.path.is_symlink():
                raise Untrusted("it is a symbolic link")
            return
        self._descriptor = _opened(self.path)
        info = os.fstat(self._descriptor)
        self._identity = (info.st_dev, info.st_ino)

    def _place(self, name: str) -> tuple[Any, dict[str, int]]:
        """A file as functions of `os` take it."""
        if not _POSIX:
            return self.path / name, {}
        try:
            info = os.fstat(self._descriptor)
            is_ours = (info.st_dev, info.st_ino) == self._identity
        except OSError:
            is_ours = False
        if not is_ours:  # the program closed all descriptors, as daemons do; this one is another's
            self._descriptor = -1
            self._open()
        return name, {"dir_fd": self._descriptor}

    @contextlib.contextmanager
    def _file(self, name: str, flags: int, mode: str) -> Iterator[Any]:
        """An open regular file that only the user and root can change."""
        place, at = self._place(name)
        descriptor = os.open(place, flags | _flags("O_CLOEXEC"), 0o600, **at)
        try:
            info = os.fstat(descriptor)
            if not stat.S_ISREG(info.st_mode):
                raise Untrusted("it is no regular file")
            if _POSIX and (fault := _fault(info, above=False)):
                raise Untrusted(fault)
            file = os.fdopen(descriptor, mode)
        except BaseException:
            os.close(descriptor)
            raise
        with file:
            yield file

    def _names(self) -> list[str]:
        if not _POSIX:
            return os.listdir(self.path)
        place, at = self._place(".")
        descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, **at)
        try:
            return os.listdir(descriptor)
        finally:
            os.close(descriptor)

    def _unlink(self, name: str) -> None:
        place, at = self._place(name)
        os.unlink(place, **at)


def digest(name: str, pieces: Iterable[bytes | memoryview]) -> bytes:
    """Of the name too: a good file under another kernel's name would give wrong numbers."""
    hasher = hashlib.sha256(name.encode() + b"\0")
    for piece in pieces:
        hasher.update(piece)
    return hasher.digest()


class Untrusted(Exception):
    """Why code must not be loaded from a folder or a file."""


class Unstorable(Exception):
    """A compiled function has a part that the file format cannot represent."""


_SIDES = ("src", "dst")


def chosen() -> Path:
    """The folder for compiled kernels: a sub-folder of our own of `NBGRAD_CACHE_DIR`, else of
    `NUMBA_CACHE_DIR`, else of the user's cache folder."""
    if mine := os.environ.get("NBGRAD_CACHE_DIR"):
        root = Path(mine)
    elif shared := os.environ.get("NUMBA_CACHE_DIR"):
        root = Path(shared, "nbgrad")
    else:
        import platformdirs

        root = Path(platformdirs.user_cache_dir("nbgrad", appauthor=False))
    # Absolute, for the program may change its working directory.
    return root.expanduser().absolute() / "kernels"


def _opened(path: Path) -> int:
    """A descriptor of the folder `path`, each folder on the way checked when it is open.

    Links are followed where the user or root owns them, but for the last name. Raises OSError, or
    Untrusted with the folder at fault.
    """
    # With O_PATH, folders that may be passed through but not listed can be opened.
    flags = os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW | getattr(os, "O_PATH", os.O_RDONLY)
    names, links = list(reversed(path.parts[1:])), 0
    where = Path(path.anchor)
    here = os.open(where, flags)
    try:
        _require(here, where, above=True)
        while names:
            name = names.pop()
            try:
                there = os.open(name, flags, dir_fd=here)
            except FileNotFoundError:
                with contextlib.suppress(FileExistsError):  # another process makes it too
                    os.mkdir(name, 0o700, dir_fd=here)
                    os.chmod(name, 0o700, dir_fd=here)  # whatever the umask left
                names.append(name)
                continue
            except OSError:
                target = _target(name, here, where / name, last=not names)
                links += 1
                if links > _LINKS:
                    raise
                names += reversed(target.parts[1:] if target.is_absolute() else target.parts)
                if target.is_absolute():
                    where = Path(target.anchor)
                    there = os.open(where, flags)
                    os.close(here)
                    here = there
                continue
            os.close(here)
            here, where = there, where / name
            _require(here, where, above=bool(names))
    except BaseException:
        os.close(here)
        raise
    return here


def _target(name: str, here: int, place: Path, last: bool) -> Path:
    """Return the target of a link owned by the user or root. Raises Untrusted for other owners, and
    NotADirectoryError if it is no link."""
    info = os.stat(name, dir_fd=here, follow_symlinks=False)
    if not stat.S_ISLNK(info.st_mode):
        raise NotADirectoryError(20, "it cannot be opened as a folder", str(place))
    if last:
        raise Untrusted("it is a symbolic link")
    if info.st_uid not in (0, os.geteuid()):
        raise Untrusted(f"{place} is a symbolic link that another user owns")
    return Path(os.readlink(name, dir_fd=here))


def _require(descriptor: int, place: Path, above: bool) -> None:
    if fault := _fault(os.fstat(descriptor), above):
        raise Untrusted(f"{place}: {fault}" if above else fault)


def _fault(info: os.stat_result, above: bool) -> str:
    """Why code from a file or folder must not be loaded, or an empty text; `above` is for folders
    on the way, where it is enough that others cannot rename what is the user's."""
    if info.st_uid not in (0, os.geteuid()):
        return "another user owns it"
    others = info.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if not others or (above and (info.st_mode & stat.S_ISVTX)):
        return ""
    if not above:
        return "other users can write to it; chmod 700 mends that"
    if others == stat.S_IWGRP and _is_alone(info.st_gid):
        return ""
    return "other users can write to it; chmod go-w mends that"


def _is_alone(group: int) -> bool:
    """Whether a group is root's or the user's own one, with no other member: many systems give each
    user such a group and let it write."""
    import grp
    import pwd

    try:
        entry = grp.getgrgid(group)
        name = "root" if group == 0 else pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return group == 0
    # Members are listed by the group, but for those whose first group it is.
    first = {user.pw_name for user in pwd.getpwall() if user.pw_gid == group}
    return entry.gr_name == name and {*entry.gr_mem, *(first if group else ())} <= {name}


def _flags(*names: str) -> int:
    """Those of the flags that this system has."""
    flags = 0
    for name in names:
        flags |= getattr(os, name, 0)
    return flags
