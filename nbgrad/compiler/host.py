"""The processor that code is compiled for."""

import llvmlite.binding

__all__ = ["is_wide"]


def is_wide() -> bool:
    """Whether 512-bit vectors pay: LLVM prefers 256 on every host, for the sake of old ones."""
    features = llvmlite.binding.get_host_cpu_features()
    slow = llvmlite.binding.get_host_cpu_name() == "skylake-avx512"
    return bool(features.get("avx512f")) and not slow
