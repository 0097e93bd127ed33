"""What the machine can do at most, and what it is."""

import os
import platform
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

PACKAGES = (
    "numpy", "numba", "llvmlite", "scipy", "torch", "jax", "autograd", "mygrad", "casadi",
    "pytensor",
)  # fmt: skip


def bandwidth() -> float:
    """Bytes a second that a sum of two large arrays into a third moves."""
    x, y, out = (np.ones(1 << 23) for _ in range(3))
    return 3 * x.nbytes / _least(lambda: np.add(x, y, out=out))


def flops() -> float:
    """Multiplications and additions a second in a product of two 1024 x 1024 matrices by NumPy's
    BLAS."""
    x, y, out = (np.ones((1024, 1024)) for _ in range(3))
    return 2 * 1024**3 / _least(lambda: np.dot(x, y, out=out))


def facts() -> dict[str, str]:
    """What a reader has to know beside the figures."""
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "BLAS threads": os.environ.get("OPENBLAS_NUM_THREADS", "as BLAS likes"),
        **{name: told for name in PACKAGES if (told := _version(name))},
    }


def _least(work: Callable[[], Any], times: int = 7) -> float:
    found = []
    for _ in range(times):
        start = perf_counter()
        work()
        found.append(perf_counter() - start)
    return min(found)


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
