"""The CPU name and features that code is compiled for."""

from functools import cache
from typing import Any

import llvmlite.binding

__all__ = ["is_wide", "widen"]


@cache
def is_wide() -> bool:
    """Whether 512-bit vectors pay: LLVM prefers 256 on every host, for the sake of old ones."""
    features = llvmlite.binding.get_host_cpu_features()
    slow = llvmlite.binding.get_host_cpu_name() == "skylake-avx512"
    return bool(features.get("avx512f")) and not slow


def widen(function: Any) -> None:
    """Let a function of llvmlite's have wide vectors."""
    if is_wide():
        set.add(function.attributes, '"prefer-vector-width"="512"')
