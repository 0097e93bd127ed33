"""Programs for child processes in tests of the kernel cache, and their results."""

from pathlib import Path

import numpy as np

from helpers.children import Session

X = np.linspace(0.5, 1.5, 7)
# Two kernels, forward and back, of two signatures each: Numba's own cache mixes those up.
GRADIENTS = """
result = []
for dtype in (np.float64, np.float32):
    x = nbgrad.track(np.linspace(0.5, 1.5, 7).astype(dtype))
    (x * x).backward(np.ones(7))
    result.append(x.grad.tolist())
"""
SIGNATURES = 4
# The cheapest program that compiles: one kernel.
SQUARE = """
x = nbgrad.track(np.linspace(0.5, 1.5, 7))
result = (x * x).data.tolist()
"""
# A kernel that code which Numba compiles calls: it is stored as Numba has it.
CALLED_BY_NUMBA = """
import numba
from nbgrad.compiler.kernel import kernel, module_of
twice = kernel(module_of("def twice(x):\\n    return x + x").twice).dispatcher
result = numba.njit(lambda x: twice(x))(3.0)
"""
# Kernels from texts that differ in one constant.
SCALED = """
from nbgrad.compiler.kernel import kernel, module_of
def scaled(factor, x=np.arange(5.0)):
    text = f"def scaled(xs, outs):\\n    for k in range(xs.size): outs[k] = {factor} * xs[k]"
    out = np.empty_like(x)
    kernel(module_of(text).scaled)(x, out)
    return out.tolist()
"""


def gradients_are_right(session: Session) -> bool:
    return session.result == [(2 * X).tolist(), (2 * X.astype(np.float32)).tolist()]


def square_is_right(session: Session) -> bool:
    return session.result == (X * X).tolist()


def cached(directory: Path) -> list[Path]:
    """The files of kernels, without that of the C function through which all are called."""
    files = (directory / "kernels").iterdir()
    return sorted(file for file in files if not file.name.startswith("entry1024-"))


def only_warning(session: Session) -> str:
    assert [category for category, _ in session.warnings] == ["CacheWarning"], session.warnings
    return session.warnings[0][1]
