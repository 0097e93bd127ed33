"""Builds of Python on which nbgrad does not run."""

import sys

__all__ = ["require_gil"]


def require_gil() -> None:
    """Raise ImportError on a free-threaded build that runs without the global interpreter lock.

    Graphs, counters and caches rely on the lock: without it, gradients could be wrong.
    """
    if getattr(sys, "_is_gil_enabled", lambda: True)():
        return
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    raise ImportError(
        f"nbgrad does not support the free-threaded build of Python {version} ({sys.executable}): "
        "it needs the global interpreter lock. Install it in the standard build, "
        f"python{version} without the t"
    )
