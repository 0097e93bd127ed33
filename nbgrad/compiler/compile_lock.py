"""Locks between processes: one compiles a kernel; the others wait, and load it from the cache.

A process compiles while it holds the lock of a file. The files are in the machine's own temporary
folder, not in the cache folder, which may be on a shared file system with slow locks or none. If
anything fails, each process compiles for itself.
"""

import contextlib
import os
import stat
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None

__all__ = ["Turn"]

# Nobody waits longer for one kernel: who has the turn may be stopped, or in a debugger.
_PATIENCE = 30.0
_PAUSES = 0.002, 0.05  # seconds between two looks, at first and at most


class Turn:
    """The turn to make what has this name, until `end` or the death of the process."""

    def __init__(self, name: str, is_made: Callable[[], bool]):
        """Wait for the turn, as long as the thing is not made and patience lasts."""
        self._file: tuple[Path, int] | None = None
        if fcntl is None:
            return
        with contextlib.suppress(Exception):
            path = _folder() / name
            waited, pause = 0.0, _PAUSES[0]
            while not self._taken(path) and waited < _PATIENCE and not is_made():
                time.sleep(pause)
                waited, pause = waited + pause, min(2 * pause, _PAUSES[1])

    def _taken(self, path: Path) -> bool:
        """Acquire the lock if it is free. Raises OSError if the file system has no locks."""
        assert fcntl is not None
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(path, flags, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Who had it before may have removed the file since it was opened here.
            if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                self._file, descriptor = (path, descriptor), -1
                return True
        except (BlockingIOError, FileNotFoundError):
            pass
        finally:
            if descriptor >= 0:
                os.close(descriptor)
        return False

    def end(self) -> None:
        """Let others have it."""
        if self._file is not None:
            path, descriptor = self._file
            self._file = None
            with contextlib.suppress(Exception):
                path.unlink()
            os.close(descriptor)


def _folder() -> Path:
    """A folder of the user's own. Raises OSError where there is none."""
    path = Path(tempfile.gettempdir(), f"nbgrad-{os.geteuid()}")
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise OSError(f"{path} is another user's")
    return path
