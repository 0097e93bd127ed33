"""The disk cache with the interface that Numba's dispatchers expect.

Numba's own cache keeps an index and a data file per function, which races between processes,
trusts what it unpickles and ignores constants in its key.
"""

from typing import Any

import numba

from .cache import compiling, file_name, folder, loaded, save, turn_for, warn_once
from .compile_lock import Turn
from .externals import know_runtime
from .numba_api import compiler, environment
from .payload import packed, unpacked
from .pipeline import Library

__all__ = ["KernelCache", "attach"]


def attach(dispatcher: Any, name: str, content: str) -> None:
    """Give `dispatcher` our cache; with a Numba that has no place for it, a warning and none."""
    needed = (
        (dispatcher, "_cache"),
        (dispatcher, "_compiler"),
        (compiler, "compile_result"),
        (environment, "_rebuild_env"),
        (environment, "lookup_environment"),
    )
    missing = [piece for owner, piece in needed if not hasattr(owner, piece)]
    if missing:
        warn_once(
            "numba",
            f"Numba {numba.__version__} lacks {', '.join(missing)}, which the kernel cache needs: "
            "kernels are compiled again in each process; another version of Numba mends that",
        )
    else:
        dispatcher._cache = KernelCache(name, content)
        compile_one = dispatcher._compiler.compile

        def watched(*args):
            with compiling:
                try:
                    return compile_one(*args)
                except BaseException:
                    dispatcher._cache.end_turn()
                    raise

        dispatcher._compiler.compile = watched


class KernelCache:
    """The cache of one kernel, with the interface that a Numba dispatcher expects.

    `name` is a readable part of the file name; `content` is the text that was compiled.
    """

    def __init__(self, name: str, content: str):
        self._name = name
        self._content = content
        self._turn: Turn | None = None

    def load_overload(self, sig, target_context):
        """The kernel from the disk; else None, and this process has the turn to compile it."""
        know_runtime(target_context)
        name = self._file(sig, target_context.codegen())
        self._turn = turn_for(name)
        result = loaded(name, lambda blob: unpacked(blob, target_context))
        if result is not None:
            self.end_turn()
        return result

    def end_turn(self):
        """Let other processes compile it, or load what was stored."""
        turn, self._turn = self._turn, None
        if turn is not None:
            turn.end()

    def save_overload(self, sig, data):
        try:
            save(self._file(sig, data.codegen), lambda: packed(data))
        finally:
            if isinstance(data.library, Library):
                data.library.drop()
            self.end_turn()

    def _file(self, sig, codegen) -> str:
        return file_name(self._name, self._content, str(sig), repr(codegen.magic_tuple()))

    @property
    def cache_path(self):
        return str(folder() or "")

    def enable(self): ...

    def disable(self): ...

    def flush(self): ...
